/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/os.h"
#include "base/time.h"
#include "wire/message.h"

#define READ_STEP      65536u
#define CODE_FAILED    (-32000) /* JSON-RPC's first code for servers; data says the rest */
#define CODE_NO_METHOD (-32601) /* JSON-RPC: method not found */
#define LAST_ID        ((INT64_C(1) << 53) - 1)

struct call {
	struct call *next;
	json_int_t id;
	int64_t deadline; /* ms; INT64_MAX: none */
	oc_reply_fn fn;   /* NULL: not waited for any more, its answer is thrown away */
	void *userdata;
	char *method;
};

struct oc_conn {
	struct oc_loop *loop;
	int fd;
	pid_t peer;
	struct oc_conn_limits limits;
	struct oc_conn_ops ops;
	void *userdata;
	struct oc_source *source, *timer;
	struct oc_buf in, out;
	size_t searched; /* of in: no line end before */
	size_t sent;     /* of out */
	struct call *calls;
	unsigned n_calls;
	json_int_t next_id;
	json_int_t *requests; /* of the other side, unanswered */
	unsigned n_requests;
	int busy;              /* callbacks on the stack */
	bool over, dead, deaf; /* deaf: the other side takes no more */
	oc_error *doom;        /* what the connection shall end with at the next turn of the loop */
};

static void on_io(int fd, unsigned events, void *userdata);
static void on_timer(void *userdata);

/* ---- life ---- */

static void free_call(struct call *call)
{
	free(call->method);
	free(call);
}

static void close_socket(struct oc_conn *conn)
{
	oc_source_free(oc_steal(conn->source));
	oc_source_free(oc_steal(conn->timer));
	conn->fd = oc_close(conn->fd);
}

static void release(struct oc_conn *conn)
{
	struct call *next;

	for (struct call *call = conn->calls; call; call = next) {
		next = call->next;
		free_call(call);
	}
	oc_error_free(conn->doom);
	oc_buf_free(&conn->in);
	oc_buf_free(&conn->out);
	free(conn->requests);
	free(conn);
}

/* Around everything that runs callbacks: the connection stays in memory until the last has returned. */
static void enter(struct oc_conn *conn)
{
	conn->busy++;
}

static void leave(struct oc_conn *conn)
{
	if (--conn->busy == 0 && conn->dead)
		release(conn);
}

void oc_conn_free(struct oc_conn *conn)
{
	if (!conn || conn->dead)
		return;
	conn->dead = true;
	close_socket(conn);
	if (!conn->busy)
		release(conn);
}

int oc_conn_new(struct oc_loop *loop, int fd, const struct oc_conn_limits *limits, const struct oc_conn_ops *ops,
                void *userdata, struct oc_conn **out, oc_error **err)
{
	const struct oc_conn_limits defaults = OC_CONN_LIMITS;
	struct oc_conn *conn = calloc(1, sizeof(*conn));
	int rc;

	if (!conn)
		return oc_nomem(err);
	*conn = (struct oc_conn){ .loop = loop,
		                  .fd = -1,
		                  .limits = limits ? *limits : defaults,
		                  .ops = *ops,
		                  .userdata = userdata,
		                  .next_id = 1 };
	oc_buf_init(&conn->in, conn->limits.max_line + READ_STEP);
	/* Twice, because what has been sent stays in front until it is the greater half. */
	oc_buf_init(&conn->out, 2 * (conn->limits.max_pending_bytes + conn->limits.max_line + 2));
	conn->requests = calloc(OC_MAX(conn->limits.max_calls, 1u), sizeof(*conn->requests));
	if (!conn->requests) {
		rc = oc_nomem(err);
		goto fail;
	}
	rc = oc_fd_nonblock(fd);
	if (rc < 0) {
		rc = oc_fail(err, OC_EIO, -rc, "cannot use descriptor %d", fd);
		goto fail;
	}
	rc = oc_loop_add_timer(loop, -1, on_timer, conn, &conn->timer, err);
	if (rc == 0)
		rc = oc_loop_add_fd(loop, fd, OC_READ, on_io, conn, &conn->source, err);
	if (rc < 0)
		goto fail;
	if (oc_os_peer_uid(fd, NULL, &conn->peer) < 0)
		conn->peer = 0;
	conn->fd = fd;
	*out = conn;
	return 0;
fail:
	oc_conn_free(conn);
	return rc;
}

/* ---- ending ---- */

