/* SPDX-License-Identifier: Apache-2.0 */
/* A map from object ids to a number, bounded in count. */
#ifndef GIT_OIDS_H
#define GIT_OIDS_H

#include <git2/oid.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oid_entry {
	git_oid id;
	uint32_t value;
};
struct oids {
	struct oid_entry *table; /* a value of UINT32_MAX: free */
	size_t cap, n, max;
};

void oids_init(struct oids *o, size_t max);
void oids_free(struct oids *o);
/* The value kept for id, or UINT32_MAX when there is none. */
uint32_t oids_get(const struct oids *o, const git_oid *id);
/* Keep a value (less than UINT32_MAX).  0, -ENOMEM, or -E2BIG. */
int oids_put(struct oids *o, const git_oid *id, uint32_t value);
#define OIDS_NONE UINT32_MAX

/* 40 hex digits, lower case, exactly: 0 or -1.  The text need not end there. */
int oid_parse(const char *hex, size_t len, git_oid *out);

#endif
