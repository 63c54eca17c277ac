/* SPDX-License-Identifier: Apache-2.0 */
/* The line protocol against a peer that says anything: the connection ends once, every call ends once,
 * and what we answer is a message ourselves.  The first byte says how our side behaves and how much it asks. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "fuzz.h"
#include "wire/conn.h"
#include "wire/message.h"

#define CALLS 3
#define TURNS 64

enum {
	FREE_IN_REQUEST = 1,
	FREE_IN_REPLY = 2,
	FREE_IN_CLOSED = 4,
	LATE_ANSWERS = 8,
	NO_HANDLER = 16,
	FEWER_CALLS = 32
};

struct side {
	struct oc_conn *conn;
	unsigned mode;
	int replies, closed, made;
	json_int_t late[4];
	int n_late;
};

static void drop(struct side *s)
{
	oc_conn_free(s->conn);
	s->conn = NULL;
}

static void on_request(struct oc_conn *conn, json_int_t id, const char *method, const json_t *params, void *userdata)
{
	struct side *s = userdata;

	FUZZ_CHECK(!s->closed && method && *method);
	if (s->mode & FREE_IN_REQUEST) {
		drop(s);
	} else if ((s->mode & LATE_ANSWERS) && s->n_late < 4) {
		s->late[s->n_late++] = id;
	} else {
		oc_conn_reply(conn, id, json_incref((json_t *)params));
		FUZZ_CHECK(oc_conn_reply(conn, id, NULL) < 0);
	}
}

static void on_notify(struct oc_conn *conn, const char *method, const json_t *params, void *userdata)
{
	struct side *s = userdata;
	oc_error *err = NULL;

	(void)params;
	FUZZ_CHECK(!s->closed && method);
	oc_fail(&err, OC_EFAILED, 0, "%s", method);
	while (s->n_late)
		oc_conn_reply_error(conn, s->late[--s->n_late], err);
	oc_error_free(err);
}

static void on_closed(struct oc_conn *conn, const oc_error *err, void *userdata)
{
	struct side *s = userdata;

	(void)conn;
	FUZZ_CHECK(!s->closed++ && s->replies == s->made);
	FUZZ_CHECK(!err || oc_error_code(err) == OC_EPROTO);
	if (s->mode & FREE_IN_CLOSED)
		drop(s);
}

static void on_reply(const json_t *result, const oc_error *err, void *userdata)
{
	struct side *s = userdata;

	FUZZ_CHECK(!s->closed && !(result && err) && ++s->replies <= s->made);
	if (s->mode & FREE_IN_REPLY)
		drop(s);
}

/* Everything that came back is a line, and each line a message. */
static void check_answers(int fd)
{
	static char text[1 << 20];
	size_t len = 0;
	ssize_t n;

	while (len < sizeof(text) && (n = recv(fd, text + len, sizeof(text) - len, MSG_DONTWAIT)) > 0)
		len += (size_t)n;
	for (char *p = text, *end; len; len -= (size_t)(end - p) + 1, p = end + 1) {
		struct oc_message m;
		json_t *json = NULL;

		end = memchr(p, '\n', len);
		if (!end)
			break;
		FUZZ_CHECK(oc_json_parse(p, (size_t)(end - p), OC_JSON_MAX, "answer", &json, NULL) == 0);
		FUZZ_CHECK(oc_message_parse(json, &m, NULL) == 0);
		json_decref(json);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct oc_conn_limits limits = { 1024, 8192, 4 };
	struct oc_conn_ops ops = { on_request, on_notify, on_closed };
	struct side s = { .mode = size ? data[0] : 0 };
	/* One for all inputs: no connection may leave anything behind in it. */
	static struct oc_loop *loop;
	int pair[2], calls = CALLS - (int)(s.mode / FEWER_CALLS % (CALLS + 1));

	if (size < 1 || size > 65536)
		return 0;
	if (s.mode & NO_HANDLER)
		ops.request = NULL;
	FUZZ_CHECK(loop || oc_loop_new(&loop, NULL) == 0);
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	FUZZ_CHECK(oc_conn_new(loop, pair[0], &limits, &ops, &s, &s.conn, NULL) == 0);
	for (; s.made < calls; s.made++)
		FUZZ_CHECK(oc_conn_call(s.conn, "call", NULL, -1, on_reply, &s, NULL) == 0);
	FUZZ_CHECK(oc_send(pair[1], data + 1, size - 1) == (ssize_t)(size - 1));
	shutdown(pair[1], SHUT_WR);
	for (int i = 0; i < TURNS && s.conn && !s.closed; i++)
		FUZZ_CHECK(oc_loop_dispatch(loop, NULL) >= 0);
	/* Ended by itself, or by a callback of ours. */
	FUZZ_CHECK(s.closed || !s.conn);
	check_answers(pair[1]);
	oc_conn_free(s.conn);
	oc_close(pair[1]);
	FUZZ_CHECK(oc_loop_dispatch(loop, NULL) == 0);
	return 0;
}
