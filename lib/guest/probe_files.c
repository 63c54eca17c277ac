/* SPDX-License-Identifier: Apache-2.0 */
/* Files.  Where a failure is expected only errors that mean "denied" or "not there" count: one that
 * means "could not find out" (EMFILE, EIO, …) is a failed probe. */
#include "guest/probe.h"

#include "guest/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#ifndef O_TMPFILE
#define O_TMPFILE (020000000 | O_DIRECTORY)
#endif
#define TMPFS_MAGIC_NUMBER 0x01021994
#define OWN_TMPFS_AGE      10 /* seconds: made while this sandbox was, so not so long before its first process */
#define ENTRIES_MAX        100000

/* Of the kernel, whose structure not every libc has. */
struct own_statx {
	uint32_t mask, blksize;
	uint64_t attributes;
	uint32_t nlink, uid, gid;
	uint16_t mode, pad;
	uint64_t ino, size, blocks, attributes_mask;
	struct {
		int64_t sec;
		uint32_t nsec, pad;
	} atime, btime, ctime, mtime;
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t mnt_id;
	uint64_t spare[13];
};
#define OWN_STATX_BTIME      0x800u
#define OWN_STATX_MNT_ID     0x1000u
#define OWN_STATX_MOUNT_ROOT 0x2000u

static int own_statx(const char *path, unsigned mask, struct own_statx *out)
{
	memset(out, 0, sizeof(*out));
	return syscall(__NR_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, mask, out) ? -errno : 0;
}

static bool denied(int err)
{
	return err == EACCES || err == EPERM || err == EROFS || err == ENOENT || err == ENOTDIR || err == ELOOP;
}

static int try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);

	return fd < 0 ? -errno : fd;
}

/* Does a probe that says what is visible name dir/entry, or something beneath it? */
static bool named(const struct oc_orders *o, const char *dir, const char *entry)
{
	size_t d = strlen(dir), e = strlen(entry);

	while (d && dir[d - 1] == '/')
		d--;
	for (size_t i = 0; i < o->n_probes; i++) {
		const struct oc_probe *p = &o->probes[i];
		const char *path = p->args.n ? p->args.v[0] : "";

		if (p->kind != OC_PROBE_READABLE && p->kind != OC_PROBE_WRITABLE && p->kind != OC_PROBE_SAME &&
		    p->kind != OC_PROBE_SOCKET)
			continue;
		if (strncmp(path, dir, d) == 0 && path[d] == '/' && strncmp(path + d + 1, entry, e) == 0 &&
		    (!path[d + 1 + e] || path[d + 1 + e] == '/'))
			return true;
	}
	return false;
}

static bool lists_nothing(const struct oc_orders *o, const char *path, DIR *dir, char *detail)
{
	struct dirent *e;
	unsigned extra = 0, seen = 0;
	char first[256] = "";

	errno = 0;
	while (seen < ENTRIES_MAX && (e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		seen++;
		if (named(o, path, e->d_name))
			continue;
		if (!extra++)
			snprintf(first, sizeof(first), "%s", e->d_name);
		if (extra > 100)
			break;
	}
	if (extra)
		oc_probe_say(detail, "lists '%s' and %u more", first, extra - 1);
	else if (errno)
		oc_probe_say_errno(detail, "reading the directory", errno);
	else
		oc_probe_say(detail, seen ? "a directory of only what the plan makes visible" : "an empty directory");
	return !extra && !errno;
}

/* A sandbox may hide a file behind /dev/null, from which nothing can be read. */
static bool is_dev_null(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && major(st->st_rdev) == 1 && minor(st->st_rdev) == 3;
}

bool oc_probe_unreadable(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	const char *path = p->args.v[0];
	int fd = try_open(path, O_RDONLY);
	struct stat st;
	bool ok = false;
	DIR *dir;

	if (fd < 0) {
		oc_probe_say_errno(detail, path, -fd);
		return denied(-fd) || fd == -ENXIO; /* ENXIO: a socket, which has its own probe */
	}
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		dir = fdopendir(fd);
		if (dir) {
			ok = lists_nothing(run->orders, path, dir, detail);
			closedir(dir);
			return ok;
		}
		oc_probe_say_errno(detail, path, errno);
	} else if (is_dev_null(&st)) {
		oc_probe_say(detail, "hidden behind /dev/null");
		ok = true;
	} else {
		oc_probe_say(detail, "opened for reading");
	}
	close(fd);
	return ok;
}

