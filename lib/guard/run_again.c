/* SPDX-License-Identifier: Apache-2.0 */
/* A further attempt with the same pin, after one that was lost or whose sandbox did not come up.  What the last one said
 * must not be taken for this one's, and a crash anywhere in here must leave a run that recovery tells truly:
 *
 *   store: run_lost or failed ─▶ "launched", the last attempt into the history        lost again, or failed again
 *   unlink proved                                                                     its exit record, or "never ran"
 *   unlink exit.json                                                                  started alone: "never ran"
 *
 * `started` stays for the preflight, which ends what it names; the journal goes on where it was. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "guard/run.h"

/* While we hold it no guard of this run can start, and recovery leaves the run alone. */
static int take_lock(const oc_run *run, oc_error **err)
{
	int fd = openat(run->dir, OC_GUARD_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	int rc;

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	if (fd >= 0 && errno == EWOULDBLOCK)
		rc = oc_fail(err, OC_EEXISTS, 0,
		             "run %s is in the hands of another process, or its guard holds tokens of its last attempt "
		             "that are to be revoked first",
		             run->id);
	else
		rc = oc_fail(err, OC_EIO, errno, "the lock of run %s can't be taken", run->id);
	oc_close(fd);
	return rc;
}

static int drop(const oc_run *run, const char *name, oc_error **err)
{
	if (unlinkat(run->dir, name, 0) < 0 && errno != ENOENT)
		return oc_fail(err, OC_EIO, errno, "%s of the last attempt of run %s can't be removed", name, run->id);
	if (fsync(run->dir) < 0)
		return oc_fail(err, OC_EIO, errno, "the directory of run %s can't be written", run->id);
	return 0;
}

int oc_run_again(oc_run *run, oc_error **err)
{
	int lock = take_lock(run, err);
	int rc = lock < 0 ? lock : oc_guard_sweep(run->dir, run->id, err);

	if (rc >= 0)
		rc = oc_store_relaunch(run->store, run->id, err);
	oc_fault("retry:recorded");
	if (rc >= 0)
		rc = drop(run, OC_GUARD_PROVED, err);
	oc_fault("retry:proof-gone");
	if (rc >= 0)
		rc = drop(run, OC_GUARD_EXIT, err);
	oc_close(lock);
	oc_fault("retry:cleared");
	return rc < 0 ? rc : oc_run_launch(run, err);
}
