/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of receipts.  One is
 *
 *   {"version":1,"run":{"id","kind","work","binding","command","state","error","over","created_ms","ended_ms"},
 *    "policy","plan","plan_digest","attempts":[{"number","at_ms"}…],
 *    "calls":[{"attempt","number","name","arguments","at_ms","outcome","answer","answered_ms"}…],
 *    "save":{"at_ms","final","result"}|null,"proved","exit",
 *    "events":[{"seq","at_ms","type","data","chain"}…],"digest"}
 *
 * What stands outside of "events" is also in them, whole or by its digest: that is what is compared. */
#ifndef OC_STORE_RECEIPT_H
#define OC_STORE_RECEIPT_H

#include "store/chain.h"

#define OC_RECEIPT_MAX (64u << 20)

/* What the events of a run come to.  Everything borrowed from them but for what is made here. */
struct oc_fold {
	size_t events, unchained; /* the first of these were recorded before there was a chain */
	const json_t *pinned;     /* data of the event; NULL: there is none */
	const json_t *state, *ended, *saved;
	json_t *attempts;  /* new */
	json_t *calls;     /* new: by "ATTEMPT/NUMBER", as in "calls" */
	json_t *tokens;    /* new: by id, its last state */
	const char *wrong; /* an event that can't be at its place, with its index; or NULL */
	size_t at;
};
int oc_fold(const json_t *events, struct oc_fold *f, oc_error **err);
void oc_fold_free(struct oc_fold *f);
/* The name of a call in it. */
void oc_fold_call(const json_t *call, char out[48]);

/* The digest over all of it but "digest". */
int oc_receipt_digest(const json_t *receipt, char out[OC_DIGEST_SIZE], oc_error **err);

#endif
