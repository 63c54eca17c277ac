/* SPDX-License-Identifier: Apache-2.0 */
/* Killing is by direct children, again and again: whoever dies leaves its own to this process, the
 * subreaper (or pid 1), so a double fork, a session of its own and a chain of forks all end up here. */
#include "guest/agent.h"

#include "guest/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

bool oc_agent_reap(struct oc_agent *a)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			return pid == 0;
		if (pid == a->pid) {
			a->ended = true;
			a->status = status;
		}
	}
}

int oc_agent_signal(const struct oc_agent *a, int sig)
{
	if (a->pid <= 0 || a->ended)
		return -ESRCH;
	return kill(-a->pid, sig) < 0 ? -errno : 0;
}

/* "12 345 …" of the kernel; whole numbers only: the last may be cut off. */
static void kill_listed(char *list)
{
	for (char *p = list, *end;; p = end) {
		long pid = strtol(p, &end, 10);

		if (end == p || *end != ' ')
			return;
		if (pid > 1)
			kill((pid_t)pid, SIGKILL);
	}
}

/* For kernels that don't list children: whoever's status says so. */
static void kill_by_parent(void)
{
	char path[300], text[512];
	struct dirent *e;
	DIR *d = opendir("/proc");

	while (d && (e = readdir(d))) {
		const char *after;
		long pid = strtol(e->d_name, NULL, 10);

		if (pid <= 1)
			continue;
		snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
		if (oc_read_small(path, text, sizeof(text)) <= 0)
			continue;
		after = strrchr(text, ')'); /* the name may hold anything */
		if (after && strlen(after) > 4 && strtol(after + 4, NULL, 10) == (long)getpid())
			kill((pid_t)pid, SIGKILL);
	}
	if (d)
		closedir(d);
}

static void kill_children(const struct oc_agent *a)
{
	char list[4096];

	if (getpid() == 1)
		kill(-1, SIGKILL); /* all of this pid namespace */
	oc_agent_signal(a, SIGKILL);
	if (oc_read_small("/proc/thread-self/children", list, sizeof(list)) >= 0)
		kill_listed(list);
	else
		kill_by_parent();
}

bool oc_agent_kill_all(struct oc_agent *a, int ms)
{
	uint64_t end = oc_now_ns() + (uint64_t)ms * 1000000u;

	for (unsigned pass = 0; oc_agent_reap(a); pass++) {
		struct timespec nap = { 0, pass < 50 ? 50000 : 1000000 };

		if (oc_now_ns() > end)
			return false;
		kill_children(a);
		/* Few passes are needed, but a chain of forks is only caught by coming back at once. */
		if (pass % 8 == 7)
			nanosleep(&nap, NULL);
	}
	return true;
}

static void reset_signals(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static const char *path_of(char *const *env)
{
	for (; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	return "/usr/local/bin:/usr/bin:/bin";
}

/* As execvp(), but by the agent's PATH and without its guess that anything else is a shell script. */
static int search_exec(char *const *argv, char *const *env)
{
	char file[4096];
	int err = ENOENT;

	if (strchr(argv[0], '/')) {
		execve(argv[0], argv, env);
		return errno;
	}
	for (const char *p = path_of(env);; p++) {
		size_t len = strcspn(p, ":");
		int n = snprintf(file, sizeof(file), "%.*s%s%s", (int)len, p, len ? "/" : "./", argv[0]);

		if (n > 0 && (size_t)n < sizeof(file)) {
			execve(file, argv, env);
			if (errno != ENOENT && errno != ENOTDIR)
				err = errno;
			if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
				return err;
		}
		p += len;
		if (!*p)
			return err;
	}
}

int oc_agent_exec(const int fds[3], const char *cwd, char *const *argv, char *const *env, const char **stage)
{
	*stage = "descriptors";
	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0) /* all are above 2, so none is overwritten before its turn */
			return errno;
	*stage = "working directory";
	if (chdir(cwd) < 0)
		return errno;
	reset_signals();
	*stage = "exec";
	return search_exec(argv, env);
}
