/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

#define SAID_MAX (4u << 20)
#define ENV_MAX  8 /* of what is added */

extern char **environ;

/* Its input as a file without a name, so that it is in no argument. */
static int input_file(const char *text)
{
	int fd = text ? memfd_create("input", MFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);
	size_t len = text ? strlen(text) : 0;

	if (fd >= 0 && text && (write(fd, text, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Ours, without what is only for the daemon, and more. */
static char **environment(const char *const *more)
{
	size_t n = 0, k = 0;
	char **all;

	while (environ[n])
		n++;
	all = calloc(n + ENV_MAX + 1, sizeof(*all));
	for (size_t i = 0; all && i < n; i++)
		if (strncmp(environ[i], "NOTIFY_SOCKET=", 14) != 0)
			all[k++] = environ[i];
	for (size_t i = 0; all && more && more[i] && i < ENV_MAX; i++)
		all[k++] = (char *)(uintptr_t)more[i];
	return all;
}

static int attributes(posix_spawnattr_t *attr)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	return posix_spawnattr_setsigmask(attr, &none) || posix_spawnattr_setsigdefault(attr, &all) ||
	       posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
}

static int spawn(pid_t *pid, const char *program, const char *const *argv, char **env, int in, int out, int hand)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int rc = posix_spawn_file_actions_init(&files);

	if (rc)
		return rc;
	rc = posix_spawnattr_init(&attr);
	if (!rc) {
		rc = posix_spawn_file_actions_adddup2(&files, in, 0) ||
		     posix_spawn_file_actions_adddup2(&files, out, 1) ||
		     (hand >= 0 && posix_spawn_file_actions_adddup2(&files, hand, 3)) || attributes(&attr);
		rc = rc ? ENOMEM : posix_spawn(pid, program, &files, &attr, (char *const *)(uintptr_t)argv, env);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

int child_spawn(struct child *child, const char *program, const char *const *argv, const char *const *env,
                const char *input, int hand)
{
	int in = input_file(input), out[2] = { -1, -1 }, rc = ENOMEM;
	char **whole = environment(env);

	*child = (struct child){ .pidfd = -1, .out = -1 };
	if (in >= 0 && whole && pipe2(out, O_CLOEXEC | O_NONBLOCK) == 0 && fcntl(out[1], F_SETFL, 0) == 0)
		rc = spawn(&child->pid, program, argv, whole, in, out[1], hand);
	child->pid = rc ? 0 : child->pid;
	child->pidfd = rc ? -1 : pidfd_open(child->pid, 0);
	child->out = rc ? -1 : out[0];
	if (rc && out[0] >= 0)
		close(out[0]);
	if (out[1] >= 0)
		close(out[1]);
	if (in >= 0)
		close(in);
	free(whole);
	return rc;
}

static void hear(struct child *child)
{
	char piece[8192];
	ssize_t n;

	while (child->out >= 0 && (n = read(child->out, piece, sizeof(piece))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		if (child->said.len < SAID_MAX)
			text_add(&child->said, piece, (size_t)n);
	}
	if (child->out >= 0)
		close(child->out);
	child->out = -1;
}

bool child_turn(struct child *child)
{
	siginfo_t info = { 0 };

	hear(child);
	if (!child->pid || waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG) < 0 || info.si_pid != child->pid)
		return false;
	hear(child);
	child->exited = info.si_code == CLD_EXITED;
	child->status = info.si_status;
	child->pid = 0;
	return true;
}

void child_forget(struct child *child)
{
	if (child->pidfd >= 0)
		close(child->pidfd);
	if (child->out >= 0)
		close(child->out);
	text_free(&child->said);
	*child = (struct child){ .pidfd = -1, .out = -1 };
}
