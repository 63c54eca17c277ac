/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of recovery: one run, as it was found. */
#ifndef OC_GUARD_RECOVER_H
#define OC_GUARD_RECOVER_H

#include "base/sha256.h"
#include "guard/protocol.h"
#include "store/store.h"

/* One recovery. */
struct oc_walk {
	oc_store *store;
	json_t *out;
	int patience_ms; /* with engines that don't answer: all of them together */
};

struct oc_found {
	struct oc_walk *walk;
	oc_store *store;
	const char *run, *state;
	int dir, lock;     /* lock >= 0: no guard lives, and none can start while we hold it */
	bool pinned, held; /* held: somebody else has the lock */
	bool started, proved, ended;
	enum oc_alive alive; /* the process of guard.json */
	pid_t guard;
	bool informed; /* guard.json is there */
	bool other_boot, other_digest;
	bool mismatch; /* what was asked about it is not as it was pinned; `error` says what */
	char digest[OC_DIGEST_SIZE];
	char *plan; /* the pinned text; NULL: there is no pin that holds */
	char detail[512];
	oc_error *error; /* why it is unknown, or what is to be stored with the state */
};

/* What became of it can't be told: the reason, kept with it.  command: to be pasted, on its directory; or NULL. */
void oc_found_unknown(struct oc_found *f, const char *what, int errnum, const char *command);

/* What was pinned; new. */
int oc_found_plan(const struct oc_found *f, json_t **plan, oc_error **err);
/* Does it say that something is not as it was pinned?  NULL does not. */
bool oc_found_differs(const oc_error *error);

/* Not adopted, nothing killed: the next recovery looks again.  Both return what recovery reports. */
const char *oc_found_mismatch(struct oc_found *f, const char *what);
const char *oc_found_settle(struct oc_found *f); /* as f->error and f->mismatch say */

/* Its exit record is there: over, whether its guard stays for tokens (f->held) or not. */
const char *oc_found_finished(struct oc_found *f);

/* living.c: somebody holds its lock. */
const char *oc_found_living(struct oc_found *f);

/* leftovers.c.  0, or negative: told by oc_found_unknown(). */
/* Processes first, then what they made elsewhere, then files: a process that lives could make files anew. */
int oc_found_clean(struct oc_found *f);
/* Back to "nothing ran".  `started` goes last: while it is there the next recovery cleans again. */
int oc_found_rewind(struct oc_found *f);

#endif
