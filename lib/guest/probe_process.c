/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has and sees: descriptors, environment, namespaces, privileges, other processes. */
#include "guest/probe.h"

#include "guest/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool no_terminal(char *detail)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd >= 0) {
		close(fd);
		oc_probe_say(detail, "there is a controlling terminal");
		return false;
	}
	if (errno != ENXIO && errno != ENOENT && errno != EACCES && errno != EPERM) {
		oc_probe_say_errno(detail, "/dev/tty", errno);
		return false;
	}
	return true;
}

bool oc_probe_stdio(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	bool ok = true;

	(void)p;
	if (!dir) {
		oc_probe_say_errno(detail, "/proc/self/fd", errno);
		return false;
	}
	while (ok && (e = readdir(dir))) {
		int fd = atoi(e->d_name);

		if (e->d_name[0] == '.' || fd <= 2 || fd == dirfd(dir) || fd == run->report->fd)
			continue;
		oc_probe_say(detail, "descriptor %d is open", fd);
		ok = false;
	}
	closedir(dir);
	if (ok && no_terminal(detail))
		oc_probe_say(detail, "nothing above 2, no terminal");
	else
		ok = false;
	return ok;
}

static const char *env_entry(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env;
	return NULL;
}

bool oc_probe_environment(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	size_t n = 0;

	for (char *const *e = run->env; *e; e++, n++) {
		size_t len = strcspn(*e, "="), i = 0;

		while (i < p->args.n && (strlen(p->args.v[i]) != len || strncmp(p->args.v[i], *e, len)))
			i++;
		if (i == p->args.n) {
			oc_probe_say(detail, "%.*s is set, which the plan does not name", (int)(len < 200 ? len : 200),
			             *e);
			return false;
		}
	}
	for (size_t i = 0; i < p->args.n; i++) {
		if (!env_entry(run->env, p->args.v[i])) {
			oc_probe_say(detail, "%.200s is not set", p->args.v[i]);
			return false;
		}
	}
	oc_probe_say(detail, "%zu names, as planned", n);
	return true;
}

bool oc_probe_namespaces(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	char path[64];
	struct stat st;
	uint64_t ino;

	(void)run;
	for (size_t i = 0; i < p->args.n; i++) {
		const char *arg = p->args.v[i];
		size_t len = strcspn(arg, "=");

		if (!arg[len] || len > 20 || memchr(arg, '/', len) || !oc_parse_u64(arg + len + 1, &ino)) {
			oc_probe_say(detail, "'%.60s' is not kind=inode", arg);
			return false;
		}
		snprintf(path, sizeof(path), "/proc/self/ns/%.*s", (int)len, arg);
		if (stat(path, &st) < 0) {
			oc_probe_say_errno(detail, path, errno);
			return false;
		}
		if (st.st_ino == ino) {
			oc_probe_say(detail, "the %.*s namespace is the guard's own", (int)len, arg);
			return false;
		}
	}
	oc_probe_say(detail, "%zu differ from the guard's", p->args.n);
	return true;
}

bool oc_probe_privileges(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	bool before = !strcmp(p->args.v[0], "before");
	struct oc_status now;
	const struct oc_status *s = before ? run->before : &now;
	uint64_t least;

	oc_status_read(&now);
	if ((!before && strcmp(p->args.v[0], "after")) || !oc_parse_u64(p->args.v[1], &least) || !s->valid) {
		oc_probe_say(detail, s->valid ? "neither before nor after, or no number" : "no /proc/self/status");
		return false;
	}
	oc_probe_say(detail, "%s: NoNewPrivs %d, capabilities %llx, Seccomp %d, filters %d of at least %llu",
	             p->args.v[0], s->no_new_privs, (unsigned long long)s->caps, s->seccomp, s->filters,
	             (unsigned long long)least);
	if (s->no_new_privs != 1 || s->caps || (least && s->seccomp != 2))
		return false;
	/* Before 5.9 the kernel doesn't count: mode 2 then says there is one at least. */
	return s->filters < 0 ? least <= 1 : (uint64_t)s->filters >= least;
}

/* The name of a process, for the report. */
static void comm_of(long pid, char *buf, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	if (oc_read_small(path, buf, size) <= 0)
		snprintf(buf, size, "?");
	buf[strcspn(buf, "\n")] = 0;
}

static bool proc_is_ours(void)
{
	char self[32];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	if (n <= 0)
		return false;
	self[n] = 0;
	return atol(self) == (long)getpid();
}

bool oc_probe_trace(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	DIR *dir = proc_is_ours() ? opendir("/proc") : NULL;
	struct dirent *e;
	unsigned seen = 0;
	bool ok = true;

	(void)run;
	(void)p;
	if (!dir) {
		oc_probe_say(detail, "/proc is not that of this pid namespace");
		return false;
	}
	while (ok && (e = readdir(dir))) {
		long pid = strtol(e->d_name, NULL, 10);
		char path[64], comm[32];
		int fd;

		if (pid <= 0 || pid == (long)getpid())
			continue;
		seen++;
		snprintf(path, sizeof(path), "/proc/%ld/mem", pid);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0 && errno != EMFILE && errno != ENFILE && errno != ENOMEM)
			continue;
		comm_of(pid, comm, sizeof(comm));
		oc_probe_say(detail,
		             fd < 0 ? "memory of %ld (%s) could not be tried" : "memory of %ld (%s) is writable", pid,
		             comm);
		if (fd >= 0)
			close(fd);
		ok = false;
	}
	closedir(dir);
	if (ok)
		oc_probe_say(detail, "none of %u other processes", seen);
	return ok;
}
