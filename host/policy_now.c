/* SPDX-License-Identifier: Apache-2.0 */
#include "policy_now.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "runs.h"
#include "work/work.h"

#define NOTE      "policy"
#define NOTE_TYPE "note:" NOTE
#define NOTE_TEXT 16384 /* of a policy in a note, which is 64 KiB at most; what differs tells the rest */
#define RUNS      1000  /* among which its binding's last one is looked for */
#define FIELD     256

static bool holds(const json_t *list, const json_t *value)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) if (json_equal(one, value)) return true;
	return false;
}

/* Of lists the order means nothing, so what is in one alone is what differs. */
static json_t *only(const json_t *list, const json_t *other)
{
	json_t *out = json_array(), *one;
	size_t i;

	json_array_foreach(list, i, one) if (!holds(other, one)) json_array_append(out, one);
	return out;
}

static void differ(json_t *out, const char *field, json_t *was, json_t *is);

static void differ_member(json_t *out, const char *field, const char *key, json_t *was, json_t *is)
{
	char path[FIELD];

	snprintf(path, sizeof(path), "%s%s%s", field, *field ? "." : "", key);
	differ(out, path, json_object_get(was, key), json_object_get(is, key));
}

static void differ_objects(json_t *out, const char *field, json_t *was, json_t *is)
{
	const char *key;
	json_t *value;

	json_object_foreach(was, key, value) differ_member(out, field, key, was, is);
	json_object_foreach(is, key, value) if (!json_object_get(was, key)) differ_member(out, field, key, was, is);
}

/* Both are normal forms, whose depth is the grammar's. */
static void differ(json_t *out, const char *field, json_t *was, json_t *is)
{
	if (was && is && json_equal(was, is))
		return;
	if (json_is_object(was) && json_is_object(is))
		differ_objects(out, field, was, is);
	else if (json_is_array(was) && json_is_array(is))
		json_array_append_new(out, json_pack("{s:s, s:o, s:o}", "field", field, "removed", only(was, is),
		                                     "added", only(is, was)));
	else
		json_array_append_new(out, json_pack("{s:s, s:O?, s:O?}", "field", field, "was", was, "is", is));
}

static json_t *normal_of(const struct config_binding *b)
{
	const char *text = b->place ? b->place->policy : NULL;
	oc_policy *policy = NULL;
	json_t *json = NULL;

	if (oc_policy_parse(b->kind, text, text ? strlen(text) : 0, &policy, NULL) >= 0)
		json = json_loads(oc_policy_json(policy), 0, NULL);
	oc_policy_free(policy);
	return json;
}

static json_t *answer(const char *state, const char *kind, const char *policy, json_t *differs_taken)
{
	return json_pack("{s:s, s:s?, s:s?, s:o}", "state", state, "kind", kind, "policy", policy, "differs",
	                 differs_taken ? differs_taken : json_array());
}

static json_t *compare(const json_t *plan, const struct config_binding *b)
{
	json_t *was = json_object_get(json_object_get(plan, "policy"), "normal"), *is = normal_of(b);
	const char *kind = host_string(plan, "kind"), *text = b->place ? b->place->policy : NULL;
	json_t *differs = json_array();
	bool plain = !strcmp(b->kind, "none") && work_plain(kind);

	if (!plain && kind && strcmp(kind, b->kind) != 0)
		json_array_append_new(differs,
		                      json_pack("{s:s, s:s, s:s}", "field", "kind", "was", kind, "is", b->kind));
	else if (!plain)
		differ(differs, "", was, is);
	json_decref(is);
	return answer(json_array_size(differs) ? "changed" : "same", b->kind, text, differs);
}

/* Is there none of its binding after it? */
static bool is_last(struct host *h, const json_t *run)
{
	const char *binding = host_string(run, "binding");
	const json_t *one;
	json_t *runs = NULL;
	char *text = NULL;
	bool last = false;
	size_t i;

	if (oc_store_runs(h->store, RUNS, &text, NULL) >= 0)
		runs = host_parse(h, "the list of runs", text);
	json_array_foreach(runs, i, one)
	{
		if (!host_string(one, "binding") || strcmp(host_string(one, "binding"), binding) != 0)
			continue;
		last = !strcmp(host_string(one, "id"), host_string(run, "id"));
		break;
	}
	json_decref(runs);
	return last;
}

