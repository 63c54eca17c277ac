/* SPDX-License-Identifier: Apache-2.0 */
/* Everything the launch leaves behind becomes a child of the guard sooner or later, because the guard is a subreaper: its
 * children are therefore always of the run, and may be killed without asking who they are. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "guard/attempt.h"
#include "guard/guard.h"

static void on_signal(int fd, unsigned events, void *userdata)
{
	struct oc_guard *g = userdata;
	struct signalfd_siginfo info;
	bool term = false;

	(void)events;
	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		term |= info.ssi_signo == SIGTERM;
	oc_reap(g);
	oc_ending_reaped(g);
	/* A run that is over has nothing to stop, and a machine that goes down has no time for its tokens. */
	if (term && g->state == OC_GUARD_EXITED)
		g->over = true;
	else if (term)
		oc_machine_stop(g, "signal", -1);
}

int oc_reap_signals(struct oc_guard *g, oc_error **err)
{
	/* Blocked is as good as ignored, and nothing of it reaches what is executed: the launch resets its mask. */
	static const int signals[] = { SIGTERM, SIGCHLD, SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE, SIGUSR1,
		                       SIGUSR2, SIGALRM, SIGTSTP, SIGTTIN, SIGTTOU, SIGXFSZ };
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < OC_COUNT(signals); i++)
		sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
		return oc_fail(err, OC_EIO, errno, "Can't block signals: %s", strerror(errno));
	g->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (g->signals < 0)
		return oc_fail(err, OC_EIO, errno, "Can't take signals: %s", strerror(errno));
	return oc_loop_add_fd(g->loop, g->signals, OC_READ, on_signal, g, &g->signal_source, err);
}

void oc_reap(struct oc_guard *g)
{
	siginfo_t info;

	for (;;) {
		bool launch;

		memset(&info, 0, sizeof(info));
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
			return;
		launch = info.si_pid == g->launch.pid;
		/* While it is a zombie its number still is its group's: afterwards it may be anybody's. */
		if (launch)
			(void)kill(-g->launch.pid, SIGKILL);
		if (waitid(P_PID, (id_t)info.si_pid, &info, WEXITED | WNOHANG) < 0)
			return;
		if (launch) {
			g->launch.pid = 0;
			g->launch.exited = true;
			g->launch.clean = info.si_code == CLD_EXITED && info.si_status == 0;
			oc_attempt_launch_exited(g, &info);
		}
	}
}

/* The kernel's own list of our children; 0 at the end. */
static size_t read_children(char *text, size_t size)
{
	char path[64];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, size - 1);
	oc_close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

int oc_reap_kill(struct oc_guard *g)
{
	char text[8192], *p = text, *end;
	int killed = 0;

	if (g->launch.pid > 0)
		(void)kill(-g->launch.pid, SIGKILL);
	if (!read_children(text, sizeof(text)))
		return 0;
	for (;;) {
		long pid = strtol(p, &end, 10);

		/* A number that touches the end of what was read may be half of one. */
		if (end == p || *end == '\0')
			break;
		p = end;
		if (pid > 1 && kill((pid_t)pid, SIGKILL) == 0)
			killed++;
	}
	return killed;
}
