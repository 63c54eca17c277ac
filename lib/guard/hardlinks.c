/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over every write grant by descriptors, no link followed, shared between a few threads: almost all of the time goes
 * into the kernel's stat.  A directory found is handed over as long as few are waiting, else walked at once, so that the
 * number of open descriptors stays bounded.  Regular files are the only entries
 * that are stat'ed, and only files with more than one link are remembered.  Directories are remembered by device and inode,
 * so nested grants and bind mounts are counted once and a mount of an ancestor ends.  Mounts beneath a grant are entered:
 * the sandbox shows them too, and a link in there is as good as any other. */
#include "guard/hardlinks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/time.h"

#define DIRENTS      65536u
#define DEPTH_MAX    512u
#define SAID_MAX     20u
#define QUEUE        64u
#define THREADS_MAX  4
#define ALONE        2000u /* entries: for fewer another thread costs more than it saves */
#define CLOCK_EACH   64u   /* entries */
#define TABLE_FIRST  64u
#define LEVELS_FIRST 8u

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
struct work {
	int fd;
	char *path;
};
struct oc_hardlinks {
	uint64_t entries, max_entries;
	int64_t until; /* 0: however long it takes */
	const char *grant;
	pthread_mutex_t lock; /* for all below */
	pthread_cond_t news;
	struct table table;
	struct work queue[QUEUE];
	unsigned queued, busy, n_threads, max_threads; /* max_threads: this one too; 0: not asked yet */
	pthread_t threads[THREADS_MAX];
	bool stop;
	oc_error *error;
};
/* One thread's part. */
struct walker {
	struct oc_hardlinks *h;
	struct oc_buf path;
	struct level *levels;
	unsigned depth, n_levels, max_levels; /* n_levels: with dirents */
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
	struct table bigger = { NULL, t->n, t->cap ? t->cap * 2 : TABLE_FIRST };
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

	if (!h || grow(&h->table) < 0) {
		free(h);
		return oc_nomem(err);
	}
	h->max_entries = max_entries;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->news, NULL);
	*out = h;
	return 0;
}

void oc_hardlinks_until(struct oc_hardlinks *h, int64_t ns)
{
	h->until = ns;
}

