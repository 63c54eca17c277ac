/* SPDX-License-Identifier: Apache-2.0 */
/* The real static guest, driven over a socketpair without any sandbox around it: what it does itself. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_agent.h"
#include "guest_driver.h"
#include "suite.h"

#define CONFINED (OC_GUEST_CONFINED | OC_GUEST_LANDLOCK)

START_TEST(test_exit_exact)
{
	const struct {
		const char *how, *value;
		unsigned want;
	} cases[] = { { "exit", "0", 0 },     { "exit", "1", 1 },     { "exit", "77", 77 },
		      { "exit", "127", 127 }, { "exit", "255", 255 }, { "die", "9", 1009 },
		      { "die", "15", 1015 },  { "die", "11", 1011 },  { "die", "1", 1001 } };
	const uint32_t options[] = { 0, CONFINED };
	struct world w;

	world_init(&w);
	for (size_t o = 0; o < 2; o++)
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
			ck_assert_uint_eq(drive_agent(&w, options[o], AGENT(&w, cases[i].how, cases[i].value)),
			                  cases[i].want);
	world_free(&w);
}
END_TEST

#define LONG 100000

START_TEST(test_handed_exactly)
{
	struct world w;
	struct drive d;
	char *text = malloc(LONG + 1), *got = malloc(LONG * 2), want[5000];
	static const char rest[] = "A=1=2\n\xff\0TOKEN=hunter2\0INHERITED=yes\0fd=0\0fd=1\0fd=2\0";
	const char *p = got;
	ssize_t n;

	world_init(&w);
	memset(text, 'a', LONG);
	text[LONG] = 0;
	drive_start(&d, &w, 0);
	drive_orders(&d, CONFINED, AGENT(&w, "show"));
	drive_text(&d, OC_FRAME_ARG, text);
	drive_text(&d, OC_FRAME_ARG, "\xff\xfe \n'\"$(x)");
	drive_text(&d, OC_FRAME_ARG, "");
	drive_text(&d, OC_FRAME_ENV, "A=1=2\n\xff");
	drive_text(&d, OC_FRAME_SECRET, "TOKEN=hunter2");
	drive_text(&d, OC_FRAME_INHERIT, "INHERITED");
	drive_text(&d, OC_FRAME_INHERIT, "A"); /* set by ENV, which wins */
	drive_text(&d, OC_FRAME_INHERIT, "ABSENT");
	drive_run(&d);
	n = drive_output(&d, got, LONG * 2, 20000);
	ck_assert_str_eq(p, text);
	p += LONG + 1;
	ck_assert_str_eq(p, "\xff\xfe \n'\"$(x)");
	p += strlen(p) + 1;
	ck_assert_str_eq(p, "");
	p++;
	snprintf(want, sizeof(want), "cwd=%s", w.ws);
	ck_assert_str_eq(p, want);
	p += strlen(p) + 1;
	ck_assert_mem_eq(p, rest, sizeof(rest) - 1);
	ck_assert_int_eq(n, p + sizeof(rest) - 1 - got);
	drive_end(&d);
	world_free(&w);
	free(text);
	free(got);
}
END_TEST

