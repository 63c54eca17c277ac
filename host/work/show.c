/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "work.h"

#define SHORT 12 /* of a commit: enough for git, and for a reader */

static void field(struct out *o, const char *label, const char *text)
{
	if (text && *text)
		out_printf(o, "  %-11s %s\n", label, text);
}

static void tell_refs(struct out *o, const char *what, const json_t *refs)
{
	const json_t *one;
	size_t i;

	json_array_foreach(refs, i, one)
	{
		const char *commit = host_string(one, "commit"), *is = host_string(one, "what");
		char head[SHORT + 1];

		snprintf(head, sizeof(head), "%s", commit ? commit : "");
		out_printf(o, "  %-11s %s is %s%s%s\n", what, host_string(one, "ref"), head, is ? ": " : "",
		           is ? is : "");
	}
}

/* Why the branch is not where the work is, and what to paste. */
static void tell_outcome(struct out *o, const json_t *work, const json_t *save)
{
	const char *outcome = host_string(save, "outcome"), *checkout = host_string(work, "checkout");
	const char *branch = host_string(work, "branch"), *id = host_string(work, "id");
	bool out = outcome && !strcmp(outcome, "checked_out"), split = outcome && !strcmp(outcome, "diverged");
	struct text quoted = { 0 };

	if (outcome && !strcmp(outcome, "moved") && branch)
		out_printf(o, "  %-11s %s\n", "branch", branch);
	if ((!out && !split) || !work)
		return;
	text_quote(&quoted, checkout ? checkout : ".");
	out_printf(o, "  %-11s %s was not moved: %s\n", "branch", branch,
	           out ? "it is checked out" : "it went on in both places");
	out_printf(o, "  %-11s git -C %s merge refs/open-conduit/%s/head\n", "fix", quoted.data ? quoted.data : ".",
	           id);
	text_free(&quoted);
}

static void tell_lost(struct out *o, const json_t *work, const json_t *save)
{
	const json_t *lost = json_object_get(save, "lost"), *one;
	size_t i;

	json_array_foreach(lost, i, one)
	        out_printf(o, "  %-11s %s: %s\n", "not saved", host_string(one, "what"), host_string(one, "why"));
	if (json_array_size(lost) && work)
		out_printf(o, "  %-11s %s stays, for what can't be saved\n", "workspace",
		           host_string(work, "workspace"));
}

void work_save_lines(struct out *o, const json_t *work, const json_t *save)
{
	const json_t *note;
	size_t i;

	tell_refs(o, "saved", json_object_get(save, "saved"));
	tell_refs(o, "leftover", json_object_get(save, "leftover"));
	tell_outcome(o, work, save);
	tell_lost(o, work, save);
	json_array_foreach(json_object_get(save, "notes"), i, note) field(o, "note", json_string_value(note));
}

void work_tell_save(struct host *h, const json_t *work, const json_t *save, bool quiet)
{
	bool any = json_array_size(json_object_get(save, "saved")) ||
	           json_array_size(json_object_get(save, "leftover")) ||
	           json_array_size(json_object_get(save, "lost")) || json_array_size(json_object_get(save, "notes"));

	if (!any && quiet)
		return;
	out_printf(&h->err, "open-conduit: %s %s\n", any ? "saved to" : "nothing new to save to",
	           host_string(work, "checkout"));
	work_save_lines(&h->err, work, save);
	out_flush(&h->err);
}

static const char *work_state(const json_t *work)
{
	const char *state = host_string(work, "state");

	if (!state)
		return "unknown";
	if (strcmp(state, "open"))
		return state;
	return !json_is_object(json_object_get(work, "root"))      ? "not made"
	       : json_array_size(json_object_get(work, "unsaved")) ? "not saved"
	                                                           : "open";
}

static void show_runs(struct host *h, const json_t *work)
{
	const json_t *runs = json_object_get(work, "runs"), *run;
	char created[32];
	size_t i;

	json_array_foreach(runs, i, run)
	{
		host_time(json_object_get(run, "created"), created, sizeof(created));
		out_printf(&h->out, "  %-11s %s  %s  %s%s\n", i ? "" : "runs", host_string(run, "id"), created,
		           host_string(run, "state"), json_is_object(json_object_get(run, "save")) ? ", saved" : "");
	}
}

/* What was sent and is not known to have arrived. */
static void show_messages(struct host *h, const json_t *work)
{
	oc_error *err = NULL;
	char *text = NULL;
	json_t *list, *one;
	size_t i;

	if (oc_work_messages(h->store, host_string(work, "id"), &text, &err) < 0) {
		host_report(h, "its messages can't be read", err);
		oc_error_free(err);
		return;
	}
	list = host_parse(h, "the messages", text);
	json_array_foreach(list, i, one) out_printf(&h->out, "  %-11s %lld  %s  %s\n", i ? "" : "messages",
	                                            (long long)json_integer_value(json_object_get(one, "number")),
	                                            host_string(one, "state"), host_string(one, "text"));
	json_decref(list);
}

/* What its agent said of it, by the toolbelt. */
static void show_said(struct host *h, const json_t *work)
{
	const json_t *data = json_object_get(work, "data"), *notes = json_object_get(data, "notes"), *one;
	size_t i;

	field(&h->out, "status", host_string(json_object_get(data, "status"), "text"));
	json_array_foreach(notes, i, one) field(&h->out, i ? "" : "notes", host_string(one, "text"));
}

void work_show(struct host *h, const json_t *work)
{
	const char *scope = host_string(work, "scope"), *binding = host_string(work, "binding");
	const json_t *save = json_object_get(work, "save");
	char created[32], text[300];

	out_styled(&h->out, STYLE_BOLD, "work");
	out_printf(&h->out, " %s\n", host_string(work, "id"));
	field(&h->out, "key", host_string(work, "key"));
	field(&h->out, "state", work_state(work));
	snprintf(text, sizeof(text), "%s/%s", scope ? scope : "", binding ? binding : "");
	field(&h->out, "binding", scope && binding ? text : NULL);
	field(&h->out, "checkout", host_string(work, "checkout"));
	field(&h->out, "branch", host_string(work, "branch"));
	field(&h->out, "began at", host_string(work, "baseline"));
	field(&h->out, "origin", host_string(work, "origin"));
	if (strcmp(work_state(work), "finished") != 0)
		field(&h->out, "workspace", host_string(work, "workspace"));
	host_time(json_object_get(work, "created"), created, sizeof(created));
	field(&h->out, "created", created);
	if (json_is_object(save)) {
		host_time(json_object_get(work, "saved"), created, sizeof(created));
		field(&h->out, "last save", created);
		work_save_lines(&h->out, work, save);
	}
	show_said(h, work);
	show_messages(h, work);
	show_runs(h, work);
}

void work_table(struct host *h, const json_t *works)
{
	const json_t *work;
	char created[32];
	size_t i;

	if (!json_array_size(works)) {
		out_put(&h->err, "open-conduit: there is no Work that is not finished\n");
		return;
	}
	out_styled(&h->out, STYLE_BOLD,
	           "KEY                   STATE      CREATED              BRANCH                          ID");
	out_put(&h->out, "\n");
	json_array_foreach(works, i, work)
	{
		host_time(json_object_get(work, "created"), created, sizeof(created));
		out_printf(&h->out, "%-20s  %-9s  %-19s  %-30s  %s\n", host_string(work, "key"), work_state(work),
		           created, host_string(work, "branch"), host_string(work, "id"));
	}
}
