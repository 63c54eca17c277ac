/* SPDX-License-Identifier: Apache-2.0 */
/* run.policy: the truth about this run's confinement, from its pin, for the one who is confined. */
#include <stdlib.h>
#include <string.h>

#include "toolbelt.h"

static oc_plan *pinned(const struct toolbelt *t, struct toolbelt_refusal *r)
{
	oc_error *err = NULL;
	oc_plan *plan = NULL;
	char *text = NULL, *pin;
	json_t *run;
	int rc = oc_store_run(t->h->store, t->run, &text, &err);

	if (rc < 0)
		return (oc_plan *)toolbelt_failed(r, err);
	run = json_loads(text, JSON_ALLOW_NUL, NULL);
	free(text);
	pin = json_dumps(json_object_get(run, "plan"), JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(run);
	rc = pin ? oc_plan_load(pin, strlen(pin), &plan, &err) : 0;
	free(pin);
	if (rc < 0)
		return (oc_plan *)toolbelt_failed(r, err);
	return plan;
}

static json_t *answer_question(const oc_plan *plan, const char *question, const char *subject,
                               struct toolbelt_refusal *r)
{
	oc_error *err = NULL;
	char *text = NULL;
	json_t *answer;

	if (oc_plan_explain(plan, question, subject, &text, &err) < 0)
		return toolbelt_failed(r, err);
	answer = json_loads(text, JSON_ALLOW_NUL, NULL);
	free(text);
	return answer;
}

static json_t *names(const json_t *list, const char *member, const char *flag, bool is)
{
	json_t *out = json_array(), *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		if (!flag || json_is_true(json_object_get(entry, flag)) == is)
			json_array_append(out, json_object_get(entry, member));
	}
	return out;
}

static const char *summary(bool confined, bool container)
{
	if (container)
		return "This is a container: of the operator's machine only the paths of write and read are mounted, "
		       "the rest is "
		       "the image's and read-only. Hosts of network only are reached, through the proxy that the "
		       "environment "
		       "names. What is refused here stays refused however it is tried.";
	return confined ? "Writes go to the paths of write only. Hosts of network only are reached, through the proxy "
	                  "that the "
	                  "environment names. Paths of read_denied can't be read. What is refused here stays refused "
	                  "however it is tried."
	                : "This run is not confined: it can do what the operator's account can.";
}

static json_t *brief(const oc_plan *plan)
{
	json_t *json = json_loads(oc_plan_json(plan), 0, NULL), *resolved = json_object_get(json, "resolved");
	json_t *policy = json_object_get(json_object_get(json, "policy"), "normal");
	const char *kind = host_string(json, "kind");
	bool confined = json_is_object(resolved), container = kind && !strcmp(kind, "container");
	json_t *out = json_pack(
	        "{s:O, s:s, s:O, s:O, s:o, s:o, s:o, s:o, s:o, s:s, s:s}", "kind", json_object_get(json, "kind"),
	        "digest", oc_plan_digest(plan), "policy", policy, "limits", json_object_get(json, "limits"), "write",
	        names(json_object_get(resolved, "write"), "path", NULL, false), "read",
	        names(json_object_get(resolved, "read"), "path", "allow", true), "read_denied",
	        container ? json_array() : names(json_object_get(resolved, "read"), "path", "allow", false),
	        "read_only", names(json_object_get(resolved, "readonly"), "path", NULL, false), "network",
	        names(json_object_get(resolved, "network"), "entry", NULL, false), "summary",
	        summary(confined, container), "more",
	        confined ? "A policy is changed by the operator, in the binding's config, and applies from the next "
	                   "run. Ask with a "
	                   "question and a subject which line would allow what you need, and leave that line in a note."
	                 : "");

	json_decref(json);
	return out;
}

json_t *toolbelt_run_policy(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r)
{
	const char *question = host_string(arguments, "question"), *subject = host_string(arguments, "subject");
	oc_plan *plan;
	json_t *out;

	if (!question != !subject) {
		*r = (struct toolbelt_refusal){ .reason = "bad_arguments",
			                        .message = "a question has a subject, and a subject a question" };
		return NULL;
	}
	plan = pinned(t, r);
	if (!plan)
		return NULL;
	out = question ? answer_question(plan, question, subject, r) : brief(plan);
	oc_plan_free(plan);
	return out;
}