START_TEST(test_not_started)
{
	struct world w;
	struct drive d;
	const struct {
		const char *program, *cwd;
		uint32_t err;
		const char *stage;
	} cases[] = {
		{ "/nonexistent", "/", ENOENT, "exec" },
		{ "/etc/passwd", "/", EACCES, "exec" },
		{ "no-such-program", "/", ENOENT, "exec" },
		{ "/bin/true", "/nonexistent", ENOENT, "working directory" },
	};

	world_init(&w);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		drive_start(&d, &w, 0);
		drive_hello(&d);
		drive_options(&d, CONFINED);
		drive_text(&d, OC_FRAME_CWD, cases[i].cwd);
		drive_text(&d, OC_FRAME_ARG, cases[i].program);
		drive_text(&d, OC_FRAME_ENV, "PATH=/bin:/usr/bin");
		drive_send(&d, OC_FRAME_PREPARE, NULL, 0);
		ck_assert_int_eq(drive_until(&d, OC_FRAME_READY, OC_FRAME_FAILED), OC_FRAME_READY);
		drive_go(&d, 3);
		ck_assert_int_eq(drive_until(&d, OC_FRAME_FAILED, OC_FRAME_STARTED), OC_FRAME_FAILED);
		ck_assert_uint_eq(d.failed_errno, cases[i].err);
		ck_assert_str_eq(d.failed, cases[i].stage);
		ck_assert_int_eq(drive_next(&d), 0);
		ck_assert_int_ne(drive_end(&d), 0);
	}
	world_free(&w);
}
END_TEST

static void start_agent(struct drive *d, struct world *w, uint32_t options, const char *const *argv)
{
	char x;

	drive_start(d, w, 0);
	drive_orders(d, options, argv);
	drive_run(d);
	ck_assert_int_eq(read(d->out, &x, 1), 1);
}

static void send_signal(struct drive *d, uint32_t sig)
{
	unsigned char buf[4];

	oc_put_u32(buf, sig);
	drive_send(d, OC_FRAME_SIGNAL, buf, 4);
}

START_TEST(test_signals)
{
	struct world w;
	struct drive d;
	char c;

	world_init(&w);
	start_agent(&d, &w, CONFINED, AGENT(&w, "trap"));
	send_signal(&d, SIGTERM);
	ck_assert_int_eq(drive_until(&d, OC_FRAME_EXIT, 0), OC_FRAME_EXIT);
	ck_assert_uint_eq(d.exit_how, OC_EXIT_STATUS);
	ck_assert_uint_eq(d.exit_value, 9);
	drive_end(&d);

	start_agent(&d, &w, CONFINED, AGENT(&w, "children"));
	send_signal(&d, SIGTERM); /* ignored by all of them */
	ck_assert_int_eq(drive_output(&d, &c, 1, 300), -1);
	send_signal(&d, SIGKILL);
	ck_assert_int_eq(drive_until(&d, OC_FRAME_EXIT, 0), OC_FRAME_EXIT);
	ck_assert_uint_eq(d.exit_how, OC_EXIT_SIGNAL);
	ck_assert_uint_eq(d.exit_value, SIGKILL);
	ck_assert_int_eq(drive_output(&d, &c, 1, 10000), 0);
	drive_end(&d);
	world_free(&w);
}
END_TEST

/* Every holder of the agent's stdout is dead when it ends. */
static void ends_all(struct world *w, uint32_t options)
{
	struct drive d;
	char c;
	int sock;

	start_agent(&d, w, options, AGENT(w, "children"));
	ck_assert_int_eq(drive_output(&d, &c, 1, 300), -1); /* the control: they live */
	sock = d.sock;
	d.sock = -1;
	close(sock);
	ck_assert_int_eq(drive_output(&d, &c, 1, 10000), 0);
	drive_end(&d);

	/* Half of the stream is enough. */
	start_agent(&d, w, options, AGENT(w, "children"));
	shutdown(d.sock, SHUT_WR);
	ck_assert_int_eq(drive_output(&d, &c, 1, 10000), 0);
	drive_end(&d);

	/* The end is the end of the main process. */
	start_agent(&d, w, options, AGENT(w, "children_exit"));
	ck_assert_int_eq(drive_until(&d, OC_FRAME_EXIT, 0), OC_FRAME_EXIT);
	ck_assert_uint_eq(d.exit_value, 5);
	ck_assert_int_eq(drive_output(&d, &c, 1, 10000), 0);
	drive_end(&d);

	start_agent(&d, w, options, AGENT(w, "chain"));
	ck_assert_int_eq(drive_until(&d, OC_FRAME_EXIT, 0), OC_FRAME_EXIT);
	ck_assert_int_eq(drive_output(&d, &c, 1, 15000), 0);
	drive_end(&d);
}

