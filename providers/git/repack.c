/* SPDX-License-Identifier: Apache-2.0 */
/* Entries are copied as they are, compressed and, where their base comes along, as differences: only the distance to a
 * base is written anew.  In the order of the old pack, so a base that is named by its distance always comes first. */
#include "repack.h"

#include <errno.h>
#include <fcntl.h>
#include <git2/sys/odb_backend.h>
#include <mbedtls/md.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "be32.h"

#define OFS_DELTA 6u
#define REF_DELTA 7u
#define BLOCK     (1u << 20)
#define NEAR_MAX  0x7fffffffu

struct entry {
	git_oid id;
	uint64_t old, end; /* in the old pack */
	uint64_t new;      /* in the new one; 0: not there */
	uint32_t at;       /* in the old index */
	uint32_t crc;
	bool wanted;
};

struct repacking {
	struct closure *k;
	const struct checkout *c;
	const struct pack_map *m;
	struct entry *v; /* by old */
	uint32_t n, kept;
	int fd;
	mbedtls_md_context_t sum;
	unsigned char *block;
	size_t used;
	uint64_t size;
	struct refusal *r;
};

/* Where an entry's compressed data begins, and what it is a difference to. */
struct head {
	unsigned type;
	size_t size_len; /* of the bytes with type and size */
	size_t base_len; /* of those that name the base */
	uint64_t base;   /* OFS_DELTA: its place; 0: none */
	git_oid base_id;
};

static int by_old(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->old > y->old) - (x->old < y->old);
}

static struct entry *at_old(const struct repacking *x, uint64_t old)
{
	struct entry key = { .old = old };

	return bsearch(&key, x->v, x->n, sizeof(*x->v), by_old);
}

static bool read_distance(const unsigned char *p, size_t len, struct head *h, uint64_t old)
{
	uint64_t distance = 0;

	for (size_t i = 0; i < len && i < 10; i++) {
		distance = (i ? distance + 1 : 0) << 7 | (p[i] & 0x7fu);
		if (p[i] & 0x80u)
			continue;
		h->base_len = i + 1;
		h->base = distance && distance < old ? old - distance : 0;
		return h->base != 0;
	}
	return false;
}

static bool read_head(const struct repacking *x, const struct entry *e, struct head *h)
{
	const unsigned char *p = x->m->pack + e->old;
	size_t len = (size_t)(e->end - e->old), i = 0;

	*h = (struct head){ .type = p[0] >> 4 & 7u };
	while (i < len && i < 10 && (p[i] & 0x80u))
		i++;
	if (i >= len || i == 10)
		return false;
	h->size_len = i + 1;
	if (h->type == OFS_DELTA)
		return read_distance(p + h->size_len, len - h->size_len, h, e->old);
	if (h->type != REF_DELTA)
		return h->type >= 1 && h->type <= 4;
	if (len - h->size_len < GIT_OID_RAWSZ)
		return false;
	h->base_len = GIT_OID_RAWSZ;
	memcpy(h->base_id.id, p + h->size_len, GIT_OID_RAWSZ);
	return true;
}

static int load(struct repacking *x)
{
	const struct pack_map *m = x->m;

	x->n = m->n;
	x->v = calloc((size_t)m->n + 1, sizeof(*x->v));
	x->block = malloc(BLOCK);
	if (!x->v || !x->block)
		return no_memory(x->r);
	for (uint32_t i = 0; i < m->n; i++) {
		struct entry *e = &x->v[i];
		uint32_t value;

		e->at = i;
		e->old = pack_map_offset(m, i);
		pack_map_id(m, i, &e->id);
		value = oids_get(&x->k->set, &e->id);
		e->wanted = value != OIDS_NONE && !(value & (CLOSURE_PART | CLOSURE_COPIED));
		if (!e->old)
			return checkout_refuse(x->c, x->r, "fsck --full", "has a pack that is cut off");
	}
	qsort(x->v, x->n, sizeof(*x->v), by_old);
	for (uint32_t i = 0; i < m->n; i++) {
		x->v[i].end = i + 1 < m->n ? x->v[i + 1].old : m->pack_len - 20;
		if (x->v[i].end <= x->v[i].old)
			return checkout_refuse(x->c, x->r, "fsck --full", "has a pack with two objects at one place");
	}
	return 0;
}

/* Bases by name may come later in the pack than what is made from them, so this goes on until nothing changes; git puts
 * them in order, and then it is two rounds. */
