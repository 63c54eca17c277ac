/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "plan/check.h"
#include "policy/policy.h"

int oc_plan_from_json(json_t *json, oc_plan **out, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *taken = json;
	struct oc_buf text;
	oc_plan *plan;
	int rc;

	if (!taken)
		return oc_nomem(err);
	rc = oc_plan_check(taken, err);
	if (rc < 0)
		return rc;
	oc_buf_init(&text, OC_JSON_MAX);
	plan = calloc(1, sizeof(*plan));
	rc = plan ? oc_json_canonical(taken, &text, err) : oc_nomem(err);
	if (rc == 0 && !(plan->text = oc_buf_steal(&text)))
		rc = oc_nomem(err);
	if (rc == 0 && oc_digest(plan->text, strlen(plan->text), plan->digest) < 0)
		rc = oc_fail(err, OC_EFAILED, 0, "the plan's digest can't be computed");
	oc_buf_free(&text);
	if (rc < 0) {
		oc_plan_free(plan);
		return rc;
	}
	plan->json = oc_steal(taken);
	*out = plan;
	return 0;
}

int oc_plan_load(const char *text, size_t len, oc_plan **out, oc_error **err)
{
	json_t *json = NULL;
	oc_plan *plan = NULL;
	int rc;

	if (!text || !out)
		return oc_fail(err, OC_EINVAL, 0, "oc_plan_load: text and out must not be NULL");
	rc = oc_json_parse(text, len, OC_JSON_MAX, "the plan", &json, err);
	if (rc == 0)
		rc = oc_plan_from_json(json, &plan, err);
	if (rc < 0)
		return rc;
	/* Two texts with one meaning would have two digests for one plan: only the canonical one is a plan. */
	if (strlen(plan->text) != len || memcmp(plan->text, text, len) != 0) {
		oc_plan_free(plan);
		return oc_fail(err, OC_EPROTO, 0, "the plan is not in canonical form");
	}
	*out = plan;
	return 0;
}

const char *oc_plan_json(const oc_plan *plan)
{
	return plan ? plan->text : NULL;
}

const char *oc_plan_digest(const oc_plan *plan)
{
	return plan ? plan->digest : NULL;
}

const char *oc_plan_run(const oc_plan *plan)
{
	return plan ? oc_json_text(plan->json, "run") : NULL;
}

const char *oc_plan_kind(const oc_plan *plan)
{
	return plan ? oc_json_text(plan->json, "kind") : NULL;
}

/* Kind none: there is no policy that could say no, and the answer says so. */
static json_t *explain_none(const char *question, const char *subject)
{
	json_t *out = json_object();

	if (oc_json_set_string(out, "question", question) && oc_json_set_string(out, "subject", subject) &&
	    oc_json_set_string(out, "resolved", subject) && oc_json_set(out, "allowed", json_true()) &&
	    oc_json_set_string(out, "rule", "unsandboxed") && oc_json_set_string(out, "allow_line", NULL))
		return out;
	json_decref(out);
	return NULL;
}

static bool question_known(const char *question)
{
	return question && (strcmp(question, "read") == 0 || strcmp(question, "write") == 0 ||
	                    strcmp(question, "host") == 0 || strcmp(question, "socket") == 0);
}

int oc_plan_explain(const oc_plan *plan, const char *question, const char *subject, char **json, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *out = NULL;
	const json_t *resolved;
	int rc = 0;

	if (!plan || !subject || !json || !question_known(question))
		return oc_fail(err, OC_EINVAL, 0, "a question is read, write, host or socket, about a subject");
	resolved = json_object_get(plan->json, "resolved");
	if (json_is_null(resolved)) {
		out = explain_none(question, subject);
		rc = out ? 0 : oc_nomem(err);
	} else {
		rc = oc_resolved_explain(resolved, question, subject, &out, err);
	}
	if (rc < 0)
		return rc;
	*json = json_dumps(out, JSON_COMPACT | JSON_SORT_KEYS);
	return *json ? 0 : oc_nomem(err);
}

void oc_plan_free(oc_plan *plan)
{
	if (!plan)
		return;
	json_decref(plan->json);
	free(plan->text);
	free(plan);
}
