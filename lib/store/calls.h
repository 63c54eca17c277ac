/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of runs' toolbelts.  One is recorded before a host acts on it and its answer after, so that a call that comes again,
 * to this host or to the next, is never acted on twice.  Committed with what comes next, not synced each: what a power cut
 * takes are calls whose guard it took too. */
#ifndef OC_STORE_CALLS_H
#define OC_STORE_CALLS_H

#include "store/store.h"

/* Numbers count anew in each attempt of a run. */
struct oc_call_key {
	const char *run;
	int64_t attempt, number;
};
enum oc_call_found { OC_CALL_NEW, OC_CALL_ANSWERED, OC_CALL_UNKNOWN };

/* Record one that is about to be acted on.  NEW: it was not there.  ANSWERED: *answer new, what it was answered.  UNKNOWN: a
 * host recorded it and gave no answer. */
int oc_store_call_begin(oc_store *store, const struct oc_call_key *key, const char *name, const char *arguments,
                        enum oc_call_found *found, char **answer, oc_error **err);
/* outcome: "done" or "failed"; answer: as it goes to the guard. */
int oc_store_call_end(oc_store *store, const struct oc_call_key *key, const char *outcome, const char *answer,
                      oc_error **err);
/* The attempt that a run is in: 1 and up; 0: none was begun. */
int oc_store_attempts(oc_store *store, const char *run, int64_t *number, oc_error **err);
/* [{"number","attempt","name","at","outcome"}…] of a run, oldest first, 1,000 at most; new. */
int oc_store_calls(oc_store *store, const char *run, json_t **list, oc_error **err);

#endif
