/* SPDX-License-Identifier: Apache-2.0 */
/* Of a pack that holds more than is wanted, the entries that are. */
#ifndef GIT_REPACK_H
#define GIT_REPACK_H

#include "closure.h"
#include "index.h"

/* Into the directory of packs `to` as a pack of its own; entries that are differences to what is left out as files of
 * their own.  Each is then marked as copied.  0, or refused. */
int repack(struct closure *k, const struct checkout *c, const struct pack_map *m, int to, struct refusal *r);

#endif
