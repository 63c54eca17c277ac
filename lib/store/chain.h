/* SPDX-License-Identifier: Apache-2.0 */
/* The chain over a run's events: each value is of the event and of the value before it, so that one that is changed,
 * removed, put in or moved shows in all that come after. */
#ifndef OC_STORE_CHAIN_H
#define OC_STORE_CHAIN_H

#include "base/sha256.h"
#include "store/store.h"

/* The value before the first event of a run. */
int oc_chain_begin(const char *run, int64_t created_ms, char out[OC_DIGEST_SIZE], oc_error **err);
/* The value of an event {"seq","at_ms","type","data"} (borrowed) after `before`. */
int oc_chain_next(const char *before, const json_t *event, char out[OC_DIGEST_SIZE], oc_error **err);
/* The digest of a value's canonical form. */
int oc_chain_digest(const json_t *json, char out[OC_DIGEST_SIZE], oc_error **err);

/* Data of an event may not be nested deeper: a receipt, whose part it is, has to be text that can be read. */
#define OC_EVENT_DEPTH 28
/* An event and its chain value, inside the caller's transaction, so that what it tells of can't be there without it.
 * data is taken (NULL: no memory).  A history has room for what hosts and agents put into it, and then still for its end. */
int oc_store_chain(oc_store *store, const char *run, const char *type, json_t *data, oc_error **err);

#endif
