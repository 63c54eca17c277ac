/* SPDX-License-Identifier: Apache-2.0 */
/* A group or session number alone is no identity: it is reused.  Killed is only what is in the recorded group or session of
 * this boot, is not older than the launch, and carries the run's mark in the environment it was started with.  A process
 * that hides its environment is the guest's tree, which ends by itself when its channel does. */
#include "guard/protocol.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/os.h"
#include "base/time.h"
#include "guard/identity.h"

#define SWEEP_MS 5000

struct sweep {
	struct oc_identity launch;
	char mark[sizeof(OC_GUARD_ENV_MARK) + 64];
	int found, killed;
	pid_t last;
};

static bool belongs(const struct sweep *s, pid_t pid, uint64_t *ticks)
{
	pid_t ppid, pgrp, session;

	if (pid <= 1 || pid == getpid() || oc_os_process(pid, ticks, &ppid, &pgrp, &session) < 0)
		return false;
	if (pgrp != s->launch.pgrp && session != s->launch.session)
		return false;
	return *ticks >= s->launch.start && oc_os_environ_has(pid, s->mark) == 1;
}

static int look(pid_t pid, void *userdata)
{
	struct sweep *s = userdata;
	uint64_t before, after;
	int pidfd;

	if (!belongs(s, pid, &before))
		return 0;
	s->found++;
	/* The descriptor is taken first and the judgement repeated: from then on it can't be another process. */
	pidfd = oc_os_pidfd_open(pid);
	if (pidfd < 0)
		return 0;
	if (belongs(s, pid, &after) && before == after && oc_os_pidfd_signal(pidfd, SIGKILL) == 0 && pid != s->last) {
		s->killed++;
		s->last = pid;
	}
	oc_close(pidfd);
	return 0;
}

static bool this_boot(const struct oc_identity *id)
{
	char boot[OC_BOOT_SIZE];

	return oc_os_boot_id(boot) < 0 || strcmp(boot, id->boot) == 0;
}

int oc_guard_sweep(int run_dir, const char *run, oc_error **err)
{
	const struct timespec pause = { 0, 5 * 1000 * 1000 };
	struct sweep s = { .last = 0 };
	int64_t until = oc_mono_ms() + SWEEP_MS;
	int rc = oc_identity_read(run_dir, OC_GUARD_STARTED, &s.launch, err);

	if (rc == OC_ENOTFOUND) {
		if (err) {
			oc_error_free(*err);
			*err = NULL;
		}
		return 0;
	}
	if (rc < 0)
		return rc;
	if (s.launch.pgrp <= 1 || s.launch.session <= 1 || strlen(run) > 63)
		return oc_fail(err, OC_EPROTO, 0, "%s of the run is damaged", OC_GUARD_STARTED);
	if (!this_boot(&s.launch))
		return 0;
	snprintf(s.mark, sizeof(s.mark), "%s=%s", OC_GUARD_ENV_MARK, run);
	do {
		s.found = 0;
		rc = oc_os_each_process(look, &s);
		if (rc < 0)
			return oc_fail(err, OC_EIO, -rc, "Can't list processes: %s", strerror(-rc));
		if (s.found == 0)
			return s.killed;
		nanosleep(&pause, NULL);
	} while (oc_mono_ms() < until);
	return oc_fail(err, OC_ETIME, 0, "%d processes of run %s are still there after SIGKILL", s.found, run);
}
