/* SPDX-License-Identifier: Apache-2.0 */
/* A run whose lock is held.  It is adopted only where all that names its guard agrees, and what it has in an engine is what was
 * pinned. */
#include "guard/recover.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/os.h"
#include "base/time.h"

#define INSPECT_MS 10000

/* What an engine that doesn't answer takes of the recovery's time it takes once, not of each run. */
static int ask(struct oc_found *f, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *plan = NULL;
	int ms = OC_MIN(f->walk->patience_ms, INSPECT_MS);
	int64_t began = oc_mono_ms();
	int rc = oc_found_plan(f, &plan, err);

	if (rc < 0)
		return rc;
	if (ms <= 0)
		return oc_refuse(err, "sandbox_unavailable", f->run, "open-conduit doctor",
		                 "what run %s has in the engine was not looked at: the engines of other runs don't "
		                 "answer",
		                 f->run);
	rc = oc_guard_inspect(plan, f->digest, ms, err);
	if (rc < 0)
		f->walk->patience_ms -= (int)OC_MIN(oc_mono_ms() - began, (int64_t)f->walk->patience_ms);
	return rc;
}

/* Before it is proved nothing of it may run, and what makes it compares it with the pin itself. */
static const char *inspected(struct oc_found *f)
{
	oc_error *error = NULL;

	if (!f->proved || ask(f, &error) == 0)
		return NULL;
	f->error = error;
	if (oc_found_differs(error))
		return oc_found_mismatch(f, oc_error_message(error));
	snprintf(f->detail, sizeof(f->detail), "%s", oc_error_message(error));
	return oc_found_settle(f);
}

/* It may have gone on while no host was there to say so; it never went back. */
static const char *adoptable(struct oc_found *f)
{
	const char *state = f->proved ? "running" : f->started ? "started" : "launched", *barred = inspected(f);

	if (barred)
		return barred;
	snprintf(f->detail, sizeof(f->detail), "its guard lives");
	(void)oc_store_progress(f->store, f->run, state, NULL);
	return "alive";
}

/* Whose socket it is the kernel says, without the guard's help.  One that isn't there yet is of a guard that begins; who connects to
 * it then checks it. */
static bool of_another(const struct oc_found *f)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	oc_cleanup(oc_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	pid_t pid;
	uid_t uid;

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", f->dir, OC_GUARD_SOCKET);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    oc_os_peer_uid(fd, &uid, &pid) < 0)
		return false;
	return uid != geteuid() || pid != f->guard;
}

static const char *speaks_otherwise(struct oc_found *f, oc_error *error)
{
	f->error = error;
	return oc_found_mismatch(f, oc_error_message(error));
}

const char *oc_found_living(struct oc_found *f)
{
	oc_error *error = NULL;

	if (f->other_digest)
		return oc_found_mismatch(f, "its guard holds another plan than the one pinned");
	if (f->other_boot)
		return oc_found_mismatch(f, "its guard's record names another boot of the machine");
	if (f->informed && oc_guard_speaks(f->dir, f->run, &error) < 0)
		return speaks_otherwise(f, error);
	if (f->alive == OC_ALIVE_YES && of_another(f))
		f->alive = OC_ALIVE_NO;
	if (f->alive == OC_ALIVE_YES)
		return f->ended && f->proved ? oc_found_finished(f) : adoptable(f);
	if (!f->informed) {
		/* It has begun and not said who it is: nothing is written, it will in a moment. */
		snprintf(f->detail, sizeof(f->detail), "a guard is starting");
		return "unknown";
	}
	oc_found_unknown(f,
	                 f->alive == OC_ALIVE_NO ? "its lock is held, and not by the guard it names"
	                                         : "whether its guard lives can't be told",
	                 0, "ls -la");
	return oc_found_settle(f);
}