static int choose(struct repacking *x)
{
	struct oids with;
	bool changed;
	int rc = 0;

	oids_init(&with, x->n + 1u);
	for (uint32_t i = 0; i < x->n && !rc; i++)
		if (x->v[i].wanted && oids_put(&with, &x->v[i].id, 1) < 0)
			rc = no_memory(x->r);
	for (uint32_t i = 0; i < x->n; i++)
		x->v[i].new = x->v[i].wanted;
	do {
		changed = false;
		for (uint32_t i = 0; i < x->n && !rc; i++) {
			struct entry *e = &x->v[i], *base;
			struct head h;
			bool good;

			if (!e->new)
				continue;
			good = read_head(x, e, &h);
			base = good && h.base ? at_old(x, h.base) : NULL;
			if (good && h.type == OFS_DELTA)
				good = base && base->new;
			else if (good && h.type == REF_DELTA)
				good = oids_get(&with, &h.base_id) == 1;
			if (good)
				continue;
			e->new = 0;
			changed = true;
			if (oids_put(&with, &e->id, 0) < 0)
				rc = no_memory(x->r);
		}
	} while (changed && !rc);
	for (uint32_t i = 0; i < x->n; i++)
		x->kept += x->v[i].new != 0;
	oids_free(&with);
	return rc;
}

static int flush(struct repacking *x)
{
	if (x->used && (mbedtls_md_update(&x->sum, x->block, x->used) != 0 || write_all(x->fd, x->block, x->used) < 0))
		return refuse_errno(x->r, "pack", "the workspace's objects can't be written");
	x->used = 0;
	return 0;
}

static int put(struct repacking *x, const void *data, size_t len)
{
	const unsigned char *p = data;

	x->size += len;
	while (len) {
		size_t n = BLOCK - x->used < len ? BLOCK - x->used : len;

		memcpy(x->block + x->used, p, n);
		x->used += n;
		p += n;
		len -= n;
		if (x->used == BLOCK && flush(x))
			return -1;
	}
	return 0;
}

static size_t write_distance(unsigned char out[10], uint64_t distance)
{
	unsigned char back[10];
	size_t n = 0;

	back[n++] = distance & 0x7fu;
	while (distance >>= 7)
		back[n++] = (unsigned char)(0x80u | (--distance & 0x7fu));
	for (size_t i = 0; i < n; i++)
		out[i] = back[n - 1 - i];
	return n;
}

static int put_entry(struct repacking *x, struct entry *e)
{
	const unsigned char *p = x->m->pack + e->old;
	size_t len = (size_t)(e->end - e->old), skip = 0, base_len = 0;
	unsigned char base[GIT_OID_RAWSZ];
	struct head h;

	if (!read_head(x, e, &h))
		return checkout_refuse(x->c, x->r, "fsck --full", "has a pack that is corrupt");
	e->new = x->size;
	e->crc = pack_map_crc(x->m, e->at);
	if (h.type == OFS_DELTA) {
		base_len = write_distance(base, e->new - at_old(x, h.base)->new);
		skip = h.base_len;
	}
	if (skip && (base_len != skip || memcmp(base, p + h.size_len, skip) != 0)) {
		e->crc = (uint32_t)crc32_z(0, p, h.size_len);
		e->crc = (uint32_t)crc32_z(e->crc, base, base_len);
		e->crc = (uint32_t)crc32_z(e->crc, p + h.size_len + skip, len - h.size_len - skip);
	}
	if (put(x, p, h.size_len) || put(x, base, base_len))
		return -1;
	return put(x, p + h.size_len + skip, len - h.size_len - skip);
}

static int write_pack(struct repacking *x, unsigned char sum[20])
{
	unsigned char head[12] = "PACK\0\0\0\2";

	be32_write(head + 8, x->kept);
	if (put(x, head, sizeof(head)))
		return -1;
	for (uint32_t i = 0; i < x->n; i++)
		if (x->v[i].new &&put_entry(x, &x->v[i]))
			return -1;
	if (flush(x))
		return -1;
	if (mbedtls_md_finish(&x->sum, sum) != 0)
		return no_memory(x->r);
	return write_all(x->fd, sum, 20) < 0 ? refuse_errno(x->r, "pack", "the workspace's objects can't be written")
	                                     : 0;
}

static int by_id(const void *a, const void *b)
{
	return git_oid_cmp(&((const struct entry *)a)->id, &((const struct entry *)b)->id);
}

/* The tables of an index, over the kept entries sorted by id. */
static bool index_text(const struct entry *v, uint32_t n, const unsigned char sum[20], struct text *out)
{
	unsigned char word[8];
	uint32_t at = 0, far = 0;
	bool good = text_add(out, "\377tOc\0\0\0\2", 8);

	for (unsigned first = 0; good && first < 256; first++) {
		while (at < n && v[at].id.id[0] <= first)
			at++;
		be32_write(word, at);
		good = text_add(out, word, 4);
	}
	for (uint32_t i = 0; good && i < n; i++)
		good = text_add(out, v[i].id.id, GIT_OID_RAWSZ);
	for (uint32_t i = 0; good && i < n; i++) {
		be32_write(word, v[i].crc);
		good = text_add(out, word, 4);
	}
	for (uint32_t i = 0; good && i < n; i++) {
		be32_write(word, v[i].new > NEAR_MAX ? 0x80000000u | far++ : (uint32_t)v[i].new);
		good = text_add(out, word, 4);
	}
	for (uint32_t i = 0; good && i < n; i++) {
		if (v[i].new <= NEAR_MAX)
			continue;
		be32_write(word, (uint32_t)(v[i].new >> 32));
		be32_write(word + 4, (uint32_t)v[i].new);
		good = text_add(out, word, 8);
	}
	return good && text_add(out, sum, 20);
}

