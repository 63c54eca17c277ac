/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/os.h"

#define FDS_MAX 64

/* The child's descriptors in the making: numbers of ours that lie among its own would be overwritten
 * by dup2 before they are used, so those are moved out of the way first. */
struct fd_plan {
	int from[FDS_MAX];
	int moved[FDS_MAX];
	size_t n, n_moved;
};

static void plan_release(struct fd_plan *p)
{
	while (p->n_moved)
		oc_close(p->moved[--p->n_moved]);
}

static int plan_fds(struct fd_plan *p, const struct oc_spawn *s)
{
	p->n = OC_MAX(s->n_fds, (size_t)3);
	for (size_t i = 0; i < p->n; i++) {
		int fd = i < s->n_fds ? s->fds[i] : -1;

		if (fd >= 0 && (size_t)fd < p->n) {
			fd = fcntl(fd, F_DUPFD_CLOEXEC, (int)p->n);
			if (fd < 0)
				return -errno;
			p->moved[p->n_moved++] = fd;
		}
		p->from[i] = fd;
	}
	return 0;
}

static int add_actions(posix_spawn_file_actions_t *actions, const struct fd_plan *p, const char *cwd)
{
	int rc = 0;

	for (size_t i = 0; i < p->n && rc == 0; i++)
		rc = p->from[i] < 0 ? posix_spawn_file_actions_addopen(actions, (int)i, "/dev/null", O_RDWR, 0)
		                    : posix_spawn_file_actions_adddup2(actions, p->from[i], (int)i);
	if (rc == 0)
		rc = posix_spawn_file_actions_addclosefrom_np(actions, (int)p->n);
	if (rc == 0 && cwd)
		rc = posix_spawn_file_actions_addchdir_np(actions, cwd);
	return rc;
}

static int set_attributes(posix_spawnattr_t *attr, const struct oc_spawn *s)
{
	short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
	sigset_t all, none;
	int rc;

	/* All of them: sigfillset() leaves out the two that glibc keeps, which posix_spawn would then ignore. */
	memset(&all, 0xff, sizeof(all));
	sigemptyset(&none);
	if (s->new_session)
		flags |= POSIX_SPAWN_SETSID;
	else if (s->new_group)
		flags |= POSIX_SPAWN_SETPGROUP;
	rc = posix_spawnattr_setsigdefault(attr, &all);
	if (rc == 0)
		rc = posix_spawnattr_setsigmask(attr, &none);
	if (rc == 0)
		rc = posix_spawnattr_setpgroup(attr, 0);
	return rc ? rc : posix_spawnattr_setflags(attr, flags);
}

static int run(const struct oc_spawn *s, const char *path, const struct fd_plan *p, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int rc;

	rc = posix_spawn_file_actions_init(&actions);
	if (rc)
		return -rc;
	rc = posix_spawnattr_init(&attr);
	if (rc == 0) {
		rc = add_actions(&actions, p, s->cwd);
		if (rc == 0)
			rc = set_attributes(&attr, s);
		if (rc == 0)
			rc = posix_spawn(pid, path, &actions, &attr, s->argv, s->envp);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&actions);
	return -rc;
}

/* The process may be gone before it can be watched, where the embedder ignores SIGCHLD or reaps
 * whatever it finds; its number may then be another's.  A descriptor that is ready and stands for no
 * process makes that the ordinary "ended, status unknown". */
static int watch(pid_t pid)
{
	int pidfd = oc_os_pidfd_open(pid), fd;
	siginfo_t info;

	if (pidfd >= 0) {
		if (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD)
			return pidfd;
		oc_close(pidfd);
	} else if (pidfd != -ESRCH) {
		return pidfd;
	}
	fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int oc_child_spawn(const struct oc_spawn *spawn, pid_t *pid, int *pidfd, oc_error **err)
{
	const char *path = spawn->path ? spawn->path : spawn->argv ? spawn->argv[0] : NULL;
	struct fd_plan plan = { 0 };
	pid_t child;
	int rc, fd;

	if (!path || path[0] != '/' || !spawn->argv || !spawn->argv[0] || !spawn->envp || spawn->n_fds > FDS_MAX)
		return oc_fail(err, OC_EINVAL, 0,
		               "a program needs an absolute path, arguments, an environment and at most %d descriptors",
		               FDS_MAX);
	rc = plan_fds(&plan, spawn);
	if (rc == 0)
		rc = run(spawn, path, &plan, &child);
	plan_release(&plan);
	if (rc < 0)
		return oc_fail(err,
		               rc == -ENOMEM   ? OC_ENOMEM
		               : rc == -ENOENT ? OC_ENOTFOUND
		                               : OC_EIO,
		               -rc, "cannot start %s", path);
	fd = watch(child);
	if (fd < 0) {
		/* Not watched means not stopped later on: it must not go on. */
		kill(child, SIGKILL);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
		return oc_fail(err, OC_EIO, -fd, "cannot watch %s", path);
	}
	*pid = child;
	*pidfd = fd;
	return 0;
}
