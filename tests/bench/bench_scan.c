/* SPDX-License-Identifier: Apache-2.0 */
/* The guard's hard-link scan of one directory, as a program that can be timed beside find(1):
 *
 *   bench_scan DIRECTORY
 *
 * The exit status is 1 when a link reaches outside, 2 when the scan failed. */
#include <stdio.h>
#include <sys/resource.h>

#include "guard/hardlinks.h"

#define MAX_ENTRIES 5000000

static int told(oc_error *err, int status)
{
	fprintf(stderr, "%s\n", oc_error_message(err));
	oc_error_free(err);
	return status;
}

int main(int argc, char **argv)
{
	struct oc_hardlinks *h = NULL;
	struct rlimit limit;
	oc_error *err = NULL;
	int rc;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_scan DIRECTORY\n");
		return 2;
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (oc_hardlinks_new(MAX_ENTRIES, &h, &err) < 0)
		return told(err, 2);
	rc = oc_hardlinks_scan(h, argv[1], &err);
	if (rc < 0) {
		oc_hardlinks_free(h);
		return told(err, 2);
	}
	rc = oc_hardlinks_judge(h, &err);
	oc_hardlinks_free(h);
	return rc < 0 ? told(err, 1) : 0;
}
