/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "guard/guard.h"

#define HELLO_MS        5000
#define OUTPUT_RETRY_MS 20
#define OUTPUT_PENDING  16384u

static void drop(struct oc_client *c)
{
	struct oc_guard *g = c->guard;
	bool owned = g->server.owner == c;

	oc_source_free(c->deadline);
	c->deadline = NULL;
	oc_streams_forget(&g->streams, c->conn);
	oc_conn_free(oc_steal(c->conn));
	if (!owned)
		return;
	g->server.owner = NULL;
	oc_machine_hosted(g, false);
}

bool oc_server_hosted(const struct oc_server *s)
{
	return s->owner != NULL;
}

void oc_server_state(struct oc_guard *g)
{
	json_t *event;

	if (!g->server.owner)
		return;
	event = oc_machine_event(g);
	if (event)
		(void)oc_conn_notify(g->server.owner->conn, "state", event, NULL);
}

void oc_server_output(struct oc_server *s)
{
	struct oc_guard *g = s->clients[0].guard;
	json_t *params;

	if (!s->owner || s->told == g->journal.next)
		return;
	/* A host that does not read is told later, in one: the journal has it all. */
	if (oc_conn_pending(s->owner->conn) > OUTPUT_PENDING) {
		oc_source_set_timer(s->output_timer, OUTPUT_RETRY_MS);
		return;
	}
	params = json_pack("{s:I}", "next", (json_int_t)g->journal.next);
	if (params && oc_conn_notify(s->owner->conn, "output", params, NULL) >= 0)
		s->told = g->journal.next;
}

static void on_output_timer(void *userdata)
{
	oc_server_output(userdata);
}

void oc_server_accepted(struct oc_conn *conn, json_int_t id, uint64_t accepted)
{
	(void)oc_conn_reply(conn, id, json_pack("{s:I}", "accepted", (json_int_t)accepted));
}

static json_t *hello_reply(struct oc_guard *g)
{
	const struct oc_journal *j = &g->journal;
	json_t *reply = oc_machine_event(g);

	if (!reply)
		return NULL;
	/* The event's members too: who connects late learns why it was refused, or how it ended. */
	if (!oc_json_set_string(reply, "digest", g->digest) || !oc_json_set(reply, "pid", json_integer(getpid())) ||
	    !oc_json_set(reply, "start", json_integer((json_int_t)g->start)) ||
	    !oc_json_set_string(reply, "boot", g->boot) ||
	    !oc_json_set(reply, "journal",
	                 json_pack("{s:I, s:I, s:I}", "first", (json_int_t)oc_journal_first(j), "next",
	                           (json_int_t)j->next, "acked", (json_int_t)j->acked)) ||
	    !oc_json_set(reply, "stdin", json_integer((json_int_t)g->streams.accepted))) {
		json_decref(reply);
		return NULL;
	}
	return reply;
}

static int do_hello(struct oc_client *c, json_int_t id, const json_t *params, oc_error **err)
{
	struct oc_guard *g = c->guard;
	struct oc_client *old = g->server.owner;
	const char *digest = NULL;
	const struct oc_json_key keys[] = { { "digest", OC_JSON_STRING, true, &digest } };
	int rc = oc_json_unpack(params, "", NULL, keys, OC_COUNT(keys), err);
	json_t *reply;

	if (rc < 0)
		return rc;
	if (strcmp(digest, g->digest))
		return oc_refuse(err, "pin_mismatch", g->run, NULL, "This guard holds the plan %s, not %s", g->digest,
		                 digest);
	reply = hello_reply(g);
	if (!reply)
		return oc_nomem(err);
	oc_source_free(oc_steal(c->deadline));
	g->server.owner = c;
	g->server.told = g->journal.next;
	if (old && old != c)
		drop(old);
	(void)oc_conn_reply(c->conn, id, reply);
	oc_machine_hosted(g, true);
	return 1;
}

/* The parsed text is ours until the message is gone: what was secret in it is wiped at once. */
static void wipe(const json_t *object)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)object, name, value) if (json_is_string(value))
	        explicit_bzero((char *)(uintptr_t)json_string_value(value), json_string_length(value));
}

static int do_release(struct oc_client *c, const json_t *params, oc_error **err)
{
	struct oc_guard *g = c->guard;
	const char *digest = NULL;
	json_t *env = NULL, *secrets = NULL;
	struct oc_plan_view plan;
	struct oc_values *values = NULL;
	const struct oc_json_key keys[] = { { "digest", OC_JSON_STRING, true, &digest },
		                            { "env", OC_JSON_OBJECT, true, &env },
		                            { "secrets", OC_JSON_OBJECT, true, &secrets } };
	int rc = oc_json_unpack(params, "", NULL, keys, OC_COUNT(keys), err);

	if (rc < 0)
		return rc;
	if (strcmp(digest, g->digest))
		return oc_refuse(err, "pin_mismatch", g->run, NULL, "This guard holds the plan %s, not %s", g->digest,
		                 digest);
	rc = oc_plan_view_load(g->run_dir, g->digest, &plan, err);
	if (rc < 0)
		return rc;
	rc = oc_values_new(&plan, env, secrets, &values, err);
	oc_plan_view_free(&plan);
	wipe(env);
	wipe(secrets);
	return rc < 0 ? rc : oc_machine_release(g, values, err);
}

