/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/cell.h"

#include "guest/agent.h"
#include "guest/fds.h"
#include "guest/links.h"
#include "guest/probe.h"
#include "guest/pty.h"
#include "guest/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void give_up(struct oc_link *l, int err, const char *stage)
{
	oc_report_failed(l, err, "%s", stage);
	oc_link_drain(l, -1);
	_exit(127);
}

/* Of its own session and group from the start, and gone when the guest is. */
static int stand_alone(pid_t guest, const char **stage)
{
	*stage = "session";
	if (setsid() < 0)
		return errno;
	*stage = "parent death signal";
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return errno;
	if (getppid() != guest)
		_exit(127);
	/* Its own /proc files are root's otherwise; nothing hostile runs yet. */
	*stage = "dumpable";
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? errno : 0;
}

/* GO and its descriptors; anything else, or the end, is the end. */
static void wait_for_go(struct oc_link *l)
{
	struct oc_frame f;

	for (;;) {
		struct pollfd p = { l->fd, POLLIN, 0 };
		int r = oc_frame_next(&l->in, &f);

		if (r > 0 && f.type == OC_FRAME_GO && l->n_fds == OC_LINK_FDS)
			return;
		if (r || l->ended)
			_exit(127);
		if (poll(&p, 1, -1) > 0 && oc_link_read(l) < 0)
			_exit(127);
	}
}

static void live(const struct oc_orders *o, char **own, const struct oc_status *before, pid_t guest, int fd)
{
	struct oc_probe_run run = { .orders = o, .before = before };
	const char *stage = "environment";
	uint64_t since = oc_now_ns();
	struct oc_link l;
	int err;

	oc_link_init(&l, fd);
	run.report = &l;
	run.env = oc_orders_environment(o, own);
	err = run.env ? stand_alone(guest, &stage) : ENOMEM;
	if (err)
		give_up(&l, err, stage);
	oc_report_self(o, &l);
	oc_links_make(o, &l);
	if (o->options & OC_GUEST_CONFINED) {
		err = oc_harden(o, &l, &stage);
		if (err < 0)
			give_up(&l, -err, stage);
	}
	oc_probes_run(&run);
	oc_report_ready(&l, oc_now_ns() - since, run.failures);
	if (!oc_link_drain(&l, -1))
		_exit(127);
	wait_for_go(&l);
	err = o->options & OC_GUEST_TERMINAL ? oc_pty_control(l.fds[0]) : 0;
	if (err)
		give_up(&l, err, "controlling terminal");
	err = oc_agent_exec(l.fds, o->cwd, o->args.v, run.env, &stage);
	give_up(&l, err, stage);
}

pid_t oc_cell_start(const struct oc_orders *o, char **own, const struct oc_status *before, int *fd)
{
	pid_t guest = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		int err = errno;

		close(pair[0]);
		close(pair[1]);
		return -err;
	}
	if (!pid) {
		/* The guest's channel and all else goes: only 0, 1, 2 and the one socket stay. */
		int end = oc_fds_keep_one(pair[1]);

		if (end < 0)
			_exit(127);
		live(o, own, before, guest, end);
	}
	close(pair[1]);
	*fd = pair[0];
	return pid;
}
