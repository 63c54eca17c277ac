/* SPDX-License-Identifier: Apache-2.0 */
/* A provider as its host sees it: a child process, a connection, and a log.
 *
 * A provider that dies takes its connection with it before its exit status and the last of its
 * log have arrived, and both belong into the message.  So calls that failed for that reason wait
 * on a list until the child is reaped, or LINGER_MS have passed: then they are answered, all with
 * the same `provider_failed`.  A provider that broke the protocol or was silent too long is killed
 * and takes the same way.  The next call starts it anew. */
#include "provider/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/os.h"
#include "base/sha256.h"
#include "loop/child.h"
#include "provider/find.h"
#include "provider/log.h"

#define INITIALIZE_MS 10000
#define LINGER_MS     500
#define HANGUP_MS     200
#define CALLS_MAX     64

enum state { IDLE, STARTING, READY, ENDING };

struct call {
	struct call *next;
	struct oc_provider *provider;
	char *method;
	json_t *params;
	int64_t timeout_ms;
	oc_reply_fn fn;
	void *userdata;
	oc_error *err; /* of a doomed one, once the end is known */
};

struct oc_provider {
	oc_context *ctx;
	char *name, *path, *version;
	struct oc_strv env;
	char digest[OC_DIGEST_SIZE];
	enum state state;
	struct oc_conn *conn;
	struct oc_source *child_source, *linger;
	pid_t pid;
	int pidfd; /* pidfd: our own copy, for signals; the loop has another */
	struct oc_provider_log log;
	/* for initialize; for the reply; for the end of a provider that failed */
	struct call *waiting, *asked, *doomed;
	unsigned calls;
	char why[160];
	bool *freed; /* set by free, for the callback in whose frame we are */
};

static void call_free(struct call *c)
{
	if (!c)
		return;
	if (c->provider)
		c->provider->calls--;
	json_decref(c->params);
	oc_error_free(c->err);
	free(c->method);
	free(c);
}

static void push(struct call **list, struct call *c)
{
	while (*list)
		list = &(*list)->next;
	c->next = NULL;
	*list = c;
}

static struct call *pop(struct call **list)
{
	struct call *c = *list;

	if (c)
		*list = c->next;
	return c;
}

static void take_out(struct call **list, struct call *c)
{
	while (*list && *list != c)
		list = &(*list)->next;
	if (*list)
		*list = c->next;
}

static void free_calls(struct call **list)
{
	struct call *c;

	while ((c = pop(list)))
		call_free(c);
}

/* Answer one call.  False when the provider was freed inside the callback. */
static bool answer(struct call *c, const json_t *result, const oc_error *err)
{
	struct oc_provider *p = c->provider;
	oc_reply_fn fn = c->fn;
	void *userdata = c->userdata;
	bool freed = false, *outer = p->freed;

	call_free(c);
	p->freed = &freed;
	fn(result, err, userdata);
	if (freed) {
		if (outer)
			*outer = true;
		return false;
	}
	p->freed = outer;
	return true;
}

static void set_why(struct oc_provider *p, const char *why)
{
	size_t len = strlen(why);

	if (p->why[0])
		return;
	len = OC_MIN(len, sizeof(p->why) - 1);
	memcpy(p->why, why, len);
	p->why[len] = '\0';
}

static void failure(struct oc_provider *p, const char *method, oc_error **err)
{
	struct oc_buf log;
	bool shown;

	oc_buf_init(&log, 8 * OC_PROVIDER_LOG_KEEP);
	shown = oc_provider_log_tail(&p->log, &log);
	(void)oc_refuse(err, "provider_failed", p->name, "open-conduit doctor",
	                "provider %s failed at \"%s\": it %s%s%s", p->name, method, p->why,
	                shown ? "; its log ends: " : "", shown ? log.data : "");
	oc_buf_free(&log);
}

static void forget_process(struct oc_provider *p)
{
	oc_source_free(oc_steal(p->child_source));
	oc_source_free(oc_steal(p->linger));
	oc_provider_log_close(&p->log);
	oc_conn_free(oc_steal(p->conn));
	p->pidfd = oc_close(p->pidfd);
	p->pid = 0;
}

static void doom(struct oc_provider *p, struct call **list)
{
	struct call *c;

	while ((c = pop(list)))
		push(&p->doomed, c);
}

/* Nothing more will be known: answer all that were waiting for it.  What the callbacks ask for
 * anew is another process's business, so the list and its errors are made before the first one. */
