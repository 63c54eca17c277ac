/* SPDX-License-Identifier: Apache-2.0 */
/* From no guard to a connection: the launcher exits once its guard listens, so waiting for that
 * one child is all the synchronisation there is. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/os.h"
#include "base/path.h"
#include "base/utf8.h"
#include "guard/run.h"
#include "loop/child.h"

#define GUARD_PROGRAM    "open-conduit-guard"
#define HELLO_TIMEOUT_MS 30000
#define CLOSE_CHECK_MS   100
#define CLOSE_CHECKS     10

static const char *const REPORTED[] = { "checking", "held",    "refused",  "started",
	                                "proved",   "running", "stopping", "exited" };

static bool known_state(const char *state)
{
	for (size_t i = 0; state && i < OC_COUNT(REPORTED); i++)
		if (!strcmp(state, REPORTED[i]))
			return true;
	return false;
}

static void release_held(oc_run *run)
{
	oc_error *err = NULL;

	if (run->releasing)
		return;
	run->releasing = true;
	oc_fault("host:held");
	if (oc_run_release(run, run->digest, &err) < 0)
		oc_run_failed(run, err);
	oc_fault("host:released");
	oc_error_free(err);
}

/* A refusal before anything ran: the guard's errors are the run's. */
static void refused(oc_run *run, const json_t *event)
{
	oc_error *err = NULL, *ignored = NULL;

	oc_error_from_json(&err, json_object_get(event, "error"));
	oc_store_state(run->store, run->id, "failed", err, &ignored);
	oc_run_failed(run, err);
	oc_error_free(err);
	oc_error_free(ignored);
}

static void new_state(oc_run *run, const char *state, const json_t *event)
{
	oc_cleanup(oc_freep) char *text = NULL;

	if (!known_state(state) || run->over)
		return;
	oc_run_enter(run);
	/* History: what recovery goes by are the guard's files, so a store that is busy or full stops nothing here. */
	if (strcmp(state, "checking") && strcmp(state, "refused") && strcmp(state, "exited"))
		(void)oc_store_progress(run->store, run->id, state, NULL);
	text = json_dumps(event, JSON_COMPACT | JSON_SORT_KEYS);
	if (run->ops.state && text)
		run->ops.state(run, state, text, run->userdata);
	if (run->dead || run->over) {
		oc_run_leave(run);
		return;
	}
	if (!strcmp(state, "held") && run->auto_release)
		release_held(run);
	else if (!strcmp(state, "started"))
		oc_fault("host:started");
	else if (!strcmp(state, "running"))
		oc_fault("host:running");
	else if (!strcmp(state, "refused"))
		refused(run, event);
	else if (!strcmp(state, "exited")) {
		run->exited = true;
		oc_run_pump(run);
	}
	if (!run->dead)
		oc_run_feed(run);
	oc_run_leave(run);
}

static void notified(struct oc_conn *conn OC_UNUSED, const char *method, const json_t *params, void *userdata)
{
	oc_run *run = userdata;

	if (!strcmp(method, "state"))
		new_state(run, oc_json_text(params, "state"), params);
	else if (!strcmp(method, "output"))
		oc_run_pump(run);
	else if (!strcmp(method, "call"))
		oc_run_called(run, params);
}

static bool ended(oc_run *run)
{
	run->exited = run->exited || !faccessat(run->dir, OC_GUARD_EXIT, F_OK, AT_SYMLINK_NOFOLLOW);
	return run->exited;
}

static void connection_lost(oc_run *run, bool alive)
{
	oc_error *lost = NULL;
	char fix[80];

	if (alive)
		oc_fail(&lost, OC_ECLOSED, 0,
		        "run %s goes on without this host: another took it over, or its guard closed the connection",
		        run->id);
	else
		oc_refuse(&lost, "run_lost", run->id, oc_store_show_run(fix, run->id),
		          "the connection to the guard was lost, and the guard is gone");
	oc_run_failed(run, lost);
	oc_error_free(lost);
}

/* A guard that lives has another host; one that is gone has lost its run, unless it left a record.  A process that is
 * ending lets go of its sockets before it is seen to be dead, so the question is asked for a while. */
static void judge_close(void *userdata)
{
	oc_run *run = userdata;
	pid_t pid;
	bool alive = oc_guard_alive(run->dir, OC_GUARD_INFO, &pid, NULL) == OC_ALIVE_YES;

	oc_run_enter(run);
	if (ended(run))
		oc_run_pump(run);
	else if (alive && run->closed_for < CLOSE_CHECKS)
		oc_source_set_timer(run->closing, CLOSE_CHECK_MS);
	else
		connection_lost(run, alive);
	run->closed_for++;
	oc_run_leave(run);
}

