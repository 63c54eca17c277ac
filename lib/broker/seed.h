/* SPDX-License-Identifier: Apache-2.0 */
/* The copy that a Work's home starts with. */
#ifndef OC_BROKER_SEED_H
#define OC_BROKER_SEED_H

#include "base/error.h"

#define OC_SEED_ENTRIES 20000
#define OC_SEED_DEPTH   32
#define OC_SEED_BYTES   (256ll << 20)
#define OC_SEED_LEFT    ".credentials.json" /* at every depth, whatever it is */

/* All that is beneath the directory `path` into the empty directory `into`, as data: no link is followed, none that leads out
 * is kept, no owner, set-id bit or special file comes along.  0, or sandbox_config naming what can't be taken over.  state: of
 * the state directory, which no seed may hold or lie in. */
int oc_seed_copy(const char *path, int into, int state, oc_error **err);

#endif