static void finish_ending(struct oc_provider *p)
{
	struct call *c, *list;
	bool alive = true;

	oc_provider_log_drain(&p->log);
	forget_process(p);
	p->state = IDLE;
	doom(p, &p->asked);
	doom(p, &p->waiting);
	list = p->doomed;
	p->doomed = NULL;
	for (c = list; c; c = c->next)
		failure(p, c->method, &c->err);
	while ((c = pop(&list))) {
		oc_error *err = oc_steal(c->err);

		if (alive)
			alive = answer(c, NULL, err);
		else
			c->provider = NULL, call_free(c);
		oc_error_free(err);
	}
}

static void on_linger(void *userdata)
{
	finish_ending(userdata);
}

static void on_ended(const siginfo_t *info, void *userdata)
{
	struct oc_provider *p = userdata;
	char how[64] = "ended";

	if (info->si_pid && info->si_code == CLD_EXITED)
		(void)snprintf(how, sizeof(how), "ended with status %d", info->si_status);
	else if (info->si_pid)
		(void)snprintf(how, sizeof(how), "was ended by signal %d", info->si_status);
	set_why(p, how);
	finish_ending(p);
}

static void start_ending(struct oc_provider *p, bool kill_it)
{
	if (p->state == IDLE || p->state == ENDING)
		return;
	p->state = ENDING;
	if (kill_it && p->pidfd >= 0)
		(void)oc_os_pidfd_signal(p->pidfd, SIGKILL);
	oc_source_set_timer(p->linger, LINGER_MS);
}

static void on_closed(struct oc_conn *conn OC_UNUSED, const oc_error *err, void *userdata)
{
	struct oc_provider *p = userdata;

	if (err)
		set_why(p, oc_error_code(err) == OC_EPROTO ? "broke the protocol" : "hung up");
	start_ending(p, true);
}

static void on_request(struct oc_conn *conn, json_int_t id, const char *method OC_UNUSED,
                       const json_t *params OC_UNUSED, void *userdata OC_UNUSED)
{
	oc_error *err = NULL;

	(void)oc_fail(&err, OC_ENOTFOUND, 0, "a host has no methods");
	(void)oc_conn_reply_error(conn, id, err);
	oc_error_free(err);
}

static void on_notify(struct oc_conn *conn OC_UNUSED, const char *method OC_UNUSED, const json_t *params OC_UNUSED,
                      void *userdata)
{
	struct oc_provider *p = userdata;

	set_why(p, "broke the protocol: it sent what nobody asked for");
	start_ending(p, true);
}

static void remote_error(struct call *c, const oc_error *err)
{
	oc_error *mine = NULL;
	bool pass = oc_reason_known(oc_error_reason(err));

	if (!pass)
		(void)oc_refuse(&mine, "provider_failed", c->provider->name, "open-conduit doctor",
		                "provider %s refused \"%s\" without a known reason: %s", c->provider->name, c->method,
		                oc_error_message(err));
	(void)answer(c, NULL, pass ? err : mine);
	oc_error_free(mine);
}

static void on_reply(const json_t *result, const oc_error *err, void *userdata)
{
	struct call *c = userdata;
	struct oc_provider *p = c->provider;
	int code = err ? oc_error_code(err) : OC_OK;

	take_out(&p->asked, c);
	if (p->state == ENDING) { /* what a provider says that we gave up on is worth nothing */
		push(&p->doomed, c);
		return;
	}
	if (!err && json_is_object(result)) {
		(void)answer(c, result, NULL);
		return;
	}
	if (!err) {
		set_why(p, "answered with something that is no object");
	} else if (oc_error_reason(err) ||
	           (code != OC_ECLOSED && code != OC_ETIME && code != OC_EPROTO && code != OC_ENOMEM)) {
		remote_error(c, err);
		return;
	} else if (code == OC_ETIME) {
		set_why(p, "did not answer in time");
	} else if (code == OC_EPROTO) {
		set_why(p, "broke the protocol");
	}
	push(&p->doomed, c);
	start_ending(p, code != OC_ECLOSED);
}

static void send_call(struct call *c)
{
	struct oc_provider *p = c->provider;
	oc_error *err = NULL;

	push(&p->asked, c);
	if (oc_conn_call(p->conn, c->method, oc_steal(c->params), c->timeout_ms, on_reply, c, &err) < 0) {
		oc_error_free(err);
		set_why(p, "can't be asked more at a time");
		start_ending(p, true);
	}
}

static bool take_identity(struct oc_provider *p, const json_t *result)
{
	const char *version = NULL;
	oc_error *bad = NULL;
	char why[128];

	if (oc_provider_check_hello(p->name, result, &version, &bad) < 0) {
		snprintf(why, sizeof(why), "introduced itself as something else: see \"%.64s\"",
		         oc_error_subject(bad) ? oc_error_subject(bad) : "");
		set_why(p, why);
		oc_error_free(bad);
		return false;
	}
	free(p->version);
	p->version = strdup(version);
	return p->version != NULL;
}

