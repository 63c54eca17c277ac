/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "base/fd.h"
#include "base/time.h"
#include "suite.h"
#include "wire/conn.h"

/* One end is a connection, the other is spoken by hand (raw) or a connection too (peer). */
struct end {
	struct oc_conn *conn;
	int requests, notes, closed, replies;
	json_int_t id;
	int closed_code, reply_code;
	json_t *result;
	char method[64];
	bool free_on_request, free_on_closed, free_on_reply, answer;
};

static struct oc_loop *loop;
static int fds_before;

static void on_request(struct oc_conn *conn, json_int_t id, const char *method, const json_t *params, void *userdata)
{
	struct end *e = userdata;

	e->requests++;
	e->id = id;
	snprintf(e->method, sizeof(e->method), "%s", method);
	if (e->free_on_request) {
		oc_conn_free(conn);
		e->conn = NULL;
	} else if (e->answer) {
		oc_conn_reply(conn, id, json_incref((json_t *)params));
	}
}

static void on_notify(struct oc_conn *conn, const char *method, const json_t *params, void *userdata)
{
	struct end *e = userdata;

	(void)conn;
	(void)params;
	e->notes++;
	snprintf(e->method, sizeof(e->method), "%s", method);
}

static void on_closed(struct oc_conn *conn, const oc_error *err, void *userdata)
{
	struct end *e = userdata;

	e->closed++;
	e->closed_code = oc_error_code(err);
	if (e->free_on_closed) {
		oc_conn_free(conn);
		e->conn = NULL;
	}
}

static void on_reply(const json_t *result, const oc_error *err, void *userdata)
{
	struct end *e = userdata;

	ck_assert(!(result && err));
	e->replies++;
	e->reply_code = oc_error_code(err);
	json_decref(e->result);
	e->result = json_incref((json_t *)result);
	if (e->free_on_reply) {
		oc_conn_free(e->conn);
		e->conn = NULL;
	}
}

static const struct oc_conn_ops ops = { on_request, on_notify, on_closed };
static const struct oc_conn_limits small = { 200, 1000, 4 };

static void open_end(struct end *e, int fd)
{
	*e = (struct end){ 0 };
	ck_assert_int_eq(oc_conn_new(loop, fd, &small, &ops, e, &e->conn, NULL), 0);
}

