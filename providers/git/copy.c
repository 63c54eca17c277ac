/* SPDX-License-Identifier: Apache-2.0 */
/* A pack of which all is wanted is copied as a file; of one that holds more, the wanted entries are (repack.c): so what
 * was stashed or dropped stays out without anything being packed anew.  At the end the count must come out: a repository
 * that changed under our hands is said, never a workspace that lacks something. */
#include "copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/fs.h>

#include "index.h"
#include "repack.h"

#define PACKS_MAX 100000u

static int copy_bytes(int in, int out)
{
	char block[65536];

	for (;;) {
		ssize_t n = copy_file_range(in, NULL, out, NULL, 1u << 30, 0);

		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			break;
	}
	if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
		return -1;
	for (;;) {
		ssize_t n = read(in, block, sizeof(block));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		if (write_all(out, block, (size_t)n) < 0)
			return -1;
	}
}

int copy_file(int from_dir, const char *from, int to_dir, const char *to, mode_t mode)
{
	cleanup_fd int in = openat(from_dir, from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	cleanup_fd int out = -1;
	struct stat st;

	if (in < 0 || fstat(in, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode))
		return errno = EINVAL, -1;
	out = openat(to_dir, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (out < 0)
		return -1;
	return ioctl(out, FICLONE, in) == 0 ? 0 : copy_bytes(in, out);
}

struct copying {
	struct closure *k;
	int from, to; /* objects directories */
	const char *from_path;
	const struct checkout *c;
	struct refusal *r;
};

static bool wanted(const struct closure *k, const git_oid *id)
{
	uint32_t value = oids_get(&k->set, id);

	return value != OIDS_NONE && !(value & (CLOSURE_PART | CLOSURE_COPIED));
}

static int mark(struct closure *k, const git_oid *id)
{
	return oids_put(&k->set, id, oids_get(&k->set, id) | CLOSURE_COPIED);
}

static int copy_loose(struct copying *x, int from, int *to, const char *folder, const char *name)
{
	char hex[GIT_OID_HEXSZ + 1];
	git_oid id;

	if (strlen(name) != GIT_OID_HEXSZ - 2)
		return 0;
	memcpy(hex, folder, 2);
	memcpy(hex + 2, name, GIT_OID_HEXSZ - 1);
	if (oid_parse(hex, GIT_OID_HEXSZ, &id) < 0 || !wanted(x->k, &id))
		return 0;
	if (*to < 0) {
		if (mkdirat(x->to, folder, 0755) < 0 && errno != EEXIST)
			return refuse_errno(x->r, folder, "the workspace's objects can't be written");
		*to = openat(x->to, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (*to < 0 || copy_file(from, name, *to, name, 0444) < 0)
		return refuse_errno(x->r, hex, "an object can't be copied");
	return mark(x->k, &id) < 0 ? no_memory(x->r) : 0;
}

static int copy_folder(struct copying *x, const char *folder)
{
	int fd = openat(x->from, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	cleanup_fd int to = -1;
	struct dirent *e;
	DIR *list;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR
		               ? 0
		               : refuse_errno(x->r, x->from_path, "its objects can't be read");
	list = fdopendir(fd);
	if (!list) {
		(void)close(fd);
		return no_memory(x->r);
	}
	while (!rc && (errno = 0, e = readdir(list)))
		rc = copy_loose(x, fd, &to, folder, e->d_name);
	if (!rc && errno)
		rc = refuse_errno(x->r, x->from_path, "its objects can't be read");
	(void)closedir(list);
	return rc;
}

static int copy_all_loose(struct copying *x)
{
	static const char hex[] = "0123456789abcdef";
	char folder[3] = "";

	for (int i = 0; i < 256; i++) {
		folder[0] = hex[i >> 4];
		folder[1] = hex[i & 15];
		if (copy_folder(x, folder))
			return -1;
	}
	return 0;
}

/* The same pack may be in two directories: one copy will do. */
static int copy_whole(struct copying *x, int from, int to, const char *name, const struct pack_map *m)
{
	cleanup_free char *pack = format("%s.pack", name), *index = format("%s.idx", name);
	git_oid id;

	if (!pack || !index)
		return no_memory(x->r);
	if (copy_file(from, pack, to, pack, 0444) < 0 || copy_file(from, index, to, index, 0444) < 0)
		return errno == EEXIST ? 0 : refuse_errno(x->r, pack, "a pack can't be copied");
	for (uint32_t i = 0; i < m->n; i++) {
		pack_map_id(m, i, &id);
		if (mark(x->k, &id) < 0)
			return no_memory(x->r);
	}
	return 0;
}

static int copy_pack(struct copying *x, int from, int to, const char *name)
{
	struct pack_map m;
	const char *why = NULL;
	uint32_t fresh = 0, foreign = 0;
	git_oid id;
	int rc = pack_map_open(&m, from, name, &why);

	if (rc < 0)
		return errno == ENOENT ? 0 : refuse_errno(x->r, name, "a pack can't be read");
	if (rc > 0)
		return checkout_refuse(x->c, x->r, "repack -a -d", "has a pack (%s in %s) that %s", name, x->from_path,
		                       why);
	for (uint32_t i = 0; i < m.n; i++) {
		pack_map_id(&m, i, &id);
		fresh += wanted(x->k, &id);
		foreign += !closure_has(x->k, &id);
	}
	if (fresh && !foreign)
		rc = copy_whole(x, from, to, name, &m);
	else if (fresh)
		rc = repack(x->k, x->c, &m, to, x->r);
	pack_map_close(&m);
	return rc;
}

struct found {
	char *name; /* without ".idx" */
	off_t size;
};

static int larger(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->size != y->size ? (x->size < y->size) - (x->size > y->size) : strcmp(x->name, y->name);
}

static int list_packs(struct copying *x, int dir, struct found **out, size_t *n)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	size_t cap = 0;
	struct stat st;
	int rc = 0;

	if (!list)
		return refuse_errno(x->r, x->from_path, "its packs can't be listed");
	while (!rc && (e = readdir(list))) {
		size_t len = strlen(e->d_name);

		if (len < 10 || strncmp(e->d_name, "pack-", 5) != 0 || strcmp(e->d_name + len - 4, ".idx") != 0)
			continue;
		if (*n == cap) {
			struct found *more = realloc(*out, (cap = cap ? 2 * cap : 16) * sizeof(**out));

			if (more)
				*out = more;
			rc = more ? 0 : no_memory(x->r);
		}
		if (!rc && *n == PACKS_MAX)
			rc = checkout_refuse(x->c, x->r, "gc", "has more than %u packs", PACKS_MAX);
		if (rc)
			break;
		(*out)[*n] = (struct found){ strndup(e->d_name, len - 4),
			                     fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size : 0 };
		rc = (*out)[(*n)++].name ? 0 : no_memory(x->r);
	}
	(void)closedir(list);
	return rc;
}

static int copy_packs(struct copying *x)
{
	cleanup_fd int from = openat(x->from, "pack", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int to = openat(x->to, "pack", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct found *list = NULL;
	size_t n = 0;
	int rc;

	if (from < 0)
		return errno == ENOENT ? 0 : refuse_errno(x->r, x->from_path, "its packs can't be read");
	if (to < 0)
		return refuse_errno(x->r, "pack", "the workspace's objects can't be written");
	rc = list_packs(x, from, &list, &n);
	if (!rc && n)
		qsort(list, n, sizeof(*list), larger);
	for (size_t i = 0; i < n; i++) {
		if (!rc)
			rc = copy_pack(x, from, to, list[i].name);
		free(list[i].name);
	}
	free(list);
	return rc;
}

static int check_all(struct closure *k, const struct checkout *c, struct refusal *r)
{
	for (size_t i = 0; i < k->set.cap; i++) {
		uint32_t value = k->set.table[i].value;
		char hex[GIT_OID_HEXSZ + 1];

		if (value == OIDS_NONE || (value & (CLOSURE_PART | CLOSURE_COPIED)))
			continue;
		(void)git_oid_tostr(hex, sizeof(hex), &k->set.table[i].id);
		return refuse(r, "workspace_conflict", c->path,
		              "let what packs it (git gc, git repack) end, then try again",
		              "the objects of %s changed while they were copied: %s is not where it was", c->path, hex);
	}
	return 0;
}

int copy_objects(struct closure *k, const struct checkout *c, const char *objects, struct refusal *r)
{
	cleanup_fd int to = open(objects, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (to < 0)
		return refuse_errno(r, objects, "the workspace can't be written");
	for (size_t i = 0; i < c->nobjects; i++) {
		cleanup_fd int from = open(c->objects[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct copying x = { k, from, to, c->objects[i], c, r };

		if (from < 0)
			return refuse_errno(r, c->objects[i], "the objects of the checkout can't be read");
		if (copy_packs(&x) || copy_all_loose(&x))
			return -1;
	}
	return check_all(k, c, r);
}