static struct call *take_first_call(struct oc_conn *conn)
{
	struct call *call = conn->calls;

	if (call) {
		conn->calls = call->next;
		conn->n_calls--;
	}
	return call;
}

static void fail_calls(struct oc_conn *conn, const oc_error *err)
{
	struct call *call;

	while (!conn->dead && (call = take_first_call(conn))) {
		oc_error *why = NULL;

		if (err)
			oc_fail(&why, oc_error_code(err), 0, "%s: %s", call->method, oc_error_message(err));
		else
			oc_fail(&why, OC_ECLOSED, 0, "%s: the other side closed the connection", call->method);
		if (call->fn)
			call->fn(NULL, why, call->userdata);
		oc_error_free(why);
		free_call(call);
	}
}

/* The one way a connection ends by itself.  err is taken; NULL: the other side closed. */
static void end(struct oc_conn *conn, oc_error *err)
{
	if (conn->over || conn->dead) {
		oc_error_free(err);
		return;
	}
	conn->over = true;
	close_socket(conn);
	enter(conn);
	fail_calls(conn, err);
	if (!conn->dead && conn->ops.closed)
		conn->ops.closed(conn, err, conn->userdata);
	oc_error_free(err);
	leave(conn);
}

static void rearm(struct oc_conn *conn)
{
	int64_t nearest = INT64_MAX, now = oc_mono_ms();

	if (conn->over || conn->dead)
		return;
	for (const struct call *call = conn->calls; call; call = call->next)
		nearest = OC_MIN(nearest, call->deadline);
	if (conn->doom)
		nearest = now;
	/* One more, so that the clock in ms has surely passed it. */
	oc_source_set_timer(conn->timer, nearest == INT64_MAX ? -1 : OC_MAX(nearest - now, (int64_t)0) + !conn->doom);
}

static void doom(struct oc_conn *conn, const char *why)
{
	if (!conn->doom)
		oc_fail(&conn->doom, OC_EPROTO, 0, "%s", why);
	rearm(conn);
}

static void expire(struct oc_conn *conn, int64_t now)
{
	struct call *call = conn->calls;
	oc_reply_fn fn;
	oc_error *err = NULL;

	while (call && call->deadline > now)
		call = call->next;
	if (!call)
		return;
	/* It stays in the list: its answer may come yet and is then no surprise. */
	fn = call->fn;
	call->fn = NULL;
	call->deadline = INT64_MAX;
	oc_fail(&err, OC_ETIME, 0, "%s: no answer in time", call->method);
	if (fn)
		fn(NULL, err, call->userdata);
	oc_error_free(err);
}

static bool any_expired(const struct oc_conn *conn, int64_t now)
{
	for (const struct call *call = conn->calls; call; call = call->next)
		if (call->deadline <= now)
			return true;
	return false;
}

static void on_timer(void *userdata)
{
	struct oc_conn *conn = userdata;
	int64_t now = oc_mono_ms();

	enter(conn);
	if (conn->doom)
		end(conn, oc_steal(conn->doom));
	while (!conn->over && !conn->dead && any_expired(conn, now))
		expire(conn, now);
	rearm(conn);
	leave(conn);
}

/* ---- sending ---- */

static void flush(struct oc_conn *conn)
{
	while (conn->sent < conn->out.len && !conn->deaf) {
		ssize_t n = oc_send(conn->fd, conn->out.data + conn->sent, conn->out.len - conn->sent);

		if (n == -EAGAIN || n == -EWOULDBLOCK)
			break;
		/* What the other side said before it went is still to be read; its end shows there. */
		if (n <= 0)
			conn->deaf = true;
		else
			conn->sent += (size_t)n;
	}
	if (conn->deaf || conn->sent == conn->out.len) {
		oc_buf_free(&conn->out);
		conn->sent = 0;
	}
	oc_source_set_events(conn->source, OC_READ | (conn->out.len ? OC_WRITE : 0));
}

