/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz targets without a fuzzer: replay FILE|DIRECTORY… runs each input once, with any compiler.
 * Exits 1 when it had nothing to run. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "fuzz.h"

#define INPUT_MAX (1u << 20)

static int run_file(int dir, const char *name)
{
	struct oc_buf b;
	uint8_t *exact;
	int rc;

	oc_buf_init(&b, INPUT_MAX);
	rc = oc_read_file(dir, name, INPUT_MAX, &b);
	if (rc < 0) {
		oc_buf_free(&b);
		fprintf(stderr, "%s: %s\n", name, strerror(-rc));
		return -1;
	}
	/* A block of exactly that size, so that reading past the end is found. */
	exact = malloc(b.len ? b.len : 1);
	if (!exact)
		abort();
	if (b.len)
		memcpy(exact, b.data, b.len);
	LLVMFuzzerTestOneInput(exact, b.len);
	free(exact);
	oc_buf_free(&b);
	return 1;
}

static int run_dir(const char *path)
{
	int fd = oc_open_dir(path), n = 0;
	struct dirent *entry;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		return run_file(AT_FDCWD, path);
	while (n >= 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			n = run_file(fd, entry->d_name) < 0 ? -1 : n + 1;
	closedir(dir);
	return n;
}

int main(int argc, char **argv)
{
	int total = 0;

	for (int i = 1; i < argc; i++) {
		int n = run_dir(argv[i]);

		if (n < 0)
			return EXIT_FAILURE;
		total += n;
	}
	printf("%d inputs\n", total);
	return total ? EXIT_SUCCESS : EXIT_FAILURE;
}
