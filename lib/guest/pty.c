/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/pty.h"

#include "guest/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441
#endif
#ifndef IUTF8
#define IUTF8 040000
#endif

void oc_pty_init(struct oc_pty *p)
{
	memset(p, 0, sizeof(*p));
	p->master = p->slave = p->in = p->out = -1;
}

static void drop(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void oc_pty_close(struct oc_pty *p)
{
	drop(&p->in);
	drop(&p->out);
	drop(&p->slave);
	drop(&p->master);
	/* What was typed may have been a password. */
	oc_wipe(p->typed_data, sizeof(p->typed_data));
	oc_pty_init(p);
}

int oc_pty_resize(struct oc_pty *p, uint16_t rows, uint16_t cols)
{
	struct winsize size = { .ws_row = rows, .ws_col = cols };

	return ioctl(p->master, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

/* The slave by descriptor and not by its name: the name is one in this mount namespace, whatever lies there. */
int oc_pty_open(struct oc_pty *p, uint16_t rows, uint16_t cols, const char **stage)
{
	struct termios t;
	int unlocked = 0;

	*stage = "terminal: /dev/ptmx";
	p->master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (p->master < 0)
		return -errno;
	*stage = "terminal: slave";
	if (ioctl(p->master, TIOCSPTLCK, &unlocked) < 0 ||
	    (p->slave = ioctl(p->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
		return -errno;
	*stage = "terminal: settings";
	if (tcgetattr(p->slave, &t) < 0)
		return -errno;
	t.c_iflag |= IUTF8; /* or erasing a character takes one byte of it */
	if (tcsetattr(p->slave, TCSANOW, &t) < 0)
		return -errno;
	return oc_pty_resize(p, rows, cols);
}

void oc_pty_connect(struct oc_pty *p, const int fds[3])
{
	p->in = fds[0];
	p->out = fds[1];
	close(fds[2]);
	/* Nobody else has these ends: the agent has the terminal. */
	fcntl(p->in, F_SETFL, fcntl(p->in, F_GETFL) | O_NONBLOCK);
	fcntl(p->out, F_SETFL, fcntl(p->out, F_GETFL) | O_NONBLOCK);
}

int oc_pty_control(int slave)
{
	return ioctl(slave, TIOCSCTTY, 0) < 0 ? errno : 0;
}

void oc_pty_hang_up(const struct oc_pty *p, int leader)
{
	pid_t front = -1;

	if (p->master < 0 || leader <= 0)
		return;
	/* Only a group of the agent's own session can be there. */
	if (ioctl(p->master, TIOCGPGRP, &front) == 0 && front > 1 && front != leader) {
		kill(-front, SIGTERM);
		kill(-front, SIGHUP);
		kill(-front, SIGCONT);
	}
	kill(-leader, SIGHUP);
	kill(-leader, SIGCONT);
}

static size_t pending(const struct oc_pty_queue *q)
{
	return q->len - q->off;
}

/* What is left moves to the front only once all is out: then there is nothing to move. */
static void taken(struct oc_pty_queue *q, size_t n)
{
	q->off += n;
	if (q->off == q->len)
		q->off = q->len = 0;
}

void oc_pty_poll(const struct oc_pty *p, struct pollfd fds[OC_PTY_FDS])
{
	bool room = !pending(&p->shown), more = pending(&p->typed) || p->end_keys;

	fds[0] = (struct pollfd){ p->in >= 0 && !more ? p->in : -1, POLLIN, 0 };
	fds[1] = (struct pollfd){ p->in >= 0 || p->out >= 0 || more ? p->master : -1,
		                  (short)((room ? POLLIN : 0) | (more ? POLLOUT : 0)), 0 };
	fds[2] = (struct pollfd){ room ? -1 : p->out, POLLOUT, 0 };
}

static bool not_now(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* A terminal has no end of input but a key, and it ends a line first where one is begun: then it has to come twice. */
static void read_input(struct oc_pty *p)
{
	ssize_t n;

	if (p->in < 0 || pending(&p->typed) || p->end_keys)
		return;
	n = read(p->in, p->typed_data, sizeof(p->typed_data));
	if (not_now(n))
		return;
	if (n > 0) {
		p->typed.len = (size_t)n;
		p->mid_line = p->typed_data[n - 1] != '\n' && p->typed_data[n - 1] != '\r';
		return;
	}
	drop(&p->in);
	p->end_keys = p->mid_line ? 2 : 1;
}

static void type_end(struct oc_pty *p)
{
	struct termios t;

	if (tcgetattr(p->slave, &t) < 0 || t.c_cc[VEOF] == _POSIX_VDISABLE)
		p->end_keys = 0;
	while (p->end_keys) {
		ssize_t n = write(p->master, &t.c_cc[VEOF], 1);

		if (not_now(n))
			return;
		p->end_keys = n == 1 ? p->end_keys - 1 : 0;
	}
}

static void write_input(struct oc_pty *p)
{
	ssize_t n;

	if (pending(&p->typed)) {
		n = write(p->master, p->typed_data + p->typed.off, pending(&p->typed));
		if (not_now(n))
			return;
		taken(&p->typed, n > 0 ? (size_t)n : pending(&p->typed));
	}
	if (!pending(&p->typed) && p->end_keys)
		type_end(p);
}

/* False: there is nothing now. */
static bool read_output(struct oc_pty *p)
{
	ssize_t n;

	if (pending(&p->shown))
		return true;
	n = read(p->master, p->shown_data, sizeof(p->shown_data));
	if (n <= 0)
		return false;
	p->shown.len = (size_t)n;
	return true;
}

static void write_output(struct oc_pty *p)
{
	ssize_t n;

	if (!pending(&p->shown))
		return;
	n = p->out < 0 ? -1 : write(p->out, p->shown_data + p->shown.off, pending(&p->shown));
	if (p->out >= 0 && not_now(n))
		return;
	/* Nobody reads: what is written is dropped, so that the agent is not held up by it. */
	if (n <= 0) {
		drop(&p->out);
		n = (ssize_t)pending(&p->shown);
	}
	taken(&p->shown, (size_t)n);
}

void oc_pty_turn(struct oc_pty *p)
{
	if (p->master < 0)
		return;
	read_input(p);
	write_input(p);
	(void)read_output(p);
	write_output(p);
}

void oc_pty_drain(struct oc_pty *p, int ms)
{
	uint64_t end = oc_now_ns() + (uint64_t)ms * 1000000u, now;

	drop(&p->in);
	while (p->master >= 0 && p->out >= 0 && read_output(p)) {
		struct pollfd wait = { p->out, POLLOUT, 0 };

		write_output(p);
		now = oc_now_ns();
		if (now >= end)
			break;
		if (pending(&p->shown) && poll(&wait, 1, (int)((end - now) / 1000000u) + 1) < 0 && errno != EINTR)
			break;
	}
	drop(&p->out);
}