/* json is taken; NULL: there was no memory for it. */
static int send_message(struct oc_conn *conn, json_t *json_taken, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *json = json_taken;
	size_t before, length;
	int rc;

	if (!json)
		return oc_nomem(err);
	if (conn->over || conn->dead || conn->deaf)
		return oc_fail(err, OC_ECLOSED, 0, "the connection is closed");
	if (conn->sent > conn->out.len / 2) {
		oc_buf_consume(&conn->out, conn->sent);
		conn->sent = 0;
	}
	before = conn->out.len;
	rc = oc_json_canonical(json, &conn->out, err);
	if (rc < 0)
		return rc;
	length = conn->out.len - before;
	if (length > conn->limits.max_line)
		rc = oc_fail(err, OC_ELIMIT, 0, "a message would be longer than %zu bytes", conn->limits.max_line);
	else if (oc_conn_pending(conn) + 1 > conn->limits.max_pending_bytes)
		rc = oc_fail(err, OC_ELIMIT, ENOBUFS, "more than %zu bytes wait to be written",
		             conn->limits.max_pending_bytes);
	else if (oc_buf_add(&conn->out, "\n", 1) < 0)
		rc = oc_nomem(err);
	if (rc < 0) {
		conn->out.len = before;
		conn->out.data[before] = '\0';
		return rc;
	}
	flush(conn);
	return 0;
}

int oc_conn_call(struct oc_conn *conn, const char *method, json_t *params, int64_t timeout_ms, oc_reply_fn fn,
                 void *userdata, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *taken = params;
	struct call *call, **at = &conn->calls;
	int64_t now = oc_mono_ms();
	int rc;

	if (conn->n_calls >= conn->limits.max_calls || conn->next_id >= LAST_ID)
		return oc_fail(err, OC_ELIMIT, 0, "%u calls wait for an answer already", conn->n_calls);
	call = calloc(1, sizeof(*call));
	if (!call)
		return oc_nomem(err);
	*call = (struct call){ .id = conn->next_id, .fn = fn, .userdata = userdata, .method = strdup(method) };
	call->deadline = timeout_ms < 0 || timeout_ms > INT64_MAX - 1 - now ? INT64_MAX : now + timeout_ms;
	rc = call->method ? send_message(conn, oc_message_call(call->id, method, oc_steal(taken)), err) : oc_nomem(err);
	if (rc < 0) {
		free_call(call);
		return rc;
	}
	while (*at)
		at = &(*at)->next;
	*at = call;
	conn->n_calls++;
	conn->next_id++;
	rearm(conn);
	return 0;
}

int oc_conn_notify(struct oc_conn *conn, const char *method, json_t *params, oc_error **err)
{
	return send_message(conn, oc_message_call(0, method, params), err);
}

/* ---- answering ---- */

static unsigned find_request(const struct oc_conn *conn, json_int_t id)
{
	unsigned i = 0;

	while (i < conn->n_requests && conn->requests[i] != id)
		i++;
	return i;
}

static int answer(struct oc_conn *conn, json_int_t id, json_t *message_taken)
{
	oc_error *err = NULL;
	unsigned i = find_request(conn, id);
	int rc;

	if (i == conn->n_requests) {
		json_decref(message_taken);
		return OC_EINVAL;
	}
	rc = send_message(conn, message_taken, &err);
	if (rc == 0)
		conn->requests[i] = conn->requests[--conn->n_requests];
	/* A message that is too long can be answered with an error yet; one that is not taken can't. */
	else if (oc_error_errno(err) == ENOBUFS)
		doom(conn, "the other side does not read its answers");
	oc_error_free(err);
	return rc;
}

int oc_conn_reply(struct oc_conn *conn, json_int_t id, json_t *result_taken)
{
	return answer(conn, id, oc_message_result(id, result_taken));
}

int oc_conn_reply_error(struct oc_conn *conn, json_int_t id, const oc_error *error)
{
	return answer(conn, id, oc_message_error(id, CODE_FAILED, error));
}

static int refuse_method(struct oc_conn *conn, json_int_t id, const char *method)
{
	oc_error *err = NULL;
	int rc;

	oc_fail(&err, OC_ENOTFOUND, 0, "there is no method \"%s\"", method);
	rc = answer(conn, id, oc_message_error(id, CODE_NO_METHOD, err));
	oc_error_free(err);
	return rc;
}

/* ---- receiving ---- */

static int got_request(struct oc_conn *conn, const struct oc_message *m, oc_error **err)
{
	if (find_request(conn, m->id) < conn->n_requests)
		return oc_fail(err, OC_EPROTO, 0, "the id of a request is used twice at once");
	if (conn->n_requests >= conn->limits.max_calls)
		return oc_fail(err, OC_EPROTO, 0, "more than %u requests at once", conn->limits.max_calls);
	conn->requests[conn->n_requests++] = m->id;
	if (!conn->ops.request) {
		refuse_method(conn, m->id, m->method);
		return 0;
	}
	conn->ops.request(conn, m->id, m->method, m->value, conn->userdata);
	return 0;
}

