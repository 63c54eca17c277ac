/* SPDX-License-Identifier: Apache-2.0 */
/* oc_plan_pin: here and not in lib/plan, because plans know nothing of stores. */
#include "plan/plan.h"
#include "store/store.h"

int oc_plan_pin(const oc_plan *plan, oc_store *store, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *head = json_object();
	const json_t *argv;
	int rc;

	if (!plan || !store)
		return oc_fail(err, OC_EINVAL, 0, "oc_plan_pin: plan and store must not be NULL");
	rc = oc_context_check(store->ctx, err);
	if (rc < 0)
		return rc;
	argv = json_object_get(json_object_get(plan->json, "command"), "argv");
	if (!oc_json_set_string(head, "kind", oc_plan_kind(plan)) ||
	    !oc_json_set_string(head, "work", oc_json_text(plan->json, "work")) ||
	    !oc_json_set_string(head, "binding", oc_json_text(plan->json, "binding")) ||
	    !oc_json_set(head, "command", json_deep_copy(argv)))
		return oc_nomem(err);
	return oc_store_pin(store, oc_plan_run(plan), plan->text, plan->digest, head, err);
}
