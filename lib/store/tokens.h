/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of runs, everything but their values: asked ─▶ made ─▶ revoked, expired, or from asked alone never.  Each change is an
 * event of its run too, and on the disk when it returns. */
#ifndef OC_STORE_TOKENS_H
#define OC_STORE_TOKENS_H

#include <openconduit/token.h>

#include "store/store.h"

/* about: an object, its text.  OC_EREFUSED, reason run_over; OC_ELIMIT. */
int oc_store_token_begin(oc_store *store, const char *run, const json_t *about, int64_t lives_ms,
                         char id[OC_TOKEN_ID_SIZE], oc_error **err);
/* 1: it is recorded as made; 0: it is over already, and stays so. */
int oc_store_token_made(oc_store *store, const char *run, const char *id, int64_t expires_ms, oc_error **err);
/* As oc_token_end().  1: there was something to record. */
int oc_store_token_end(oc_store *store, const char *run, const char *id, const char *state, const char *detail,
                       oc_error **err);
/* As oc_token_list(): of a run, or NULL; new. */
int oc_store_tokens(oc_store *store, const char *run, json_t **list, oc_error **err);

/* How far a state is: 1 asked, 2 made, 3 over; 0: there is none of this name. */
int oc_token_rank(const char *state);

#endif
