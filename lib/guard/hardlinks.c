/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over every write grant with one open directory a level, no link followed.  Regular files are the only entries
 * that are stat'ed, and only files with more than one link are remembered.  Directories are remembered by device and inode,
 * so nested grants and bind mounts are counted once and a mount of an ancestor ends.  Mounts beneath a grant are entered:
 * the sandbox shows them too, and a link in there is as good as any other. */
#include "guard/hardlinks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

#define DIRENTS 65536u
#define DEPTH_MAX 512u
#define SAID_MAX 20u

struct slot {
	uint64_t dev, ino;
	uint32_t links, seen; /* links 0: a directory that was walked */
	char *path;
};
struct table {
	struct slot *v;
	size_t n, cap; /* cap: a power of two */
};
struct level {
	int fd;
	size_t path_len; /* of the parent's path */
	size_t at, len;  /* in dirents */
	unsigned char *dirents;
};
struct oc_hardlinks {
	struct table table;
	uint64_t entries, max_entries;
	struct oc_buf path;
	struct level *levels;
	unsigned depth, n_levels;
	const char *grant;
};
struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static size_t hash(uint64_t dev, uint64_t ino)
{
	uint64_t x = (ino ^ (dev << 32 | dev >> 32)) * 0x9e3779b97f4a7c15u;

	return (size_t)(x ^ x >> 29);
}

static struct slot *find(const struct table *t, uint64_t dev, uint64_t ino, bool dir)
{
	size_t i = hash(dev, ino) & (t->cap - 1);

	while (t->v[i].path && (t->v[i].ino != ino || t->v[i].dev != dev || (t->v[i].links == 0) != dir))
		i = (i + 1) & (t->cap - 1);
	return &t->v[i];
}

static int grow(struct table *t)
{
	struct table bigger = { NULL, t->n, t->cap ? t->cap * 2 : 1024 };
	size_t i;

	bigger.v = calloc(bigger.cap, sizeof(*bigger.v));
	if (!bigger.v)
		return -ENOMEM;
	for (i = 0; i < t->cap; i++)
		if (t->v[i].path)
			*find(&bigger, t->v[i].dev, t->v[i].ino, t->v[i].links == 0) = t->v[i];
	free(t->v);
	*t = bigger;
	return 0;
}

static char walked[] = "";

/* The slot of this object, new ones with path set; NULL: no memory. */
static struct slot *note(struct table *t, uint64_t dev, uint64_t ino, uint32_t links, char *path, bool *fresh)
{
	struct slot *s;

	if ((t->n + 1) * 2 > t->cap && grow(t) < 0)
		return NULL;
	s = find(t, dev, ino, links == 0);
	*fresh = !s->path;
	if (*fresh) {
		*s = (struct slot){ dev, ino, links, 0, path };
		t->n++;
	}
	return s;
}

int oc_hardlinks_new(uint64_t max_entries, struct oc_hardlinks **out, oc_error **err)
{
	struct oc_hardlinks *h = calloc(1, sizeof(*h));

	if (!h)
		return oc_nomem(err);
	h->max_entries = max_entries;
	oc_buf_init(&h->path, 1u << 20);
	h->levels = calloc(DEPTH_MAX, sizeof(*h->levels));
	if (!h->levels || grow(&h->table) < 0) {
		oc_hardlinks_free(h);
		return oc_nomem(err);
	}
	*out = h;
	return 0;
}

static void ascend(struct oc_hardlinks *h)
{
	struct level *l = &h->levels[--h->depth];

	l->fd = oc_close(l->fd);
	h->path.len = l->path_len;
	h->path.data[h->path.len] = '\0';
}

void oc_hardlinks_free(struct oc_hardlinks *h)
{
	size_t i;

	if (!h)
		return;
	while (h->depth)
		ascend(h);
	for (i = 0; i < h->n_levels; i++)
		free(h->levels[i].dirents);
	for (i = 0; i < h->table.cap; i++)
		if (h->table.v[i].path != walked)
			free(h->table.v[i].path);
	free(h->table.v);
	free(h->levels);
	oc_buf_free(&h->path);
	free(h);
}

static int cant(struct oc_hardlinks *h, int errnum, oc_error **err)
{
	return oc_refuse(err, "sandbox_denied", h->path.data, "Make it readable (chmod u+rx), or grant less",
			 "%s can't be checked for hard links to files outside it: %s", h->path.data, strerror(errnum));
}

static int count_file(struct oc_hardlinks *h, const char *name, const struct stat *st, oc_error **err)
{
	bool fresh;
	char *path = NULL;
	struct slot *s = note(&h->table, st->st_dev, st->st_ino, (uint32_t)st->st_nlink, walked, &fresh);

	if (!s)
		return oc_nomem(err);
	if (fresh) {
		size_t len = h->path.len;

		if (*name && (oc_buf_puts(&h->path, "/") < 0 || oc_buf_puts(&h->path, name) < 0))
			return oc_nomem(err);
		path = strdup(h->path.data);
		h->path.len = len;
		h->path.data[len] = '\0';
		if (!path)
			return oc_nomem(err);
		s->path = path;
	}
	s->seen++;
	/* A link made meanwhile must not make up for one that is outside. */
	s->links = OC_MAX(s->links, (uint32_t)st->st_nlink);
	return 0;
}

