/* SPDX-License-Identifier: Apache-2.0 */
/* A policy: what is accepted has a normal form that is accepted, means the same and has only clean paths and hosts;
 * what is refused says why, where and what to write instead. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "fuzz.h"
#include "policy/paths.h"
#include "policy/policy.h"

static void check_paths(const json_t *list)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *path = json_string_value(item);
		char *fix = NULL, *full;

		if (strcmp(path, "{toolbelt}") == 0)
			continue;
		FUZZ_CHECK(oc_policy_path_check(path, &fix) == NULL && fix == NULL);
		full = oc_policy_path_expand(path, "/h", "/w", "/r");
		/* By one byte too long with its placeholder put in: refused when it is resolved. */
		if (!full && strlen(path) == OC_POLICY_PATH_MAX - 1 && path[0] == '~')
			continue;
		FUZZ_CHECK(full && full[0] == '/' && !strstr(full, "//") && !strstr(full, "/../") &&
		           !strstr(full, "/./"));
		FUZZ_CHECK(full[1] == '\0' || full[strlen(full) - 1] != '/');
		free(full);
	}
}

static void check_accepted(const oc_policy *p)
{
	oc_policy *again = NULL;
	const json_t *read = json_object_get(p->normal, "read");

	FUZZ_CHECK(oc_policy_parse("sandbox", p->canonical, strlen(p->canonical), &again, NULL) == 0);
	FUZZ_CHECK(strcmp(again->canonical, p->canonical) == 0);
	oc_policy_free(again);
	check_paths(json_object_get(p->normal, "write"));
	check_paths(json_object_get(read, "allow"));
	check_paths(json_object_get(read, "deny"));
	check_paths(json_object_get(p->normal, "sockets"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	oc_policy *p = NULL;
	oc_error *err = NULL;
	int rc = oc_policy_parse("sandbox", (const char *)data, size, &p, &err);

	if (rc == 0) {
		check_accepted(p);
		oc_policy_free(p);
		return 0;
	}
	FUZZ_CHECK(rc == OC_EREFUSED && !p && err);
	for (const oc_error *e = err; e; e = oc_error_next(e))
		FUZZ_CHECK(oc_error_reason(e) && oc_error_subject(e) && oc_error_fix(e) && *oc_error_message(e));
	FUZZ_CHECK(oc_error_json(err));
	oc_error_free(err);
	return 0;
}
