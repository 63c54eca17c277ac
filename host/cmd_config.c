/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "config/schema.h"
#include "config_granted.h"
#include "subcommand.h"

enum { O_EXPLAIN, O_JSON };

static const struct opt OPTIONS[] = {
	[O_EXPLAIN] = { "explain", 0, NULL, "what each binding would be granted on this machine" },
	[O_JSON] = { "json", 0, NULL, "facts as JSON on stdout" },
	{ NULL, 0, NULL, NULL },
};
static const struct opt NO_OPTIONS[] = { { NULL, 0, NULL, NULL } };

static const struct opt_command CHECK = {
	.name = "config check",
	.args = "[FILE]",
	.about = "Everything that is wrong with the config, at once: field, reason and fix.",
	.more = "FILE is config.json in the configuration directory where it is left out.\n\n"
	        "exit status: 0 the config is good, also with warnings; 1 it is not; 2 usage.\n",
	.opts = OPTIONS,
};
static const struct opt_command SCHEMA = {
	.name = "config schema",
	.about = "The config as a JSON Schema (draft 2020-12), for an editor.",
	.more = "It knows every key and its type; what keys mean together only \"config check\" knows.\n",
	.opts = NO_OPTIONS,
};

static json_t *finding_json(const struct finding *f)
{
	const struct refusal r = { f->reason, f->subject, f->message, f->fix };
	const struct refusal field = { NULL, f->field, NULL, NULL };
	json_t *one = host_refusal_json(&r), *name = host_refusal_json(&field);

	json_object_set(one, "field", json_object_get(name, "subject"));
	json_object_set_new(one, "line", f->line ? json_integer((json_int_t)f->line) : json_null());
	json_object_set_new(one, "column", f->line ? json_integer((json_int_t)f->column) : json_null());
	json_object_del(one, "code");
	json_object_del(one, "errno");
	json_object_del(one, "more");
	json_decref(name);
	return one;
}

static void print_json(struct host *h, const char *file, const struct report *r, json_t *granted)
{
	const struct refusal about = { NULL, file, NULL, NULL };
	json_t *answer = host_answer(), *errors = json_array(), *warnings = json_array();
	json_t *name = host_refusal_json(&about);

	for (size_t i = 0; i < r->n; i++)
		json_array_append_new(r->v[i].warning ? warnings : errors, finding_json(&r->v[i]));
	json_object_set_new(answer, "ok", json_boolean(report_good(r)));
	json_object_set_new(answer, "file", json_incref(json_object_get(name, "subject")));
	json_object_set_new(answer, "errors", errors);
	json_object_set_new(answer, "warnings", warnings);
	if (granted)
		json_object_set(answer, "bindings", granted);
	json_decref(name);
	out_json(&h->out, answer);
}

static void print_line(struct host *h, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	out_put(&h->out, "  ");
	out_styled(&h->out, STYLE_DIM, label);
	out_printf(&h->out, "%-*s%s\n", 7 - (int)strlen(label), "", text);
}

static void print_finding(struct host *h, const char *file, const struct finding *f)
{
	out_printf(&h->out, "%s", file);
	if (f->line)
		out_printf(&h->out, ":%zu:%zu", f->line, f->column);
	out_put(&h->out, ": ");
	out_styled(&h->out, f->warning ? STYLE_YELLOW : STYLE_RED, f->warning ? "warning" : "error");
	out_printf(&h->out, ": %s: %s\n", *f->field ? f->field : "the file", f->reason);
	print_line(h, "what", f->message);
	print_line(h, "about", f->subject);
	print_line(h, "fix", f->fix);
}

static void print_text(struct host *h, const char *file, const struct report *r, const struct config *c,
                       const json_t *granted)
{
	size_t bindings = 0;

	for (size_t i = 0; i < r->n; i++)
		print_finding(h, file, &r->v[i]);
	if (granted)
		config_granted_print(h, granted);
	for (size_t s = 0; c && s < c->n_scopes; s++)
		bindings += c->scopes[s].n_bindings;
	if (r->n || granted)
		out_put(&h->out, "\n");
	if (r->nomem)
		out_put(&h->out, "Out of memory: the config was not checked whole.\n");
	else if (r->errors)
		out_printf(&h->out,
		           "%zu error%s, %zu warning%s: nothing of this config runs until the errors are mended.\n",
		           r->errors, r->errors == 1 ? "" : "s", r->warnings, r->warnings == 1 ? "" : "s");
	else
		out_printf(&h->out, "The config is good: %zu binding%s, %zu warning%s.\n", bindings,
		           bindings == 1 ? "" : "s", r->warnings, r->warnings == 1 ? "" : "s");
}

static int check(struct host *h, int argc, char **argv)
{
	struct report report = { 0 };
	struct config *config = NULL;
	json_t *granted = NULL;
	struct opt_state s;
	char *standard;
	const char *file;
	bool explain = false, good;
	int o;

	opt_begin(&s, &CHECK, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		explain |= o == O_EXPLAIN;
		h->json |= o == O_JSON;
	}
	if (s.nargs > 1)
		return opt_usage_error(&s, "one FILE at a time");
	standard = config_default_path(NULL);
	file = s.nargs ? s.args[0] : standard;
	good = file && config_load(file, NULL, &config, &report) == 0;
	/* What it means on this machine is only asked of a config that is one. */
	if (good && host_open(h) < 0) {
		config_free(config);
		report_free(&report);
		free(standard);
		return EXIT_NO;
	}
	granted = good && explain ? json_array() : NULL;
	if (good)
		config_granted(h, config, &report, granted);
	report_sort(&report);
	if (h->json)
		print_json(h, file ? file : "", &report, granted);
	else
		print_text(h, file ? file : "", &report, config, granted);
	good = good && report_good(&report);
	json_decref(granted);
	config_free(config);
	report_free(&report);
	free(standard);
	return good ? EXIT_GOOD : EXIT_NO;
}

static int schema(struct host *h, int argc, char **argv)
{
	struct opt_state s;
	json_t *whole;
	char *text;
	int o;

	opt_begin(&s, &SCHEMA, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END)
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
	if (s.nargs)
		return opt_usage_error(&s, "it takes no arguments, but \"%s\" was given", s.args[0]);
	whole = config_schema();
	text = whole ? json_dumps(whole, JSON_INDENT(2)) : NULL;
	json_decref(whole);
	if (!text) {
		out_put(&h->err, "open-conduit: out of memory\n");
		return EXIT_NO;
	}
	out_put(&h->out, text);
	out_put(&h->out, "\n");
	free(text);
	return EXIT_GOOD;
}

static const struct host_command COMMANDS[] = {
	{ "check", check, "everything that is wrong with the config, at once" },
	{ "schema", schema, "the config as a JSON Schema, for an editor" },
	{ NULL, NULL, NULL },
};

int cmd_config(struct host *h, int argc, char **argv)
{
	return host_subcommand(h, "config", COMMANDS, argc, argv);
}
