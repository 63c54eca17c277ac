/* SPDX-License-Identifier: Apache-2.0 */
/* What a host does with a run that has ended. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/path.h"
#include "guard/ask.h"
#include "guard/run.h"

/* What the guard's record says it could not remove in an engine. */
static int left_elsewhere(const oc_run *run, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *record = NULL;
	oc_cleanup(oc_buf_free) struct oc_buf b = { 0 };
	const json_t *left;
	int rc;

	oc_buf_init(&b, OC_JSON_MAX + 1);
	rc = oc_read_file(run->dir, OC_GUARD_EXIT, OC_JSON_MAX, &b);
	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return oc_fail(err, OC_EIO, -rc, "the exit record of run %s can't be read", run->id);
	rc = oc_json_parse(b.data ? b.data : "", b.len, OC_JSON_MAX, OC_GUARD_EXIT, &record, err);
	if (rc < 0)
		return rc;
	left = json_object_get(record, "left");
	return json_is_object(left) ? oc_error_from_json(err, left) : 0;
}

/* live/<id> says what is left there: it stays for the next recovery, which finishes the run when all of it is gone. */
static int keep_live(const oc_run *run, oc_error **err)
{
	oc_error *left = NULL;
	int rc = left_elsewhere(run, &left);

	if (rc < 0 && oc_store_state(run->store, run->id, "unknown", left, NULL) < 0)
		oc_prefix(&left, "its state can't be recorded");
	if (err)
		*err = oc_steal(left);
	oc_error_free(left);
	return rc;
}

static int remove_live(const oc_run *run, oc_error **err)
{
	oc_cleanup(oc_closep) int live =
	        openat(run->store->state_fd, "live", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int rc;

	if (live < 0 || (fstatat(live, run->id, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT))
		return 0;
	rc = keep_live(run, err);
	if (rc < 0)
		return rc;
	rc = oc_remove_tree(live, run->id);
	return rc < 0 && rc != -ENOENT
	               ? oc_fail(err, OC_EIO, -rc, "the directories of run %s can't be removed", run->id)
	               : 0;
}

int oc_run_finish(oc_run *run, oc_error **err)
{
	int rc = oc_guard_sweep(run->dir, run->id, err);

	rc = rc < 0 ? rc : remove_live(run, err);
	if (rc < 0)
		return rc;
	/* A guard removes it when it leaves; one that was killed after its record can't. */
	rc = oc_guard_drop_socket(run->dir, err);
	if (rc < 0)
		return rc;
	oc_fault("host:cleaned");
	rc = oc_store_finish(run->store, run->id, err);
	oc_fault("host:finished");
	return rc;
}
