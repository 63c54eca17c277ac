/* SPDX-License-Identifier: Apache-2.0 */
/* Finding objects in the clone: the loose file of that name, then packs by their hints, then packs by going through
 * them. */
#include "pack.h"

#include <errno.h>
#include <fcntl.h>
#include <git2/odb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "be32.h"
#include "beneath.h"

#define PACKS_MAX  4096u
#define HINTS_MAX  (1u << 30)
#define CHAIN_MAX  4096u
#define CACHE_MAX  (96u << 20)
#define CACHE_ITEM (8u << 20)
#define SCAN_MAX   (16ull << 30) /* bytes of objects that are looked at for want of a hint */
#define NEST_MAX   8             /* a delta's base elsewhere, whose base is elsewhere, … */

static int find(struct store *s, const git_oid *id, struct object *out, int nest);

/* Version 2 of an index; any other is no hint. */
static void load_hints(struct store *s, struct pack *p)
{
	char path[80] = "pack/";
	const unsigned char *data;
	uint32_t n;
	size_t fixed;

	p->hinted = true;
	memcpy(path + 5, p->index, strlen(p->index) + 1);
	if (beneath_read(s->objects, path, HINTS_MAX, &p->hints) < 0)
		return;
	data = (const unsigned char *)p->hints.data;
	if (p->hints.len < 8 + 1024 + 40 || memcmp(data, "\377tOc\0\0\0\2", 8) != 0)
		return;
	n = be32(data + 8 + 1020);
	if (n > (p->hints.len - 1072) / 28)
		return;
	fixed = 8 + 1024 + (size_t)28 * n;
	p->fan = data + 8;
	p->names = p->fan + 1024;
	p->offsets = p->names + (size_t)24 * n;
	p->far = data + fixed;
	p->nfar = (uint32_t)((p->hints.len - fixed - 40) / 8);
	p->nhints = n;
}

static int hint_of(const struct pack *p, const git_oid *id, uint64_t *offset)
{
	uint32_t low, high, place;

	if (!p->nhints)
		return -1;
	low = id->id[0] ? be32(p->fan + 4 * (id->id[0] - 1)) : 0;
	high = be32(p->fan + 4 * id->id[0]);
	if (high > p->nhints)
		return -1;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		int c = memcmp(id->id, p->names + (size_t)20 * mid, GIT_OID_RAWSZ);

		if (!c) {
			place = be32(p->offsets + (size_t)4 * mid);
			if (!(place & 0x80000000u)) {
				*offset = place;
				return 0;
			}
			place &= 0x7fffffffu;
			if (place >= p->nfar)
				return -1;
			*offset =
			        (uint64_t)be32(p->far + (size_t)8 * place) << 32 | be32(p->far + (size_t)8 * place + 4);
			return 0;
		}
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return -1;
}

static int place_of(struct store *s, struct pack *p, const git_oid *id, uint64_t *offset)
{
	uint32_t at;

	if (p->scanned || p->scanning) {
		at = oids_get(&p->found, id);
		if (at != OIDS_NONE) {
			*offset = p->at[at];
			return 0;
		}
	}
	if (!p->hinted)
		load_hints(s, p);
	return hint_of(p, id, offset);
}

static struct cached *slot_of(struct store *s, const struct pack *p, uint64_t offset)
{
	return &s->cache[((offset * 2654435761u) >> 7 ^ (uintptr_t)p >> 6) % CACHE_SLOTS];
}

static int copy_object(const struct object *from, struct object *to)
{
	*to = (struct object){ .type = from->type, .data = malloc(from->len + 1), .len = from->len };
	if (!to->data)
		return -ENOMEM;
	memcpy(to->data, from->data, from->len + 1);
	return 0;
}

/* Without memory for it there is no copy kept, and nothing else happens. */
static void remember(struct store *s, const struct pack *p, uint64_t offset, const struct object *o)
{
	struct cached *slot = slot_of(s, p, offset);

	if (o->len > CACHE_ITEM || (slot->pack == p && slot->offset == offset))
		return;
	s->cached -= slot->object.len;
	object_free(&slot->object);
	slot->pack = NULL;
	if (s->cached + o->len > CACHE_MAX || copy_object(o, &slot->object) < 0)
		return;
	slot->pack = p;
	slot->offset = offset;
	s->cached += o->len;
}