json_t *policy_now(struct host *h, const json_t *run)
{
	const char *binding = host_string(run, "binding");
	const json_t *plan = json_object_get(run, "plan");
	const struct config_binding *b;
	struct report report = { 0 };
	struct config *config = NULL;
	json_t *out;

	if (!binding || !json_is_object(plan) || (runs_over(run) && !is_last(h, run)))
		return json_null();
	if (config_load(NULL, NULL, &config, &report) < 0) {
		out = answer("unknown", NULL, NULL, NULL);
	} else {
		b = config_binding(config, binding, NULL);
		out = b ? compare(plan, b) : answer("gone", NULL, NULL, NULL);
		config_free(config);
	}
	report_free(&report);
	return out;
}

/* The last that was noted; before any it is as it was pinned. */
static const json_t *noted(const json_t *run)
{
	const json_t *one, *last = NULL;
	size_t i;

	json_array_foreach(json_object_get(run, "events"), i, one) if (!strcmp(host_string(one, "type"), NOTE_TYPE))
	        last = json_object_get(one, "data");
	return last;
}

static bool is_new(const json_t *last, const json_t *now)
{
	const char *state = host_string(now, "state");

	if (!strcmp(state, "unknown"))
		return false;
	if (!last)
		return strcmp(state, "same") != 0;
	return strcmp(host_string(last, "state"), state) != 0 ||
	       !json_equal(json_object_get(last, "differs"), json_object_get(now, "differs"));
}

bool policy_note(struct host *h, const json_t *run, const json_t *now)
{
	const char *text = host_string(now, "policy");
	json_t *note;
	oc_error *err = NULL;
	char *dumped;
	bool done = false;

	if (!json_is_object(now) || runs_over(run) || !is_new(noted(run), now))
		return false;
	note = json_deep_copy(now);
	if (text && strlen(text) > NOTE_TEXT)
		json_object_set_new(note, "policy", json_null());
	dumped = json_dumps(note, JSON_COMPACT);
	if (dumped)
		done = oc_store_note(h->store, host_string(run, "id"), NOTE, dumped, &err) >= 0;
	if (!done && err)
		host_report(h, "the change of policy is not in the run's history", err);
	oc_error_free(err);
	free(dumped);
	json_decref(note);
	return done;
}

static void show_list(struct out *o, const char *field, const char *what, const json_t *list)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		char *text = json_dumps(one, JSON_COMPACT | JSON_ENCODE_ANY);

		out_printf(o, "  %-16s %s %s\n", field, what, text ? text : "?");
		free(text);
	}
}

static void show_value(struct out *o, const char *what, const json_t *value)
{
	char *text = value && !json_is_null(value) ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	out_printf(o, " %s %s", what, text ? text : "nothing");
	free(text);
}

static void show_differences(struct out *o, const json_t *differs)
{
	const json_t *one;
	size_t i;

	json_array_foreach(differs, i, one)
	{
		const char *field = host_string(one, "field");

		if (json_object_get(one, "added")) {
			show_list(o, field, "without", json_object_get(one, "removed"));
			show_list(o, field, "with", json_object_get(one, "added"));
		} else {
			out_printf(o, "  %-16s", field);
			show_value(o, "had", json_object_get(one, "was"));
			show_value(o, ", has", json_object_get(one, "is"));
			out_put(o, "\n");
		}
	}
}

void policy_show(struct out *o, const json_t *now)
{
	const char *state = host_string(now, "state");

	if (!state || !strcmp(state, "same"))
		return;
	out_put(o, "\n");
	out_styled(o, STYLE_BOLD, "policy of its binding by now");
	out_put(o, "\n  ");
	if (!strcmp(state, "unknown"))
		out_put(o, "unknown: the config can't be read; open-conduit config check tells why\n");
	else if (!strcmp(state, "gone"))
		out_put(o, "none: the config has no such binding any more\n");
	else
		out_put(o, "another, which applies from the next run; this one has what is above:\n");
	show_differences(o, json_object_get(now, "differs"));
	runs_show_text(o, host_string(now, "policy"));
}
