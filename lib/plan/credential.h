/* SPDX-License-Identifier: Apache-2.0 */
/* How a run's git signs in: configuration that is set by the environment alone, so that no file which the run can read or
 * write comes after it. */
#ifndef OC_PLAN_CREDENTIAL_H
#define OC_PLAN_CREDENTIAL_H

#include "plan/plan.h"

struct oc_plan_credential {
	json_t *json; /* NULL: the request has none */
	const char *base, *repository;
	bool toolbelt; /* false: a token of the run's environment */
};

/* The request's, checked. */
int oc_plan_credential(const struct oc_plan_input *in, struct oc_plan_credential *out, oc_error **err);
void oc_plan_credential_free(struct oc_plan_credential *c);
/* A variable of the request that says otherwise is refused: what is set last here would silently win, or lose. */
int oc_plan_credential_reserved(const char *name, const char *value, oc_error **err);
/* [{"name","value"}…] to set after all that env has; belt_at: of its toolbelt, or NULL.  *out new. */
int oc_plan_credential_env(const struct oc_plan_input *in, const struct oc_plan_credential *c, const char *belt_at,
                           const json_t *env, json_t **out, oc_error **err);
/* In plain words; new, or NULL: no memory. */
char *oc_plan_credential_note(const struct oc_plan_input *in, const struct oc_plan_credential *c);

#endif
