/* SPDX-License-Identifier: Apache-2.0 */
/* The real static guest with a terminal for its agent: what is typed, shown, resized, interrupted and left. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest_agent.h"
#include "guest_driver.h"
#include "suite.h"

#define CONFINED (OC_GUEST_CONFINED | OC_GUEST_LANDLOCK)
#define SHOWN    400000

static const uint32_t OPTIONS[] = { 0, CONFINED };
#define EACH_OPTION(o) for (size_t o = 0; o < sizeof(OPTIONS) / sizeof(OPTIONS[0]); o++)

static void size(struct drive *d, unsigned rows, unsigned cols)
{
	unsigned char buf[4];

	oc_put_u16(buf, (uint16_t)rows);
	oc_put_u16(buf + 2, (uint16_t)cols);
	drive_send(d, OC_FRAME_RESIZE, buf, 4);
}

static void begin(struct drive *d, struct world *w, uint32_t options, const char *script)
{
	drive_start(d, w, 0);
	drive_orders(d, options | OC_GUEST_TERMINAL, (const char *[]){ "/bin/sh", "-c", script, NULL });
	drive_text(d, OC_FRAME_ENV, "PATH=/usr/bin:/bin");
	size(d, 24, 80);
	d->typing = true;
	drive_run(d);
}

static void type(struct drive *d, const char *text)
{
	ck_assert_int_eq(write(d->typed, text, strlen(text)), (ssize_t)strlen(text));
}

static void end_input(struct drive *d)
{
	close(d->typed);
	d->typed = -1;
}

/* Read until the text has been shown. */
static void wait_for(struct drive *d, const char *text)
{
	static char got[SHOWN];
	size_t len = 0;

	while (!len || !memmem(got, len, text, strlen(text))) {
		struct pollfd p = { d->out, POLLIN, 0 };
		ssize_t n;

		ck_assert_msg(poll(&p, 1, 20000) == 1, "never shown: %s; but: %.*s", text, (int)len, got);
		n = read(d->out, got + len, sizeof(got) - len);
		ck_assert_msg(n > 0, "the end came before: %s; after: %.*s", text, (int)len, got);
		len += (size_t)n;
	}
}

/* What is shown from now to the end is this, and the agent's status that. */
static void ends_with(struct drive *d, const char *shown, uint8_t how, uint32_t value)
{
	char *got = calloc(1, SHOWN);

	ck_assert_int_ge(drive_output(d, got, SHOWN - 1, 20000), 0);
	if (shown)
		ck_assert_str_eq(got, shown);
	ck_assert_int_eq(drive_until(d, OC_FRAME_EXIT, 0), OC_FRAME_EXIT);
	ck_assert_uint_eq(d->exit_how, how);
	ck_assert_uint_eq(d->exit_value, value);
	drive_end(d);
	free(got);
}

START_TEST(test_is_a_terminal)
{
	struct world w;
	struct drive d;

	world_init(&w);
	EACH_OPTION(o)
	{
		begin(&d, &w, OPTIONS[o],
		      "test -t 0 && test -t 1 && test -t 2 && stty size && echo own >/dev/tty; exit 4");
		ends_with(&d, "24 80\r\nown\r\n", OC_EXIT_STATUS, 4);
	}
	/* The control: without the option they are pipes. */
	drive_start(&d, &w, 0);
	drive_orders(&d, 0,
	             (const char *[]){ "/bin/sh", "-c", "test -t 1 || (: >/dev/tty) 2>/dev/null || exit 4", NULL });
	drive_run(&d);
	ends_with(&d, "", OC_EXIT_STATUS, 4);
	world_free(&w);
}
END_TEST

START_TEST(test_typed)
{
	struct world w;
	struct drive d;

	world_init(&w);
	EACH_OPTION(o)
	{
		begin(&d, &w, OPTIONS[o], "echo ready; exec cat");
		wait_for(&d, "ready\r\n");
		type(&d, "hello\n");
		wait_for(&d, "hello\r\nhello\r\n"); /* its echo, and what cat says */
		type(&d, "\4");
		ends_with(&d, "", OC_EXIT_STATUS, 0);
	}
	/* The end of input is the key; in the middle of a line it takes two. */
	begin(&d, &w, 0, "cat; echo over");
	end_input(&d);
	ends_with(&d, "over\r\n", OC_EXIT_STATUS, 0);
	begin(&d, &w, 0, "stty -echo; echo ready; cat; echo; echo over");
	wait_for(&d, "ready\r\n");
	type(&d, "abc");
	end_input(&d);
	ends_with(&d, "abc\r\nover\r\n", OC_EXIT_STATUS, 0);
	world_free(&w);
}
END_TEST

