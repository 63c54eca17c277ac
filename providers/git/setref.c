/* SPDX-License-Identifier: Apache-2.0 */
/* A lock of ours is written elsewhere and then given its name, so that it is never seen half written: one that already
 * holds the value it is to set, and that nobody gives up, is what an earlier save left that was killed there. */
#include "setref.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "beneath.h"
#include "refs.h"

#define PACKED_MAX (1u << 30)

mode_t mode_like(int dir)
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return 0600;
	return 0200 | (st.st_mode & 0444) | (st.st_mode & 0022 ? st.st_mode & 0022 : 0);
}

static int open_how(int dir, const char *path, uint64_t flags, mode_t mode)
{
	struct open_how how = { .flags = flags | O_CLOEXEC | O_NOFOLLOW,
		                .mode = flags & O_CREAT ? mode : 0,
		                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

/* The folder that path is in, made as far as it is missing; or -1 with errno. */
static int open_folder(int dir, const char *path)
{
	const char *slash;
	int at = open_how(dir, ".", O_RDONLY | O_DIRECTORY, 0);

	while (at >= 0 && (slash = strchr(path, '/')) != NULL) {
		cleanup_free char *name = strndup(path, (size_t)(slash - path));
		int next = name ? open_how(at, name, O_RDONLY | O_DIRECTORY, 0) : -1;
		struct stat st;

		if (next < 0 && name && errno == ENOENT && fstat(at, &st) == 0 &&
		    (mkdirat(at, name, 0700) == 0 || errno == EEXIST)) {
			next = open_how(at, name, O_RDONLY | O_DIRECTORY, 0);
			if (next >= 0)
				(void)fchmod(next, st.st_mode & 03777);
		}
		closep(&at);
		at = next;
		path = slash + 1;
	}
	return at;
}

int make_file(int dir, const char *path, int flags, mode_t mode)
{
	cleanup_fd int folder = open_folder(dir, path);
	const char *name = strrchr(path, '/');
	int fd;

	if (folder < 0)
		return -1;
	if (!mode)
		mode = mode_like(folder);
	fd = open_how(folder, name ? name + 1 : path, (uint64_t)flags | O_CREAT, mode & 0777);
	/* Whatever the umask of this process: the checkout's own folders say who may read. */
	if (fd >= 0 && !(flags & O_APPEND))
		(void)fchmod(fd, mode);
	return fd;
}

static int sync_folder(int dir, const char *path)
{
	cleanup_fd int folder = open_folder(dir, path);

	return folder < 0 ? -1 : fsync(folder);
}

static int packed_value(int common, const char *name, git_oid *out)
{
	cleanup_text struct text text = { 0 };
	struct packed_iter it;
	const char *at;
	size_t len, wanted = strlen(name);
	git_oid id;
	int more, result = beneath_read(common, "packed-refs", PACKED_MAX, &text);

	if (result == -ENOENT)
		return 0;
	if (result < 0)
		return -1;
	it = (struct packed_iter){ text.data, text.data + text.len };
	while ((more = packed_next(&it, &at, &len, &id)) != 0) {
		if (more < 0)
			continue;
		if (len == wanted && !memcmp(at, name, len)) {
			*out = id;
			return 1;
		}
		/* One above or beneath it: both can't be. */
		if ((len > wanted && !memcmp(at, name, wanted) && at[wanted] == '/') ||
		    (len < wanted && !memcmp(at, name, len) && name[len] == '/'))
			return -1;
	}
	return 0;
}

int ref_value(int common, const char *name, git_oid *out)
{
	cleanup_text struct text text = { 0 };
	cleanup_free char *symbolic = NULL;
	struct stat st;
	int result;

	/* A folder that earlier references left; whether it is empty is seen when it is replaced. */
	if (fstatat(common, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		return packed_value(common, name, out);
	result = beneath_read(common, name, 4096, &text);
	if (result == -ENOENT || result == -ENOTDIR)
		return packed_value(common, name, out);
	if (result < 0 || ref_parse(text.data, text.len, out, &symbolic) < 0 || symbolic)
		return -1;
	return 1;
}

static void pause_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static bool holds(int common, const char *lock, const char *content)
{
	cleanup_text struct text text = { 0 };

	return beneath_read(common, lock, 4096, &text) == 0 && !strcmp(text.data, content);
}

/* 0: the lock has its name; else SET_LOCKED, SET_CLASH, SET_FAILED. */
static enum set_result take_lock(int common, const char *fresh, const char *lock, const char *content)
{
	int waited;

	for (waited = 0;; waited += 100) {
		if (renameat2(common, fresh, common, lock, RENAME_NOREPLACE) == 0)
			return SET_DONE;
		if (errno != EEXIST)
			return SET_FAILED;
		if (waited >= SET_WAIT_MS)
			break;
		pause_ms(100);
	}
	if (!holds(common, lock, content))
		return SET_LOCKED;
	return renameat(common, fresh, common, lock) == 0 ? SET_DONE : SET_FAILED;
}

static enum set_result write_fresh(int common, const char *fresh, const char *content)
{
	cleanup_fd int fd = make_file(common, fresh, O_WRONLY | O_TRUNC, 0);

	if (fd < 0)
		return errno == ENOTDIR || errno == EISDIR || errno == ELOOP || errno == ENAMETOOLONG ? SET_CLASH
		                                                                                      : SET_FAILED;
	return write_all(fd, content, strlen(content)) == 0 && fsync(fd) == 0 ? SET_DONE : SET_FAILED;
}

/* Where the checkout keeps logs at all.  One that can't be written is no reason to lose a commit. */
static void write_log(int common, const char *name, const git_oid *old, const git_oid *value, const char *why)
{
	cleanup_fd int logs = open_how(common, "logs", O_RDONLY | O_DIRECTORY, 0);
	cleanup_fd int fd = logs < 0 ? -1 : make_file(logs, name, O_WRONLY | O_APPEND, 0);
	char from[GIT_OID_HEXSZ + 1], to[GIT_OID_HEXSZ + 1];
	cleanup_free char *line = NULL;

	git_oid_tostr(from, sizeof(from), old);
	git_oid_tostr(to, sizeof(to), value);
	line = format("%s %s Open Conduit <open-conduit@localhost> %lld +0000\t%s\n", from, to, (long long)time(NULL),
	              why);
	if (fd >= 0 && line)
		(void)write_all(fd, line, strlen(line));
}

static enum set_result finish(int common, const char *name, const char *lock)
{
	if (renameat(common, lock, common, name) == 0)
		return sync_folder(common, name) == 0 ? SET_DONE : SET_FAILED;
	/* Git leaves empty folders where references were. */
	if (errno != EISDIR && errno != ENOTEMPTY && errno != EEXIST)
		return SET_FAILED;
	if (unlinkat(common, name, AT_REMOVEDIR) < 0)
		return SET_CLASH;
	return renameat(common, lock, common, name) == 0 && sync_folder(common, name) == 0 ? SET_DONE : SET_FAILED;
}

enum set_result ref_set(int common, const char *name, const git_oid *expected, const git_oid *value, const char *why,
                        git_oid *now)
{
	cleanup_free char *lock = format("%s.lock", name), *fresh = format("%s.open-conduit.lock", name);
	char content[GIT_OID_HEXSZ + 2];
	enum set_result result;
	int have, saved;

	if (!lock || !fresh)
		return errno = ENOMEM, SET_FAILED;
	git_oid_tostr(content, sizeof(content), value);
	content[GIT_OID_HEXSZ] = '\n';
	content[GIT_OID_HEXSZ + 1] = 0;
	result = write_fresh(common, fresh, content);
	if (result == SET_DONE)
		result = take_lock(common, fresh, lock, content);
	if (result != SET_DONE) {
		saved = errno;
		(void)unlinkat(common, fresh, 0);
		return errno = saved, result;
	}
	fault("save:locked");
	*now = (git_oid){ { 0 } };
	have = ref_value(common, name, now);
	if (have < 0)
		result = SET_CLASH;
	else if (!git_oid_equal(now, expected))
		result = SET_CHANGED;
	if (result == SET_DONE) {
		write_log(common, name, now, value, why);
		result = finish(common, name, lock);
	}
	saved = errno;
	if (result != SET_DONE)
		(void)unlinkat(common, lock, 0);
	return errno = saved, result;
}
