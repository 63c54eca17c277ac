/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <openconduit/error.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"

static int open_proc(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

/* The whole text, or as much as fits: what is asked of it is at the front. */
static ssize_t read_text(int fd, char *text, size_t size)
{
	size_t len = 0;

	while (len < size - 1) {
		ssize_t n = read(fd, text + len, size - 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	return (ssize_t)len;
}

int oc_os_boot_id(char out[OC_BOOT_SIZE])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	char text[64];
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read_text(fd, text, sizeof(text));
	oc_close(fd);
	if (n < 0)
		return (int)n;
	if (n < OC_BOOT_SIZE - 1 || strspn(text, "0123456789abcdef-") != OC_BOOT_SIZE - 1)
		return -EIO;
	memcpy(out, text, OC_BOOT_SIZE - 1);
	out[OC_BOOT_SIZE - 1] = '\0';
	return 0;
}

int oc_os_process(pid_t pid, uint64_t *ticks, pid_t *ppid, pid_t *pgrp, pid_t *session)
{
	int fd = open_proc(pid, "stat"), parent, group, sid;
	unsigned long long start;
	char text[4096], state;
	const char *rest;
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read_text(fd, text, sizeof(text));
	oc_close(fd);
	if (n < 0)
		return (int)n;
	/* The name is the process's to choose, parentheses and line ends included; after the last
	 * parenthesis come only numbers. */
	rest = memrchr(text, ')', (size_t)n);
	if (!rest || sscanf(rest + 1, " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
	                    &state, &parent, &group, &sid, &start) != 5)
		return n == 0 ? -ESRCH : -EIO;
	if (state == 'Z' || state == 'X' || state == 'x')
		return -ESRCH;
	if (ticks)
		*ticks = start;
	if (ppid)
		*ppid = parent;
	if (pgrp)
		*pgrp = group;
	if (session)
		*session = sid;
	return 0;
}

int oc_os_start_time(pid_t pid, uint64_t *ticks)
{
	return oc_os_process(pid, ticks, NULL, NULL, NULL);
}

struct match {
	const char *entry;
	size_t len, at;
	bool possible, found;
};

static void match_byte(struct match *m, char c)
{
	if (c == '\0') {
		m->found = m->found || (m->possible && m->at == m->len);
		m->possible = true;
		m->at = 0;
	} else if (m->possible) {
		m->possible = m->at < m->len && m->entry[m->at] == c;
		m->at++;
	}
}

int oc_os_environ_has(pid_t pid, const char *entry)
{
	struct match m = { .entry = entry, .len = strlen(entry), .possible = true };
	int fd = open_proc(pid, "environ");
	char block[16384];
	ssize_t n;

	if (fd < 0)
		return fd;
	while (!m.found && ((n = read(fd, block, sizeof(block))) > 0 || (n < 0 && errno == EINTR)))
		for (ssize_t i = 0; i < n; i++)
			match_byte(&m, block[i]);
	if (!m.found && n < 0) {
		n = -errno;
		oc_close(fd);
		return (int)n;
	}
	if (m.at)
		match_byte(&m, '\0');
	oc_close(fd);
	return m.found;
}

int oc_os_each_process(int (*fn)(pid_t pid, void *userdata), void *userdata)
{
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		rc = -errno;
		oc_close(fd);
		return rc;
	}
	while (rc == 0 && (errno = 0, entry = readdir(dir))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (*end == '\0' && end != entry->d_name && pid > 0)
			rc = fn((pid_t)pid, userdata);
	}
	if (rc == 0 && !entry && errno)
		rc = -errno;
	closedir(dir);
	return rc;
}

int oc_os_pidfd_open(pid_t pid)
{
	long fd = syscall(SYS_pidfd_open, pid, 0u);

	return fd < 0 ? -errno : (int)fd;
}

int oc_os_pidfd_signal(int pidfd, int sig)
{
	return syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0u) < 0 ? -errno : 0;
}

int oc_os_close_from(int first)
{
	return syscall(SYS_close_range, (unsigned)first, ~0u, 0u) < 0 ? -errno : 0;
}

int oc_os_set_subreaper(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0;
}

int oc_os_fresh_keyring(void)
{
	return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 ? -errno : 0;
}

int oc_os_peer_uid(int socket, uid_t *uid, pid_t *pid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	if (len != sizeof(cred))
		return -EPROTO;
	if (uid)
		*uid = cred.uid;
	if (pid)
		*pid = cred.pid;
	return 0;
}

int oc_os_identify(int dirfd, const char *path, struct oc_os_id *out)
{
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*path ? 0 : AT_EMPTY_PATH);
	struct statx st;

	if (statx(dirfd, path, flags, STATX_BASIC_STATS, &st) < 0)
		return -errno;
	*out = (struct oc_os_id){
		.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.ino = st.stx_ino,
		.mode = st.stx_mode,
		.uid = st.stx_uid,
		.nlink = st.stx_nlink,
		.mount_root = st.stx_attributes & st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT,
	};
	return 0;
}
