/* SPDX-License-Identifier: Apache-2.0 */
/* The strict check of a plan's whole shape: what is built and what is loaded pass the same one. */
#ifndef OC_PLAN_CHECK_H
#define OC_PLAN_CHECK_H

#include "plan/plan.h"

#define OC_PLAN_LIST_MAX 65536

int oc_plan_check(const json_t *plan, oc_error **err);
int oc_plan_check_resolved(const json_t *resolved, bool container, oc_error **err);
/* container: argv[0] may be a name, which is looked up inside. */
int oc_plan_check_command(const json_t *command, bool container, oc_error **err);

bool oc_env_name_valid(const char *name); /* [A-Za-z_][A-Za-z0-9_]*, 256 at most */
bool oc_plan_digest_valid(const char *digest);
bool oc_plan_file_name_valid(const char *name); /* of a file in {run}: [A-Za-z0-9._-], 64 at most, none that is ours */

/* Check each object of an array against keys; path names the array. */
int oc_plan_each(const json_t *array, const char *path, const struct oc_json_key *keys, size_t n, oc_error **err);
int oc_plan_text_or_null(const json_t *value, const char *path, oc_error **err);
/* OC_EPROTO with the field as the subject, in the words of the rest of the check. */
int oc_plan_bad(oc_error **err, const char *path, const char *why);

#endif
