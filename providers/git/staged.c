/* SPDX-License-Identifier: Apache-2.0 */
/* An index (versions 2 to 4), as far as it says which blobs there are. */
#include <errno.h>
#include <git2/oid.h>
#include <stdint.h>
#include <string.h>

#include "be32.h"
#include "files.h"
#include "verify.h"

#define FIXED     62u /* of an entry, before its name */
#define NAME_LONG 4096u

#define FLAG_EXTENDED 0x4000u
#define MORE_SKIP     0x4000u
#define MORE_INTENDED 0x2000u

struct cursor {
	const unsigned char *p, *end;
	unsigned version;
	char name[NAME_LONG + 1];
	size_t name_len;
};

static unsigned be16(const unsigned char *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

/* Version 4: how much of the name before to drop; written as the distance of a pack's delta is. */
static int read_drop(struct cursor *c, size_t *out)
{
	uint64_t value;

	if (c->p == c->end)
		return -1;
	value = *c->p & 0x7fu;
	while (*c->p++ & 0x80u) {
		if (c->p == c->end || value > NAME_LONG)
			return -1;
		value = ((value + 1) << 7) | (*c->p & 0x7fu);
	}
	*out = (size_t)value;
	return value <= c->name_len ? 0 : -1;
}

static int read_name(struct cursor *c, const unsigned char *entry)
{
	const unsigned char *nul;
	size_t keep = 0, len, drop;

	if (c->version == 4) {
		if (read_drop(c, &drop) < 0)
			return -1;
		keep = c->name_len - drop;
	}
	nul = memchr(c->p, 0, (size_t)(c->end - c->p));
	if (!nul)
		return -1;
	len = (size_t)(nul - c->p);
	if (len > NAME_LONG - keep)
		return -1;
	memcpy(c->name + keep, c->p, len);
	c->name_len = keep + len;
	c->name[c->name_len] = 0;
	c->p = nul + 1;
	if (c->version < 4) {
		/* With one to eight NULs to a multiple of eight. */
		size_t used = ((size_t)(nul - entry) + 8) & ~(size_t)7;

		if (used > (size_t)(c->end - entry))
			return -1;
		c->p = entry + used;
	}
	return 0;
}

static unsigned mode_of(uint32_t mode)
{
	switch (mode & 0170000u) {
	case 0100000:
		return mode & 0100u ? MODE_PROGRAM : MODE_FILE;
	case 0120000:
		return MODE_LINK;
	case 0160000:
		return MODE_COMMIT;
	case 0040000:
		return MODE_TREE; /* a sparse index: a whole folder, its name ends in '/' */
	default:
		return 0;
	}
}

static int keep_entry(const struct cursor *c, unsigned stage, unsigned more, unsigned mode, const git_oid *id,
                      struct index_entries *out)
{
	size_t len = c->name_len - (mode == MODE_TREE);
	int result;

	if (!c->name_len) {
		/* A split index: this takes the place of an entry of the other half, by number.  What counts is the blob. */
		cleanup_free char *name = format("split-index-%s", git_oid_tostr_s(id));

		return name ? files_add(&out->stage[0], name, strlen(name), mode, id) : -ENOMEM;
	}
	if ((mode == MODE_TREE) != (c->name[c->name_len - 1] == '/'))
		return -EBADMSG;
	/* Intended to be added: there is a name so far, and no content. */
	if (more & MORE_INTENDED)
		return 0;
	result = files_add(&out->stage[stage], c->name, len, mode, id);
	if (!result && stage == 0 && (more & MORE_SKIP))
		result = files_add(&out->skipped, c->name, len, mode, id);
	return result;
}

static int read_entry(struct cursor *c, struct index_entries *out)
{
	const unsigned char *entry = c->p;
	unsigned flags, more = 0, mode;
	git_oid id;

	if ((size_t)(c->end - entry) < FIXED + 2)
		return -EBADMSG;
	mode = mode_of(be32(entry + 24));
	memcpy(id.id, entry + 40, GIT_OID_RAWSZ);
	flags = be16(entry + 60);
	c->p = entry + FIXED;
	if (flags & FLAG_EXTENDED) {
		if (c->version < 3)
			return -EBADMSG;
		more = be16(c->p);
		c->p += 2;
	}
	if (!mode || read_name(c, entry) < 0)
		return -EBADMSG;
	return keep_entry(c, flags >> 12 & 3u, more, mode, &id, out);
}

static void read_extensions(struct cursor *c, struct index_entries *out)
{
	while ((size_t)(c->end - c->p) >= 8) {
		size_t len = be32(c->p + 4);
		const unsigned char *body = c->p + 8;

		if (len > (size_t)(c->end - body))
			return;
		if (!memcmp(c->p, "link", 4) && len >= GIT_OID_RAWSZ)
			memcpy(out->shared.id, body, GIT_OID_RAWSZ);
		c->p = body + len;
	}
}

int index_read(const void *text, size_t len, struct index_entries *out)
{
	struct cursor c = { .p = text, .end = (const unsigned char *)text + len };
	uint32_t n, i;
	int result = 0;

	if (len < 12 + GIT_OID_RAWSZ || memcmp(text, "DIRC", 4) != 0)
		return -EBADMSG;
	c.version = be32(c.p + 4);
	n = be32(c.p + 8);
	c.end -= GIT_OID_RAWSZ;
	if (c.version < 2 || c.version > 4)
		return -EBADMSG;
	for (c.p += 12, i = 0; i < n && !result; i++)
		result = read_entry(&c, out);
	if (!result)
		read_extensions(&c, out);
	return result;
}

void index_free(struct index_entries *e)
{
	size_t i;

	for (i = 0; i < COUNT(e->stage); i++)
		files_free(&e->stage[i]);
	files_free(&e->skipped);
}
