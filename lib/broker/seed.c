/* SPDX-License-Identifier: Apache-2.0 */
/* The seed is the operator's, but something may change it meanwhile: everything is reached by the descriptor of the directory it
 * was found in, opened without following links, and looked at once it is open. */
#include "broker/seed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/os.h"

#define PIECE 65536

struct copying {
	struct oc_os_id state;
	unsigned entries;
	long long bytes;
	char path[PATH_MAX]; /* of what is being copied, for messages */
	oc_error **err;
};

static int refuse(struct copying *c, const char *fix, const char *what)
{
	return oc_refuse(c->err, "sandbox_config", c->path, fix, "the home_seed can't be copied: %s %s", c->path, what);
}

static int failed(struct copying *c, int errnum, const char *what)
{
	return oc_error_makef(c->err, OC_EIO, errnum, NULL, c->path, NULL, "the home_seed can't be copied: %s %s",
	                      c->path, what);
}

/* Who else could have put it there; by convention a user's own group has no other member. */
static int check_owner(struct copying *c, const struct stat *st)
{
	bool own_group = !st->st_gid || (st->st_gid == getegid() && st->st_gid == geteuid());

	if (st->st_uid != geteuid() && st->st_uid)
		return refuse(c, "copy it, so that it is yours", "belongs to another user");
	if ((st->st_mode & S_IWOTH) || ((st->st_mode & S_IWGRP) && !own_group))
		return refuse(c, "chmod -R go-w the home_seed", "can be written by others");
	return 0;
}

static int too_much(struct copying *c)
{
	return refuse(c, "leave out what is large", "is the file with which it holds more than 256 MiB");
}

static int copy_bytes(struct copying *c, int from, int to)
{
	char piece[PIECE];
	ssize_t n;

	while ((n = read(from, piece, sizeof(piece))) != 0) {
		int rc;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(c, errno, "can't be read");
		c->bytes += n;
		if (c->bytes > OC_SEED_BYTES)
			return too_much(c);
		rc = oc_write_all(to, piece, (size_t)n);
		if (rc < 0)
			return failed(c, -rc, "can't be written into the Work's home");
	}
	return 0;
}

/* Half of an old file and half of a new one would be neither. */
static int check_unchanged(struct copying *c, int fd, const struct stat *before)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_size == before->st_size && st.st_mtim.tv_sec == before->st_mtim.tv_sec &&
	    st.st_mtim.tv_nsec == before->st_mtim.tv_nsec)
		return 0;
	return refuse(c, "try again when nothing writes there", "changed while it was copied");
}

