/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/os.h"
#include "base/time.h"
#include "guard/identity.h"
#include "guard/protocol.h"
#include "loop/loop.h"
#include "store/store.h"
#include "wire/conn.h"

#define ASK_MS   10000
#define RETRY_MS 20

struct question {
	int dir;
	const char *run, *method;
	const json_t *params;
	int64_t until;
	bool over;
	int rc;
	json_t *result;
	oc_error *err;
};

static void requested(struct oc_conn *conn OC_UNUSED, json_int_t id OC_UNUSED, const char *method OC_UNUSED,
                      const json_t *params OC_UNUSED, void *userdata OC_UNUSED)
{
}

static void notified(struct oc_conn *conn OC_UNUSED, const char *method OC_UNUSED, const json_t *params OC_UNUSED,
                     void *userdata OC_UNUSED)
{
}

static void closed(struct oc_conn *conn OC_UNUSED, const oc_error *err OC_UNUSED, void *userdata)
{
	struct question *q = userdata;

	if (!q->over)
		q->rc = OC_ECLOSED;
	q->over = true;
}

static void answered(const json_t *result, const oc_error *failure, void *userdata)
{
	struct question *q = userdata;
	oc_cleanup(oc_json_decrefp) json_t *why = failure ? oc_error_to_json(failure) : NULL;

	q->over = true;
	if (failure)
		q->rc = why ? oc_error_from_json(&q->err, why) : oc_nomem(&q->err);
	else
		q->result = result ? json_incref((json_t *)(uintptr_t)result) : json_object();
}

/* The name is reached through the directory's descriptor: no limit of sun_path, no link followed.  A negative errno. */
static int dial(const struct question *q)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), saved;

	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", q->dir, OC_GUARD_SOCKET);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	saved = errno;
	oc_close(fd);
	return -saved;
}

/* Only to the very process that guard.json and the kernel name. */
static int same_process(const struct question *q, int fd, pid_t guard, oc_error **err)
{
	char fix[80];
	uid_t uid;
	pid_t pid;

	if (oc_os_peer_uid(fd, &uid, &pid) == 0 && uid == geteuid() && pid == guard)
		return 0;
	return oc_refuse(err, "pin_mismatch", q->run, oc_store_show_run(fix, q->run),
	                 "the process behind the socket of run %s is not its recorded guard", q->run);
}

static int exchange(struct question *q, int fd, oc_error **err)
{
	static const struct oc_conn_ops ops = { .request = requested, .notify = notified, .closed = closed };
	static const struct oc_conn_limits limits = OC_CONN_LIMITS;
	struct oc_loop *loop = NULL;
	struct oc_conn *conn = NULL;
	int rc = oc_loop_new(&loop, err);

	rc = rc < 0 ? rc : oc_conn_new(loop, fd, &limits, &ops, q, &conn, err);
	if (rc < 0)
		oc_close(fd);
	else
		rc = oc_conn_call(conn, q->method, json_incref((json_t *)(uintptr_t)q->params),
		                  OC_MAX(q->until - oc_mono_ms(), (int64_t)1), answered, q, err);
	while (rc >= 0 && !q->over)
		rc = oc_loop_wait(loop, -1, err);
	oc_conn_free(conn);
	oc_loop_free(loop);
	return rc;
}

/* 1: it was answered, as q says; 0: not yet, and it may be; negative: it will not be. */
static int attempt(struct question *q, oc_error **err)
{
	pid_t guard = 0;
	enum oc_alive alive = oc_guard_alive(q->dir, OC_GUARD_INFO, &guard, err);
	int fd, rc;

	if (alive == OC_ALIVE_UNKNOWN)
		return OC_EIO;
	fd = alive == OC_ALIVE_NO ? -ESRCH : dial(q);
	/* One that is over and holds nothing has no socket any more. */
	if (fd == -ESRCH || (fd == -ENOENT && faccessat(q->dir, OC_GUARD_EXIT, F_OK, AT_SYMLINK_NOFOLLOW) == 0))
		return oc_error_makef(err, OC_ENOTFOUND, 0, NULL, q->run, NULL, "no guard of run %s is alive", q->run);
	if (fd == -ENOENT || fd == -ECONNREFUSED || fd == -EAGAIN)
		return 0;
	if (fd < 0)
		return oc_fail(err, OC_EIO, -fd, "the guard of run %s can't be asked", q->run);
	rc = same_process(q, fd, guard, err);
	if (rc < 0)
		oc_close(fd);
	rc = rc < 0 ? rc : exchange(q, fd, err);
	if (rc < 0)
		return rc;
	/* It had no room for one more connection, or ended: the next look tells which. */
	if (q->rc != OC_ECLOSED)
		return 1;
	oc_error_free(oc_steal(q->err));
	q->over = false;
	q->rc = 0;
	return 0;
}

