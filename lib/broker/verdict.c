/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of a provider's checks: kept by what the check depended on, so that an upgrade or a
 * reboot asks again, and red stays red until a check is green. */
#include <string.h>

#include "base/os.h"
#include "broker/broker.h"

int oc_verdict_key(const json_t *provider, struct oc_buf *key, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *whole = json_object();
	char boot[OC_BOOT_SIZE];
	int rc = oc_os_boot_id(boot);

	if (rc < 0)
		return oc_fail(err, OC_EIO, -rc, "this boot has no id");
	if (!whole || json_object_update(whole, (json_t *)provider) || !oc_json_set_string(whole, "boot", boot))
		return oc_nomem(err);
	return oc_json_canonical(whole, key, err);
}

/* The failing checks of a red verdict, as one refusal each. */
static int red(const char *provider, const char *text, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *checks = NULL;
	oc_error *all = NULL, *one;
	const json_t *check;
	size_t i;
	int rc = oc_json_parse(text, strlen(text), OC_JSON_MAX, "stored checks", &checks, err);

	if (rc < 0)
		return rc;
	json_array_foreach(json_object_get(checks, "checks"), i, check)
	{
		const char *detail = oc_json_text(check, "detail"), *fix = oc_json_text(check, "fix");

		if (json_is_true(json_object_get(check, "ok")))
			continue;
		one = NULL;
		oc_refuse(&one, "sandbox_unavailable", oc_json_text(check, "id"), fix ? fix : "open-conduit doctor",
		          "a check of provider %s is failing: %s", provider, detail ? detail : "no detail given");
		if (all)
			oc_error_append(&all, one);
		else
			all = one;
	}
	if (!all)
		return oc_refuse(err, "sandbox_unavailable", provider, "open-conduit doctor",
		                 "the checks of provider %s are red", provider);
	if (err)
		*err = all;
	else
		oc_error_free(all);
	return OC_EREFUSED;
}

int oc_verdict_require(oc_store *store, const oc_plan *plan, bool *missing, oc_error **err)
{
	const json_t *provider = json_object_get(plan->json, "provider");
	const char *name = oc_json_text(provider, "name");
	oc_cleanup(oc_buf_free) struct oc_buf key = { 0 };
	oc_cleanup(oc_freep) char *checks = NULL;
	bool found = false, ok = false;
	int rc;

	oc_buf_init(&key, OC_JSON_MAX);
	if (missing)
		*missing = false;
	if (!json_is_object(provider))
		return 0;
	rc = oc_verdict_key(provider, &key, err);
	if (!rc)
		rc = oc_store_verdict(store, name, key.data, &found, &ok, &checks, err);
	if (rc < 0 || (found && ok))
		return rc;
	if (found)
		return red(name, checks, err);
	if (missing) {
		*missing = true;
		return 0;
	}
	return oc_refuse(err, "sandbox_unavailable", name, "open-conduit doctor",
	                 "provider %s has not been checked since it, its engine or this boot changed", name);
}
