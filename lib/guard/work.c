/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/time.h"
#include "guard/guard.h"

#define WAIT_MS  2000
#define RETRY_MS 20

/* The file is there since the clone was made: what made it held it. */
static int open_lock(const struct oc_plan_view *plan, oc_error **err)
{
	oc_cleanup(oc_closep) int dir = -1;
	struct oc_buf path;
	int fd;

	oc_buf_init(&path, 8192);
	if (oc_buf_printf(&path, "%s/works/%s", plan->state, plan->work) == 0)
		dir = oc_open_dir(path.data);
	else
		dir = -ENAMETOOLONG;
	oc_buf_free(&path);
	fd = dir < 0 ? dir : openat(dir, "lock", O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return oc_refuse(err, "sandbox_workspace", plan->work, "open-conduit work list",
		                 "The lock of the Work can't be opened: %s", strerror(dir < 0 ? -dir : errno));
	return fd;
}

static void refuse(struct oc_guard *g, oc_error *error)
{
	oc_plan_view_free(&g->plan);
	oc_machine_checked(g, error);
}

static int busy(const struct oc_guard *g, oc_error **err)
{
	char fix[96];

	snprintf(fix, sizeof(fix), "open-conduit work show %s", g->work.id);
	return oc_refuse(err, "work_busy", g->work.id, fix,
	                 "Another run, or a host that saves or removes, is in the workspace of this Work");
}

static void try_lock(void *userdata)
{
	struct oc_guard *g = userdata;
	oc_error *err = NULL;
	int rc = flock(g->work.fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;

	if (g->state != OC_GUARD_CHECKING || g->ending)
		return;
	if ((rc == -EWOULDBLOCK || rc == -EINTR) && oc_mono_ms() < g->work.until) {
		oc_source_set_timer(g->work.timer, RETRY_MS);
		return;
	}
	oc_fault("work:guard-locked");
	if (rc == -EWOULDBLOCK)
		rc = busy(g, &err);
	else if (rc < 0)
		rc = oc_refuse(&err, "sandbox_workspace", g->work.id, "open-conduit work list",
		               "The lock of the Work can't be taken: %s", strerror(-rc));
	else
		rc = oc_preflight_start(g, &err);
	if (rc < 0)
		refuse(g, err);
}

int oc_work_begin(struct oc_guard *g, oc_error **err)
{
	oc_error *refusal = NULL;

	if (!g->plan.work)
		return oc_preflight_start(g, err);
	memcpy(g->work.id, g->plan.work, strlen(g->plan.work) + 1);
	g->work.until = oc_mono_ms() + WAIT_MS;
	g->work.fd = open_lock(&g->plan, &refusal);
	if (g->work.fd < 0) {
		refuse(g, refusal);
		return 0;
	}
	return oc_loop_add_timer(g->loop, 0, try_lock, g, &g->work.timer, err);
}
