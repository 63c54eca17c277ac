/* SPDX-License-Identifier: Apache-2.0 */
/* What a run whose guard is gone left behind. */
#include "guard/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/path.h"

static int remove_live(struct oc_found *f)
{
	int live = openat(f->store->state_fd, "live", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = live < 0 ? -errno : oc_remove_tree(live, f->run);

	oc_close(live);
	if (rc < 0 && rc != -ENOENT) {
		oc_found_unknown(f, "what it left in live/ can't be removed", -rc, NULL);
		return -1;
	}
	return 0;
}

/* In an engine, say: as long as live/<id> is there nobody has said that all of it is gone. */
static int left_elsewhere(struct oc_found *f)
{
	oc_cleanup(oc_json_decrefp) json_t *plan = NULL;
	oc_cleanup(oc_freep) char *live = oc_path_join(f->store->dir, "live");
	oc_cleanup(oc_freep) char *dir = live ? oc_path_join(live, f->run) : NULL;
	oc_error *error = NULL;
	struct stat st;
	int rc;

	if (!dir)
		return OC_ENOMEM;
	if (!f->started || !f->pinned || (lstat(dir, &st) < 0 && errno == ENOENT))
		return 0;
	rc = oc_found_plan(f, &plan, &error);
	rc = rc < 0 ? rc : oc_guard_cleanup(plan, f->digest, &error);
	if (rc < 0) {
		oc_found_unknown(f, error ? oc_error_message(error) : "what it left in an engine can't be removed", 0,
		                 NULL);
		oc_error_free(f->error);
		f->error = error;
		f->mismatch = oc_found_differs(error);
	}
	return rc;
}

int oc_found_clean(struct oc_found *f)
{
	oc_error *error = NULL;
	int rc = f->started ? oc_guard_sweep(f->dir, f->run, &error) : 0;

	if (rc < 0) {
		oc_found_unknown(f, error ? oc_error_message(error) : "what it left running can't be ended", 0, NULL);
		oc_error_free(error);
		return rc;
	}
	oc_fault("recover:swept");
	rc = left_elsewhere(f);
	if (rc < 0)
		return rc;
	rc = remove_live(f);
	oc_fault("recover:cleaned");
	/* We hold the lock, so nobody listens there; or its guard does, and takes it along when it leaves. */
	if (rc == 0 && !f->held && unlinkat(f->dir, OC_GUARD_SOCKET, 0) < 0 && errno != ENOENT) {
		oc_found_unknown(f, "the socket of its guard can't be removed", errno, "ls -ld");
		rc = -1;
	}
	return rc;
}

int oc_found_rewind(struct oc_found *f)
{
	static const char *const names[] = { OC_GUARD_SOCKET, OC_GUARD_INFO, OC_GUARD_STARTED };
	size_t i;

	for (i = 0; i < OC_COUNT(names); i++)
		if (unlinkat(f->dir, names[i], 0) < 0 && errno != ENOENT) {
			oc_found_unknown(f, "a record of the last attempt can't be removed", errno, "ls -ld");
			return -1;
		}
	if (fsync(f->dir) < 0) {
		oc_found_unknown(f, "its directory can't be written", errno, "ls -ld");
		return -1;
	}
	oc_fault("recover:rewound");
	return 0;
}