static void closed(struct oc_conn *conn OC_UNUSED, const oc_error *err OC_UNUSED, void *userdata)
{
	oc_run *run = userdata;

	oc_run_enter(run);
	oc_conn_free(oc_steal(run->conn));
	if (ended(run))
		oc_run_pump(run);
	else if (oc_loop_add_timer(run->ctx->loop, 0, judge_close, run, &run->closing, NULL) < 0)
		connection_lost(run, false);
	oc_run_leave(run);
}

static void requested(struct oc_conn *conn, json_int_t id, const char *method, const json_t *params OC_UNUSED,
                      void *userdata OC_UNUSED)
{
	oc_error *err = NULL;

	oc_fail(&err, OC_EPROTO, 0, "the host has no method %s", method);
	oc_conn_reply_error(conn, id, err);
	oc_error_free(err);
}

/* What answered must be the very process that guard.json and the kernel name, holding our pin. */
static int check_hello(oc_run *run, const json_t *reply, oc_error **err)
{
	const char *digest = oc_json_text(reply, "digest");
	char fix[80];
	pid_t pid = 0;

	if (!digest || strcmp(digest, run->digest) != 0)
		return oc_refuse(err, "pin_mismatch", run->id, oc_store_show_run(fix, run->id),
		                 "the guard holds plan %s, the pin is %s", digest ? digest : "(none)", run->digest);
	if (oc_guard_alive(run->dir, OC_GUARD_INFO, &pid, NULL) != OC_ALIVE_YES || pid != oc_conn_peer_pid(run->conn))
		return oc_refuse(err, "pin_mismatch", run->id, oc_store_show_run(fix, run->id),
		                 "the process behind the guard's socket is not the recorded guard");
	return 0;
}

void oc_run_call_failed(oc_run *run, const oc_error *failure)
{
	oc_error *err = NULL;
	char fix[40];

	if (oc_error_code(failure) != OC_ETIME || !run->conn) {
		oc_run_failed(run, failure);
		return;
	}
	/* Alive by all its records, and silent: whoever stopped it can let it go on. */
	snprintf(fix, sizeof(fix), "kill -CONT %d", (int)oc_conn_peer_pid(run->conn));
	oc_error_makef(&err, OC_ETIME, 0, NULL, run->id, fix,
	               "the guard of run %s (process %d) does not answer, so nothing was changed: %s", run->id,
	               (int)oc_conn_peer_pid(run->conn), oc_error_message(failure));
	oc_run_failed(run, err);
	oc_error_free(err);
}

static void greeted(const json_t *reply, const oc_error *failure, void *userdata)
{
	oc_run *run = userdata;
	const json_t *journal = json_object_get(reply, "journal");
	oc_error *err = NULL;

	oc_run_enter(run);
	if (failure) {
		/* It left while we came; closed() follows, and knows whether that was the run's end. */
		if (oc_error_code(failure) != OC_ECLOSED)
			oc_run_call_failed(run, failure);
	} else if (check_hello(run, reply, &err) < 0) {
		oc_run_failed(run, err);
	} else {
		run->read_to = (uint64_t)oc_json_integer(journal, "acked", 0);
		run->input_at = (uint64_t)oc_json_integer(reply, "stdin", 0);
		oc_run_pump(run);
		if (!run->dead)
			new_state(run, oc_json_text(reply, "state"), reply);
		if (run->ending && !run->dead && !run->over && !run->exited &&
		    oc_run_stop(run, run->grace_ms, &err) < 0)
			oc_run_failed(run, err);
	}
	oc_error_free(err);
	oc_run_leave(run);
}

/* The name is reached through the directory's descriptor: no limit of sun_path, no link followed. */
static int open_socket(oc_run *run)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", run->dir, OC_GUARD_SOCKET);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		int saved = errno;

		close(fd);
		return -saved;
	}
	return fd;
}

int oc_run_connect(oc_run *run, oc_error **err)
{
	static const struct oc_conn_ops ops = { .request = requested, .notify = notified, .closed = closed };
	struct oc_conn_limits limits = OC_CONN_LIMITS;
	int fd = open_socket(run), rc;
	char fix[80];
	uid_t uid;
	pid_t pid;

	if (fd < 0 && ended(run)) {
		oc_run_pump(run);
		return 0;
	}
	if (fd < 0)
		return oc_fail(err, OC_ECLOSED, -fd, "the guard of run %s does not answer", run->id);
	rc = oc_os_peer_uid(fd, &uid, &pid);
	if (rc < 0 || uid != geteuid()) {
		close(fd);
		return oc_refuse(err, "pin_mismatch", run->id, oc_store_show_run(fix, run->id),
		                 "the guard's socket belongs to another user");
	}
	rc = oc_guard_speaks(run->dir, run->id, err);
	rc = rc < 0 ? rc : oc_conn_new(run->ctx->loop, fd, &limits, &ops, run, &run->conn, err);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return oc_conn_call(run->conn, "hello", json_pack("{s:s}", "digest", run->digest), HELLO_TIMEOUT_MS, greeted,
	                    run, err);
}