static int inflate_object(struct store *s, const struct pack *p, const struct pack_entry *e, bool raw,
                          struct object *out)
{
	uint64_t end;
	int result;

	if (e->len > OBJECT_MAX)
		return -EFBIG;
	*out = (struct object){ .type = (git_object_t)e->kind,
		                .data = malloc((size_t)e->len + 1),
		                .len = (size_t)e->len };
	if (!out->data)
		return -ENOMEM;
	result = inflate_at(&s->z, p->fd, p->size, e->data, out->data, out->len, &end, raw ? &out->raw : NULL);
	if (result)
		object_free(out);
	else
		out->data[out->len] = 0;
	return result;
}

struct chain {
	struct {
		struct pack_entry entry;
		uint64_t offset;
	} * v;
	size_t n, cap;
};

static int chain_add(struct chain *c, const struct pack_entry *e, uint64_t offset)
{
	if (c->n == CHAIN_MAX)
		return -EBADMSG;
	if (c->n == c->cap) {
		size_t cap = c->cap ? 2 * c->cap : 64;
		void *v = realloc(c->v, cap * sizeof(*c->v));

		if (!v)
			return -ENOMEM;
		c->v = v;
		c->cap = cap;
	}
	c->v[c->n].entry = *e;
	c->v[c->n++].offset = offset;
	return 0;
}

/* Down the chain of deltas from an offset: *out is the first object that is whole. */
static int read_base(struct store *s, struct pack *p, uint64_t offset, struct chain *chain, struct object *out,
                     int nest)
{
	struct pack_entry e;
	int result;

	for (;;) {
		struct cached *slot = slot_of(s, p, offset);

		if (slot->pack == p && slot->offset == offset)
			return copy_object(&slot->object, out);
		result = pack_entry_at(p->fd, p->size, offset, &e);
		if (result)
			return result;
		if (e.kind < PACK_OFFSET_DELTA)
			return inflate_object(s, p, &e, !chain->n, out);
		result = chain_add(chain, &e, offset);
		if (result)
			return result;
		if (e.kind == PACK_OFFSET_DELTA)
			offset = e.base_offset;
		else if (place_of(s, p, &e.base, &offset) < 0)
			return find(s, &e.base, out, nest + 1);
	}
}

static int pack_read(struct store *s, struct pack *p, uint64_t offset, struct object *out, int nest)
{
	struct chain chain = { 0 };
	int result = read_base(s, p, offset, &chain, out, nest);
	bool whole = !result;

	while (!result && chain.n) {
		struct object base = *out, delta = { 0 };

		*out = (struct object){ 0 };
		chain.n--;
		result = inflate_object(s, p, &chain.v[chain.n].entry, false, &delta);
		if (!result)
			result = delta_apply(&base, (const unsigned char *)delta.data, delta.len, out);
		object_free(&delta);
		object_free(&base);
		if (!result)
			remember(s, p, chain.v[chain.n].offset, out);
	}
	if (result && whole)
		object_free(out);
	free(chain.v);
	return result;
}

static bool is_it(const struct object *o, const git_oid *id)
{
	git_oid got;

	/* Also refuses data that was made to collide under SHA-1. */
	return git_odb_hash(&got, o->data, o->len, o->type) == 0 && git_oid_equal(&got, id);
}

/* The places of the pack's entries one after the other, up to the first that can't be read. */
static void find_places(struct store *s, struct pack *p)
{
	uint64_t offset = 12;
	size_t cap = 0;

	while (p->nat < p->count && offset < p->size) {
		struct pack_entry e;

		if (p->nat == cap) {
			uint64_t *more = realloc(p->at, (cap ? 2 * cap : 1024) * sizeof(*more));

			if (!more)
				return;
			p->at = more;
			cap = cap ? 2 * cap : 1024;
		}
		if (pack_entry_at(p->fd, p->size, offset, &e) < 0 || e.len > SIZE_MAX)
			return;
		p->at[p->nat++] = offset;
		if (inflate_at(&s->z, p->fd, p->size, e.data, NULL, (size_t)e.len, &offset, NULL) < 0)
			return;
	}
}