/* All bytes pass where the program asked for that. */
START_TEST(test_raw)
{
	char bytes[255], *got = calloc(1, 1000);
	struct world w;
	struct drive d;

	world_init(&w);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i + 1);
	begin(&d, &w, 0, "stty raw -echo; printf 'ready\\n'; exec head -c 255");
	wait_for(&d, "ready\n");
	ck_assert_int_eq(write(d.typed, bytes, sizeof(bytes)), sizeof(bytes));
	ck_assert_int_eq(drive_output(&d, got, 1000, 20000), sizeof(bytes));
	ck_assert_mem_eq(got, bytes, sizeof(bytes));
	drive_end(&d);
	world_free(&w);
	free(got);
}
END_TEST

START_TEST(test_resized)
{
	struct world w;
	struct drive d;

	world_init(&w);
	EACH_OPTION(o)
	{
		begin(&d, &w, OPTIONS[o], "trap 'stty size; exit 7' WINCH; echo ready; while :; do sleep .05; done");
		wait_for(&d, "ready\r\n");
		size(&d, 50, 132);
		ends_with(&d, "50 132\r\n", OC_EXIT_STATUS, 7);
	}
	world_free(&w);
}
END_TEST

/* Keys are the terminal's affair: the interrupt reaches the job in front, and the guest goes on. */
START_TEST(test_interrupted)
{
	struct world w;
	struct drive d;

	world_init(&w);
	EACH_OPTION(o)
	{
		begin(&d, &w, OPTIONS[o], "trap 'echo got; exit 3' INT; echo ready; while :; do sleep .05; done");
		wait_for(&d, "ready\r\n");
		type(&d, "\3");
		ends_with(&d, "^Cgot\r\n", OC_EXIT_STATUS, 3);
		begin(&d, &w, OPTIONS[o], "echo ready; exec sleep 1000");
		wait_for(&d, "ready\r\n");
		type(&d, "\3");
		ends_with(&d, "^C", OC_EXIT_SIGNAL, SIGINT);
	}
	world_free(&w);
}
END_TEST

/* Nothing of the last output is lost, however late it is read. */
START_TEST(test_last_output)
{
	struct world w;
	struct drive d;
	char *got = calloc(1, SHOWN);
	const size_t sizes[] = { 10, 5000, 70000, 300000 };
	char script[200];

	world_init(&w);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(script, sizeof(script), "head -c %zu /dev/zero | tr '\\0' x; printf END", sizes[i]);
		begin(&d, &w, 0, script);
		/* A pipe has room for so many pieces, however small: on a busy machine 16 of them were less than 70,000 bytes. */
		ck_assert_int_ge(fcntl(d.out, F_SETPIPE_SZ, 262144), 262144);
		poll(NULL, 0, 300);
		if (sizes[i] <= 70000)
			ck_assert_int_eq(drive_until(&d, OC_FRAME_EXIT, 0), OC_FRAME_EXIT);
		ck_assert_int_eq(drive_output(&d, got, SHOWN, 20000), (ssize_t)sizes[i] + 3);
		ck_assert_mem_eq(got + sizes[i], "END", 3);
		drive_end(&d);
	}
	world_free(&w);
	free(got);
}
END_TEST

START_TEST(test_background)
{
	struct world w;
	struct drive d;

	world_init(&w);
	EACH_OPTION(o)
	{
		begin(&d, &w, OPTIONS[o],
		      "(trap '' HUP TERM; echo there; exec sleep 1000) & sleep .3; echo done; exit 5");
		ends_with(&d, "there\r\ndone\r\n", OC_EXIT_STATUS, 5);
	}
	/* One that let go of its terminal for a while has it still. */
	begin(&d, &w, 0, "exec </dev/null >/dev/null 2>&1; sleep .3; echo back >/dev/tty; exit 6");
	ends_with(&d, "back\r\n", OC_EXIT_STATUS, 6);
	world_free(&w);
}
END_TEST

static void send_signal(struct drive *d, uint32_t sig)
{
	unsigned char buf[4];

	oc_put_u32(buf, sig);
	drive_send(d, OC_FRAME_SIGNAL, buf, 4);
}

