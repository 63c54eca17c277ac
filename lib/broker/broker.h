/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of oc_broker: one request on its way from policy to plan. */
#ifndef OC_BROKER_BROKER_H
#define OC_BROKER_BROKER_H

#include <openconduit/broker.h>

#include "plan/plan.h"
#include "policy/policy.h"
#include "provider/client.h"
#include "store/store.h"

#define OC_RUN_ID_LENGTH 12

/* A request that outlives the call that brought it; `request` points into the rest. */
struct oc_request_copy {
	oc_request request;
	struct oc_strv strings;  /* every scalar */
	struct oc_strv lists[7]; /* argv env secrets need_hosts need_read need_write files */
	char run[OC_RUN_ID_SIZE];
};
int oc_request_copy(struct oc_request_copy *copy, const oc_request *request, const char *kind, oc_error **err);
void oc_request_release(struct oc_request_copy *copy);

struct oc_operation; /* a check or plan under way */
struct oc_broker {
	oc_store *store;
	oc_context *ctx;
	const char *kind;
	struct oc_provider *provider; /* NULL for kind none */
	struct oc_operation *operations;
	char *guest, guest_digest[OC_DIGEST_SIZE];
	struct oc_strv tools; /* what decides, whatever the provider adds */
};

/* Policy and needs against this machine; no provider is asked. */
int oc_broker_resolve(oc_broker *broker, const struct oc_request_copy *request, oc_policy **policy, json_t **resolved,
                      oc_error **err);

/* The answer to "check": every member known and of its type, or provider_failed with the path of each that isn't. */
int oc_checks_check(const char *provider, const json_t *reply, oc_error **err);

/* The key under which the verdict on a plan's provider is kept: provider, its digest, its engine's identity, boot. */
int oc_verdict_key(const json_t *provider, struct oc_buf *key, oc_error **err);
/* sandbox_unavailable with the failing checks unless the verdict on this plan's provider is green.
 * *missing (may be NULL) true instead: there is none, or it is too old. */
int oc_verdict_require(oc_store *store, const oc_plan *plan, bool *missing, oc_error **err);

#endif
