/* SPDX-License-Identifier: Apache-2.0 */
/* A value from whoever runs the command: never an argument, which every process of the machine may read. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include "exec.h"
#include "secret/secret.h"

#define LINE_MAX_TTY 4095 /* what the kernel keeps of a line */
#define REST_MS      100

static int say(struct host *h, const char *name, const char *message, const char *fix)
{
	struct refusal r = { "secret_missing", name, message, fix };

	host_refuse(h, "not stored", &r);
	return EXIT_NO;
}

/* A line of the terminal, or a signal's number (negative).  More than a line would go on to the shell, and be executed. */
static int read_line(struct secret_value *out, int wake, bool *more)
{
	struct pollfd p[2] = { { STDIN_FILENO, POLLIN, 0 }, { wake, POLLIN, 0 } };
	ssize_t n;

	for (;;) {
		if (poll(p, wake >= 0 ? 2 : 1, -1) < 0 && errno != EINTR)
			return -SIGHUP;
		if (p[1].revents & POLLIN) {
			unsigned char number = SIGINT;

			n = read(wake, &number, 1);
			return n == 1 ? -number : -SIGINT;
		}
		if (!p[0].revents)
			continue;
		n = read(STDIN_FILENO, out->data, SECRET_MAX);
		if (n < 0 && errno == EINTR)
			continue;
		out->len = n > 0 ? (size_t)n : 0;
		*more = poll(p, 1, REST_MS) > 0;
		return 0;
	}
}

/* Stopped with Ctrl-Z the terminal would stay without an echo; a quit would leave it so, and a core file. */
static int from_terminal(struct host *h, const char *name, struct secret_value *out)
{
	struct termios before, quiet;
	sigset_t held, old;
	int wake = exec_signals(), rc;
	bool more = false;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return say(h, name, "the terminal can't be read without an echo",
		           "printf %s \"$VALUE\" | open-conduit secret set …");
	sigemptyset(&held);
	sigaddset(&held, SIGTSTP);
	sigaddset(&held, SIGQUIT);
	sigprocmask(SIG_BLOCK, &held, &old);
	quiet = before;
	quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
	quiet.c_lflag |= ICANON;
	out_printf(&h->err, "value of %s (it is not shown): ", name);
	out_flush(&h->err);
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) < 0)
		rc = -SIGHUP;
	else
		rc = read_line(out, wake, &more);
	/* What is left of a paste is thrown away, too. */
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
	sigprocmask(SIG_SETMASK, &old, NULL);
	out_put(&h->err, "\n");
	if (rc < 0) {
		out_put(&h->err, "open-conduit: nothing was stored\n");
		return 128 - rc;
	}
	if (more || out->len >= LINE_MAX_TTY)
		return say(h, name,
		           more ? "a terminal gives one line, and there were more"
		                : "a terminal gives no longer lines than this one",
		           "give it as a file on standard input: open-conduit secret set NAME <FILE");
	if (out->len && out->data[out->len - 1] == '\n')
		out->len--;
	return 0;
}

static int from_stdin(struct host *h, const char *name, struct secret_value *out)
{
	ssize_t n = 1;

	while (n && out->len <= SECRET_MAX) {
		n = read(STDIN_FILENO, out->data + out->len, SECRET_MAX + 1 - out->len);
		if (n < 0 && errno != EINTR)
			return say(h, name, strerror(errno), NULL);
		out->len += n > 0 ? (size_t)n : 0;
	}
	return out->len > SECRET_MAX
	               ? say(h, name, "the value is longer than 64 KiB", "keep it in a file that the run may read")
	               : 0;
}

int secret_input(struct host *h, const char *name, struct secret_value *out)
{
	bool terminal = isatty(STDIN_FILENO);
	int rc;

	(void)prctl(PR_SET_DUMPABLE, 0);
	*out = (struct secret_value){ calloc(1, SECRET_MAX + 1), 0 };
	if (!out->data)
		return say(h, name, "out of memory", NULL);
	rc = terminal ? from_terminal(h, name, out) : from_stdin(h, name, out);
	if (rc == 0 && !out->len)
		rc = say(h, name, "the value is empty", "printf %s \"$VALUE\" | open-conduit secret set …");
	else if (rc == 0 && memchr(out->data, 0, out->len))
		rc = say(h, name, "the value holds a NUL byte, which no variable can", "store it in base64, say");
	if (rc == 0 && !terminal && out->data[out->len - 1] == '\n')
		out_put(&h->err, "open-conduit: note: the value ends with a newline, which is part of it (printf %s "
		                 "leaves it out)\n");
	return rc;
}
