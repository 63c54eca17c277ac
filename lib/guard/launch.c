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
#include "guard/protocol.h"

#define FILES_MAX   16
#define FILE_FD_MAX 16 /* srt's Node keeps descriptors from 17 on, so none may be there */
#define HIGH_FD     64

struct prepared {
	struct oc_strv argv, envp;
	const char *cwd;
	int files[FILES_MAX], fds[FILES_MAX];
	size_t n_files;
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
	size_t i;

	oc_strv_free(&p->argv);
	oc_strv_free(&p->envp);
	for (i = 0; i < p->n_files; i++)
		oc_close(p->files[i]);
	oc_close(p->channel);
	oc_close(p->log);
	oc_close(p->gate);
}

static int prepare_argv(struct prepared *p, const struct oc_plan_view *plan, oc_error **err)
{
	const json_t *item;
	const char *name;
	json_t *value;
	size_t i;
	int rc = 0;

	json_array_foreach(plan->launch_argv, i, item) rc =
	        rc < 0 ? rc : oc_strv_add(&p->argv, json_string_value(item));
	json_object_foreach(plan->launch_env, name, value)
	{
		if (!json_is_string(value) || !*name || strchr(name, '='))
			return oc_refuse(err, "pin_mismatch", name, NULL, "launch.env of the pinned plan is not valid");
		rc = rc < 0 ? rc : oc_strv_addf(&p->envp, "%s=%s", name, json_string_value(value));
	}
	rc = rc < 0 ? rc : oc_strv_addf(&p->envp, "%s=%s", OC_GUARD_ENV_MARK, plan->run);
	return rc < 0 ? oc_fail(err, rc, 0, "The launch command of the plan is too long") : 0;
}

static int prepare_files(struct prepared *p, const struct oc_plan_view *plan, oc_error **err)
{
	const json_t *item;
	size_t i;

	json_array_foreach(plan->launch_files, i, item)
	{
		int64_t number = oc_json_integer(item, "fd", -1);
		const json_t *text = json_object_get(item, "text");
		int fd;

		if (i >= FILES_MAX || number < 3 || number > FILE_FD_MAX || !json_is_string(text))
			return oc_refuse(err, "pin_mismatch", "launch.files", NULL,
			                 "launch.files of the pinned plan is not valid");
		fd = oc_memfd("open-conduit", json_string_value(text), json_string_length(text));
		if (fd < 0)
			return oc_fail(err, OC_EIO, -fd, "Can't make a file in memory: %s", strerror(-fd));
		p->files[p->n_files] = fd;
		p->fds[p->n_files++] = (int)number;
	}
	return 0;
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
	size_t i;

	if (lift(&p->channel) < 0 || lift(&p->log) < 0)
		return "descriptors";
	for (i = 0; i < p->n_files; i++)
		if (lift(&p->files[i]) < 0)
			return "descriptors";
	/* Whatever else lies at low numbers goes now: a guard's descriptor is nothing for what it launches. */
	for (i = 3; i < HIGH_FD; i++)
		close((int)i);
	if (dup2(p->channel, 0) < 0 || dup2(p->log, 1) < 0 || dup2(p->log, 2) < 0)
		return "descriptors";
	for (i = 0; i < p->n_files; i++)
		if (dup2(p->files[i], p->fds[i]) < 0)
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
		execve(p->argv.v[0], p->argv.v, p->envp.v);
		stage = p->argv.v[0];
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

	oc_strv_init(&p.argv, 65536);
	oc_strv_init(&p.envp, 4096);
	l->text_len = 0;
	rc = prepare_argv(&p, plan, err);
	rc = rc < 0 ? rc : prepare_files(&p, plan, err);
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
	oc_launch_read_log(userdata);
}

int oc_launch_watch_log(struct oc_launch *l, struct oc_loop *loop, oc_error **err)
{
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