static void guard_printed(int fd, unsigned events OC_UNUSED, void *userdata)
{
	oc_run *run = userdata;
	char text[4096];
	ssize_t n = read(fd, text, sizeof(text));

	if (n > 0) {
		oc_buf_add(&run->guard_error, text, (size_t)n);
		return;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	oc_source_free(oc_steal(run->guard_log));
}

static int launch_failure(oc_run *run, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	oc_cleanup(oc_buf_free) struct oc_buf text = { 0 };

	guard_printed(run->guard_log_fd, OC_READ, run);
	if (run->guard_error.len &&
	    !oc_json_parse(run->guard_error.data, run->guard_error.len, 65536, "guard", &json, NULL))
		return oc_error_from_json(err, json);
	oc_buf_init(&text, 65536);
	if (run->guard_error.len)
		oc_text_escape(&text, run->guard_error.data, OC_MIN(run->guard_error.len, 2000), false);
	return oc_refuse(err, "sandbox_unavailable", GUARD_PROGRAM, "open-conduit doctor",
	                 "the guard did not start: %s", text.data ? text.data : "it gave no reason");
}

static void guard_listens(const siginfo_t *info, void *userdata)
{
	oc_run *run = userdata;
	oc_error *err = NULL;
	int rc;

	oc_run_enter(run);
	oc_source_free(oc_steal(run->guard_exit));
	oc_fault("host:guard-listens");
	/* A host that ignores SIGCHLD has no status to read: then the socket tells. */
	if (info->si_pid && (info->si_code != CLD_EXITED || info->si_status))
		rc = launch_failure(run, &err);
	else
		rc = oc_run_connect(run, &err);
	if (rc < 0)
		oc_run_failed(run, err);
	oc_error_free(err);
	oc_run_leave(run);
}

static int spawn_guard(oc_run *run, const char *guard, const char *dir, int log, int *pidfd, oc_error **err)
{
	char *argv[] = { (char *)guard, (char *)dir, NULL };
	char path[] = "PATH=/usr/local/bin:/usr/bin:/bin", fault[256] = "";
	char *envp[] = { path, NULL, NULL };
	int fds[] = { -1, -1, log };
	struct oc_spawn spawn = {
		.path = guard, .argv = argv, .envp = envp, .cwd = "/", .fds = fds, .n_fds = 3, .new_session = true
	};
	pid_t pid;

#ifdef OC_FAULTS
	if (oc_context_getenv(run->ctx, "OPEN_CONDUIT_FAULT")) {
		snprintf(fault, sizeof(fault), "OPEN_CONDUIT_FAULT=%s",
		         oc_context_getenv(run->ctx, "OPEN_CONDUIT_FAULT"));
		envp[1] = fault;
	}
#else
	(void)fault;
	(void)run;
#endif
	return oc_child_spawn(&spawn, &pid, pidfd, err);
}

int oc_run_launch(oc_run *run, oc_error **err)
{
	oc_cleanup(oc_freep) char *guard = oc_path_join(run->ctx->libexec_dir, GUARD_PROGRAM);
	const char *dir = oc_json_text(json_object_get(run->plan->json, "dirs"), "runs");
	oc_cleanup(oc_closep) int write_end = -1;
	int ends[2], pidfd = -1, rc;

	if (!guard)
		return oc_nomem(err);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return oc_fail(err, OC_EIO, errno, "no pipe for the guard's log");
	run->guard_log_fd = ends[0];
	write_end = ends[1];
	rc = oc_fd_nonblock(ends[0]) < 0 ? oc_fail(err, OC_EIO, errno, "no pipe for the guard's log") : 0;
	if (!rc)
		rc = oc_store_progress(run->store, run->id, "launched", err);
	oc_fault("host:launched");
	if (!rc)
		rc = oc_loop_add_fd(run->ctx->loop, ends[0], OC_READ, guard_printed, run, &run->guard_log, err);
	if (!rc)
		rc = spawn_guard(run, guard, dir, write_end, &pidfd, err);
	if (rc < 0) {
		oc_prefix(err, "%s", guard);
		return rc;
	}
	rc = oc_loop_add_child(run->ctx->loop, pidfd, guard_listens, run, &run->guard_exit, err);
	if (rc < 0)
		close(pidfd);
	return rc;
}
