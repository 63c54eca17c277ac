/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens that were made for this run, in memory alone, until whoever ended one says so or it has expired by the wall clock.  A
 * guard that holds any when its run is over stays for them: its socket with "withdraw" and "forget" is all that is left. */
#ifndef OC_GUARD_TOKENS_H
#define OC_GUARD_TOKENS_H

#include <openconduit/token.h>

#include "base/json.h"
#include "loop/loop.h"

struct oc_guard;

struct oc_tokens {
	struct oc_guard_token {
		char id[OC_TOKEN_ID_SIZE]; /* "": free */
		char *value;
		size_t len;
		int64_t expires_ms;
	} v[OC_TOKENS_MAX];
	size_t next; /* where the next one is looked for a place: what is redacted of one that is over stays longest so */
	struct oc_source *timer;
};

/* Requests: {"digest","id","value": base64,"expires_ms"}, {"digest","id"} ─▶ {"value"}, {"digest","id"}. */
int oc_tokens_deposit(struct oc_guard *g, const json_t *params, oc_error **err);
int oc_tokens_withdraw(struct oc_guard *g, const json_t *params, json_t **result, oc_error **err);
int oc_tokens_forget(struct oc_guard *g, const json_t *params, oc_error **err);

const char *oc_tokens_find(const struct oc_guard *g, const char *id); /* its value; NULL: not held */
bool oc_tokens_held(const struct oc_guard *g);                        /* any? */
void oc_tokens_free(struct oc_guard *g);

#endif