START_TEST(test_leaves_nobody)
{
	struct world w;

	world_init(&w);
	ends_all(&w, 0);
	ends_all(&w, CONFINED);
	world_free(&w);
}
END_TEST

/* Also without a word from the guard: the guest itself killed. */
START_TEST(test_guest_killed)
{
	struct world w;
	struct drive d;
	char c;

	world_init(&w);
	start_agent(&d, &w, CONFINED, AGENT(&w, "trap"));
	kill(d.pid, SIGKILL);
	ck_assert_int_eq(drive_output(&d, &c, 1, 10000), 0);
	ck_assert(WIFSIGNALED(drive_end(&d)));
	world_free(&w);
}
END_TEST

static void raw(struct drive *d, const void *data, size_t len)
{
	ck_assert_int_eq(send(d->sock, data, len, MSG_NOSIGNAL), (ssize_t)len);
}

enum bad {
	GARBAGE,
	OVERSIZED,
	RESERVED,
	NO_HELLO,
	TWO_HELLOS,
	VERSION,
	SHORT_HELLO,
	UNKNOWN_OPTION,
	UNCONFINED_LANDLOCK,
	NO_ARGS,
	NO_CWD,
	RELATIVE_CWD,
	ENV_TWICE,
	ENV_NO_NAME,
	SECRET_TWICE,
	NUL_IN_ARG,
	BAD_PROBE,
	GO_EARLY,
	SIGNAL_EARLY,
	GUEST_FRAME,
	PING_SIZE,
	TOO_MANY,
	TOO_LONG,
	RELATIVE_WRITABLE,
	RELATIVE_LINK,
	HALF_LINK,
	BAD_KINDS
};

static bool misbehave_first(struct drive *d, enum bad kind)
{
	unsigned char hello[4 + OC_NONCE_SIZE + 1] = { 2, 0, 0, 0 };

	if (kind == NO_HELLO)
		drive_text(d, OC_FRAME_ARG, "/bin/true");
	else if (kind == VERSION)
		drive_send(d, OC_FRAME_HELLO, memset(hello + 4, 'x', sizeof(hello) - 4) - 4, sizeof(hello));
	else if (kind == SHORT_HELLO)
		drive_send(d, OC_FRAME_HELLO, "\1\0\0\0abc", 7);
	else if (kind == GARBAGE)
		raw(d, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27);
	return kind == NO_HELLO || kind == VERSION || kind == SHORT_HELLO || kind == GARBAGE;
}

