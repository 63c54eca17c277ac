/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of oc_plan, and building one.  Shape: HACKING.md, "Plan". */
#ifndef OC_PLAN_PLAN_H
#define OC_PLAN_PLAN_H

#include <openconduit/broker.h>
#include <openconduit/plan.h>

#include "base/json.h"
#include "base/sha256.h"

struct oc_plan {
	json_t *json;
	char *text; /* canonical */
	char digest[OC_DIGEST_SIZE];
};

/* json is taken, also on failure.  Every member is checked (the same check as for a stored plan). */
int oc_plan_from_json(json_t *json, oc_plan **out, oc_error **err);

struct oc_plan_input {
	const oc_request *request; /* cwd, argv, env, secrets, limits */
	const char *kind, *run;
	const oc_policy *policy;   /* NULL for none without a policy */
	const json_t *resolved;    /* NULL for none */
	const json_t *reply;       /* the provider's answer to plan; NULL for none */
	const json_t *provider;    /* {"name","version","path","digest"}; NULL for none */
	const char *guest, *guest_digest, *state_dir;
	const char *home;          /* the operator's HOME, the agent's unless env says otherwise */
	char *const *environ;
};
/* Put a plan together: the agent's command and environment, launch, guest options, probes. */
int oc_plan_build(const struct oc_plan_input *in, oc_plan **out, oc_error **err);

/* The probes that a resolved policy asks for (P5–P15; the guard adds P1–P4's listeners and what it makes itself). */
int oc_plan_probes(const json_t *resolved, const json_t *reply, const json_t *command, json_t **out, oc_error **err);

#endif