static int write_index(struct repacking *x, int to, const char *name, const unsigned char sum[20])
{
	cleanup_text struct text text = { 0 };
	unsigned char own[20];
	uint32_t kept = 0;

	for (uint32_t i = 0; i < x->n; i++)
		if (x->v[i].new)
			x->v[kept++] = x->v[i];
	x->n = kept;
	qsort(x->v, kept, sizeof(*x->v), by_id);
	if (!index_text(x->v, kept, sum, &text) ||
	    mbedtls_md(mbedtls_md_info_from_type(MBEDTLS_MD_SHA1), (unsigned char *)text.data, text.len, own) != 0 ||
	    !text_add(&text, own, sizeof(own)))
		return no_memory(x->r);
	return write_new(to, name, 0444, text.data, text.len) < 0
	               ? refuse_errno(x->r, name, "the workspace's objects can't be written")
	               : 0;
}

/* What would need a base that stays behind: whole, into a file of its own. */
static int write_loose(struct repacking *x, git_odb_backend *loose, const git_oid *id)
{
	git_odb_object *object = NULL;
	int rc = git_odb_read(&object, x->k->odb, id);

	if (rc == 0)
		rc = loose->write(loose, id, git_odb_object_data(object), git_odb_object_size(object),
		                  git_odb_object_type(object));
	git_odb_object_free(object);
	if (rc < 0)
		return checkout_refuse(x->c, x->r, "fsck --full", "has an object that can't be copied: %s",
		                       git_error_last() ? git_error_last()->message : "unknown");
	return oids_put(&x->k->set, id, oids_get(&x->k->set, id) | CLOSURE_COPIED) < 0 ? no_memory(x->r) : 0;
}

static int write_rest(struct repacking *x, int to)
{
	cleanup_free char *pack = format("/proc/self/fd/%d", to);
	cleanup_free char *real = pack ? realpath(pack, NULL) : NULL;
	git_odb_backend *loose = NULL;
	int rc = 0;

	if (!real)
		return refuse_errno(x->r, "pack", "the workspace's objects can't be found");
	*strrchr(real, '/') = '\0';
	if (git_odb_backend_loose(&loose, real, -1, 0, 0755, 0444) < 0)
		return no_memory(x->r);
	for (uint32_t i = 0; !rc && i < x->n; i++)
		if (x->v[i].wanted && !x->v[i].new)
			rc = write_loose(x, loose, &x->v[i].id);
	loose->free(loose);
	return rc;
}

static int write_all_of(struct repacking *x, int to)
{
	static const char temporary[] = "tmp_pack_open-conduit";
	unsigned char sum[20];
	char hex[GIT_OID_HEXSZ + 1];
	cleanup_free char *pack = NULL, *index = NULL;
	git_oid id;

	x->fd = openat(to, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444);
	if (x->fd < 0)
		return refuse_errno(x->r, temporary, "the workspace's objects can't be written");
	if (write_pack(x, sum))
		return -1;
	memcpy(id.id, sum, sizeof(sum));
	(void)git_oid_tostr(hex, sizeof(hex), &id);
	pack = format("pack-%s.pack", hex);
	index = format("pack-%s.idx", hex);
	if (!pack || !index)
		return no_memory(x->r);
	if (renameat(to, temporary, to, pack) < 0)
		return refuse_errno(x->r, pack, "the workspace's objects can't be written");
	if (write_index(x, to, index, sum))
		return -1;
	for (uint32_t i = 0; i < x->n; i++)
		if (oids_put(&x->k->set, &x->v[i].id, oids_get(&x->k->set, &x->v[i].id) | CLOSURE_COPIED) < 0)
			return no_memory(x->r);
	return 0;
}

int repack(struct closure *k, const struct checkout *c, const struct pack_map *m, int to, struct refusal *r)
{
	struct repacking x = { .k = k, .c = c, .m = m, .fd = -1, .r = r };
	int rc;

	mbedtls_md_init(&x.sum);
	rc = mbedtls_md_setup(&x.sum, mbedtls_md_info_from_type(MBEDTLS_MD_SHA1), 0) || mbedtls_md_starts(&x.sum)
	             ? no_memory(r)
	             : 0;
	if (!rc)
		rc = load(&x) ? -1 : choose(&x);
	if (!rc)
		rc = write_rest(&x, to);
	/* Last, as it sorts the entries anew. */
	if (!rc && x.kept)
		rc = write_all_of(&x, to);
	if (x.fd >= 0)
		(void)close(x.fd);
	mbedtls_md_free(&x.sum);
	free(x.v);
	free(x.block);
	return rc;
}
