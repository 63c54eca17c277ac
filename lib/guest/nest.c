/* SPDX-License-Identifier: Apache-2.0 */
/* Must run before the process is made non-dumpable: until then /proc/self/uid_map is its own. */
#include "guest/nest.h"

#include "guest/harden.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int result;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	result = n < 0 ? -errno : n == (ssize_t)strlen(text) ? 0 : -EIO;
	close(fd);
	return result;
}

static int map_ids(uid_t uid, gid_t gid)
{
	char text[64];
	int result = write_file("/proc/self/setgroups", "deny");

	if (result < 0 && result != -ENOENT)
		return result;
	snprintf(text, sizeof(text), "%lu %lu 1\n", (unsigned long)uid, (unsigned long)uid);
	result = write_file("/proc/self/uid_map", text);
	if (result < 0)
		return result;
	snprintf(text, sizeof(text), "%lu %lu 1\n", (unsigned long)gid, (unsigned long)gid);
	return write_file("/proc/self/gid_map", text);
}

static int be_init(const char **stage)
{
	int result;

	*stage = "nest: mount propagation";
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	*stage = "nest: a fresh /proc";
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return -errno;
	*stage = "nest: max_user_namespaces";
	result = write_file("/proc/sys/user/max_user_namespaces", "0");
	if (result < 0)
		return result;
	*stage = "nest: capabilities";
	return oc_drop_capabilities();
}

/* Outside the new pid namespace the agent can't see this process; it keeps nothing all the same. */
static void wait_for(pid_t child, int keep_fd)
{
	int status = 0;

	close(keep_fd);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int oc_nest(int keep_fd, const char **stage)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	pid_t child;
	int result;

	*stage = "nest: unshare";
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) < 0)
		return -errno;
	*stage = "nest: id maps";
	result = map_ids(uid, gid);
	if (result < 0)
		return result;
	*stage = "nest: fork";
	child = fork();
	if (child < 0)
		return -errno;
	if (child)
		wait_for(child, keep_fd);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	return be_init(stage);
}