static void misbehave(struct drive *d, enum bad kind)
{
	static const unsigned char oversized[] = { 1, 0, 16, 0, OC_FRAME_ARG, 0, 0, 0 };
	static const unsigned char reserved[] = { 0, 0, 0, 0, OC_FRAME_ARG, 0, 1, 0 };
	static char chunk[OC_FRAME_MAX];

	if (misbehave_first(d, kind))
		return;
	drive_hello(d);
	drive_options(d, kind == UNKNOWN_OPTION        ? 0x40000001u
	                 : kind == UNCONFINED_LANDLOCK ? OC_GUEST_LANDLOCK
	                                               : CONFINED);
	if (kind != NO_CWD)
		drive_text(d, OC_FRAME_CWD, kind == RELATIVE_CWD ? "ws" : "/");
	if (kind != NO_ARGS)
		drive_text(d, OC_FRAME_ARG, "/bin/true");
	drive_text(d, OC_FRAME_ENV, kind == ENV_NO_NAME ? "=x" : "A=1");
	switch (kind) {
	case OVERSIZED:
		raw(d, oversized, sizeof(oversized));
		break;
	case RESERVED:
		raw(d, reserved, sizeof(reserved));
		break;
	case TWO_HELLOS:
		drive_hello(d);
		break;
	case ENV_TWICE:
		drive_text(d, OC_FRAME_ENV, "A=2");
		break;
	case SECRET_TWICE:
		drive_text(d, OC_FRAME_SECRET, "A=2");
		break;
	case NUL_IN_ARG:
		drive_send(d, OC_FRAME_ARG, "a\0b", 3);
		break;
	case BAD_PROBE:
		drive_send(d, OC_FRAME_PROBE, "\5id", 3);
		break;
	case GO_EARLY:
		drive_go(d, 3);
		break;
	case SIGNAL_EARLY:
		send_signal(d, SIGTERM);
		break;
	case GUEST_FRAME:
		drive_send(d, OC_FRAME_EXIT, "\1\0\0\0\0", 5);
		break;
	case PING_SIZE:
		drive_send(d, OC_FRAME_PING, "1234567", 7);
		break;
	case TOO_MANY:
		for (unsigned i = 0; i <= OC_GUEST_STRINGS; i++)
			drive_text(d, OC_FRAME_ARG, "x");
		break;
	case TOO_LONG:
		for (int i = 0; i < 9; i++)
			drive_text(d, OC_FRAME_ARG, memset(chunk, 'x', sizeof(chunk) - 1));
		break;
	case RELATIVE_WRITABLE:
		drive_text(d, OC_FRAME_WRITABLE, "ws");
		break;
	case RELATIVE_LINK:
		drive_send(d, OC_FRAME_LINK, "l\0target", 8);
		break;
	case HALF_LINK:
		drive_send(d, OC_FRAME_LINK, "/l\0", 3);
		break;
	default:
		break;
	}
	drive_send(d, OC_FRAME_PREPARE, NULL, 0);
}

START_TEST(test_bad_orders)
{
	struct world w;
	struct drive d;
	int type, status;

	world_init(&w);
	for (int kind = 0; kind < BAD_KINDS; kind++) {
		drive_start(&d, &w, 0);
		misbehave(&d, (enum bad)kind);
		do
			type = drive_next(&d);
		while (type && type != OC_FRAME_FAILED && type != OC_FRAME_READY);
		ck_assert_msg(type == OC_FRAME_FAILED, "case %d: type %d", kind, type);
		ck_assert_msg(d.failed_errno && d.failed[0], "case %d has no reason", kind);
		status = drive_end(&d);
		ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 1, "case %d: status %x", kind, status);
	}
	world_free(&w);
}
END_TEST

/* Go with what is not its three descriptors, or after a failed probe. */
START_TEST(test_bad_go)
{
	struct world w;
	struct drive d;

	world_init(&w);
	for (unsigned n = 0; n < 4; n++) {
		drive_start(&d, &w, 0);
		drive_orders(&d, CONFINED, AGENT(&w, "exit", "0"));
		if (n == 3)
			drive_probe(&d, OC_PROBE_UNREADABLE, "P6", (const char *[]){ "/etc/passwd", NULL });
		drive_send(&d, OC_FRAME_PREPARE, NULL, 0);
		ck_assert_int_eq(drive_until(&d, OC_FRAME_READY, OC_FRAME_FAILED), OC_FRAME_READY);
		ck_assert_uint_eq(d.failures, n == 3);
		drive_go(&d, n);
		ck_assert_int_eq(drive_until(&d, OC_FRAME_FAILED, OC_FRAME_STARTED), OC_FRAME_FAILED);
		ck_assert_int_ne(drive_end(&d), 0);
	}
	world_free(&w);
}
END_TEST

/* A forged stream while the agent runs ends it, and the exit that is told is the true one. */
START_TEST(test_garbage_later)
{
	struct world w;
	struct drive d;

	world_init(&w);
	start_agent(&d, &w, CONFINED, AGENT(&w, "trap"));
	raw(&d, "nonsense nonsense", 17);
	ck_assert_int_eq(drive_until(&d, OC_FRAME_EXIT, 0), OC_FRAME_EXIT);
	ck_assert_uint_eq(d.exit_how, OC_EXIT_SIGNAL);
	ck_assert_uint_eq(d.exit_value, SIGKILL);
	drive_end(&d);
	world_free(&w);
}
END_TEST

