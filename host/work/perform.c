/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator runs in a Work.  It goes the way of every run: plan, pin, guard, the Work's lock. */
#include <string.h>

#include "exec.h"
#include "work.h"

bool work_plain(const char *kind)
{
	return kind && (!strcmp(kind, "none") || !strcmp(kind, "attach"));
}

static int after(struct host *h, const char *run, int status, json_t *answer, void *userdata)
{
	return work_after(h, userdata, run, status, answer);
}

int work_perform(struct host *h, oc_broker *broker, json_t **work, oc_request *request, struct exec_args *a, bool wait)
{
	int status = EXEC_BUSY;

	a->retry_busy = wait;
	a->after = after;
	while (status == EXEC_BUSY) {
		json_t *made = work_ready(h, host_string(*work, "id"), wait);

		if (!made) {
			status = EXIT_NOT_RUN;
			break;
		}
		json_decref(*work);
		*work = made;
		a->after_userdata = made;
		request->work = host_string(made, "id");
		request->workspace = host_string(made, "workspace");
		status = exec_run(h, broker, request, a);
	}
	return status;
}