bool oc_probe_readable(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	int fd = try_open(p->args.v[0], O_RDONLY);
	struct stat st;
	bool null;

	(void)run;
	if (fd == -ENXIO) {
		fd = try_open(p->args.v[0], O_PATH);
		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode)) {
			close(fd);
			oc_probe_say(detail, "a socket, visible");
			return true;
		}
	}
	if (fd < 0) {
		oc_probe_say_errno(detail, p->args.v[0], -fd);
		return false;
	}
	null = fstat(fd, &st) == 0 && is_dev_null(&st) && strcmp(p->args.v[0], "/dev/null");
	close(fd);
	oc_probe_say(detail, null ? "hidden behind /dev/null" : "opened for reading");
	return !null;
}

static int64_t wall_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec;
}

/* The line of mountinfo for a mount id: root and mount point of it, false when there is none. */
static bool find_mount(uint64_t id, char root[256], char point[512])
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[2048];
	unsigned long long n;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%llu %*u %*u:%*u %255s %511s", &n, root, point) == 3 && n == id;
	if (f)
		fclose(f);
	return found;
}

/* How long the first process of this namespace has been there, in seconds; 0 where it can't be told.  A sandbox may wait for as long as
 * its machine is busy before it is looked at. */
static int64_t first_process_age(void)
{
	char stat[1024], uptime[64], *p;
	unsigned long long start = 0;
	long ticks = sysconf(_SC_CLK_TCK);
	int64_t age;

	if (ticks <= 0 || oc_read_small("/proc/1/stat", stat, sizeof(stat)) <= 0 ||
	    oc_read_small("/proc/uptime", uptime, sizeof(uptime)) <= 0)
		return 0;
	/* The name is in brackets and may hold anything; the 20th field after it is the start. */
	p = strrchr(stat, ')');
	for (int i = 0; p && i < 20; i++)
		p = strchr(p + 1, ' ');
	if (!p)
		return 0;
	start = strtoull(p + 1, NULL, 10);
	age = strtoll(uptime, NULL, 10) - (int64_t)(start / (unsigned long long)ticks);
	return age > 0 ? age : 0;
}

/* A tmpfs that was made for this sandbox: the whole of one is mounted here, and it is as young as we are.
 * A host's tmpfs shows as a part of one or is older. */
bool oc_probe_own_tmpfs(const char *path)
{
	char root[256], point[512];
	struct statfs fs;
	struct own_statx sx;

	if (statfs(path, &fs) < 0 || (unsigned long)fs.f_type != TMPFS_MAGIC_NUMBER)
		return false;
	if (own_statx(path, OWN_STATX_MNT_ID, &sx) < 0 || !(sx.mask & OWN_STATX_MNT_ID))
		return false;
	if (!find_mount(sx.mnt_id, root, point) || strcmp(root, "/"))
		return false;
	if (own_statx(point, OWN_STATX_BTIME, &sx) < 0 || !(sx.mask & OWN_STATX_BTIME))
		return false;
	return sx.btime.sec >= wall_now() - first_process_age() - OWN_TMPFS_AGE;
}

/* 0: something can be made in it (and is gone again); -errno: it can't. */
static int make_in(const char *dir)
{
	char name[4200];
	int fd = try_open(dir, O_TMPFILE | O_WRONLY);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (fd != -EOPNOTSUPP && fd != -EISDIR && fd != -EINVAL)
		return fd;
	snprintf(name, sizeof(name), "%s/.oc-probe-%lx-%llx", dir, (long)getpid(), (unsigned long long)oc_now_ns());
	if (mkdir(name, 0700) < 0)
		return -errno;
	rmdir(name);
	return 0;
}

static bool unwritable_dir(const char *path, char *detail)
{
	int result = make_in(path);

	if (result < 0) {
		oc_probe_say_errno(detail, path, -result);
		return denied(-result);
	}
	if (oc_probe_own_tmpfs(path)) {
		oc_probe_say(detail, "%.300s: writable, but in a tmpfs of the sandbox's own", path);
		return true;
	}
	oc_probe_say(detail, "%.300s: a file can be made in it", path);
	return false;
}