/* Deltas to named objects may name one that comes later: again while that finds more. */
static void scan(struct store *s, struct pack *p)
{
	size_t before, i;
	unsigned char *done;

	p->scanning = true;
	oids_init(&p->found, p->count);
	find_places(s, p);
	done = calloc(p->nat + 1, 1);
	do {
		before = p->found.n;
		for (i = 0; done && i < p->nat && s->looked < SCAN_MAX; i++) {
			struct object o = { 0 };
			git_oid id;

			if (done[i] || pack_read(s, p, p->at[i], &o, 0) < 0)
				continue;
			s->looked += o.len;
			if (git_odb_hash(&id, o.data, o.len, o.type) == 0)
				done[i] = oids_put(&p->found, &id, (uint32_t)i) == 0;
			object_free(&o);
		}
	} while (p->found.n > before && p->found.n < p->nat);
	free(done);
	p->scanning = false;
	p->scanned = true;
}

static int inflate_loose(struct store *s, const struct text *file, struct object *out)
{
	static const char *const kinds[] = { "commit", "tree", "blob", "tag" };
	char head[64];
	size_t used, len = 0, i, n;
	const char *p;
	int result;

	if (inflateReset(&s->z) != Z_OK)
		return -EIO;
	s->z.next_in = (unsigned char *)file->data;
	s->z.avail_in = (unsigned)file->len;
	s->z.next_out = (unsigned char *)head;
	s->z.avail_out = sizeof(head);
	result = inflate(&s->z, Z_NO_FLUSH);
	used = sizeof(head) - s->z.avail_out;
	p = memchr(head, 0, used);
	if ((result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) || !p)
		return -EBADMSG;
	n = (size_t)(p + 1 - head);
	p = strchr(head, ' ');
	for (i = 0; p && i < COUNT(kinds); i++)
		if (!strncmp(head, kinds[i], (size_t)(p - head)) && !kinds[i][p - head])
			break;
	if (!p || i == COUNT(kinds) || !p[1] || (p[1] == '0' && p[2]))
		return -EBADMSG;
	for (p++; *p; p++) {
		if (*p < '0' || *p > '9')
			return -EBADMSG;
		len = 10 * len + (size_t)(*p - '0');
		if (len > OBJECT_MAX)
			return -EFBIG;
	}
	if (used - n > len)
		return -EBADMSG;
	*out = (struct object){ .type = (git_object_t)(i + 1), .data = malloc(len + 1), .len = len };
	if (!out->data)
		return -ENOMEM;
	memcpy(out->data, head + n, used - n);
	out->data[len] = 0;
	if (result != Z_STREAM_END) {
		/* One byte more than it says, which must not be taken. */
		s->z.next_out = (unsigned char *)out->data + (used - n);
		s->z.avail_out = (unsigned)(len + 1 - (used - n));
		result = inflate(&s->z, Z_FINISH);
	}
	if (result == Z_STREAM_END && !s->z.avail_in && s->z.total_out == n + len)
		return 0;
	object_free(out);
	return -EBADMSG;
}

static int read_loose(struct store *s, const git_oid *id, struct object *out)
{
	char path[GIT_OID_HEXSZ + 2];
	cleanup_text struct text file = { 0 };
	int result;

	git_oid_pathfmt(path, id);
	path[GIT_OID_HEXSZ + 1] = 0;
	/* What can't be made smaller grows by less than this. */
	result = beneath_read(s->objects, path, OBJECT_MAX + OBJECT_MAX / 1024, &file);
	if (!result)
		result = inflate_loose(s, &file, out);
	if (!result && !is_it(out, id)) {
		object_free(out);
		result = -EBADMSG;
	}
	return result;
}

static int read_packed(struct store *s, struct pack *p, const git_oid *id, struct object *out, int nest)
{
	uint64_t offset;
	int result;

	if (place_of(s, p, id, &offset) < 0)
		return -ENOENT;
	result = pack_read(s, p, offset, out, nest);
	if (!result && !is_it(out, id)) {
		object_free(out);
		result = -EBADMSG;
	}
	return result;
}

/* Of two failures the one that says more. */
static int worse(int a, int b)
{
	return a == -ENOENT || a == 0 ? b : a;
}

