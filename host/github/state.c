/* SPDX-License-Identifier: Apache-2.0 */
/* The host's state, for the operations that record tokens in it. */
#include <stdlib.h>

#include "github/state.h"

bool state_open(struct github *g, struct state *s)
{
	oc_context_options o = OC_CONTEXT_OPTIONS_INIT;
	oc_error *err = NULL;
	int rc;

	o.libexec_dir = getenv("OPEN_CONDUIT_LIBEXEC");
	rc = oc_context_new(&o, &s->ctx, &err);
	if (rc >= 0)
		rc = oc_store_open(s->ctx, &s->store, &err);
	if (rc < 0)
		state_refuse(g, err);
	return rc >= 0;
}

void state_close(struct state *s)
{
	oc_store_free(s->store);
	oc_context_free(s->ctx);
	*s = (struct state){ NULL, NULL };
}

void state_refuse(struct github *g, oc_error *taken)
{
	if (!g->error)
		g->error = json_pack("{s:s?, s:s?, s:s, s:s?}", "reason", oc_error_reason(taken), "subject",
		                     oc_error_subject(taken), "message", oc_error_message(taken), "fix",
		                     oc_error_fix(taken));
	oc_error_free(taken);
}

bool state_end(struct github *g, struct state *s, const char *run, const char *id, const char *state,
               const char *detail)
{
	oc_error *err = NULL;

	if (oc_token_end(s->store, run, id, state, detail, &err) >= 0)
		return true;
	state_refuse(g, err);
	return false;
}
