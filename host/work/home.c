/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "work.h"

/* Beside the clone, in the Work's directory. */
static char *place(const json_t *work)
{
	const char *workspace = host_string(work, "workspace"), *slash = workspace ? strrchr(workspace, '/') : NULL;
	char *home = NULL;

	if (slash && asprintf(&home, "%.*s/home", (int)(slash - workspace), workspace) < 0)
		home = NULL;
	return home;
}

char *work_home(struct host *h, const json_t *work, const char *seed, bool wait, bool *busy)
{
	oc_error *err = NULL;
	int rc = oc_work_home(h->store, host_string(work, "id"), seed, &err);
	const char *reason = oc_error_reason(err);
	char *home = rc < 0 ? NULL : place(work);

	*busy = wait && reason && !strcmp(reason, "work_busy");
	if (rc < 0 && !*busy)
		host_report(h, "not run", err);
	else if (rc >= 0 && !home)
		out_put(&h->err, "open-conduit: out of memory\n");
	oc_error_free(err);
	return home;
}