static int copy_file(struct copying *c, int from, const char *name, int into)
{
	oc_cleanup(oc_closep) int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	oc_cleanup(oc_closep) int out = -1;
	struct stat st;
	int rc;

	if (in < 0 || fstat(in, &st) < 0)
		return failed(c, errno, "can't be opened");
	if (!S_ISREG(st.st_mode))
		return refuse(c, "try again when nothing writes there", "changed while it was copied");
	rc = check_owner(c, &st);
	if (rc == 0 && st.st_size > OC_SEED_BYTES - c->bytes)
		rc = too_much(c);
	if (rc < 0)
		return rc;
	out = openat(into, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return failed(c, errno, "can't be made in the Work's home");
	rc = copy_bytes(c, in, out);
	if (rc == 0)
		rc = check_unchanged(c, in, &st);
	if (rc == 0 && (st.st_mode & S_IXUSR) && fchmod(out, 0700) < 0)
		rc = failed(c, errno, "can't be made executable in the Work's home");
	return rc;
}

/* Up only at its beginning: what goes up behind a name may start from where another link leads. */
static bool leads_out(const char *target, unsigned depth)
{
	const char *p = target;
	bool names = false;

	if (*p == '/' || !*p)
		return true;
	for (; *p; p += strspn(p, "/")) {
		size_t n = strcspn(p, "/");
		bool up = n == 2 && p[0] == '.' && p[1] == '.';

		if (up && (names || !depth--))
			return true;
		names = names || (!up && !(n == 1 && *p == '.'));
		p += n;
	}
	return false;
}

static int copy_link(struct copying *c, int from, const char *name, int into, unsigned depth)
{
	char target[PATH_MAX], what[PATH_MAX + 64];
	ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

	if (n < 0)
		return failed(c, errno, "can't be read");
	target[n] = 0;
	if (leads_out(target, depth)) {
		snprintf(what, sizeof(what), "is a link to %s, which is not in it", target);
		return refuse(c, "use plain files: a link to a path of this machine leads nowhere in a container",
		              what);
	}
	return symlinkat(target, into, name) < 0 ? failed(c, errno, "can't be made in the Work's home") : 0;
}

static int copy_directory(struct copying *c, int from, int into, unsigned depth);

static int enter(struct copying *c, int from, const char *name, int into, unsigned depth)
{
	oc_cleanup(oc_closep) int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	oc_cleanup(oc_closep) int out = -1;

	if (in < 0)
		return failed(c, errno, "can't be opened");
	if (depth == OC_SEED_DEPTH)
		return refuse(c, "leave it out", "is more than 32 directories deep");
	if (mkdirat(into, name, 0700) < 0)
		return failed(c, errno, "can't be made in the Work's home");
	out = openat(into, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return out < 0 ? failed(c, errno, "can't be opened in the Work's home") : copy_directory(c, in, out, depth + 1);
}

static int copy_entry(struct copying *c, int from, const char *name, int into, unsigned depth)
{
	struct stat st;

	if (++c->entries > OC_SEED_ENTRIES)
		return refuse(c, "leave out what the agent doesn't need",
		              "is one more than the 20000 entries it may have");
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return failed(c, errno, "can't be looked at");
	if (S_ISREG(st.st_mode))
		return copy_file(c, from, name, into);
	if (S_ISDIR(st.st_mode))
		return enter(c, from, name, into, depth);
	if (S_ISLNK(st.st_mode))
		return copy_link(c, from, name, into, depth);
	return refuse(c, "leave it out", "is neither a file, a directory nor a link");
}

/* The path in messages, with one name more: its length without that, or negative. */
static int push(struct copying *c, const char *name)
{
	size_t at = strlen(c->path);
	int n = snprintf(c->path + at, sizeof(c->path) - at, "/%s", name);

	if (n < 0 || (size_t)n >= sizeof(c->path) - at) {
		c->path[at] = 0;
		return refuse(c, "leave it out", "holds a path that is too long");
	}
	return (int)at;
}

static int copy_entries(struct copying *c, DIR *dir, int into, unsigned depth)
{
	struct dirent *entry;
	int rc = 0;

	while (rc == 0 && (errno = 0, entry = readdir(dir))) {
		const char *name = entry->d_name;
		int at;

		if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, OC_SEED_LEFT))
			continue;
		at = push(c, name);
		if (at < 0)
			return at;
		rc = copy_entry(c, dirfd(dir), name, into, depth);
		if (rc == 0)
			c->path[at] = 0;
	}
	return rc == 0 && errno ? failed(c, errno, "can't be listed") : rc;
}

static int check_directory(struct copying *c, int fd)
{
	struct oc_os_id id;
	struct stat st;

	if (fstat(fd, &st) < 0 || oc_os_identify(fd, "", &id) < 0)
		return failed(c, errno, "can't be looked at");
	if (id.dev == c->state.dev && id.ino == c->state.ino)
		return refuse(c, "make a directory of its own", "is Open Conduit's state");
	return check_owner(c, &st);
}

static int copy_directory(struct copying *c, int from, int into, unsigned depth)
{
	int rc = check_directory(c, from), fd;
	DIR *dir;

	if (rc < 0)
		return rc;
	fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		rc = failed(c, errno, "can't be listed");
		oc_closep(&fd);
		return rc;
	}
	rc = copy_entries(c, dir, into, depth);
	closedir(dir);
	return rc;
}

/* Upwards from it, by the directories that are there and not by names. */
static int check_above(struct copying *c, int seed)
{
	oc_cleanup(oc_closep) int at = openat(seed, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct oc_os_id id = { 0 }, last = { 0 };

	for (unsigned i = 0; at >= 0 && i < PATH_MAX; i++) {
		int up;

		if (oc_os_identify(at, "", &id) < 0)
			break;
		if (id.dev == c->state.dev && id.ino == c->state.ino)
			return refuse(c, "make a directory of its own", "lies in Open Conduit's state");
		if (i && id.dev == last.dev && id.ino == last.ino)
			return 0;
		last = id;
		up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		oc_close(at);
		at = up;
	}
	return failed(c, errno, "can't be placed");
}

int oc_seed_copy(const char *path, int into, int state, oc_error **err)
{
	oc_cleanup(oc_closep) int seed = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct copying c = { .err = err };
	int rc;

	if (snprintf(c.path, sizeof(c.path), "%s", path) >= (int)sizeof(c.path))
		return oc_fail(err, OC_EINVAL, 0, "the path of a home_seed is too long");
	if (seed < 0)
		return oc_error_makef(err, OC_EREFUSED, errno, "sandbox_config", path, "name a directory of your own",
		                      "the home_seed can't be opened");
	if (oc_os_identify(state, "", &c.state) < 0)
		return failed(&c, errno, "can't be compared with the state");
	rc = check_above(&c, seed);
	return rc < 0 ? rc : copy_directory(&c, seed, into, 0);
}