static int silent(const struct question *q, oc_error **err)
{
	pid_t guard = 0;
	char fix[40];

	(void)oc_guard_alive(q->dir, OC_GUARD_INFO, &guard, NULL);
	snprintf(fix, sizeof(fix), "kill -CONT %d", (int)guard);
	return oc_error_makef(err, OC_ETIME, 0, NULL, q->run, fix,
	                      "the guard of run %s (process %d) does not answer within ten seconds", q->run,
	                      (int)guard);
}

int oc_guard_ask(int run_dir, const char *run, const char *method, const json_t *params, json_t **result,
                 oc_error **err)
{
	const struct timespec pause = { 0, RETRY_MS * 1000 * 1000 };
	struct question q = {
		.dir = run_dir, .run = run, .method = method, .params = params, .until = oc_mono_ms() + ASK_MS
	};
	int rc;

	while ((rc = attempt(&q, err)) == 0 && oc_mono_ms() < q.until)
		nanosleep(&pause, NULL);
	if (rc < 0)
		return rc;
	if (rc == 0 || q.rc == OC_ETIME) {
		oc_error_free(q.err);
		return silent(&q, err);
	}
	if (err)
		*err = oc_steal(q.err);
	oc_error_free(q.err);
	*result = q.result;
	return OC_MIN(q.rc, 0);
}

int oc_guard_holds_tokens(int run_dir, const char *run, oc_error **err)
{
	struct oc_identity id;
	char fix[80];
	int rc;

	if (faccessat(run_dir, OC_GUARD_EXIT, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
	    oc_guard_alive(run_dir, OC_GUARD_INFO, NULL, NULL) != OC_ALIVE_YES)
		return oc_refuse(err, "run_over", run, oc_store_show_run(fix, run),
		                 "run %s is over, or has no guard: it gets no token", run);
	rc = oc_identity_read(run_dir, OC_GUARD_INFO, &id, err);
	if (rc < 0)
		return rc;
	if (id.speaks[1] >= OC_GUARD_PROTOCOL_TOKENS)
		return 0;
	snprintf(fix, sizeof(fix), "open-conduit runs stop %s", run);
	return oc_error_makef(err, OC_EVERSION, 0, NULL, run, fix,
	                      "the guard of run %s is of an earlier build, which holds no tokens: run it anew", run);
}

static int drop(int run_dir, oc_error **err)
{
	if (unlinkat(run_dir, OC_GUARD_SOCKET, 0) < 0 && errno != ENOENT)
		return oc_fail(err, OC_EIO, errno, "the socket of a guard that is gone can't be removed");
	return 0;
}

/* The lock is asked for only where its process is still seen: one that is killed lets go of it before it is gone. */
int oc_guard_drop_socket(int run_dir, oc_error **err)
{
	oc_cleanup(oc_closep) int lock = -1;

	if (oc_guard_alive(run_dir, OC_GUARD_INFO, NULL, NULL) == OC_ALIVE_NO)
		return drop(run_dir, err);
	lock = openat(run_dir, OC_GUARD_LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (lock < 0 && errno == ENOENT)
		return drop(run_dir, err);
	if (lock < 0)
		return oc_fail(err, OC_EIO, errno, "the lock of a run can't be opened");
	return flock(lock, LOCK_EX | LOCK_NB) == 0 ? drop(run_dir, err) : 0;
}
