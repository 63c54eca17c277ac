/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/seen.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 1024u  /* a power of two; an entry takes 150 bytes at least, so they are never half full */
#define ROOM  65536u /* for entries; with no room left nothing more is remembered */

struct entry {
	struct stat st;
	int errnum; /* 0: it is there */
	char path[];
};

struct oc_seen {
	size_t used; /* of room */
	struct entry *slots[SLOTS];
	_Alignas(struct entry) char room[ROOM];
};

struct oc_seen *oc_seen_new(void)
{
	return calloc(1, sizeof(struct oc_seen));
}

void oc_seen_free(struct oc_seen *seen)
{
	free(seen);
}

/* Where it is, or where it goes. */
static struct entry **slot(struct oc_seen *seen, const char *path)
{
	uint32_t hash = 2166136261u;
	size_t i;

	for (const char *p = path; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619u;
	for (i = hash & (SLOTS - 1); seen->slots[i] && strcmp(seen->slots[i]->path, path) != 0;)
		i = (i + 1) & (SLOTS - 1);
	return &seen->slots[i];
}

static void remember(struct oc_seen *seen, struct entry **at, const char *path, const struct stat *st, int errnum)
{
	size_t len = strlen(path) + 1, align = _Alignof(struct entry);
	size_t size = (sizeof(struct entry) + len + align - 1) / align * align;
	struct entry *e = (void *)(seen->room + seen->used);

	if (size > ROOM - seen->used)
		return;
	if (!errnum)
		e->st = *st;
	e->errnum = errnum;
	memcpy(e->path, path, len);
	*at = e;
	seen->used += size;
}

int oc_seen_lstat(struct oc_seen *seen, const char *path, struct stat *st)
{
	struct entry **at = seen ? slot(seen, path) : NULL;
	int errnum;

	if (at && *at) {
		*st = (*at)->st;
		errno = (*at)->errnum;
		return (*at)->errnum ? -1 : 0;
	}
	errnum = lstat(path, st) < 0 ? errno : 0;
	if (at)
		remember(seen, at, path, st, errnum);
	errno = errnum;
	return errnum ? -1 : 0;
}
