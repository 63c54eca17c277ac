/* SPDX-License-Identifier: Apache-2.0 */
/* The guest's state machine.  One loop waits for the channel, the cell (the child that proves itself and
 * becomes the agent) and SIGCHLD; nothing else blocks.  Both directions are bounded: while the channel
 * does not take what is queued, neither side is read, but its end is always noticed.
 *
 *   ORDERS ──PREPARE──▶ PROVING ──READY──▶ HELD ──GO──▶ STARTING ──exec──▶ RUNNING ──exit──▶ over
 *
 * Everything irregular, from either side, ends the run: all children are killed first, then what can
 * still be told is told, for a bounded time. */
#include "guest/enter.h"

#include "guest/agent.h"
#include "guest/belt.h"
#include "guest/cell.h"
#include "guest/fds.h"
#include "guest/nest.h"
#include "guest/pty.h"
#include "guest/report.h"
#include "guest/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define KILL_MS       10000
#define LAST_WORDS_MS 5000
#define LAST_SHOWN_MS 5000

enum state { ORDERS, PROVING, HELD, STARTING, RUNNING, OVER };

struct guest {
	enum state state;
	struct oc_link chan, cell;
	struct oc_belt belt;
	struct oc_orders orders;
	struct oc_status before;
	struct oc_agent agent;
	struct oc_pty pty;
	char **own;
	int sigfd;
	uint32_t failures;
	bool exit_told;
};

static void tell_exit(struct guest *g)
{
	oc_report_exit(&g->chan, g->agent.status);
	g->exit_told = true;
}

/* Nothing goes on after this.  Before the agent was there it is a FAILED; after that only EXIT is the truth. */
static void fail(struct guest *g, int err, const char *what)
{
	if (g->state == OVER)
		return;
	oc_agent_kill_all(&g->agent, KILL_MS);
	if (g->state == RUNNING && g->agent.ended)
		tell_exit(g);
	else if (g->state != RUNNING)
		oc_report_failed(&g->chan, err, "%s", what);
	g->state = OVER;
}

static int watch_children(struct guest *g)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	g->sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return g->sigfd < 0 ? -errno : 0;
}

/* Not dumpable from here on: an agent of the same uid can't open its memory, descriptors or environment. */
static int become_keeper(struct guest *g, const char **stage)
{
	*stage = "signalfd";
	if (watch_children(g) < 0)
		return -errno;
	*stage = "subreaper";
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return -errno;
	*stage = "not dumpable";
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

static void prepare(struct guest *g)
{
	const char *stage = "";
	int err = 0, fd;
	pid_t pid;

	if (g->orders.options & OC_GUEST_NEST)
		err = oc_nest(g->chan.fd, &stage);
	if (!err)
		err = become_keeper(g, &stage);
	if (!err && g->orders.belt) {
		stage = "toolbelt";
		err = oc_belt_listen(&g->belt, g->orders.belt);
	}
	if (!err && g->orders.options & OC_GUEST_TERMINAL)
		err = oc_pty_open(&g->pty, g->orders.rows, g->orders.cols, &stage);
	if (err) {
		fail(g, -err, stage);
		return;
	}
	if (oc_link_queue(&g->chan, OC_FRAME_HELLO, g->orders.hello, g->orders.hello_len, NULL, 0) < 0) {
		fail(g, ENOMEM, "hello");
		return;
	}
	pid = oc_cell_start(&g->orders, g->own, &g->before, &fd);
	if (pid < 0) {
		fail(g, (int)-pid, "fork");
		return;
	}
	oc_link_init(&g->cell, fd);
	g->agent.pid = pid;
	g->state = PROVING;
}

static void take_order(struct guest *g, const struct oc_frame *f)
{
	const char *why = "";
	int err = oc_orders_take(&g->orders, f, &why);

	if (err)
		fail(g, err, why);
	else if (g->orders.prepared)
		prepare(g);
}

/* The agent has the terminal, the guest what is at its other end. */
static void take_descriptors(struct guest *g)
{
	if (g->pty.master >= 0) {
		oc_pty_connect(&g->pty, g->chan.fds);
		g->chan.n_fds = 0;
	}
	oc_link_drop_fds(&g->chan);
}

/* Hand the agent its descriptors; the secrets are then only its own. */
static void go(struct guest *g)
{
	unsigned char header[OC_FRAME_HEADER];
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int) * OC_LINK_FDS)];
	} control;
	struct iovec iov = { header, sizeof(header) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	const int terminal[OC_LINK_FDS] = { g->pty.slave, g->pty.slave, g->pty.slave };
	struct cmsghdr *c;

	if (g->state != HELD || g->failures) {
		fail(g, EPERM, "go before every probe succeeded");
		return;
	}
	if (g->chan.n_fds != OC_LINK_FDS) {
		fail(g, EPROTO, "go without its three descriptors");
		return;
	}
	memset(&control, 0, sizeof(control));
	oc_frame_header(header, OC_FRAME_GO, 0);
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * OC_LINK_FDS);
	memcpy(CMSG_DATA(c), g->pty.slave >= 0 ? terminal : g->chan.fds, sizeof(terminal));
	if (sendmsg(g->cell.fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sizeof(header)) {
		fail(g, errno, "handing over the descriptors");
		return;
	}
	take_descriptors(g);
	oc_orders_wipe(&g->orders);
	g->state = STARTING;
}