static void on_initialized(const json_t *result, const oc_error *err, void *userdata)
{
	struct oc_provider *p = userdata;

	if (err || !json_is_object(result) || !take_identity(p, result)) {
		set_why(p, !err                               ? "introduced itself as something else"
		           : oc_error_code(err) == OC_ETIME   ? "did not answer in time"
		           : oc_error_code(err) == OC_EPROTO  ? "broke the protocol"
		           : oc_error_code(err) == OC_ECLOSED ? ""
		                                              : "speaks another version of the protocol");
		start_ending(p, !err || oc_error_code(err) != OC_ECLOSED);
		return;
	}
	p->state = READY;
	while (p->waiting && p->state == READY)
		send_call(pop(&p->waiting));
}

static int watch(struct oc_provider *p, int *socket_fd, oc_error **err)
{
	static const struct oc_conn_ops ops = { on_request, on_notify, on_closed };
	const struct oc_conn_limits limits = OC_CONN_LIMITS;
	int copy = fcntl(p->pidfd, F_DUPFD_CLOEXEC, 3), rc;
	json_t *hello;

	if (copy < 0)
		return oc_fail(err, OC_EIO, errno, "can't watch provider %s", p->name);
	rc = oc_loop_add_child(p->ctx->loop, copy, on_ended, p, &p->child_source, err);
	if (rc < 0)
		(void)oc_close(copy);
	if (rc >= 0)
		rc = oc_provider_log_watch(&p->log, err);
	if (rc >= 0)
		rc = oc_loop_add_timer(p->ctx->loop, -1, on_linger, p, &p->linger, err);
	if (rc >= 0)
		rc = oc_conn_new(p->ctx->loop, *socket_fd, &limits, &ops, p, &p->conn, err);
	if (rc < 0)
		return rc;
	*socket_fd = -1;
	hello = json_pack("{s:i, s:s}", "protocol", 1, "host", OC_VERSION);
	if (!hello)
		return oc_nomem(err);
	return oc_conn_call(p->conn, "initialize", hello, INITIALIZE_MS, on_initialized, p, err);
}

/* Only where the process can't be waited for by the loop any more. */
static void end_process(struct oc_provider *p, int hangup_ms)
{
	struct pollfd gone = { .fd = p->pidfd, .events = POLLIN };
	siginfo_t info;

	if (p->pidfd < 0)
		return;
	if (poll(&gone, 1, hangup_ms) != 1) {
		(void)oc_os_pidfd_signal(p->pidfd, SIGKILL);
		(void)poll(&gone, 1, LINGER_MS);
	}
	/* Not reaped yet, so the number of its group can't be another's: what it left there goes too. */
	(void)kill(-p->pid, SIGKILL);
	(void)waitid(P_PIDFD, (id_t)p->pidfd, &info, WEXITED | WNOHANG);
}

