/* SPDX-License-Identifier: Apache-2.0 */
/* A state directory with a context on it, and a hand-made resolved policy and provider's answer to plan from. */
#ifndef OC_TESTS_PLAN_FIXTURE_H
#define OC_TESTS_PLAN_FIXTURE_H

#include <openconduit/openconduit.h>

#include "plan/plan.h"
#include "policy/policy.h"

#define FIXTURE_DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct fixture {
	char *dir; /* holds state, ws and home */
	char state[256], ws[256], home[256];
	oc_context *ctx;
	json_t *resolved, *reply, *provider;
	oc_policy *policy;
	oc_request request;
	struct oc_plan_input in;
	char env_path[64], env_term[32], env_home[300];
	char *env[4];
	const char *argv[4];
};
void fixture_open(struct fixture *f);
void fixture_close(struct fixture *f);
/* A plan of the sandbox (or of kind none) for that run. */
oc_plan *fixture_plan(struct fixture *f, const char *run);
oc_plan *fixture_plan_none(struct fixture *f, const char *run);
oc_context *fixture_context(const char *state);
oc_store *fixture_store(struct fixture *f);           /* opened; must succeed */
json_t *fixture_run(oc_store *store, const char *id); /* new: what the store says of a run; must be there */
void fixture_ok(int rc, oc_error *err);               /* fails the test with the error's text */
/* The error of `call` is called err in it. */
#define OK(call)                                                                                                       \
	do {                                                                                                           \
		oc_error *err = NULL;                                                                                  \
		int ok_rc = (call);                                                                                    \
		fixture_ok(ok_rc, err);                                                                                \
	} while (0)

#endif