/* A name that is not there: it is out of reach when no part of the path lets one make it. */
static bool unwritable_missing(const char *path, char *detail)
{
	char parent[4096];
	char *slash;
	struct stat st;

	if (snprintf(parent, sizeof(parent), "%s", path) >= (int)sizeof(parent))
		return oc_probe_say_errno(detail, path, ENAMETOOLONG), false;
	do {
		slash = strrchr(parent, '/');
		if (!slash)
			return oc_probe_say_errno(detail, path, EINVAL), false;
		slash[slash == parent] = 0;
	} while (stat(parent, &st) < 0 && parent[1]);
	return unwritable_dir(parent, detail);
}

bool oc_probe_unwritable(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	const char *path = p->args.v[0];
	struct stat st;
	int fd;

	(void)run;
	if (stat(path, &st) < 0) {
		if (errno == ENOENT)
			return unwritable_missing(path, detail);
		oc_probe_say_errno(detail, path, errno);
		return denied(errno);
	}
	if (S_ISDIR(st.st_mode))
		return unwritable_dir(path, detail);
	fd = try_open(path, O_WRONLY);
	/* A program that runs can't be opened by anyone; who may write it is asked otherwise. */
	if (fd == -ETXTBSY)
		fd = faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0 ? -errno : -ETXTBSY;
	if (fd < 0) {
		oc_probe_say_errno(detail, path, -fd);
		return denied(-fd);
	}
	close(fd);
	if (oc_probe_own_tmpfs(path)) {
		oc_probe_say(detail, "%.300s: writable, but in a tmpfs of the sandbox's own", path);
		return true;
	}
	oc_probe_say(detail, is_dev_null(&st) ? "%.300s: is /dev/null" : "%.300s: opened for writing", path);
	return is_dev_null(&st);
}

bool oc_probe_writable(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	const char *path = p->args.v[0];
	struct stat st;
	int result;

	(void)run;
	if (stat(path, &st) < 0) {
		oc_probe_say_errno(detail, path, errno);
		return false;
	}
	if (S_ISDIR(st.st_mode)) {
		result = make_in(path);
	} else {
		result = try_open(path, O_WRONLY);
		if (result >= 0)
			close(result);
	}
	if (result < 0)
		oc_probe_say_errno(detail, path, -result);
	else
		oc_probe_say(detail, "%.300s: writable", path);
	return result >= 0;
}

bool oc_probe_mount_root(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	struct own_statx sx;
	int result = own_statx(p->args.v[0], 0x7ff, &sx);
	bool ok;

	(void)run;
	if (result < 0) {
		oc_probe_say_errno(detail, p->args.v[0], -result);
		return false;
	}
	if (!(sx.attributes_mask & OWN_STATX_MOUNT_ROOT)) {
		oc_probe_say(detail, "this kernel does not tell mount points (5.8 does)");
		return false;
	}
	ok = sx.attributes & OWN_STATX_MOUNT_ROOT;
	oc_probe_say(detail, ok ? "%.300s: a mount of its own" : "%.300s: not a mount of its own", p->args.v[0]);
	return ok;
}

bool oc_probe_same(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	uint64_t dev, ino;
	struct stat st;

	(void)run;
	if (!oc_parse_u64(p->args.v[1], &dev) || !oc_parse_u64(p->args.v[2], &ino)) {
		oc_probe_say(detail, "device or inode is not a number");
		return false;
	}
	if (lstat(p->args.v[0], &st) < 0) {
		oc_probe_say_errno(detail, p->args.v[0], errno);
		return false;
	}
	oc_probe_say(detail, "%.300s: device %llu inode %llu", p->args.v[0], (unsigned long long)st.st_dev,
	             (unsigned long long)st.st_ino);
	return st.st_dev == dev && st.st_ino == ino;
}

bool oc_probe_no_write_fifo(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	int fd = try_open(p->args.v[0], O_WRONLY);

	(void)run;
	if (fd < 0 && fd != -ENXIO) {
		oc_probe_say_errno(detail, p->args.v[0], -fd);
		return denied(-fd);
	}
	if (fd >= 0)
		close(fd);
	/* ENXIO: nobody reads it now; the right to open it was there. */
	oc_probe_say(detail, "%.300s: can be opened for writing", p->args.v[0]);
	return false;
}