static int do_stop(struct oc_client *c, const json_t *params, oc_error **err)
{
	int64_t grace = -1;
	const struct oc_json_key keys[] = { { "grace_ms", OC_JSON_INT, false, &grace } };
	int rc = params ? oc_json_unpack(params, "", NULL, keys, OC_COUNT(keys), err) : 0;

	if (rc >= 0)
		oc_machine_stop(c->guard, "host", grace);
	return rc;
}

static int do_stdin(struct oc_client *c, json_int_t id, const json_t *params, oc_error **err)
{
	const char *text = NULL;
	int64_t offset = -1;
	void *data = NULL;
	size_t len;
	const struct oc_json_key keys[] = { { "offset", OC_JSON_INT, true, &offset },
		                            { "data", OC_JSON_STRING, true, &text } };
	int rc = oc_json_unpack(params, "", NULL, keys, OC_COUNT(keys), err);

	if (rc < 0)
		return rc;
	if (offset < 0)
		return oc_fail(err, OC_EINVAL, 0, "The offset is negative");
	rc = oc_base64_decode(text, strlen(text), &data, &len);
	if (rc < 0)
		return oc_fail(err, OC_EPROTO, 0, "data is not base64");
	if (len > OC_STDIN_CHUNK) {
		free(data);
		return oc_fail(err, OC_ELIMIT, 0, "At most %u bytes of stdin at a time", OC_STDIN_CHUNK);
	}
	rc = oc_streams_input(c->guard, c->conn, id, (uint64_t)offset, data, len, err);
	if (rc == 0)
		oc_server_accepted(c->conn, id, c->guard->streams.accepted);
	return rc < 0 ? rc : 1;
}

static int do_stdin_end(struct oc_client *c, const json_t *params, oc_error **err)
{
	int64_t offset = -1;
	const struct oc_json_key keys[] = { { "offset", OC_JSON_INT, true, &offset } };
	int rc = oc_json_unpack(params, "", NULL, keys, OC_COUNT(keys), err);

	if (rc >= 0 && offset < 0)
		rc = oc_fail(err, OC_EINVAL, 0, "The offset is negative");
	return rc < 0 ? rc : oc_streams_input_end(c->guard, (uint64_t)offset, err);
}

static int do_ack(struct oc_client *c, const json_t *params, oc_error **err)
{
	int64_t next = -1;
	const struct oc_json_key keys[] = { { "next", OC_JSON_INT, true, &next } };
	int rc = oc_json_unpack(params, "", NULL, keys, OC_COUNT(keys), err);

	if (rc >= 0 && next >= 0)
		oc_journal_ack(&c->guard->journal, (uint64_t)next);
	return rc;
}

/* Before the guest is there it is remembered; after that it goes there too. */
static int do_resize(struct oc_client *c, const json_t *params, oc_error **err)
{
	struct oc_guard *g = c->guard;
	int64_t rows = 0, cols = 0;
	const struct oc_json_key keys[] = { { "rows", OC_JSON_INT, true, &rows },
		                            { "cols", OC_JSON_INT, true, &cols } };
	int rc = oc_json_unpack(params, "", NULL, keys, OC_COUNT(keys), err);

	if (rc < 0)
		return rc;
	if (!g->rows || rows < 1 || rows > UINT16_MAX || cols < 1 || cols > UINT16_MAX)
		return oc_fail(err, OC_EINVAL, 0, "There is no such size, or no terminal");
	g->rows = (uint16_t)rows;
	g->cols = (uint16_t)cols;
	if (g->session.fd >= 0 && !g->session.exited && oc_session_size(g) == 0)
		oc_session_flush(g);
	return 0;
}

static int do_withdraw(struct oc_client *c, json_int_t id, const json_t *params, oc_error **err)
{
	json_t *result = NULL;
	int rc = oc_tokens_withdraw(c->guard, params, &result, err);

	if (rc < 0)
		return rc;
	(void)oc_conn_reply(c->conn, id, result);
	return 1;
}

/* Those of tokens come over connections of their own, which name the plan and say no hello: they disturb no host.
 * 0: answer {}; 1: it was answered, or will be; negative: the error. */
