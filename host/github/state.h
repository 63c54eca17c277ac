/* SPDX-License-Identifier: Apache-2.0 */
/* The host's state, for the operations that record tokens in it. */
#ifndef HOST_GITHUB_STATE_H
#define HOST_GITHUB_STATE_H

#include <openconduit/openconduit.h>
#include <openconduit/token.h>

#include "github/github.h"

struct state {
	oc_context *ctx;
	oc_store *store;
};

/* False after refusing; state_close() either way. */
bool state_open(struct github *g, struct state *s);
void state_close(struct state *s);
/* Refuse as the library did. */
void state_refuse(struct github *g, oc_error *taken);
/* oc_token_end(); false after refusing. */
bool state_end(struct github *g, struct state *s, const char *run, const char *id, const char *state,
               const char *detail);

#endif