void oc_hardlinks_free(struct oc_hardlinks *h)
{
	size_t i;

	if (!h)
		return;
	for (i = 0; i < h->table.cap; i++)
		if (h->table.v[i].path != walked)
			free(h->table.v[i].path);
	free(h->table.v);
	pthread_cond_destroy(&h->news);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

static void cut(struct walker *w, size_t len)
{
	w->path.len = len;
	w->path.data[len] = '\0';
}

static void ascend(struct walker *w)
{
	struct level *l = &w->levels[--w->depth];

	l->fd = oc_close(l->fd);
	cut(w, l->path_len);
}

static void walker_init(struct walker *w, struct oc_hardlinks *h)
{
	memset(w, 0, sizeof(*w));
	w->h = h;
	oc_buf_init(&w->path, 1u << 20);
}

static void walker_free(struct walker *w)
{
	unsigned i;

	while (w->depth)
		ascend(w);
	for (i = 0; i < w->n_levels; i++)
		free(w->levels[i].dirents);
	free(w->levels);
	oc_buf_free(&w->path);
}

static int cant(struct walker *w, int errnum, oc_error **err)
{
	return oc_refuse(err, "sandbox_denied", w->path.data, "Make it readable (chmod u+rx), or grant less",
	                 "%s can't be checked for hard links to files outside it: %s", w->path.data, strerror(errnum));
}

static int count_locked(struct walker *w, const char *name, const struct stat *st)
{
	bool fresh;
	struct slot *s = note(&w->h->table, st->st_dev, st->st_ino, (uint32_t)st->st_nlink, walked, &fresh);

	if (!s)
		return OC_ENOMEM;
	if (fresh) {
		size_t len = w->path.len;
		char *path;

		if (*name && (oc_buf_puts(&w->path, "/") < 0 || oc_buf_puts(&w->path, name) < 0))
			return OC_ENOMEM;
		path = strdup(w->path.data);
		cut(w, len);
		if (!path)
			return OC_ENOMEM;
		s->path = path;
	}
	s->seen++;
	/* A link made meanwhile must not make up for one that is outside. */
	s->links = OC_MAX(s->links, (uint32_t)st->st_nlink);
	return 0;
}

static int count_file(struct walker *w, const char *name, const struct stat *st, oc_error **err)
{
	int rc;

	pthread_mutex_lock(&w->h->lock);
	rc = count_locked(w, name, st);
	pthread_mutex_unlock(&w->h->lock);
	return rc < 0 ? oc_nomem(err) : 0;
}

/* 1: handed over (fd is taken); 0: walk it yourself; -1: it was walked already; negative code: no memory. */
static int hand_over(struct walker *w, int fd, const struct stat *st)
{
	struct oc_hardlinks *h = w->h;
	bool fresh;
	int rc = 0;

	pthread_mutex_lock(&h->lock);
	if (!note(&h->table, st->st_dev, st->st_ino, 0, walked, &fresh)) {
		rc = OC_ENOMEM;
	} else if (!fresh) {
		rc = -1;
	} else if (h->queued < QUEUE) {
		char *path = strdup(w->path.data);

		/* Not "walk it yourself": of a grant itself nobody would, and it would pass unseen. */
		rc = path ? 1 : OC_ENOMEM;
		if (path) {
			h->queue[h->queued++] = (struct work){ fd, path };
			pthread_cond_signal(&h->news);
		}
	}
	pthread_mutex_unlock(&h->lock);
	return rc;
}

/* Few at first: a small workspace is to touch little memory, which is most of what its scan costs. */
static int deeper(struct walker *w)
{
	unsigned max = w->max_levels ? w->max_levels * 2 : LEVELS_FIRST;

	if (w->depth == w->max_levels) {
		struct level *levels = reallocarray(w->levels, max, sizeof(*levels));

		if (!levels)
			return OC_ENOMEM;
		w->levels = levels;
		w->max_levels = max;
	}
	if (w->depth == w->n_levels) {
		w->levels[w->depth].dirents = malloc(DIRENTS);
		if (!w->levels[w->depth].dirents)
			return OC_ENOMEM;
		w->n_levels++;
	}
	return 0;
}

static int descend(struct walker *w, int fd, size_t parent_len, oc_error **err)
{
	struct level *l;

	if (w->depth == DEPTH_MAX || deeper(w) < 0) {
		close(fd);
		return w->depth == DEPTH_MAX ? cant(w, ELOOP, err) : oc_nomem(err);
	}
	l = &w->levels[w->depth];
	l->fd = fd;
	l->path_len = parent_len;
	l->at = l->len = 0;
	w->depth++;
	return 0;
}

/* Go into the directory that fd is (taken), whose name is at the end of the path. */
static int found_directory(struct walker *w, int fd, size_t parent_len, oc_error **err)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0) {
		rc = errno;
		close(fd);
		return cant(w, rc, err);
	}
	rc = hand_over(w, fd, &st);
	if (rc == 0)
		return descend(w, fd, parent_len, err);
	if (rc < 0)
		close(fd);
	cut(w, parent_len);
	return rc < -1 ? oc_nomem(err) : 0;
}

/* A directory that we may not list: harmless only where the run can't enter it either. */
static int closed_directory(struct walker *w, int dir, const char *name, int errnum, oc_error **err)
{
	struct stat st;

	if (errnum == EACCES && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != geteuid() &&
	    faccessat(dir, name, X_OK, AT_EACCESS) < 0)
		return 0;
	return cant(w, errnum, err);
}

