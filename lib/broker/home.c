/* SPDX-License-Identifier: Apache-2.0 */
/* A Work's home: made whole or not at all, once, under the Work's lock.  From then on it is the agent's, and nothing of ours
 * opens what is in it; it goes with the Work's directory. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "broker/seed.h"
#include "broker/workspace.h"

#define NEW_HOME OC_WORK_HOME ".new"

/* 1: there, 0: not; what is there and no directory of ours is nothing to run in. */
static int is_there(int dir, const char *work, oc_error **err)
{
	struct stat st;

	if (fstatat(dir, OC_WORK_HOME, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0
		                       : oc_fail(err, OC_EIO, errno, "the home of Work %s can't be looked at", work);
	if (S_ISDIR(st.st_mode) && st.st_uid == geteuid())
		return 1;
	return oc_refuse(err, "sandbox_workspace", work, "open-conduit work list",
	                 "the home of Work %s is no directory of ours", work);
}

/* As for what makes, saves and removes the clone; a run has it for its life. */
static int take_lock(int dir, const char *work, oc_error **err)
{
	oc_cleanup(oc_closep) int fd =
	        openat(dir, OC_WORK_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd < 0)
		return oc_fail(err, OC_EIO, errno, "the lock of Work %s can't be opened", work);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return oc_steal_fd(fd);
	if (errno != EWOULDBLOCK && errno != EINTR)
		return oc_fail(err, OC_EIO, errno, "the lock of Work %s can't be taken", work);
	return oc_refuse(err, "work_busy", work, "open-conduit work list",
	                 "the home of this Work can't be made: a run or another process has the Work");
}

static int fill(oc_store *store, int dir, const char *work, const char *seed, oc_error **err)
{
	oc_cleanup(oc_closep) int home = -1;
	int rc = oc_remove_tree(dir, NEW_HOME);

	if (rc < 0 && rc != -ENOENT)
		return oc_fail(err, OC_EIO, -rc, "what was begun of the home of Work %s can't be removed", work);
	if (mkdirat(dir, NEW_HOME, 0700) == 0)
		home = openat(dir, NEW_HOME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (home < 0)
		return oc_fail(err, OC_EIO, errno, "the home of Work %s can't be made", work);
	rc = seed ? oc_seed_copy(seed, home, store->state_fd, err) : 0;
	/* One flush of the file system for all its files. */
	if (rc == 0 && syncfs(home) < 0)
		rc = oc_fail(err, OC_EIO, errno, "the home of Work %s can't be written", work);
	return rc;
}

static int make(oc_store *store, int dir, const char *work, const char *seed, oc_error **err)
{
	int rc = fill(store, dir, work, seed, err);

	if (rc == 0 && renameat(dir, NEW_HOME, dir, OC_WORK_HOME) < 0)
		rc = oc_fail(err, OC_EIO, errno, "the home of Work %s can't be put in its place", work);
	if (rc < 0)
		(void)oc_remove_tree(dir, NEW_HOME); /* a disk that is full would stay so */
	else if (fsync(dir) < 0)
		rc = oc_fail(err, OC_EIO, errno, "the directory of Work %s can't be written", work);
	return rc;
}

int oc_work_home(oc_store *store, const char *work, const char *seed, oc_error **err)
{
	oc_cleanup(oc_closep) int dir = -1;
	oc_cleanup(oc_closep) int lock = -1;
	int rc;

	if (!store || !work || (seed && (seed[0] != '/' || !oc_path_clean(seed))))
		return oc_fail(err, OC_EINVAL, 0,
		               "a Work's home needs a store, the Work's id, and NULL or a clean, absolute seed");
	rc = oc_context_check(store->ctx, err);
	dir = rc < 0 ? rc : oc_store_work_dir(store, work, false, err);
	rc = dir < 0 ? dir : is_there(dir, work, err);
	if (rc)
		return rc < 0 ? rc : 0;
	lock = take_lock(dir, work, err);
	/* Again: whoever had the lock may have made it. */
	rc = lock < 0 ? lock : is_there(dir, work, err);
	if (rc)
		return rc < 0 ? rc : 0;
	rc = make(store, dir, work, seed, err);
	return rc < 0 ? rc : 1;
}