static int start(struct oc_provider *p, oc_error **err)
{
	oc_cleanup(oc_closep) int mine = -1, theirs = -1, log_w = -1;
	char *argv[] = { p->path, NULL };
	int fds[3], pair[2], log[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return oc_fail(err, OC_EIO, errno, "no socket for provider %s", p->name);
	mine = pair[0];
	theirs = pair[1];
	if (pipe2(log, O_CLOEXEC) < 0)
		return oc_fail(err, OC_EIO, errno, "no pipe for provider %s", p->name);
	p->log.fd = log[0];
	log_w = log[1];
	rc = oc_fd_nonblock(p->log.fd);
	if (rc < 0)
		return oc_fail(err, OC_EIO, -rc, "no pipe for provider %s", p->name);
	fds[0] = fds[1] = theirs;
	fds[2] = log_w;
	{
		const struct oc_spawn spawn = { .path = p->path,
			                        .argv = argv,
			                        .envp = p->env.v,
			                        .cwd = "/",
			                        .fds = fds,
			                        .n_fds = 3,
			                        .new_group = true };
		rc = oc_child_spawn(&spawn, &p->pid, &p->pidfd, err);
	}
	if (rc < 0) {
		oc_prefix(err, "provider %s can't be started", p->name);
		return rc;
	}
	return watch(p, &mine, err);
}

static int ensure_started(struct oc_provider *p, oc_error **err)
{
	int rc;

	if (p->state != IDLE)
		return 0;
	oc_provider_log_forget(&p->log);
	p->why[0] = '\0';
	rc = start(p, err);
	if (rc < 0) {
		oc_source_free(oc_steal(p->child_source));
		end_process(p, 0);
		forget_process(p);
		return rc;
	}
	p->state = STARTING;
	return 0;
}

void oc_provider_start(struct oc_provider *p)
{
	oc_error *ignored = NULL;

	if (ensure_started(p, &ignored) < 0)
		oc_error_free(ignored);
}

int oc_provider_call(struct oc_provider *p, const char *method, json_t *params, int64_t timeout_ms, oc_reply_fn fn,
                     void *userdata, oc_error **err)
{
	struct call *c;
	int rc;

	if (p->calls >= CALLS_MAX || !params || !json_is_object(params)) {
		json_decref(params);
		return oc_fail(err, p->calls >= CALLS_MAX ? OC_ELIMIT : OC_EINVAL, 0, "provider %s can't be asked: %s",
		               p->name, p->calls >= CALLS_MAX ? "too many calls are waiting" : "no parameters");
	}
	c = calloc(1, sizeof(*c));
	if (!c || !(c->method = strdup(method))) {
		free(c);
		json_decref(params);
		return oc_nomem(err);
	}
	c->params = params;
	c->timeout_ms = timeout_ms;
	c->fn = fn;
	c->userdata = userdata;
	rc = ensure_started(p, err);
	if (rc >= 0 && p->state == READY)
		rc = oc_conn_call(p->conn, c->method, oc_steal(c->params), timeout_ms, on_reply, c, err);
	if (rc < 0) {
		call_free(c);
		return rc;
	}
	/* Asked while an old one ends, it fails with it. */
	push(p->state == READY ? &p->asked : &p->waiting, c);
	c->provider = p;
	p->calls++;
	return 0;
}

static int add_env(struct oc_provider *p, const char *name, oc_error **err)
{
	const char *value = oc_context_getenv(p->ctx, name);

	if (!value)
		return 0;
	return oc_strv_addf(&p->env, "%s=%s", name, value) < 0 ? oc_nomem(err) : 0;
}

static int make_env(struct oc_provider *p, const char *const *pass_env, oc_error **err)
{
	/* The last is ours, and no secret: what a build from source has in place of a pinned image. */
	static const char *const always[] = { "PATH", "HOME", "LANG", "OPEN_CONDUIT_GATEWAY_IMAGE" };
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < OC_COUNT(always); i++)
		rc = add_env(p, always[i], err);
	for (i = 0; !rc && pass_env && pass_env[i]; i++) {
		if (!pass_env[i][0] || strchr(pass_env[i], '='))
			return oc_fail(err, OC_EINVAL, 0, "pass_env takes names of variables");
		rc = add_env(p, pass_env[i], err);
	}
#ifdef OC_FAULTS
	rc = rc ? rc : add_env(p, "OPEN_CONDUIT_FAULT", err);
#endif
	if (!rc && !p->env.v && oc_strv_add(&p->env, "LANG=C.UTF-8") < 0)
		rc = oc_nomem(err);
	return rc;
}

int oc_provider_new(oc_context *ctx, const char *name, const char *provider_dir, const char *const *pass_env,
                    struct oc_provider **out, oc_error **err)
{
	struct oc_provider *p;
	char *path = NULL;
	int rc = oc_provider_find(ctx, name, provider_dir, &path, err);

	if (rc < 0)
		return rc;
	p = calloc(1, sizeof(*p));
	if (!p) {
		free(path);
		return oc_nomem(err);
	}
	p->ctx = ctx;
	p->path = path;
	p->pidfd = -1;
	oc_provider_log_init(&p->log, ctx, NULL);
	oc_strv_init(&p->env, 64);
	p->name = strdup(name);
	p->log.name = p->name;
	rc = p->name ? make_env(p, pass_env, err) : oc_nomem(err);
	if (rc < 0) {
		oc_provider_free(p);
		return rc;
	}
	*out = p;
	return 0;
}

void oc_provider_free(struct oc_provider *p)
{
	if (!p)
		return;
	if (p->freed)
		*p->freed = true;
	oc_source_free(oc_steal(p->child_source));
	oc_conn_free(oc_steal(p->conn));
	end_process(p, HANGUP_MS);
	forget_process(p);
	free_calls(&p->waiting);
	free_calls(&p->asked);
	free_calls(&p->doomed);
	oc_strv_free(&p->env);
	free(p->version);
	free(p->name);
	free(p->path);
	free(p);
}

const char *oc_provider_path(const struct oc_provider *p)
{
	return p->path;
}

const char *oc_provider_name(const struct oc_provider *p)
{
	return p->name;
}

const char *oc_provider_version(const struct oc_provider *p)
{
	return p->version;
}

const char *oc_provider_file_digest(struct oc_provider *p)
{
	oc_cleanup(oc_closep) int fd = -1;

	if (p->digest[0])
		return p->digest;
	fd = open(p->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || oc_digest_fd(fd, p->digest) < 0) {
		p->digest[0] = '\0';
		return NULL;
	}
	return p->digest;
}
