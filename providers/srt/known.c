/* SPDX-License-Identifier: Apache-2.0 */
/* A file is taken for the same while device, inode, size and both times are: who may write it can set its modification time
 * back, and nobody the other.  Two changes within one tick of the clock could look alike, so what changed a moment ago is
 * read again, and not remembered. */
#include "known.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/files.h"

#define FILES     8
#define SETTLED_S 2

struct file {
	char *path, *digest;
	json_t *json;
	struct stat st;
};

struct known {
	struct file files[FILES];
	size_t next; /* to be given up */
};

struct known *known_new(void)
{
	return calloc(1, sizeof(struct known));
}

static void forget(struct file *f)
{
	free(f->path);
	free(f->digest);
	json_decref(f->json);
	*f = (struct file){ 0 };
}

void known_free(struct known *known)
{
	size_t i;

	for (i = 0; known && i < FILES; i++)
		forget(&known->files[i]);
	free(known);
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mode == b->st_mode && same_time(&a->st_mtim, &b->st_mtim) && same_time(&a->st_ctim, &b->st_ctim);
}

static bool settled(const struct stat *st)
{
	struct timespec now;

	return clock_gettime(CLOCK_REALTIME, &now) == 0 && st->st_ctim.tv_sec < now.tv_sec - SETTLED_S &&
	       st->st_mtim.tv_sec < now.tv_sec - SETTLED_S;
}

/* Where what this file says is kept, or may be; NULL: not at all. */
static struct file *place(struct known *known, const char *path)
{
	struct file *f;
	struct stat st;
	size_t i;

	if (!known || stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !settled(&st))
		return NULL;
	for (i = 0; i < FILES; i++)
		if (known->files[i].path && !strcmp(known->files[i].path, path) && same(&known->files[i].st, &st))
			return &known->files[i];
	f = &known->files[known->next];
	known->next = (known->next + 1) % FILES;
	forget(f);
	f->path = strdup(path);
	f->st = st;
	return f->path ? f : NULL;
}

json_t *known_json(struct known *known, const char *path)
{
	struct file *f = place(known, path);

	if (!f)
		return read_json(path);
	if (!f->json)
		f->json = read_json(path);
	return json_incref(f->json);
}

char *known_digest(struct known *known, const char *path)
{
	struct file *f = place(known, path);

	if (!f)
		return digest_of(path);
	if (!f->digest)
		f->digest = digest_of(path);
	return f->digest ? strdup(f->digest) : NULL;
}