static int perform(struct oc_client *c, json_int_t id, const char *method, const json_t *params, oc_error **err)
{
	if (strcmp(method, "hello") == 0)
		return do_hello(c, id, params, err);
	if (strcmp(method, "deposit") == 0)
		return oc_tokens_deposit(c->guard, params, err);
	if (strcmp(method, "withdraw") == 0)
		return do_withdraw(c, id, params, err);
	if (strcmp(method, "forget") == 0)
		return oc_tokens_forget(c->guard, params, err);
	if (c->guard->server.owner != c)
		return oc_fail(err, OC_EPROTO, 0, "Say hello first");
	if (strcmp(method, "release") == 0)
		return do_release(c, params, err);
	if (strcmp(method, "stop") == 0)
		return do_stop(c, params, err);
	if (strcmp(method, "stdin") == 0)
		return do_stdin(c, id, params, err);
	if (strcmp(method, "stdin_end") == 0)
		return do_stdin_end(c, params, err);
	if (strcmp(method, "ack") == 0)
		return do_ack(c, params, err);
	if (strcmp(method, "answer") == 0)
		return oc_belt_answer(c->guard, params, err);
	if (strcmp(method, "resize") == 0)
		return do_resize(c, params, err);
	return oc_fail(err, OC_EPROTO, 0, "A guard knows no such method");
}

static void on_request(struct oc_conn *conn, json_int_t id, const char *method, const json_t *params, void *userdata)
{
	oc_error *err = NULL;
	int rc = perform(userdata, id, method, params, &err);

	if (rc < 0)
		(void)oc_conn_reply_error(conn, id, err);
	else if (rc == 0)
		(void)oc_conn_reply(conn, id, json_object());
	oc_error_free(err);
}

/* ack, stop and resize may come without wanting an answer. */
static void on_notify(struct oc_conn *conn, const char *method, const json_t *params, void *userdata)
{
	struct oc_client *c = userdata;

	(void)conn;
	if (c->guard->server.owner != c)
		return;
	if (strcmp(method, "ack") == 0)
		(void)do_ack(c, params, NULL);
	else if (strcmp(method, "stop") == 0)
		(void)do_stop(c, params, NULL);
	else if (strcmp(method, "resize") == 0)
		(void)do_resize(c, params, NULL);
	else if (strcmp(method, "progress") == 0)
		(void)oc_belt_progress(c->guard, params, NULL);
}

static void on_closed(struct oc_conn *conn, const oc_error *err, void *userdata)
{
	(void)conn;
	(void)err;
	drop(userdata);
}

static void on_deadline(void *userdata)
{
	drop(userdata);
}

static struct oc_client *free_client(struct oc_server *s)
{
	size_t i;

	for (i = 0; i < OC_SERVER_CLIENTS; i++)
		if (!s->clients[i].conn)
			return &s->clients[i];
	return NULL;
}

static void on_connection(int fd, unsigned events, void *userdata)
{
	static const struct oc_conn_limits limits = { 4u << 20, 4u << 20, 64 };
	static const struct oc_conn_ops ops = { on_request, on_notify, on_closed };
	struct oc_guard *g = userdata;
	struct oc_client *c = free_client(&g->server);
	oc_cleanup(oc_closep) int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	uid_t uid;
	pid_t pid;

	(void)events;
	if (conn < 0 || !c || oc_os_peer_uid(conn, &uid, &pid) < 0 || uid != geteuid())
		return;
	if (oc_conn_new(g->loop, conn, &limits, &ops, c, &c->conn, NULL) < 0)
		return;
	conn = -1;
	if (oc_loop_add_timer(g->loop, HELLO_MS, on_deadline, c, &c->deadline, NULL) < 0)
		drop(c);
}

static int bind_here(oc_error **err)
{
	/* Relative: the directory is the guard's own, and its path may be longer than a socket's may. */
	const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = OC_GUARD_SOCKET };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return oc_fail(err, OC_EIO, errno, "Can't make a socket: %s", strerror(errno));
	/* What is there belonged to a guard that is gone: we hold its lock. */
	(void)unlink(OC_GUARD_SOCKET);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || chmod(OC_GUARD_SOCKET, 0600) < 0 ||
	    listen(fd, 16) < 0) {
		oc_fail(err, OC_EIO, errno, "Can't listen at %s: %s", OC_GUARD_SOCKET, strerror(errno));
		oc_close(fd);
		return OC_EIO;
	}
	return fd;
}

int oc_server_open(struct oc_guard *g, oc_error **err)
{
	struct oc_server *s = &g->server;
	size_t i;
	int rc;

	for (i = 0; i < OC_SERVER_CLIENTS; i++)
		s->clients[i].guard = g;
	s->fd = bind_here(err);
	if (s->fd < 0)
		return s->fd;
	rc = oc_loop_add_timer(g->loop, -1, on_output_timer, s, &s->output_timer, err);
	return rc < 0 ? rc : oc_loop_add_fd(g->loop, s->fd, OC_READ, on_connection, g, &s->source, err);
}

void oc_server_close(struct oc_guard *g)
{
	struct oc_server *s = &g->server;
	size_t i;

	(void)unlink(OC_GUARD_SOCKET);
	s->owner = NULL;
	for (i = 0; i < OC_SERVER_CLIENTS; i++)
		if (s->clients[i].conn)
			drop(&s->clients[i]);
	oc_source_free(s->source);
	oc_source_free(s->output_timer);
	s->fd = oc_close(s->fd);
}
