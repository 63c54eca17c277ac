/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of an agent's clone, read as data.  Loose files and packs are read straight where they are, by descriptors
 * that were opened beneath the clone, each object into memory of our own; whatever comes out is hashed before anyone sees
 * it, so that neither a lie in a file nor a change under our hands can be more than an object that is missing.  The index
 * beside a pack is taken for a hint of where to look, never for more; when it doesn't help the pack itself is gone
 * through. */
#ifndef GIT_PACK_H
#define GIT_PACK_H

#include <git2/odb.h>
#include <stdint.h>
#include <zlib.h>

#include "oids.h"
#include "util.h"

#define OBJECT_MAX (512u << 20) /* the longest object that is saved */

struct object {
	git_object_t type;
	char *data; /* malloc'ed, a NUL behind it */
	size_t len;
	struct text raw; /* the compressed bytes that data was made of, where it was whole in a pack; or empty */
};
void object_free(struct object *o);
#define cleanup_object __attribute__((cleanup(object_free)))

struct pack {
	int fd;
	uint64_t size; /* without the checksum at the end */
	uint32_t count;
	char *index; /* its file's name */
	struct text hints;
	const unsigned char *fan, *names, *offsets, *far;
	uint32_t nhints, nfar;
	bool hinted, scanned, scanning;
	/* From going through it: where each object was found. */
	uint64_t *at;
	size_t nat;
	struct oids found;
};

#define CACHE_SLOTS 1024u
struct store {
	int objects;
	struct pack *packs;
	size_t npacks;
	size_t packs_left; /* more than are looked at */
	git_odb *known;    /* the checkout's: a delta's base may be there; or NULL */
	z_stream z;
	bool z_ready;
	struct cached {
		const struct pack *pack;
		uint64_t offset;
		struct object object;
	} cache[CACHE_SLOTS];
	size_t cached;
	uint64_t looked; /* bytes, in packs that were gone through */
};

/* gitdir is the clone's .git.  0 or -errno. */
int store_open(struct store *s, int gitdir, git_odb *known);
void store_close(struct store *s);
/* An object whose contents have this id.  0, -ENOENT, -EBADMSG (there, and not what it says), -EFBIG, or another -errno. */
int store_read(struct store *s, const git_oid *id, struct object *out);

/* One entry of a pack at an offset: its kind, its length, and where its compressed bytes begin. */
struct pack_entry {
	unsigned kind; /* 1 to 4: commit, tree, blob, tag; 6: a delta to an earlier place; 7: to a named object */
	uint64_t len, data;
	uint64_t base_offset;
	git_oid base;
};
enum { PACK_OFFSET_DELTA = 6, PACK_NAMED_DELTA = 7 };
int pack_entry_at(int fd, uint64_t size, uint64_t offset, struct pack_entry *e);
/* The len bytes that are compressed at an offset, exactly; *end is the place behind them.  out NULL: only find the end.
 * raw, unless NULL, gets the very bytes that were inflated. */
int inflate_at(z_stream *z, int fd, uint64_t size, uint64_t offset, char *out, size_t len, uint64_t *end,
               struct text *raw);
int delta_apply(const struct object *base, const unsigned char *delta, size_t len, struct object *out);

#endif