/* A stop ends what ignores SIGTERM as an interactive shell does, and a job of its in a group of its own. */
START_TEST(test_stopped)
{
	struct world w;
	struct drive d;

	world_init(&w);
	EACH_OPTION(o)
	{
		begin(&d, &w, OPTIONS[o],
		      "trap '' TERM; trap 'echo hung; exit 9' HUP; echo ready; while :; do sleep .05; done");
		wait_for(&d, "ready\r\n");
		send_signal(&d, SIGTERM);
		wait_for(&d, "hung\r\n"); /* perhaps after what its shell says of the sleep */
		ends_with(&d, "", OC_EXIT_STATUS, 9);
		begin(&d, &w, OPTIONS[o],
		      "set -m; trap : TERM HUP; sh -c 'echo ready; exec sleep 1000'; test $? -gt 128 && echo job; exit "
		      "8");
		wait_for(&d, "ready\r\n");
		send_signal(&d, SIGTERM);
		wait_for(&d, "job\r\n");
		ends_with(&d, "", OC_EXIT_STATUS, 8);
	}
	world_free(&w);
}
END_TEST

/* What nobody reads, in either direction, holds up nothing else. */
START_TEST(test_bounded)
{
	static char much[65536];
	struct world w;
	struct drive d;
	size_t sent = 0;
	char c;

	world_init(&w);
	memset(much, 'x', sizeof(much));
	begin(&d, &w, 0, "stty raw -echo; echo ready; exec sleep 1000");
	wait_for(&d, "ready\n");
	ck_assert_int_eq(fcntl(d.typed, F_SETFL, O_NONBLOCK), 0);
	for (int idle = 0; idle < 20;) {
		ssize_t n = write(d.typed, much, sizeof(much));

		sent += n > 0 ? (size_t)n : 0;
		idle = n > 0 ? 0 : idle + 1;
		poll(NULL, 0, 10);
	}
	ck_assert_uint_lt(sent, 1u << 20);
	drive_send(&d, OC_FRAME_PING, "12345678", 8);
	ck_assert_int_eq(drive_next(&d), OC_FRAME_PONG);
	send_signal(&d, SIGKILL);
	ends_with(&d, "", OC_EXIT_SIGNAL, SIGKILL);

	begin(&d, &w, 0, "exec yes");
	poll(NULL, 0, 300);
	drive_send(&d, OC_FRAME_PING, "12345678", 8);
	ck_assert_int_eq(drive_next(&d), OC_FRAME_PONG);
	/* The end of the channel ends it all, also with output that is stuck. */
	close(d.sock);
	d.sock = -1;
	while (read(d.out, &c, 1) > 0)
		;
	drive_end(&d);
	world_free(&w);
}
END_TEST

enum bad { NO_SIZE, NO_TERMINAL, NO_ROWS, NO_COLS, SHORT, LONG, LATER_ZERO, LATER_NONE, BAD_KINDS };

START_TEST(test_bad_sizes)
{
	struct world w;
	struct drive d;

	world_init(&w);
	for (int kind = 0; kind < BAD_KINDS; kind++) {
		bool terminal = kind != NO_TERMINAL && kind != LATER_NONE, later = kind >= LATER_ZERO;

		drive_start(&d, &w, 0);
		drive_orders(&d, terminal ? OC_GUEST_TERMINAL : 0, (const char *[]){ "/bin/sleep", "1000", NULL });
		if (kind == SHORT || kind == LONG)
			drive_send(&d, OC_FRAME_RESIZE, "\1\0\1\0\1", kind == SHORT ? 3 : 5);
		else if (kind != NO_SIZE && kind != LATER_NONE)
			size(&d, kind != NO_ROWS, kind != NO_COLS);
		if (later) {
			drive_run(&d);
			size(&d, kind == LATER_NONE, 80);
			ck_assert_int_eq(drive_until(&d, OC_FRAME_EXIT, 0), OC_FRAME_EXIT);
			ck_assert_uint_eq(d.exit_how, OC_EXIT_SIGNAL);
		} else {
			drive_send(&d, OC_FRAME_PREPARE, NULL, 0);
			ck_assert_msg(drive_until(&d, OC_FRAME_FAILED, OC_FRAME_READY) == OC_FRAME_FAILED, "case %d",
			              kind);
		}
		drive_end(&d);
	}
	world_free(&w);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = { test_is_a_terminal, test_typed,       test_raw,        test_resized,
		                       test_interrupted,   test_last_output, test_background, test_stopped,
		                       test_bounded,       test_bad_sizes };

	if (argc > 1 && !strcmp(argv[1], "agent"))
		return guest_agent(argc, argv);
	return suite_run("guest_pty", tests, sizeof(tests) / sizeof(tests[0]));
}
