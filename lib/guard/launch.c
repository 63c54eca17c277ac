/* SPDX-License-Identifier: Apache-2.0 */
/* The child is forked before `started` is written, because that file says which process it is, and executes nothing until a
 * byte comes through the gate.  A guard that dies in between closes the gate, and the child is gone without a trace. */
#include "guard/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/os.h"
#include "guard/program.h"
#include "guard/protocol.h"

#define HIGH_FD 64
#define WAITS   "waiting"
#define WAITED  "waiting over"

struct prepared {
	struct oc_program program;
	const char *cwd;
	int channel, log, gate, null;
	mode_t mask;
};

void oc_launch_init(struct oc_launch *l)
{
	memset(l, 0, sizeof(*l));
	l->gate = l->channel = l->log = -1;
}

static void prepared_free(struct prepared *p)
{
	oc_program_free(&p->program);
	oc_close(p->channel);
	oc_close(p->log);
	oc_close(p->gate);
}

static int prepare_pipes(struct prepared *p, struct oc_launch *l, oc_error **err)
{
	int pair[2], log[2], gate[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return oc_fail(err, OC_EIO, errno, "Can't make the channel: %s", strerror(errno));
	l->channel = pair[0];
	p->channel = pair[1];
	if (pipe2(log, O_CLOEXEC) < 0)
		return oc_fail(err, OC_EIO, errno, "Can't make a pipe: %s", strerror(errno));
	l->log = log[0];
	p->log = log[1];
	if (pipe2(gate, O_CLOEXEC) < 0)
		return oc_fail(err, OC_EIO, errno, "Can't make a pipe: %s", strerror(errno));
	p->gate = gate[0];
	l->gate = gate[1];
	if (oc_fd_nonblock(l->channel) < 0 || oc_fd_nonblock(l->log) < 0)
		return oc_fail(err, OC_EIO, errno, "Can't set up the channel: %s", strerror(errno));
	return 0;
}

/* Everything to high numbers first, so that no dup2() of the second round hits one that is still needed. */
static int lift(int *fd)
{
	*fd = fcntl(*fd, F_DUPFD_CLOEXEC, HIGH_FD);
	return *fd;
}

static void default_signals(void)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	sigset_t none;
	int sig;

	for (sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &sa, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static const char *descriptors(struct prepared *p)
{
	struct oc_program *program = &p->program;
	size_t i;

	if (lift(&p->channel) < 0 || lift(&p->log) < 0)
		return "descriptors";
	for (i = 0; i < program->n_files; i++)
		if (lift(&program->files[i]) < 0)
			return "descriptors";
	/* Whatever else lies at low numbers goes now: a guard's descriptor is nothing for what it launches. */
	for (i = 3; i < HIGH_FD; i++)
		close((int)i);
	if (dup2(p->channel, 0) < 0 || dup2(p->log, 1) < 0 || dup2(p->log, 2) < 0)
		return "descriptors";
	for (i = 0; i < program->n_files; i++)
		if (dup2(program->files[i], program->fds[i]) < 0)
			return "descriptors";
	return oc_os_close_from(HIGH_FD) < 0 ? "descriptors" : NULL;
}

static void child(struct prepared *p)
{
	const char *stage;
	char byte;
	ssize_t n;

	if (setpgid(0, 0) < 0)
		_exit(127);
	do {
		n = read(p->gate, &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(126);
	stage = descriptors(p);
	default_signals();
	umask(p->mask);
	if (!stage && chdir(p->cwd) < 0)
		stage = p->cwd;
	if (!stage) {
		execve(p->program.argv.v[0], p->program.argv.v, p->program.envp.v);
		stage = p->program.argv.v[0];
	}
	dprintf(2, "open-conduit-guard: %s: %s\n", stage, strerror(errno));
	_exit(127);
}

static int do_fork(struct prepared *p, struct oc_launch *l, oc_error **err)
{
	pid_t pid = fork();

	if (pid < 0)
		return oc_fail(err, OC_EIO, errno, "Can't make a process: %s", strerror(errno));
	if (pid == 0) {
		/* Held by the child too, it would keep its own gate open when the guard dies. */
		close(l->gate);
		child(p);
	}
	/* Both sides do it, so that the group is there for whichever is first. */
	(void)setpgid(pid, pid);
	l->pid = pid;
	l->exited = false;
	return 0;
}

int oc_launch_fork(struct oc_launch *l, const struct oc_plan_view *plan, mode_t mask, oc_error **err)
{
	struct prepared p = { .channel = -1, .log = -1, .gate = -1, .cwd = plan->launch_cwd, .mask = mask };
	int rc;

	oc_program_init(&p.program);
	l->text_len = 0;
	l->clean = false;
	rc = oc_program_prepare(&p.program, plan->launch, plan->launch_argv, plan->run, plan->digest, err);
	rc = rc < 0 ? rc : prepare_pipes(&p, l, err);
	rc = rc < 0 ? rc : do_fork(&p, l, err);
	prepared_free(&p);
	if (rc < 0)
		oc_launch_close(l);
	return rc;
}

int oc_launch_open_gate(struct oc_launch *l, oc_error **err)
{
	int rc = oc_write_all(l->gate, "g", 1);

	l->gate = oc_close(l->gate);
	return rc < 0 ? oc_fail(err, OC_EIO, -rc, "Can't start the launch command: %s", strerror(-rc)) : 0;
}

void oc_launch_read_log(struct oc_launch *l)
{
	char rest[4096];
	unsigned i;

	for (i = 0; i < 64 && l->log >= 0; i++) {
		size_t room = sizeof(l->text) - l->text_len;
		ssize_t n = read(l->log, room ? l->text + l->text_len : rest, room ? room : sizeof(rest));

		if (n > 0 && room)
			l->text_len += (size_t)n;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			oc_source_free(l->log_source);
			l->log_source = NULL;
			l->log = oc_close(l->log);
		}
	}
}

static void on_log(int fd, unsigned events, void *userdata)
{
	(void)fd;
	(void)events;
	struct oc_launch *l = userdata;

	oc_launch_read_log(l);
	l->said(l->userdata);
}

bool oc_launch_waits(const struct oc_launch *l)
{
	const char *line = l->text, *end = l->text + l->text_len, *next;
	bool waits = false;

	for (; (next = memchr(line, '\n', (size_t)(end - line))); line = next + 1) {
		size_t len = (size_t)(next - line);

		if (len == strlen(WAITS) && !memcmp(line, WAITS, len))
			waits = true;
		else if (len == strlen(WAITED) && !memcmp(line, WAITED, len))
			waits = false;
	}
	return waits;
}

int oc_launch_watch_log(struct oc_launch *l, struct oc_loop *loop, void (*said)(void *userdata), void *userdata,
                        oc_error **err)
{
	l->said = said;
	l->userdata = userdata;
	return oc_loop_add_fd(loop, l->log, OC_READ, on_log, l, &l->log_source, err);
}

void oc_launch_close(struct oc_launch *l)
{
	oc_source_free(l->log_source);
	l->log_source = NULL;
	l->gate = oc_close(l->gate);
	l->channel = oc_close(l->channel);
	l->log = oc_close(l->log);
}