/* A guard that asks and never reads: the guest neither grows nor hangs on to its end. */
START_TEST(test_full_channel)
{
	struct world w;
	struct drive d;
	unsigned char ping[16];
	long sent = 0;
	char c;

	world_init(&w);
	start_agent(&d, &w, CONFINED, AGENT(&w, "trap"));
	oc_frame_header(ping, OC_FRAME_PING, 8);
	memset(ping + 8, 7, 8);
	for (int idle = 0; idle < 20;) {
		if (send(d.sock, ping, sizeof(ping), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(ping)) {
			sent++;
			idle = 0;
			continue;
		}
		idle++;
		poll(NULL, 0, 20);
	}
	ck_assert_int_gt(sent, 1000); /* it was taken until the queues were full, and no further */
	ck_assert_int_lt(sent, 1000000);
	close(d.sock);
	d.sock = -1;
	ck_assert_int_eq(drive_output(&d, &c, 1, 10000), 0);
	drive_end(&d);
	world_free(&w);
}
END_TEST

START_TEST(test_ping)
{
	struct world w;
	struct drive d;

	world_init(&w);
	drive_start(&d, &w, 0);
	drive_send(&d, OC_FRAME_PING, "12345678", 8);
	ck_assert_int_eq(drive_next(&d), OC_FRAME_PONG);
	drive_end(&d);
	start_agent(&d, &w, CONFINED, AGENT(&w, "trap"));
	drive_send(&d, OC_FRAME_PING, "12345678", 8);
	ck_assert_int_eq(drive_next(&d), OC_FRAME_PONG);
	drive_end(&d);
	world_free(&w);
}
END_TEST

/* Whether w->beside is writable to an agent that was granted `path` too. */
static bool beside_writable(struct world *w, const char *path)
{
	struct drive d;

	drive_start(&d, w, 0);
	drive_orders(&d, CONFINED, AGENT(w, "exit", "0"));
	drive_text(&d, OC_FRAME_WRITABLE, path);
	drive_probe(&d, OC_PROBE_WRITABLE, "P8", (const char *[]){ w->beside, NULL });
	drive_send(&d, OC_FRAME_PREPARE, NULL, 0);
	ck_assert_msg(drive_until(&d, OC_FRAME_READY, OC_FRAME_FAILED) == OC_FRAME_READY, "%s", d.failed);
	ck_assert_uint_eq(d.results, 1);
	drive_end(&d);
	return d.last_ok;
}

/* A grant that vanished or became a link grants nothing, and leaves it to the probes to say which. */
START_TEST(test_grant_gone)
{
	char link[PATH_MAX];
	struct world w;

	world_init(&w);
	if (!geteuid())
		ck_assert_int_eq(chown(w.beside, w.uid, w.uid), 0);
	snprintf(link, sizeof(link), "%s/link", w.dir);
	ck_assert_int_eq(symlink(w.beside, link), 0);
	ck_assert(beside_writable(&w, w.beside));
	ck_assert(!beside_writable(&w, link));
	ck_assert(!beside_writable(&w, "/nonexistent"));
	ck_assert(!beside_writable(&w, "/etc/passwd/beneath"));
	world_free(&w);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = { test_exit_exact,    test_handed_exactly, test_not_started, test_signals,
		                       test_leaves_nobody, test_guest_killed,   test_bad_orders,  test_bad_go,
		                       test_garbage_later, test_full_channel,   test_ping,        test_grant_gone };

	if (argc > 1 && !strcmp(argv[1], "agent"))
		return guest_agent(argc, argv);
	return suite_run("guest", tests, sizeof(tests) / sizeof(tests[0]));
}
