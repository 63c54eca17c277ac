/* SPDX-License-Identifier: Apache-2.0 */
/* One child in a group of its own, its output read to the end, and the whole group ended afterwards:
 * srt leaves helpers behind when it is stopped, and a group's number stays taken until its leader is
 * reaped. */
#include "common/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/checks.h"

static int memory_file(const char *text)
{
	int fd = memfd_create("settings", MFD_CLOEXEC);
	size_t len = strlen(text), done = 0;

	while (fd >= 0 && done < len) {
		ssize_t n = write(fd, text + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			close(fd);
			return -1;
		}
		done += (size_t)n;
	}
	if (fd >= 0)
		(void)lseek(fd, 0, SEEK_SET);
	return fd;
}

static int start(struct process *p, int out, int log, int file, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t all, none;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc)
		return rc;
	rc = posix_spawnattr_init(&attr);
	if (rc) {
		posix_spawn_file_actions_destroy(&actions);
		return rc;
	}
	sigfillset(&all);
	sigdelset(&all, SIGKILL);
	sigdelset(&all, SIGSTOP);
	sigemptyset(&none);
	rc = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	rc = rc ? rc : posix_spawnattr_setsigdefault(&attr, &all);
	rc = rc ? rc : posix_spawnattr_setsigmask(&attr, &none);
	if (p->input > 0)
		rc = rc ? rc : posix_spawn_file_actions_adddup2(&actions, p->input, 0);
	else
		rc = rc ? rc : posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	rc = rc ? rc : posix_spawn_file_actions_adddup2(&actions, out, 1);
	rc = rc ? rc : posix_spawn_file_actions_adddup2(&actions, log, 2);
	if (file >= 0)
		rc = rc ? rc : posix_spawn_file_actions_adddup2(&actions, file, 3);
	rc = rc ? rc : posix_spawn_file_actions_addchdir_np(&actions, p->cwd);
	rc = rc ? rc : posix_spawn(pid, p->argv[0], &actions, &attr, p->argv, p->envp);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* True at the end of the stream. */
static bool take(int fd, char *text, size_t size, size_t *len)
{
	char rest[4096];
	bool full = *len + 1 >= size;
	ssize_t n = read(fd, full ? rest : text + *len, full ? sizeof(rest) : size - 1 - *len);

	if (n < 0)
		return errno != EINTR && errno != EAGAIN;
	if (!full)
		*len += (size_t)n;
	text[*len] = '\0';
	return n == 0;
}

static bool ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) < 0 || info.si_pid != 0;
}

/* Until both streams end; a helper that outlives the program may hold them open, so after its end
 * only what is there already is taken. */
static void collect(struct process *p, pid_t pid, int out, int log, int64_t deadline)
{
	struct pollfd fds[2] = { { .fd = out, .events = POLLIN }, { .fd = log, .events = POLLIN } };
	size_t out_len = 0, log_len = 0;

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		bool last = ended(pid);
		int n = poll(fds, 2, last ? 0 : 50);

		p->late = !last && now_ms() >= deadline;
		if (p->late || (n < 0 && errno != EINTR) || (n == 0 && last))
			return;
		if (fds[0].revents && take(out, p->out, sizeof(p->out), &out_len))
			fds[0].fd = -1;
		if (fds[1].revents && take(log, p->log, sizeof(p->log), &log_len))
			fds[1].fd = -1;
		fds[0].revents = fds[1].revents = 0;
	}
}

static void end(struct process *p, pid_t pid, int64_t deadline)
{
	int status;

	/* Closed streams don't mean an end: wait for it without reaping. */
	while (!p->late && !ended(pid)) {
		p->late = now_ms() >= deadline;
		(void)poll(NULL, 0, 2);
	}
	(void)kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return;
	if (!p->late)
		p->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void process_run(struct process *p)
{
	int64_t begin = now_ms(), deadline = begin + p->timeout_ms;
	int out[2] = { -1, -1 }, log[2] = { -1, -1 }, file = -1;
	pid_t pid = 0;

	p->status = -1;
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(log, O_CLOEXEC) < 0 || (p->file && (file = memory_file(p->file)) < 0))
		p->error = errno;
	else
		p->error = start(p, out[1], log[1], file, &pid);
	if (out[1] >= 0)
		close(out[1]);
	if (log[1] >= 0)
		close(log[1]);
	if (file >= 0)
		close(file);
	if (!p->error) {
		collect(p, pid, out[0], log[0], deadline);
		end(p, pid, deadline);
	}
	if (out[0] >= 0)
		close(out[0]);
	if (log[0] >= 0)
		close(log[0]);
	p->ms = now_ms() - begin;
}