/* Go into the directory that fd is (taken); already walked: nothing to do. */
static int descend(struct oc_hardlinks *h, int fd, size_t parent_len, oc_error **err)
{
	struct level *l = &h->levels[h->depth];
	struct stat st;
	bool fresh;

	if (fstat(fd, &st) < 0 || !note(&h->table, st.st_dev, st.st_ino, 0, walked, &fresh)) {
		close(fd);
		return oc_fail(err, OC_EIO, errno, "Can't look at %s: %s", h->path.data, strerror(errno));
	}
	if (!fresh) {
		close(fd);
		h->path.len = parent_len;
		h->path.data[parent_len] = '\0';
		return 0;
	}
	if (h->depth == h->n_levels) {
		l->dirents = malloc(DIRENTS);
		if (!l->dirents) {
			close(fd);
			return oc_nomem(err);
		}
		h->n_levels++;
	}
	l->fd = fd;
	l->path_len = parent_len;
	l->at = l->len = 0;
	h->depth++;
	return 0;
}

/* A directory that we may not list: harmless only where the run can't enter it either. */
static int closed_directory(struct oc_hardlinks *h, int dir, const char *name, int errnum, oc_error **err)
{
	struct stat st;

	if (errnum == EACCES && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != geteuid() &&
	    faccessat(dir, name, X_OK, AT_EACCESS) < 0)
		return 0;
	return cant(h, errnum, err);
}

static int enter(struct oc_hardlinks *h, int dir, const char *name, oc_error **err)
{
	size_t len = h->path.len;
	int fd, rc = 0;

	if (oc_buf_puts(&h->path, "/") < 0 || oc_buf_puts(&h->path, name) < 0)
		return oc_fail(err, OC_ELIMIT, 0, "The path of %s is too long", h->path.data);
	if (h->depth == DEPTH_MAX)
		return cant(h, ELOOP, err);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		return descend(h, fd, len, err);
	/* Gone or another kind of thing by now: then it is not a directory to walk. */
	if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
		rc = closed_directory(h, dir, name, errno, err);
	h->path.len = len;
	h->path.data[len] = '\0';
	return rc;
}

static int look(struct oc_hardlinks *h, const struct level *l, const struct entry *d, oc_error **err)
{
	struct stat st;

	if (++h->entries > h->max_entries)
		return oc_refuse(err, "sandbox_denied", h->grant, "Grant a smaller directory",
				 "%s holds more than %llu entries: it can't be checked for hard links", h->grant,
				 (unsigned long long)h->max_entries);
	if (d->type == DT_DIR)
		return enter(h, l->fd, d->name, err);
	if (d->type != DT_REG && d->type != DT_UNKNOWN)
		return 0;
	if (fstatat(l->fd, d->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : cant(h, errno, err);
	if (S_ISDIR(st.st_mode))
		return enter(h, l->fd, d->name, err);
	if (!S_ISREG(st.st_mode) || st.st_nlink < 2)
		return 0;
	return count_file(h, d->name, &st, err);
}

static int fill(struct oc_hardlinks *h, struct level *l, oc_error **err)
{
	long n = syscall(SYS_getdents64, l->fd, l->dirents, DIRENTS);

	if (n < 0 && errno != ENOENT)
		return cant(h, errno, err);
	l->at = 0;
	l->len = n < 0 ? 0 : (size_t)n;
	return 0;
}

static int walk(struct oc_hardlinks *h, oc_error **err)
{
	while (h->depth) {
		struct level *l = &h->levels[h->depth - 1];
		const struct entry *d;
		int rc = l->at == l->len ? fill(h, l, err) : 0;

		if (rc < 0)
			return rc;
		if (!l->len) {
			ascend(h);
			continue;
		}
		d = (const void *)(l->dirents + l->at);
		l->at += d->reclen;
		if (d->name[0] == '.' && (!d->name[1] || (d->name[1] == '.' && !d->name[2])))
			continue;
		rc = look(h, l, d, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* A file granted by itself; one whose directory was walked is counted already. */
static int scan_file(struct oc_hardlinks *h, const char *path, const struct stat *st, oc_error **err)
{
	oc_cleanup(oc_freep) char *parent = oc_path_parent(path);
	struct stat dir;

	if (!parent)
		return oc_nomem(err);
	if (!S_ISREG(st->st_mode) || st->st_nlink < 2)
		return 0;
	if (stat(parent, &dir) < 0)
		return cant(h, errno, err);
	if (find(&h->table, dir.st_dev, dir.st_ino, true)->path)
		return 0;
	return count_file(h, "", st, err);
}

int oc_hardlinks_scan(struct oc_hardlinks *h, const char *path, oc_error **err)
{
	int fd, rc;
	struct stat st;

	h->grant = path;
	h->path.len = 0;
	if (oc_buf_puts(&h->path, path) < 0)
		return oc_nomem(err);
	if (lstat(path, &st) < 0)
		return cant(h, errno, err);
	if (!S_ISDIR(st.st_mode))
		return scan_file(h, path, &st, err);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return cant(h, errno, err);
	rc = descend(h, fd, h->path.len, err);
	if (rc == 0)
		rc = walk(h, err);
	while (h->depth)
		ascend(h);
	return rc;
}

int oc_hardlinks_judge(struct oc_hardlinks *h, oc_error **err)
{
	unsigned said = 0;
	oc_error *all = NULL;
	size_t i;

	for (i = 0; i < h->table.cap && said < SAID_MAX; i++) {
		const struct slot *s = &h->table.v[i];
		oc_error *one = NULL;

		if (!s->path || s->seen >= s->links)
			continue;
		oc_refuse(&one, "sandbox_denied", s->path, "Use copies instead of links: package-import-method=copy (pnpm), "
			  "git clone --no-hardlinks, cp instead of ln",
			  "%s has %u hard links, %u of them outside what may be written: a write there would change files "
			  "the policy does not grant", s->path, s->links, s->links - s->seen);
		if (all)
			oc_error_append(&all, one);
		else
			all = one;
		said++;
	}
	if (!all)
		return 0;
	if (err)
		*err = all;
	else
		oc_error_free(all);
	return OC_EREFUSED;
}