static int got_reply(struct oc_conn *conn, const struct oc_message *m, oc_error **err)
{
	struct call **at = &conn->calls, *call;
	oc_error *failure = NULL;

	while (*at && (*at)->id != m->id)
		at = &(*at)->next;
	call = *at;
	if (!call)
		return oc_fail(err, OC_EPROTO, 0, "an answer to no question (id %lld)", (long long)m->id);
	*at = call->next;
	conn->n_calls--;
	rearm(conn);
	if (m->kind == OC_MESSAGE_ERROR)
		oc_message_to_error(&failure, m->value);
	if (call->fn)
		call->fn(failure || json_is_null(m->value) ? NULL : m->value, failure, call->userdata);
	oc_error_free(failure);
	free_call(call);
	return 0;
}

static int break_bound(oc_error **err)
{
	oc_error *limit = oc_steal(*err);
	int rc = oc_fail(err, OC_EPROTO, 0, "%s", oc_error_message(limit));

	oc_error_free(limit);
	return rc;
}

static int got_line(struct oc_conn *conn, const char *line, size_t len, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	struct oc_message m;
	int rc = oc_json_parse(line, len, conn->limits.max_line, "message", &json, err);

	/* Breaking a bound of ours is breaking the protocol. */
	if (rc == OC_ELIMIT)
		return break_bound(err);
	if (rc == 0)
		rc = oc_message_parse(json, &m, err);
	if (rc < 0)
		return rc;
	if (m.kind == OC_MESSAGE_REQUEST)
		return got_request(conn, &m, err);
	if (m.kind != OC_MESSAGE_NOTIFY)
		return got_reply(conn, &m, err);
	if (conn->ops.notify)
		conn->ops.notify(conn, m.method, m.value, conn->userdata);
	return 0;
}

/* All whole lines that are there, unless a callback ends it. */
static int take_lines(struct oc_conn *conn, oc_error **err)
{
	size_t start = 0;
	int rc = 0;

	while (rc == 0 && !conn->over && !conn->dead) {
		char *from = conn->in.data + conn->searched, *end_of_line;

		end_of_line = memchr(from, '\n', conn->in.len - conn->searched);
		if (!end_of_line)
			break;
		conn->searched = (size_t)(end_of_line - conn->in.data) + 1;
		rc = got_line(conn, conn->in.data + start, conn->searched - 1 - start, err);
		start = conn->searched;
	}
	if (rc < 0 || conn->over || conn->dead)
		return rc;
	oc_buf_consume(&conn->in, start);
	conn->searched = conn->in.len;
	if (conn->in.len > conn->limits.max_line)
		return oc_fail(err, OC_EPROTO, 0, "a message longer than %zu bytes", conn->limits.max_line);
	/* What was big once need not stay so. */
	if (conn->in.len == 0 && conn->in.cap > 2 * READ_STEP)
		oc_buf_free(&conn->in);
	return 0;
}

static void receive(struct oc_conn *conn)
{
	oc_error *err = NULL;
	ssize_t n;

	if (oc_buf_reserve(&conn->in, READ_STEP) < 0) {
		oc_nomem(&err);
		end(conn, err);
		return;
	}
	n = recv(conn->fd, conn->in.data + conn->in.len, READ_STEP, 0);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return;
	if (n < 0 && errno != ECONNRESET) {
		oc_fail(&err, OC_EIO, errno, "cannot read from the other side");
	} else if (n <= 0) {
		if (conn->in.len)
			oc_fail(&err, OC_EPROTO, 0, "the other side went in the middle of a message");
	} else {
		conn->in.len += (size_t)n;
		conn->in.data[conn->in.len] = '\0';
		if (take_lines(conn, &err) == 0)
			return;
	}
	end(conn, err);
}

static void on_io(int fd OC_UNUSED, unsigned events, void *userdata)
{
	struct oc_conn *conn = userdata;

	enter(conn);
	if (events & OC_WRITE)
		flush(conn);
	if (events & (OC_READ | OC_HANGUP))
		receive(conn);
	leave(conn);
}

size_t oc_conn_pending(const struct oc_conn *conn)
{
	return conn->out.len - conn->sent;
}

pid_t oc_conn_peer_pid(const struct oc_conn *conn)
{
	return conn->peer;
}