static void take_signal(struct guest *g, const struct oc_frame *f)
{
	struct oc_cursor c = { f->data, f->data + f->len };
	uint32_t sig;

	if (!oc_get_u32(&c, &sig) || c.p != c.end || sig < 1 || sig > 64) {
		fail(g, EPROTO, "a signal that is none");
		return;
	}
	if (g->state == RUNNING && sig == SIGKILL)
		oc_agent_kill_all(&g->agent, KILL_MS);
	else if (g->state == RUNNING) {
		oc_agent_signal(&g->agent, (int)sig);
		if (sig == SIGTERM && !g->agent.ended)
			oc_pty_hang_up(&g->pty, g->agent.pid);
	} else
		fail(g, ECANCELED, "ended by a signal before the agent was started");
}

static void take_size(struct guest *g, const struct oc_frame *f)
{
	uint16_t rows, cols;

	if (g->pty.master < 0 || !oc_orders_size(f, &rows, &cols))
		fail(g, EPROTO, "a size that is none, or of no terminal");
	else
		(void)oc_pty_resize(&g->pty, rows, cols);
}

static void take_frame(struct guest *g, const struct oc_frame *f)
{
	if (f->type == OC_FRAME_PING) {
		if (f->len != 8)
			fail(g, EPROTO, "a ping of another size");
		else if (oc_link_queue(&g->chan, OC_FRAME_PONG, f->data, 8, NULL, 0) < 0)
			fail(g, ENOMEM, "pong");
	} else if (g->state == ORDERS) {
		take_order(g, f);
	} else if (f->type == OC_FRAME_GO && !f->len) {
		go(g);
	} else if (f->type == OC_FRAME_SIGNAL) {
		take_signal(g, f);
	} else if (f->type == OC_FRAME_RESIZE) {
		take_size(g, f);
	} else if (g->state == RUNNING && (f->type == OC_FRAME_BELT_DATA || f->type == OC_FRAME_BELT_CLOSE)) {
		int err = oc_belt_take(&g->belt, f, &g->chan);

		if (err)
			fail(g, -err, "a toolbelt's client that never was");
	} else {
		fail(g, EPROTO, "a frame that has no place here");
	}
}

/* A signal that came while the agent was being started waits until it is: its order counts. */
static bool hold_back(const struct guest *g)
{
	return g->state == STARTING;
}

static void take_frames(struct guest *g)
{
	struct oc_frame f;
	int r = 0;

	while (g->state != OVER && !hold_back(g) && (r = oc_frame_next(&g->chan.in, &f)) > 0)
		take_frame(g, &f);
	if (r < 0)
		fail(g, EPROTO, "not a frame");
	/* Descriptors come with GO alone. */
	else if (g->state != OVER && g->chan.n_fds && g->chan.in.taken == g->chan.in.len)
		fail(g, EPROTO, "descriptors without a go");
	/* What was read may have been secrets. */
	if (g->chan.in.taken == g->chan.in.len && g->chan.in.len) {
		oc_wipe(g->chan.in.data, g->chan.in.len);
		g->chan.in.taken = g->chan.in.len = 0;
	}
}

static void read_channel(struct guest *g)
{
	int r = oc_link_read(&g->chan);

	if (r < 0)
		fail(g, -r, "the channel carries what it must not");
	else if (r > 0)
		take_frames(g);
}

static void started(struct guest *g)
{
	unsigned char pid[4];

	oc_put_u32(pid, (uint32_t)g->agent.pid);
	if (oc_link_queue(&g->chan, OC_FRAME_STARTED, pid, sizeof(pid), NULL, 0) < 0)
		g->chan.ended = true;
	g->state = RUNNING;
	take_frames(g);
}

