/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing.  Ids are hashes, so their first bytes are the hash; an agent that grinds ids to share them makes this
 * slow for itself within the time a save has, and no more. */
#include "oids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void oids_init(struct oids *o, size_t max)
{
	*o = (struct oids){ .max = max };
}

void oids_free(struct oids *o)
{
	free(o->table);
	o->table = NULL;
	o->cap = o->n = 0;
}

static size_t slot_of(const struct oid_entry *table, size_t cap, const git_oid *id)
{
	uint64_t hash;
	size_t i;

	memcpy(&hash, id->id, sizeof(hash));
	for (i = (size_t)hash & (cap - 1); table[i].value != OIDS_NONE; i = (i + 1) & (cap - 1))
		if (git_oid_equal(&table[i].id, id))
			break;
	return i;
}

uint32_t oids_get(const struct oids *o, const git_oid *id)
{
	return o->cap ? o->table[slot_of(o->table, o->cap, id)].value : OIDS_NONE;
}

static int grow(struct oids *o)
{
	size_t cap = o->cap ? 2 * o->cap : 1024, i;
	struct oid_entry *table = malloc(cap * sizeof(*table));

	if (!table)
		return -ENOMEM;
	for (i = 0; i < cap; i++)
		table[i].value = OIDS_NONE;
	for (i = 0; i < o->cap; i++)
		if (o->table[i].value != OIDS_NONE)
			table[slot_of(table, cap, &o->table[i].id)] = o->table[i];
	free(o->table);
	o->table = table;
	o->cap = cap;
	return 0;
}

int oids_put(struct oids *o, const git_oid *id, uint32_t value)
{
	size_t slot;

	if (o->n >= o->cap / 2 && grow(o) < 0)
		return -ENOMEM;
	slot = slot_of(o->table, o->cap, id);
	if (o->table[slot].value == OIDS_NONE) {
		if (o->n >= o->max)
			return -E2BIG;
		o->n++;
	}
	o->table[slot] = (struct oid_entry){ *id, value };
	return 0;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int oid_parse(const char *hex, size_t len, git_oid *out)
{
	size_t i;

	if (len < GIT_OID_HEXSZ)
		return -1;
	for (i = 0; i < GIT_OID_RAWSZ; i++) {
		int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return -1;
		out->id[i] = (unsigned char)(high << 4 | low);
	}
	return 0;
}