static int read_known(struct store *s, const git_oid *id, struct object *out)
{
	git_odb_object *o = NULL;
	int result;

	if (!s->known || git_odb_read(&o, s->known, id) < 0)
		return -ENOENT;
	*out = (struct object){ .type = git_odb_object_type(o), .len = git_odb_object_size(o) };
	out->data = malloc(out->len + 1);
	if (out->data) {
		memcpy(out->data, git_odb_object_data(o), out->len);
		out->data[out->len] = 0;
	}
	result = out->data ? 0 : -ENOMEM;
	git_odb_object_free(o);
	return result;
}

static int find(struct store *s, const git_oid *id, struct object *out, int nest)
{
	int result, why;
	size_t i;

	if (nest > NEST_MAX)
		return -EBADMSG;
	why = nest ? read_known(s, id, out) : -ENOENT;
	if (why == 0)
		return 0;
	result = read_loose(s, id, out);
	why = worse(why, result);
	for (i = 0; result && result != -ENOMEM && i < s->npacks; i++) {
		result = read_packed(s, &s->packs[i], id, out, nest);
		why = worse(why, result);
	}
	for (i = 0; result && result != -ENOMEM && i < s->npacks; i++) {
		if (s->packs[i].scanned || s->packs[i].scanning)
			continue;
		scan(s, &s->packs[i]);
		result = read_packed(s, &s->packs[i], id, out, nest);
		why = worse(why, result);
	}
	return result ? why : 0;
}

int store_read(struct store *s, const git_oid *id, struct object *out)
{
	return find(s, id, out, 0);
}

static bool pack_name(const char *name)
{
	git_oid id;

	return strlen(name) == 5 + GIT_OID_HEXSZ + 5 && !strncmp(name, "pack-", 5) &&
	       oid_parse(name + 5, GIT_OID_HEXSZ, &id) == 0 && !strcmp(name + 5 + GIT_OID_HEXSZ, ".pack");
}

static int open_pack(struct store *s, const char *name)
{
	char path[80] = "pack/";
	struct pack *p = &s->packs[s->npacks];
	unsigned char head[12];
	struct stat st;

	memcpy(path + 5, name, strlen(name) + 1);
	p->fd = beneath_file(s->objects, path, &st);
	if (p->fd < 0) {
		s->packs_left += p->fd == -EMFILE || p->fd == -ENFILE;
		return 0;
	}
	if (st.st_size < 12 + 20 || pread(p->fd, head, 12, 0) != 12 || memcmp(head, "PACK\0\0\0\2", 8) != 0) {
		closep(&p->fd);
		return 0;
	}
	p->size = (uint64_t)st.st_size - 20;
	p->count = be32(head + 8);
	p->index = format("%.*s.idx", 5 + GIT_OID_HEXSZ, name);
	s->npacks++;
	return p->index ? 0 : -ENOMEM;
}

int store_open(struct store *s, int gitdir, git_odb *known)
{
	cleanup_names struct names names = { 0 };
	int result;
	size_t i;

	*s = (struct store){ .known = known };
	s->objects = beneath_open(gitdir, "objects", O_DIRECTORY);
	if (s->objects < 0)
		return s->objects;
	if (inflateInit(&s->z) != Z_OK)
		return -ENOMEM;
	s->z_ready = true;
	result = beneath_list(s->objects, "pack", 100000, &names);
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	s->packs = calloc(PACKS_MAX, sizeof(*s->packs));
	if (!s->packs)
		return -ENOMEM;
	for (i = 0; i < names.n && !result; i++) {
		if (!pack_name(names.v[i]))
			continue;
		if (s->npacks == PACKS_MAX)
			s->packs_left++;
		else
			result = open_pack(s, names.v[i]);
	}
	return result;
}

void store_close(struct store *s)
{
	size_t i;

	for (i = 0; i < s->npacks; i++) {
		closep(&s->packs[i].fd);
		free(s->packs[i].index);
		free(s->packs[i].at);
		text_clear(&s->packs[i].hints);
		oids_free(&s->packs[i].found);
	}
	free(s->packs);
	for (i = 0; i < CACHE_SLOTS; i++)
		object_free(&s->cache[i].object);
	if (s->z_ready)
		inflateEnd(&s->z);
	closep(&s->objects);
}