static void take_cell_frame(struct guest *g, const struct oc_frame *f)
{
	if (f->type == OC_FRAME_READY && g->state == PROVING && f->len == 12) {
		struct oc_cursor c = { f->data + 8, f->data + 12 };

		oc_get_u32(&c, &g->failures);
		g->state = HELD;
	} else if (f->type == OC_FRAME_FAILED) {
		oc_agent_kill_all(&g->agent, KILL_MS);
		g->state = OVER;
	} else if ((f->type != OC_FRAME_FACT && f->type != OC_FRAME_RESULT) || g->state != PROVING) {
		fail(g, EPROTO, "the child that proves the sandbox said something odd");
		return;
	}
	if (oc_link_queue(&g->chan, f->type, f->data, f->len, NULL, 0) < 0)
		fail(g, ENOMEM, "report");
}

/* The cell's end closes when it has become the agent, or died. */
static void read_cell(struct guest *g)
{
	struct oc_frame f;
	int r = oc_link_read(&g->cell);

	if (r < 0)
		fail(g, -r, "the child that proves the sandbox said something odd");
	while (g->state != OVER && (r = oc_frame_next(&g->cell.in, &f)) > 0)
		take_cell_frame(g, &f);
	if (g->state == OVER || !g->cell.ended)
		return;
	close(g->cell.fd);
	g->cell.fd = -1;
	if (g->state == STARTING)
		started(g);
	else
		fail(g, ECHILD, "the child that proves the sandbox died");
}

static void children(struct guest *g)
{
	struct signalfd_siginfo info;

	while (read(g->sigfd, &info, sizeof(info)) > 0)
		;
	oc_agent_reap(&g->agent);
	if (g->agent.ended && g->cell.fd >= 0)
		read_cell(g); /* what it said last comes before its end */
	if (!g->agent.ended || g->state != RUNNING)
		return;
	tell_exit(g);
	oc_link_flush(&g->chan);
	oc_agent_kill_all(&g->agent, KILL_MS);
	g->state = OVER;
}

static void turn(struct guest *g)
{
	bool room = oc_link_pending(&g->chan) < OC_LINK_HIGH;
	struct pollfd p[3 + OC_PTY_FDS + 1 + OC_BELT_CLIENTS] = {
		{ g->chan.fd, (short)((room && !hold_back(g) ? POLLIN : 0) | (oc_link_pending(&g->chan) ? POLLOUT : 0)),
		  0 },
		{ room ? g->cell.fd : -1, POLLIN, 0 },
		{ g->sigfd, POLLIN, 0 },
	};

	size_t n = g->state == RUNNING ? oc_belt_poll(&g->belt, p + 3 + OC_PTY_FDS, room) : 0;

	oc_pty_poll(&g->pty, p + 3);
	if (poll(p, 3 + OC_PTY_FDS + n, -1) < 0)
		return;
	oc_pty_turn(&g->pty);
	if (p[1].revents)
		read_cell(g);
	if (p[2].revents && g->state != OVER)
		children(g);
	if (p[0].revents & POLLIN && g->state != OVER)
		read_channel(g);
	else if (p[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		g->chan.ended = true;
	if (n && g->state == RUNNING && oc_belt_turn(&g->belt, p + 3 + OC_PTY_FDS, &g->chan) < 0)
		fail(g, ENOMEM, "toolbelt");
	oc_link_flush(&g->chan);
}

static int take_over(struct guest *g, int channel)
{
	int fd = fcntl(channel, F_DUPFD_CLOEXEC, 3), type, null;
	socklen_t len = sizeof(type);
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t all;

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_STREAM)
		return fputs("open-conduit-guest: descriptor 0 is not the channel (a stream socket)\n", stderr),
		       -EPROTO;
	fd = oc_fds_keep_one(fd);
	if (fd < 0)
		return fd;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, 0) < 0)
		return -errno;
	close(null);
	/* SIGCHLD ignored by whoever started us would take the exit status away; the rest is the channel's affair. */
	sigaction(SIGCHLD, &dfl, NULL);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	oc_link_init(&g->chan, fd);
	return oc_fds_standard();
}

int oc_guest_enter(char **own, int channel)
{
	struct guest g = { .own = own, .sigfd = -1, .cell = { .fd = -1 } };
	bool told;

	oc_status_read(&g.before);
	oc_orders_init(&g.orders);
	oc_belt_init(&g.belt);
	oc_pty_init(&g.pty);
	if (take_over(&g, channel) < 0)
		return 1;
	while (g.state != OVER && !g.chan.ended)
		turn(&g);
	oc_agent_kill_all(&g.agent, KILL_MS);
	oc_pty_drain(&g.pty, LAST_SHOWN_MS);
	oc_pty_close(&g.pty);
	told = oc_link_drain(&g.chan, LAST_WORDS_MS);
	oc_belt_free(&g.belt);
	oc_link_free(&g.cell);
	oc_link_free(&g.chan);
	oc_orders_free(&g.orders);
	return told && g.exit_told ? 0 : 1;
}