static void begin(struct end *e, int *raw)
{
	int pair[2];

	fds_before = suite_count_fds();
	ck_assert_int_eq(oc_loop_new(&loop, NULL), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	open_end(e, pair[0]);
	*raw = pair[1];
}

static void finish(struct end *e, int raw)
{
	oc_conn_free(e->conn);
	json_decref(e->result);
	oc_close(raw);
	oc_loop_free(loop);
	ck_assert_int_eq(suite_count_fds(), fds_before);
}

static void turn(int times)
{
	for (int i = 0; i < times; i++)
		ck_assert_int_ge(oc_loop_wait(loop, 10, NULL), 0);
}

static void say(int raw, const char *text)
{
	ck_assert_int_eq(oc_send(raw, text, strlen(text)), (ssize_t)strlen(text));
	turn(3);
}

static void hears(int raw, const char *want)
{
	char text[4096] = "";
	ssize_t n = recv(raw, text, sizeof(text) - 1, MSG_DONTWAIT);

	ck_assert_msg(n >= 0 || *want == '\0', "nothing came, not %s", want);
	text[OC_MAX(n, (ssize_t)0)] = '\0';
	ck_assert_str_eq(text, want);
}

START_TEST(test_request_and_answer)
{
	oc_error *err = NULL;
	struct end e;
	int raw;

	begin(&e, &raw);
	say(raw, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"m\",\"params\":{\"a\":1}}\n");
	ck_assert_int_eq(e.requests, 1);
	ck_assert_int_eq(e.id, 5);
	ck_assert_str_eq(e.method, "m");
	hears(raw, "");
	ck_assert_int_eq(oc_conn_reply(e.conn, 5, json_pack("{s:b}", "ok", 1)), 0);
	hears(raw, "{\"id\":5,\"jsonrpc\":\"2.0\",\"result\":{\"ok\":true}}\n");
	/* Exactly once. */
	ck_assert_int_eq(oc_conn_reply(e.conn, 5, NULL), OC_EINVAL);
	ck_assert_int_eq(oc_conn_reply(e.conn, 6, json_object()), OC_EINVAL);
	hears(raw, "");
	say(raw, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"m\"}\n");
	oc_refuse(&err, "sandbox_denied", "x", NULL, "no");
	ck_assert_int_eq(oc_conn_reply_error(e.conn, 5, err), 0);
	hears(raw,
	      "{\"error\":{\"code\":-32000,\"data\":{\"code\":-6,\"errno\":0,\"fix\":\"man 5 "
	      "open-conduit-policy\",\"message\":\"no\",\"more\":["
	      "],"
	      "\"reason\":\"sandbox_denied\",\"subject\":\"x\"},\"message\":\"no\"},\"id\":5,\"jsonrpc\":\"2.0\"}\n");
	oc_error_free(err);
	say(raw, "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n");
	ck_assert_int_eq(e.notes, 1);
	ck_assert_int_eq(e.closed, 0);
	ck_assert_int_eq(oc_conn_peer_pid(e.conn), getpid());
	finish(&e, raw);
}
END_TEST

START_TEST(test_in_pieces_and_together)
{
	const char *text = "{\"jsonrpc\":\"2.0\",\"method\":\"one\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"two\"}\n";
	struct end e;
	int raw;

	begin(&e, &raw);
	for (const char *p = text; *p; p++) {
		ck_assert_int_eq(oc_send(raw, p, 1), 1);
		turn(1);
	}
	ck_assert_int_eq(e.notes, 2);
	say(raw, text);
	ck_assert_int_eq(e.notes, 4);
	ck_assert_str_eq(e.method, "two");
	finish(&e, raw);
}
END_TEST

START_TEST(test_call)
{
	struct end e;
	int raw;

	begin(&e, &raw);
	ck_assert_int_eq(oc_conn_call(e.conn, "m", json_pack("[i]", 1), 5000, on_reply, &e, NULL), 0);
	ck_assert_int_eq(oc_conn_call(e.conn, "n", NULL, -1, on_reply, &e, NULL), 0);
	hears(raw, "{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[1]}\n{\"id\":2,\"jsonrpc\":\"2.0\","
	           "\"method\":\"n\"}\n");
	say(raw, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":[7]}\n");
	ck_assert_int_eq(e.replies, 1);
	ck_assert_int_eq(json_integer_value(json_array_get(e.result, 0)), 7);
	say(raw, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"x\"}}\n");
	ck_assert_int_eq(e.replies, 2);
	ck_assert_int_eq(e.reply_code, OC_EFAILED);
	ck_assert_ptr_null(e.result);
	ck_assert_int_eq(oc_conn_call(e.conn, "n", NULL, -1, on_reply, &e, NULL), 0);
	say(raw, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":null}\n");
	ck_assert_int_eq(e.replies, 3);
	ck_assert_int_eq(e.reply_code, 0);
	/* Answered twice. */
	say(raw, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":null}\n");
	ck_assert_int_eq(e.closed, 1);
	ck_assert_int_eq(e.closed_code, OC_EPROTO);
	finish(&e, raw);
}
END_TEST

START_TEST(test_timeout)
{
	struct end e;
	int raw;
	int64_t start = oc_mono_ms();

	begin(&e, &raw);
	ck_assert_int_eq(oc_conn_call(e.conn, "slow", NULL, 40, on_reply, &e, NULL), 0);
	while (!e.replies && oc_mono_ms() - start < 10000)
		turn(1);
	ck_assert_int_eq(e.reply_code, OC_ETIME);
	ck_assert_int_ge(oc_mono_ms() - start, 40);
	/* The answer comes yet: thrown away, and only once. */
	say(raw, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}\n");
	ck_assert_int_eq(e.replies, 1);
	ck_assert_int_eq(e.closed, 0);
	say(raw, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}\n");
	ck_assert_int_eq(e.closed_code, OC_EPROTO);
	finish(&e, raw);
}
END_TEST

static void breaks(const char *text)
{
	struct end e;
	int raw;

	begin(&e, &raw);
	ck_assert_int_eq(oc_conn_call(e.conn, "m", NULL, -1, on_reply, &e, NULL), 0);
	say(raw, text);
	ck_assert_msg(e.closed == 1 && e.closed_code == OC_EPROTO, "%.60s: %d, %d", text, e.closed, e.closed_code);
	ck_assert_int_eq(e.replies, 1);
	ck_assert_int_eq(e.reply_code, OC_EPROTO);
	ck_assert_int_eq(oc_conn_call(e.conn, "m", json_object(), -1, on_reply, &e, NULL), OC_ECLOSED);
	ck_assert_int_eq(oc_conn_notify(e.conn, "m", NULL, NULL), OC_ECLOSED);
	/* The other side sees the end. */
	struct pollfd pfd = { .fd = raw, .events = POLLRDHUP };
	ck_assert_int_eq(poll(&pfd, 1, 1000), 1);
	finish(&e, raw);
}

START_TEST(test_broken_protocol)
{
	char big[300];

	breaks("\n");
	breaks("hello\n");
	breaks("[]\n");
	breaks("{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":1}\n");
	breaks("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":1}\n");
	breaks("{\"jsonrpc\":\"2.0\",\"id\":1.0,\"result\":1}\n");
	breaks("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1,\"result\":1}\n");
	breaks("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n");
	breaks("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"a\"}\n"
	       "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"a\"}\n"
	       "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"a\"}\n");
	memset(big, ' ', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	breaks(big);
	big[sizeof(big) - 2] = '\n';
	breaks(big);
}
END_TEST

START_TEST(test_longest_line_is_allowed)
{
	char line[202];
	struct end e;
	int raw;

	begin(&e, &raw);
	memset(line, ' ', 200);
	memcpy(line, "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", 30);
	line[200] = '\n';
	line[201] = '\0';
	say(raw, line);
	ck_assert_int_eq(e.notes, 1);
	ck_assert_int_eq(e.closed, 0);
	finish(&e, raw);
}
END_TEST

START_TEST(test_closed_by_the_other_side)
{
	const char *last = "{\"jsonrpc\":\"2.0\",\"method\":\"last words\"}\n";
	struct end e;
	int raw;

	begin(&e, &raw);
	ck_assert_int_eq(oc_conn_call(e.conn, "m", NULL, -1, on_reply, &e, NULL), 0);
	ck_assert_int_eq(oc_send(raw, last, strlen(last)), (ssize_t)strlen(last));
	raw = oc_close(raw);
	turn(3);
	ck_assert_int_eq(e.notes, 1);
	ck_assert_str_eq(e.method, "last words");
	ck_assert_int_eq(e.replies, 1);
	ck_assert_int_eq(e.reply_code, OC_ECLOSED);
	ck_assert_int_eq(e.closed, 1);
	ck_assert_int_eq(e.closed_code, OC_OK);
	finish(&e, raw);
	begin(&e, &raw);
	ck_assert_int_eq(oc_send(raw, "{\"json", 6), 6);
	raw = oc_close(raw);
	turn(3);
	ck_assert_int_eq(e.closed_code, OC_EPROTO);
	finish(&e, raw);
}
END_TEST

START_TEST(test_writing_to_nobody_is_no_sigpipe)
{
	struct end e;
	int raw;

	/* SIGPIPE is at its default. */
	begin(&e, &raw);
	ck_assert_int_eq(oc_send(raw, "{\"jsonrpc\":\"2.0\",\"method\":\"last\"}\n", 34), 34);
	raw = oc_close(raw);
	ck_assert_int_eq(oc_conn_notify(e.conn, "x", NULL, NULL), 0);
	ck_assert_int_eq(oc_conn_notify(e.conn, "x", NULL, NULL), OC_ECLOSED);
	ck_assert_int_eq(e.closed, 0);
	turn(3);
	/* What was said before is heard before the end. */
	ck_assert_int_eq(e.notes, 1);
	ck_assert_int_eq(e.closed, 1);
	finish(&e, raw);
}
END_TEST

START_TEST(test_bounds_of_what_we_send)
{
	char text[201];
	struct end e;
	int raw, n = 0, size = 1;
	oc_error *err = NULL;

	begin(&e, &raw);
	memset(text, 'x', 200);
	text[200] = '\0';
	ck_assert_int_eq(oc_conn_notify(e.conn, "m", json_pack("[s]", text), NULL), OC_ELIMIT);
	hears(raw, "");
	say(raw, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n");
	ck_assert_int_eq(oc_conn_reply(e.conn, 1, json_string(text)), OC_ELIMIT);
	ck_assert_int_eq(oc_conn_reply(e.conn, 1, json_real(1.5)), OC_EINVAL);
	ck_assert_int_eq(oc_conn_reply(e.conn, 1, json_true()), 0);
	hears(raw, "{\"id\":1,\"jsonrpc\":\"2.0\",\"result\":true}\n");
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(oc_conn_call(e.conn, "m", NULL, -1, on_reply, &e, NULL), 0);
	ck_assert_int_eq(oc_conn_call(e.conn, "m", json_object(), -1, on_reply, &e, NULL), OC_ELIMIT);
	/* A reader that does not read: bounded, and the connection goes on. */
	ck_assert_int_eq(setsockopt(raw, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	text[100] = '\0';
	while (oc_conn_notify(e.conn, "m", json_pack("[s]", text), &err) == 0)
		ck_assert_int_lt(n++, 100000);
	ck_assert_int_eq(oc_error_errno(err), ENOBUFS);
	oc_error_free(err);
	ck_assert_uint_le(oc_conn_pending(e.conn), 1000);
	ck_assert_uint_gt(oc_conn_pending(e.conn), 500);
	turn(2);
	ck_assert_int_eq(e.closed, 0);
	/* What waited arrives once it is read. */
	for (int i = 0; i < 10000 && oc_conn_pending(e.conn); i++) {
		char sink[65536];

		ck_assert_int_gt(recv(raw, sink, sizeof(sink), MSG_DONTWAIT), 0);
		turn(1);
	}
	ck_assert_uint_eq(oc_conn_pending(e.conn), 0);
	finish(&e, raw);
}
END_TEST

START_TEST(test_answers_that_nobody_reads_end_it)
{
	char text[101];
	struct end e;
	int raw;

	begin(&e, &raw);
	memset(text, 'x', 100);
	text[100] = '\0';
	say(raw, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n");
	while (oc_conn_notify(e.conn, "m", json_pack("[s]", text), NULL) == 0)
		;
	ck_assert_int_eq(oc_conn_reply(e.conn, 1, json_string(text)), OC_ELIMIT);
	ck_assert_int_eq(e.closed, 0);
	turn(3);
	ck_assert_int_eq(e.closed, 1);
	ck_assert_int_eq(e.closed_code, OC_EPROTO);
	finish(&e, raw);
}
END_TEST

START_TEST(test_free_in_callbacks)
{
	const char *two =
	        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"a\"}\n";
	struct end e;
	int raw;

	begin(&e, &raw);
	e.free_on_request = true;
	say(raw, two);
	ck_assert_int_eq(e.requests, 1);
	ck_assert_int_eq(e.closed, 0);
	finish(&e, raw);

	begin(&e, &raw);
	e.free_on_closed = true;
	raw = oc_close(raw);
	turn(2);
	ck_assert_int_eq(e.closed, 1);
	ck_assert_ptr_null(e.conn);
	finish(&e, raw);

	/* By the answer; by the first of two failures, after which neither the second nor closed comes. */
	begin(&e, &raw);
	e.free_on_reply = true;
	ck_assert_int_eq(oc_conn_call(e.conn, "m", NULL, -1, on_reply, &e, NULL), 0);
	say(raw, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n");
	ck_assert_int_eq(e.replies, 1);
	ck_assert_int_eq(e.notes, 0);
	finish(&e, raw);
	begin(&e, &raw);
	e.free_on_reply = true;
	ck_assert_int_eq(oc_conn_call(e.conn, "m", NULL, -1, on_reply, &e, NULL), 0);
	ck_assert_int_eq(oc_conn_call(e.conn, "m", NULL, -1, on_reply, &e, NULL), 0);
	raw = oc_close(raw);
	turn(2);
	ck_assert_int_eq(e.replies, 1);
	ck_assert_int_eq(e.closed, 0);
	finish(&e, raw);

	/* By the timeout. */
	begin(&e, &raw);
	e.free_on_reply = true;
	ck_assert_int_eq(oc_conn_call(e.conn, "m", NULL, 0, on_reply, &e, NULL), 0);
	ck_assert_int_eq(oc_conn_call(e.conn, "m", NULL, 0, on_reply, &e, NULL), 0);
	turn(5);
	ck_assert_int_eq(e.replies, 1);
	finish(&e, raw);
}
END_TEST

START_TEST(test_no_request_handler)
{
	const struct oc_conn_ops none = { 0 };
	struct end e;
	char text[600] = "";
	int raw;

	begin(&e, &raw);
	oc_conn_free(e.conn);
	oc_close(raw);
	int pair[2];
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(oc_conn_new(loop, pair[0], NULL, &none, NULL, &e.conn, NULL), 0);
	raw = pair[1];
	say(raw, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n");
	ck_assert_int_gt(recv(raw, text, sizeof(text) - 1, MSG_DONTWAIT), 0);
	ck_assert_ptr_nonnull(strstr(text, "\"code\":-32601"));
	raw = oc_close(raw);
	turn(2);
	finish(&e, raw);
}
END_TEST

START_TEST(test_two_connections)
{
	struct end a, b;
	int raw;

	begin(&a, &raw);
	open_end(&b, raw);
	b.answer = true;
	for (int i = 0; i < 1000; i++) {
		int want = a.replies + 1;

		ck_assert_int_eq(oc_conn_call(a.conn, "echo", json_pack("[i]", i), 10000, on_reply, &a, NULL), 0);
		while (a.replies < want)
			turn(1);
		ck_assert_int_eq(json_integer_value(json_array_get(a.result, 0)), i);
	}
	oc_conn_free(b.conn);
	finish(&a, -1);
}
END_TEST

static void ignore_reply(const json_t *result, const oc_error *err, void *userdata)
{
	(void)result;
	*(int *)userdata = oc_error_code(err);
}

static void note_closed(struct oc_conn *conn, const oc_error *err, void *userdata)
{
	(void)conn;
	(void)err;
	*(int *)userdata = 2;
}

/* A call and its answer, a request and its answer; any of it may fail, cleanly. */
static int converse(void *userdata)
{
	static const char said[] =
	        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"m\"}\n";
	const struct oc_conn_ops quiet = { .closed = note_closed };
	int *pair = userdata, got = 1, closed = 0, rc;
	struct oc_conn *conn = NULL;
	struct oc_loop *own = NULL;
	oc_error *err = NULL;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return 1;
	rc = oc_loop_new(&own, &err);
	if (rc == 0)
		rc = oc_conn_new(own, pair[0], NULL, &quiet, &closed, &conn, &err);
	if (rc < 0)
		oc_close(pair[0]);
	else
		rc = oc_conn_call(conn, "m", NULL, 10000, ignore_reply, &got, &err);
	if (rc == 0)
		rc = oc_send(pair[1], said, sizeof(said) - 1) < 0 ? 1 : 0;
	for (int i = 0; i < 3 && rc == 0; i++)
		rc = oc_loop_wait(own, 0, NULL) < 0 ? OC_EFAILED : 0;
	if (rc == 0 && (got != 0 || closed))
		rc = OC_ENOMEM;
	oc_error_free(err);
	oc_conn_free(conn);
	oc_loop_free(own);
	oc_close(pair[1]);
	return rc;
}

START_TEST(test_no_memory)
{
	int pair[2], before = suite_count_fds();

	/* The answer to the last request may be what is lost, which shows only as silence. */
	ck_assert_int_gt(alloc_fail_each(converse, pair, 1), 40);
	ck_assert_int_eq(suite_count_fds(), before);
}
END_TEST

SUITE_MAIN("conn", test_request_and_answer, test_in_pieces_and_together, test_call, test_timeout, test_broken_protocol,
           test_longest_line_is_allowed, test_closed_by_the_other_side, test_writing_to_nobody_is_no_sigpipe,
           test_bounds_of_what_we_send, test_answers_that_nobody_reads_end_it, test_free_in_callbacks,
           test_no_request_handler, test_two_connections, test_no_memory)
