/* SPDX-License-Identifier: Apache-2.0 */
/* What a release brings: variables of the host's environment, and secrets.  Wiped when freed. */
#ifndef OC_GUARD_VALUES_H
#define OC_GUARD_VALUES_H

#include "base/json.h"
#include "guard/plan_view.h"

struct oc_value {
	char *entry; /* NAME=VALUE */
	size_t len;
	bool secret;
};
struct oc_values {
	size_t n;
	struct oc_value v[];
};
/* Exactly the plan's names: every secret (secret_missing), and of the variables whose value the plan leaves open those the
 * host has.  Any other name is refused. */
int oc_values_new(const struct oc_plan_view *plan, const json_t *env, const json_t *secrets, struct oc_values **out,
                  oc_error **err);
void oc_values_free(struct oc_values *values);
const struct oc_value *oc_values_find(const struct oc_values *values, const char *name);

#endif
