/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on the run's own Work. */
#include <stdlib.h>
#include <string.h>

#include "toolbelt.h"

#define NOTES_MAX 12 /* of 4 KiB each: what is kept with a Work is 64 KiB at most */

json_t *toolbelt_work(const struct toolbelt *t, struct toolbelt_refusal *r)
{
	oc_error *err = NULL;
	char *text = NULL;
	json_t *work;

	if (oc_work_get(t->h->store, t->work, &text, &err) < 0)
		return toolbelt_failed(r, err);
	work = json_loads(text, JSON_ALLOW_NUL, NULL);
	free(text);
	if (!work)
		*r = (struct toolbelt_refusal){ .reason = "failed", .message = "the Work can't be read" };
	return work;
}

static json_t *data(const json_t *work, const char *name)
{
	return json_object_get(json_object_get(work, "data"), name);
}

static bool copy(json_t *to, const json_t *from, const char *name)
{
	json_t *value = json_object_get(from, name);

	return !value || json_object_set(to, name, value) == 0;
}

/* What concerns the Work, and not where the operator keeps things. */
json_t *toolbelt_work_get(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r)
{
	static const char *const members[] = {
		"id", "key", "scope", "binding", "branch", "baseline", "state", "created"
	};
	static const char *const of_run[] = { "id", "kind", "state", "reason", "created", "ended" };
	json_t *work = toolbelt_work(t, r), *out = json_object(), *runs = json_array(), *run;
	bool good = out && runs;
	size_t i;

	(void)arguments;
	for (i = 0; good && i < sizeof(members) / sizeof(members[0]); i++)
		good = copy(out, work, members[i]);
	json_array_foreach(json_object_get(work, "runs"), i, run)
	{
		json_t *one = json_object();

		for (size_t k = 0; good && k < sizeof(of_run) / sizeof(of_run[0]); k++)
			good = one && copy(one, run, of_run[k]);
		good = json_array_append_new(runs, one) == 0 && good;
	}
	good = good && json_object_set_new(out, "this_run", json_string(t->run)) == 0 &&
	       json_object_set(out, "runs", runs) == 0 &&
	       (!data(work, TOOLBELT_STATUS) || json_object_set(out, "status", data(work, TOOLBELT_STATUS)) == 0) &&
	       (!data(work, TOOLBELT_NOTES) || json_object_set(out, "notes", data(work, TOOLBELT_NOTES)) == 0);
	json_decref(runs);
	if (!work || !good) {
		json_decref(out);
		out = NULL;
	}
	json_decref(work);
	return out;
}

static json_t *entry(const struct toolbelt *t, const json_t *arguments)
{
	return json_pack("{s:I, s:s, s:O}", "at", (json_int_t)host_now_ms(), "run", t->run, "text",
	                 json_object_get(arguments, "text"));
}

/* value is taken. */
static json_t *keep(const struct toolbelt *t, const char *name, json_t *value, struct toolbelt_refusal *r)
{
	char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
	oc_error *err = NULL;
	int rc = text ? oc_work_set(t->h->store, t->work, name, text, &err) : -1;

	json_decref(value);
	free(text);
	if (rc < 0)
		return err ? toolbelt_failed(r, err) : NULL;
	return json_pack("{s:b}", "recorded", 1);
}

json_t *toolbelt_work_note(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r)
{
	json_t *work = toolbelt_work(t, r), *notes = work ? json_deep_copy(data(work, TOOLBELT_NOTES)) : NULL;

	if (work && !notes)
		notes = json_array();
	if (!work || json_array_size(notes) >= NOTES_MAX) {
		if (work)
			*r = (struct toolbelt_refusal){
				.reason = "limit",
				.message = "the Work has as many notes as it may have",
				.fix = "use work.status for where it stands, and commit what is longer"
			};
		json_decref(notes);
		json_decref(work);
		return NULL;
	}
	json_decref(work);
	if (json_array_append_new(notes, entry(t, arguments)) < 0) {
		json_decref(notes);
		return NULL;
	}
	return keep(t, TOOLBELT_NOTES, notes, r);
}

json_t *toolbelt_work_status(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r)
{
	const char *text = host_string(arguments, "text");

	if (text && strpbrk(text, "\r\n")) {
		*r = (struct toolbelt_refusal){ .reason = "bad_arguments",
			                        .message = "a status is one line",
			                        .fix = "use work.note for what is longer" };
		return NULL;
	}
	return keep(t, TOOLBELT_STATUS, entry(t, arguments), r);
}

json_t *toolbelt_workspace_saved(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r)
{
	json_t *work = toolbelt_work(t, r), *save = json_object_get(work, "save"), *out = NULL;

	(void)arguments;
	if (work && json_is_object(save))
		out = json_pack("{s:O?, s:O?, s:O?, s:O?, s:O?}", "branch", json_object_get(work, "branch"), "at",
		                json_object_get(work, "saved"), "tip", json_object_get(save, "tip"), "saved",
		                json_object_get(save, "saved"), "outcome", json_object_get(save, "outcome"));
	else if (work)
		out = json_pack("{s:O?, s:[]}", "branch", json_object_get(work, "branch"), "saved");
	json_decref(work);
	return out;
}