static int enter(struct walker *w, int dir, const char *name, oc_error **err)
{
	size_t len = w->path.len;
	int fd, rc = 0;

	if (oc_buf_puts(&w->path, "/") < 0 || oc_buf_puts(&w->path, name) < 0)
		return oc_refuse(err, "sandbox_denied", w->h->grant, "Remove it, or grant less",
		                 "%s holds directories too deep to be checked for hard links", w->h->grant);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		return found_directory(w, fd, len, err);
	/* Gone or another kind of thing by now: then it is not a directory to walk. */
	if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
		rc = closed_directory(w, dir, name, errno, err);
	cut(w, len);
	return rc;
}

static int look(struct walker *w, const struct level *l, const struct entry *d, oc_error **err)
{
	struct stat st;

	if (d->type == DT_DIR)
		return enter(w, l->fd, d->name, err);
	if (d->type != DT_REG && d->type != DT_UNKNOWN)
		return 0;
	if (fstatat(l->fd, d->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : cant(w, errno, err);
	if (S_ISDIR(st.st_mode))
		return enter(w, l->fd, d->name, err);
	if (!S_ISREG(st.st_mode) || st.st_nlink < 2)
		return 0;
	return count_file(w, d->name, &st, err);
}

static int fill(struct walker *w, struct level *l, oc_error **err)
{
	long n = syscall(SYS_getdents64, l->fd, l->dirents, DIRENTS);

	if (n < 0 && errno != ENOENT)
		return cant(w, errno, err);
	l->at = 0;
	l->len = n < 0 ? 0 : (size_t)n;
	return 0;
}

static int count_entry(struct walker *w, oc_error **err)
{
	uint64_t n = __atomic_add_fetch(&w->h->entries, 1, __ATOMIC_RELAXED);

	if (w->h->until && n % CLOCK_EACH == 0 && oc_mono_ns() >= w->h->until)
		return oc_refuse(err, "sandbox_denied", w->h->grant, "Grant a smaller directory",
		                 "%s can't be checked for hard links in the time there is", w->h->grant);
	if (n <= w->h->max_entries)
		return 0;
	return oc_refuse(err, "sandbox_denied", w->h->grant, "Grant a smaller directory",
	                 "%s holds more than %llu entries: it can't be checked for hard links", w->h->grant,
	                 (unsigned long long)w->h->max_entries);
}

static int walk(struct walker *w, oc_error **err)
{
	while (w->depth && !__atomic_load_n(&w->h->stop, __ATOMIC_RELAXED)) {
		struct level *l = &w->levels[w->depth - 1];
		const struct entry *d;
		int rc = l->at == l->len ? fill(w, l, err) : 0;

		if (rc < 0)
			return rc;
		if (!l->len) {
			ascend(w);
			continue;
		}
		d = (const void *)(l->dirents + l->at);
		l->at += d->reclen;
		if (d->name[0] == '.' && (!d->name[1] || (d->name[1] == '.' && !d->name[2])))
			continue;
		rc = count_entry(w, err);
		rc = rc < 0 ? rc : look(w, l, d, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int walk_one(struct walker *w, const struct work *work, oc_error **err)
{
	int rc;

	w->path.len = 0;
	rc = oc_buf_puts(&w->path, work->path);
	if (rc < 0) {
		close(work->fd);
		return oc_nomem(err);
	}
	rc = descend(w, work->fd, w->path.len, err);
	rc = rc < 0 ? rc : walk(w, err);
	while (w->depth)
		ascend(w);
	return rc;
}

static void *run(void *userdata);

/* Locked.  More of us, at most as many as there are processors, once it is seen to be much; without another thread it only takes longer. */
static void call_help(struct oc_hardlinks *h)
{
	long processors;

	if (!h->queued || __atomic_load_n(&h->entries, __ATOMIC_RELAXED) < ALONE)
		return;
	if (!h->max_threads) {
		processors = sysconf(_SC_NPROCESSORS_ONLN);
		h->max_threads = processors > 1 ? (unsigned)OC_MIN(processors, (long)THREADS_MAX) : 1;
	}
	if (h->n_threads + 1 < h->max_threads && pthread_create(&h->threads[h->n_threads], NULL, run, h) == 0)
		h->n_threads++;
}

/* Until there is nothing left, or one of us failed. */
static void *run(void *userdata)
{
	struct oc_hardlinks *h = userdata;
	struct walker w;
	oc_error *error = NULL;
	int rc = 0;

	walker_init(&w, h);
	pthread_mutex_lock(&h->lock);
	while (rc == 0 && !h->stop && (h->queued || h->busy)) {
		struct work work;

		if (!h->queued) {
			pthread_cond_wait(&h->news, &h->lock);
			continue;
		}
		work = h->queue[--h->queued];
		h->busy++;
		call_help(h);
		pthread_mutex_unlock(&h->lock);
		rc = walk_one(&w, &work, &error);
		free(work.path);
		pthread_mutex_lock(&h->lock);
		h->busy--;
	}
	if (rc < 0) {
		__atomic_store_n(&h->stop, true, __ATOMIC_RELAXED);
		if (!error)
			(void)oc_nomem(&error);
		if (!h->error)
			h->error = oc_steal(error);
	}
	pthread_cond_broadcast(&h->news);
	pthread_mutex_unlock(&h->lock);
	oc_error_free(error);
	walker_free(&w);
	return NULL;
}

/* What is queued. */
static int run_all(struct oc_hardlinks *h, oc_error **err)
{
	unsigned i;

	/* Whoever calls for help is at work itself, so that nobody is called once this one has ended. */
	run(h);
	for (i = 0; i < h->n_threads; i++)
		pthread_join(h->threads[i], NULL);
	h->n_threads = 0;
	while (h->queued) {
		close(h->queue[--h->queued].fd);
		free(h->queue[h->queued].path);
	}
	if (!h->error)
		return 0;
	if (err)
		*err = oc_steal(h->error);
	else
		oc_error_free(oc_steal(h->error));
	return OC_EREFUSED;
}

/* A file granted by itself; one whose directory was walked is counted already. */
static int scan_file(struct walker *w, const char *path, const struct stat *st, oc_error **err)
{
	oc_cleanup(oc_freep) char *parent = oc_path_parent(path);
	struct stat dir;

	if (!parent)
		return oc_nomem(err);
	if (!S_ISREG(st->st_mode) || st->st_nlink < 2)
		return 0;
	if (stat(parent, &dir) < 0)
		return cant(w, errno, err);
	if (find(&w->h->table, dir.st_dev, dir.st_ino, true)->path)
		return 0;
	return count_file(w, "", st, err);
}

static int scan(struct walker *w, const char *path, oc_error **err)
{
	struct stat st;
	int fd, rc = oc_buf_puts(&w->path, path);

	if (rc < 0)
		return oc_nomem(err);
	if (lstat(path, &st) < 0)
		return cant(w, errno, err);
	if (!S_ISDIR(st.st_mode))
		return scan_file(w, path, &st, err);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return cant(w, errno, err);
	/* The queue is empty, so it is handed over, unless a grant around it brought us here already. */
	rc = found_directory(w, fd, 0, err);
	return rc < 0 ? rc : run_all(w->h, err);
}

int oc_hardlinks_scan(struct oc_hardlinks *h, const char *path, oc_error **err)
{
	struct walker w;
	int rc;

	walker_init(&w, h);
	h->grant = path;
	rc = scan(&w, path, err);
	walker_free(&w);
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
		oc_refuse(&one, "sandbox_denied", s->path,
		          "Use copies instead of links: package-import-method=copy (pnpm), "
		          "git clone --no-hardlinks, cp instead of ln",
		          "%s has %u hard links, %u of them outside what may be written: a write there would change "
		          "files "
		          "the policy does not grant",
		          s->path, s->links, s->links - s->seen);
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
