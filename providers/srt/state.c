/* SPDX-License-Identifier: Apache-2.0 */
/* A run's processes are known by the mark that the guard puts into their environment: a name like
 * that can't be there by chance, and pids and groups are not asked. */
#include "state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/tree.h"

#define MARK "OPEN_CONDUIT_RUN="

bool run_valid(const char *run)
{
	size_t len = strlen(run);

	return len >= 8 && len <= 32 && strspn(run, "abcdefghijklmnopqrstuvwxyz0123456789") == len;
}

/* 1: yes, 0: no, -1: it is ours, and can't be told. */
static int has_mark(int proc, const char *pid, const char *mark)
{
	cleanup_free char *path = format("/proc/%s/environ", pid), *text = NULL;
	size_t len = strlen(mark), n = 0, cap = 256 * 1024;
	struct stat st;
	ssize_t got;
	const char *p;
	int fd;

	if (fstatat(proc, pid, &st, 0) < 0 || st.st_uid != geteuid())
		return 0;
	fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH || errno == EACCES ? 0 : -1;
	text = malloc(cap);
	while (text && n < cap && (got = read(fd, text + n, cap - n)) > 0)
		n += (size_t)got;
	close(fd);
	for (p = text; p && p < text + n; p += strnlen(p, (size_t)(text + n - p)) + 1)
		if ((size_t)(text + n - p) > len && !memcmp(p, mark, len + 1))
			return 1;
	return text ? 0 : -1;
}

const char *state_of(const char *run)
{
	cleanup_free char *mark = format(MARK "%s", run);
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int found = 0, unknown = 0;

	if (!proc || !mark) {
		if (proc)
			closedir(proc);
		return "unknown";
	}
	while (!found && (e = readdir(proc))) {
		int has;

		if (strspn(e->d_name, "0123456789") != strlen(e->d_name) || (pid_t)atoi(e->d_name) == getpid())
			continue;
		has = has_mark(dirfd(proc), e->d_name, mark);
		found = found || has > 0;
		unknown = unknown || has < 0;
	}
	closedir(proc);
	return found ? "running" : unknown ? "unknown" : "none";
}

int state_cleanup(const char *run, const char *live, struct refusal *r)
{
	static const char *const parts[] = { "t", "cwd", "home" };
	const char *base = strrchr(live, '/');
	size_t i;

	if (live[0] != '/' || !run_valid(run) || strcmp(base + 1, run) != 0 || strstr(live, "/../") ||
	    strstr(live, "//"))
		return refuse(r, "provider_failed", live, NULL, "%s is not the directory of run %s", live, run);
	for (i = 0; i < COUNT(parts); i++) {
		cleanup_free char *path = format("%s/%s", live, parts[i]);

		if (!path)
			return no_memory(r);
		if (tree_empty(path) < 0)
			return refuse(r, "sandbox_unavailable", path, NULL, "%s can't be emptied: %s", path,
			              strerror(errno));
	}
	return 0;
}
