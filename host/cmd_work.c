/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "subcommand.h"
#include "work/work.h"

enum { O_JSON, O_ALL, O_KEEP = O_ALL };

static const struct opt LIST_OPTIONS[] = {
	[O_JSON] = { "json", 0, NULL, "facts as JSON on stdout" },
	[O_ALL] = { "all", 'a', NULL, "also those that are finished" },
	{ NULL, 0, NULL, NULL },
};
static const struct opt SHOW_OPTIONS[] = {
	[O_JSON] = { "json", 0, NULL, "the record as JSON on stdout" },
	{ NULL, 0, NULL, NULL },
};
static const struct opt FINISH_OPTIONS[] = {
	[O_JSON] = { "json", 0, NULL, "facts as JSON on stdout" },
	[O_KEEP] = { "keep", 0, NULL, "save everything and leave the workspace" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command LIST = {
	.name = "work list",
	.about = "The Works of this state directory, newest first.",
	.opts = LIST_OPTIONS,
};
static const struct opt_command SHOW = {
	.name = "work show",
	.args = "KEY",
	.about = "One Work: its clone, its branch, its runs, and what was saved of them.",
	.more = "KEY is the key given to run --work, SCOPE/BINDING/KEY, or the Work's id.\n",
	.opts = SHOW_OPTIONS,
};
static const struct opt_command FINISH = {
	.name = "work finish",
	.args = "KEY",
	.about = "Save everything of a Work into its checkout, move its branch, and remove its workspace.",
	.more = "What is not committed goes to refs/open-conduit/ID/leftover.  The workspace stays only for what can't "
	        "be\n"
	        "saved.\n\nexit status: 0 done; 1 not, or not wholly; 2 usage.\n",
	.opts = FINISH_OPTIONS,
};

/* Every command of these begins so: what hosts before it left undone is done. */
static bool open_settled(struct host *h)
{
	if (host_open(h) < 0)
		return false;
	json_decref(host_recover(h));
	work_settle(h);
	return true;
}

static void answer(struct host *h, const char *member, json_t *value)
{
	json_t *whole = host_answer();

	json_object_set(whole, member, value);
	out_json(&h->out, whole);
}

static int list(struct host *h, int argc, char **argv)
{
	struct opt_state s;
	oc_error *err = NULL;
	char *text = NULL;
	bool all = false;
	json_t *works;
	int o;

	opt_begin(&s, &LIST, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		h->json |= o == O_JSON;
		all |= o == O_ALL;
	}
	if (s.nargs)
		return opt_usage_error(&s, "it takes no arguments, but \"%s\" was given", s.args[0]);
	if (!open_settled(h))
		return EXIT_NO;
	if (oc_work_list(h->store, 0, all, &text, &err) < 0) {
		host_report(h, "no list", err);
		oc_error_free(err);
		return EXIT_NO;
	}
	works = host_parse(h, "the list of Works", text);
	if (!works)
		return EXIT_NO;
	if (h->json)
		answer(h, "works", works);
	else
		work_table(h, works);
	json_decref(works);
	return EXIT_GOOD;
}

static int show(struct host *h, int argc, char **argv)
{
	struct opt_state s;
	json_t *work;
	int o;

	opt_begin(&s, &SHOW, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		h->json |= o == O_JSON;
	}
	if (s.nargs != 1)
		return opt_usage_error(&s,
		                       s.nargs ? "one KEY at a time" : "which Work? open-conduit work list shows them");
	work = open_settled(h) ? work_find(h, s.args[0]) : NULL;
	if (!work)
		return EXIT_NO;
	if (h->json)
		answer(h, "work", work);
	else
		work_show(h, work);
	json_decref(work);
	return EXIT_GOOD;
}

static bool is_finished(struct host *h, const char *id)
{
	json_t *work = work_find(h, id);
	const char *state = host_string(work, "state");
	bool is = state && !strcmp(state, "finished");

	json_decref(work);
	return is;
}

static int finish(struct host *h, const char *name, bool keep)
{
	json_t *work = open_settled(h) ? work_find(h, name) : NULL, *save = NULL;
	const char *state = host_string(work, "state");
	bool whole, over, json = h->json;

	if (!work)
		return EXIT_NO;
	if (state && !strcmp(state, "finished")) {
		struct refusal r = { NULL, host_string(work, "id"), "this Work is finished already",
			             "open-conduit work list shows those that are not" };

		host_refuse(h, "nothing to finish", &r);
		json_decref(work);
		return EXIT_NO;
	}
	save = work_end(h, host_string(work, "id"), !keep);
	whole = save && !json_array_size(json_object_get(save, "lost"));
	over = save && is_finished(h, host_string(work, "id"));
	if (save && !json) {
		work_tell_save(h, work, save, false);
		out_printf(&h->err, "open-conduit: the Work %s is %s\n", host_string(work, "key"),
		           over   ? "finished"
		           : keep ? "saved; its workspace stays"
		                  : "not finished: the workspace stays");
	} else if (save) {
		json_t *facts = json_pack("{s:i, s:O, s:O, s:b}", "version", 1, "work", json_object_get(work, "id"),
		                          "save", save, "finished", over);

		out_json(&h->out, facts);
	}
	json_decref(save);
	json_decref(work);
	return whole ? EXIT_GOOD : EXIT_NO;
}

static int cmd_finish(struct host *h, int argc, char **argv)
{
	struct opt_state s;
	bool keep = false;
	int o;

	opt_begin(&s, &FINISH, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		h->json |= o == O_JSON;
		keep |= o == O_KEEP;
	}
	if (s.nargs != 1)
		return opt_usage_error(&s,
		                       s.nargs ? "one KEY at a time" : "which Work? open-conduit work list shows them");
	return finish(h, s.args[0], keep);
}

static const struct host_command COMMANDS[] = {
	{ "list", list, "the Works that are not finished, newest first" },
	{ "show", show, "one Work: its clone, branch and runs, and what was saved" },
	{ "send", work_send, "a message to a Work's agent" },
	{ "exec", work_exec, "one command of yours in a Work's workspace, unsandboxed" },
	{ "attach", work_attach, "its agent's session on this terminal" },
	{ "settle", work_settle_command,
	  "do what ended runs left to be done; every command about Works does it first" },
	{ "finish", cmd_finish, "save everything into the checkout and remove the workspace" },
	{ NULL, NULL, NULL },
};

int cmd_work(struct host *h, int argc, char **argv)
{
	return host_subcommand(h, "work", COMMANDS, argc, argv);
}
