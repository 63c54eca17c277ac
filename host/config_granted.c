/* SPDX-License-Identifier: Apache-2.0 */
#include "config_granted.h"

#include <stdlib.h>
#include <string.h>

#include "stand_in.h"

struct granting {
	struct host *h;
	const struct config *config;
	struct report *report;
	const struct config_binding *b;
	oc_broker *broker;
	const char *workspace; /* stands in for the clone, which a Work's first run makes */
};

/* ---- asking ---- */

static oc_request request_of(const struct granting *g, const char *policy)
{
	static const char *const argv[] = { "true", NULL };
	oc_request r = OC_REQUEST_INIT;

	r.policy = policy;
	r.workspace = g->workspace;
	r.argv = argv;
	return r;
}

/* The library's answer (new), or NULL with *err. */
static json_t *ask(const struct granting *g, const char *policy, const char *question, const char *subject,
                   oc_error **err)
{
	const oc_request request = request_of(g, policy);
	char *text = NULL;

	if (oc_broker_explain(g->broker, &request, question, subject, &text, err) < 0)
		return NULL;
	return host_parse(g->h, "an answer about the policy", text);
}

/* A path of a policy with its placeholder put in; what is beneath {run} is only there in a run: NULL. */
static char *expand(const struct granting *g, const char *path)
{
	const char *home = getenv("HOME");
	struct text t = { 0 };

	if (!strncmp(path, "~/", 2) && home) {
		text_puts(&t, home);
		path++;
	} else if (!strncmp(path, "{workspace}", 11)) {
		text_puts(&t, g->workspace);
		path += 11;
	} else if (*path != '/') {
		return NULL;
	}
	text_puts(&t, path);
	return t.data;
}

/* ---- what is wrong ---- */

static char *field_of(const struct granting *g, const char *beneath)
{
	struct text t = { 0 };

	text_puts(&t, g->b->field);
	text_puts(&t, ".");
	text_puts(&t, g->b->kind);
	text_puts(&t, ".config");
	if (*beneath) {
		text_puts(&t, ".");
		text_puts(&t, beneath);
	}
	return t.data;
}

/* The entry of the list that means this path, as "write[2]"; else "". */
static void entry_in(const struct granting *g, const json_t *normal, const char *list, const char *subject,
                     char out[32])
{
	const json_t *items = json_object_get(normal, list), *item;
	size_t i;

	if (!json_is_array(items))
		return;
	json_array_foreach(items, i, item)
	{
		char *path = expand(g, json_string_value(item));

		if (!out[0] && path && config_same_path(path, subject))
			snprintf(out, 32, "%s[%zu]", list, i);
		free(path);
	}
}

static void entry_of(const struct granting *g, const json_t *normal, const char *subject, char out[32])
{
	out[0] = 0;
	entry_in(g, normal, "write", subject, out);
	entry_in(g, normal, "read", subject, out);
}

static void tell_errors(struct granting *g, const json_t *normal, const oc_error *err)
{
	for (; err; err = oc_error_next(err)) {
		const char *subject = oc_error_subject(err);
		struct report_place place = { .subject = subject };
		char entry[32] = "", *field = subject ? field_of(g, subject) : NULL;

		/* A rule of the policy, or a path that one of them names. */
		if (!field || !config_find(g->config, field, &place.line, &place.column)) {
			if (subject && *subject == '/')
				entry_of(g, normal, subject, entry);
			free(field);
			field = field_of(g, entry);
			if (field)
				config_find(g->config, field, &place.line, &place.column);
		} else {
			place.subject = NULL;
		}
		place.field = field ? field : "";
		report_add_error(g->report, &place, err);
		free(field);
	}
}

/* An allow that lifts nothing: without it the same may be read.  Mostly it was meant to lift a deny beneath it. */
static void check_allow(struct granting *g, const json_t *normal, size_t i)
{
	json_t *without = json_deep_copy(normal), *list = json_object_get(json_object_get(without, "read"), "allow");
	const char *as = json_string_value(json_array_get(list, i));
	char *path = as ? expand(g, as) : NULL, *policy, *field, beneath[48];
	struct report_place place = { .subject = as };
	oc_error *err = NULL;
	json_t *answer;

	snprintf(beneath, sizeof(beneath), "read.allow[%zu]", i);
	field = field_of(g, beneath);
	if (list)
		json_array_remove(list, i);
	policy = json_dumps(without, JSON_COMPACT);
	answer = path && policy ? ask(g, policy, "read", path, &err) : NULL;
	if (field && json_is_true(json_object_get(answer, "allowed"))) {
		config_find(g->config, field, &place.line, &place.column);
		place.field = field;
		report_add(g->report, &place, "sandbox_config", "name the exact path that is denied, or remove it",
		           "\"%.200s\" can never matter: nothing denies it, and what is denied beneath it stays so",
		           json_string_value(
		                   json_array_get(json_object_get(json_object_get(normal, "read"), "allow"), i)));
	}
	oc_error_free(err);
	json_decref(answer);
	json_decref(without);
	free(policy);
	free(path);
	free(field);
}

/* ---- what is granted ---- */

static void add_answer(struct granting *g, json_t *answers, const char *question, const char *as, const char *subject)
{
	oc_error *err = NULL;
	json_t *answer = subject ? ask(g, g->b->place->policy, question, subject, &err) : NULL;

	if (answer) {
		json_object_set_new(answer, "as", json_string(as));
		json_array_append_new(answers, answer);
	}
	oc_error_free(err);
}

static void add_paths(struct granting *g, json_t *answers, const char *question, const json_t *list)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *as = json_string_value(item);
		char *path = strcmp(as, "{toolbelt}") != 0 ? expand(g, as) : strdup(as);

		add_answer(g, answers, question, as, path);
		free(path);
	}
}

static void add_hosts(struct granting *g, json_t *answers, const json_t *list)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *as = json_string_value(item);
		struct text host = { 0 };

		if (!strncmp(as, "*.", 2)) /* any name under it */
			text_puts(&host, "any");
		text_puts(&host, *as == '*' ? as + 1 : as);
		add_answer(g, answers, "host", as, host.data);
		text_free(&host);
	}
}

/* A container's is a list of mounts, a process sandbox's one of exceptions. */
static void add_read(struct granting *g, json_t *answers, const json_t *read)
{
	if (json_is_array(read))
		add_paths(g, answers, "read", read);
	add_paths(g, answers, "read", json_object_get(read, "deny"));
	add_paths(g, answers, "read", json_object_get(read, "allow"));
}

static json_t *answers_of(struct granting *g, const json_t *normal)
{
	static const char *const credentials[] = { "~/.ssh", "~/.aws", "~/.config/gh", "~/.docker/config.json" };
	json_t *answers = json_array(), *usual = json_array();

	for (size_t i = 0; i < sizeof(credentials) / sizeof(credentials[0]); i++)
		json_array_append_new(usual, json_string(credentials[i]));
	add_paths(g, answers, "write", json_object_get(normal, "write"));
	add_read(g, answers, json_object_get(normal, "read"));
	add_paths(g, answers, "read", usual);
	add_hosts(g, answers, json_object_get(json_object_get(normal, "network"), "allow"));
	add_paths(g, answers, "socket", json_object_get(normal, "sockets"));
	add_answer(g, answers, "read", "Open Conduit's state", oc_context_state_dir(g->h->ctx));
	add_answer(g, answers, "host", "any other host", "any-other-host.invalid");
	json_decref(usual);
	return answers;
}

static json_t *texts_json(const struct config_texts *list)
{
	json_t *out = json_array();

	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(out, json_string(list->v[i]));
	return out;
}

static json_t *describe(const struct config_binding *b, json_t *normal, json_t *answers)
{
	const struct config_checkout *w = b->resource ? b->resource->config : NULL;
	json_t *secrets = json_array(), *workspace = NULL;

	for (size_t i = 0; i < b->n_secrets; i++)
		json_array_append_new(secrets, json_pack("{s:s, s:s, s:s}", "name", b->secrets[i].name, "ref",
		                                         b->secrets[i].ref, "variable", b->secrets[i].variable));
	if (w)
		workspace = json_pack("{s:s, s:s, s:s, s:s?}", "provider", b->resource->provider, "checkout",
		                      w->checkout, "mode", w->mode, "branch", b->config->branch);
	return json_pack("{s:s, s:s, s:s, s:s?, s:o, s:o, s:o?, s:s?, s:o?, s:o}", "binding", b->full, "executor",
	                 b->executor, "kind", b->kind, "provider", b->place ? b->place->provider : NULL, "operations",
	                 texts_json(&b->granted), "secrets", secrets, "workspace", workspace, "seed",
	                 b->config->home_seed, "policy", normal, "answers", answers);
}

static int make_broker(struct granting *g, oc_error **err)
{
	oc_broker_options o = host_broker_options(g->b->place->provider);

	return strcmp(g->b->kind, "container") ? oc_sandbox_broker_new(g->h->store, &o, &g->broker, err)
	                                       : oc_container_broker_new(g->h->store, &o, &g->broker, err);
}

/* Resolve one policy, and tell what stands in its way. */
static json_t *resolve(struct granting *g, json_t *normal, bool explain)
{
	const json_t *allow = json_object_get(json_object_get(normal, "read"), "allow");
	struct report_place place = { .field = g->b->field, .warning = true };
	json_t *answers = NULL, *first;
	oc_error *err = NULL;

	if (make_broker(g, &err) < 0) {
		config_find(g->config, g->b->field, &place.line, &place.column);
		report_add_error(g->report, &place, err);
		oc_error_free(err);
		return NULL;
	}
	first = ask(g, g->b->place->policy, "read", "/", &err);
	if (!first)
		tell_errors(g, normal, err);
	for (size_t i = 0; first && i < json_array_size(allow); i++)
		check_allow(g, normal, i);
	if (first && explain)
		answers = answers_of(g, normal);
	json_decref(first);
	oc_error_free(err);
	oc_broker_free(g->broker);
	g->broker = NULL;
	return answers;
}

static void grant(struct granting *g, json_t *out)
{
	const struct config_binding *b = g->b;
	json_t *normal = NULL, *answers = NULL;
	oc_policy *policy = NULL;

	if (b->place && oc_policy_parse(b->kind, b->place->policy, strlen(b->place->policy), &policy, NULL) == 0)
		normal = json_loads(oc_policy_json(policy), 0, NULL);
	oc_policy_free(policy);
	if (strcmp(g->workspace, "/") != 0)
		stand_in_fill(g->workspace, normal);
	if (normal)
		answers = resolve(g, normal, out != NULL);
	if (out)
		json_array_append_new(out, describe(b, normal, answers ? answers : json_array()));
	else
		json_decref(normal);
}

void config_granted(struct host *h, const struct config *config, struct report *report, json_t *answers)
{
	struct granting g = { .h = h, .config = config, .report = report };
	char *workspace = stand_in_make();

	g.workspace = workspace ? workspace : "/";
	for (size_t s = 0; s < config->n_scopes; s++)
		for (size_t i = 0; i < config->scopes[s].n_bindings; i++) {
			g.b = &config->scopes[s].bindings[i];
			grant(&g, answers);
		}
	stand_in_free(workspace);
}

/* ---- as text ---- */

static void print_answer(struct host *h, const json_t *a)
{
	bool allowed = json_is_true(json_object_get(a, "allowed"));
	const char *as = host_string(a, "as"), *resolved = host_string(a, "resolved"), *rule = host_string(a, "rule");
	bool path;

	if (!as)
		return;
	path = (*as == '/' || *as == '~') && resolved && strcmp(as, resolved) != 0;
	out_printf(&h->out, "  %-6s ", host_string(a, "question"));
	out_styled(&h->out, allowed ? STYLE_GREEN : STYLE_RED, allowed ? "yes" : "no ");
	out_printf(&h->out, "  %s", as);
	if (path)
		out_printf(&h->out, " (%s)", resolved);
	if (!allowed && rule && *rule)
		out_printf(&h->out, "  by %s", rule);
	out_put(&h->out, "\n");
}

/* Whole processors as such, parts of one without noughts at the end. */
static void print_cpus(struct host *h, long long nano)
{
	char part[16];
	size_t n;

	snprintf(part, sizeof(part), ".%09lld", nano % 1000000000);
	for (n = strlen(part); n && (part[n - 1] == '0' || part[n - 1] == '.');)
		part[--n] = 0;
	out_printf(&h->out, "%lld%s cpus, ", nano / 1000000000, part);
}

/* Of a container: what it is made of, where, and how much it may use. */
static void print_container(struct host *h, const json_t *policy)
{
	const json_t *limits = json_object_get(policy, "limits");
	long long nano = json_integer_value(json_object_get(limits, "nano_cpus"));
	long long memory = json_integer_value(json_object_get(limits, "memory"));

	if (!json_is_object(limits))
		return;
	out_printf(&h->out, "  image       %s\n", host_string(policy, "image"));
	out_printf(&h->out, "  context     %s\n", host_string(json_object_get(policy, "provider"), "context"));
	out_put(&h->out, "  limits      ");
	if (nano)
		print_cpus(h, nano);
	if (memory)
		out_printf(&h->out, "%lld MiB of memory, ", memory >> 20);
	out_printf(&h->out, "%lld processes\n", (long long)json_integer_value(json_object_get(limits, "pids")));
}

static void print_one(struct host *h, const json_t *one)
{
	const char *kind = host_string(one, "kind"), *branch;
	const json_t *workspace = json_object_get(one, "workspace"), *item;
	size_t i;

	out_put(&h->out, "\n");
	out_styled(&h->out, STYLE_BOLD, host_string(one, "binding"));
	out_printf(&h->out, "  %s, ", host_string(one, "executor"));
	if (!strcmp(kind, "none"))
		out_put(&h->out, "NOT SANDBOXED: it can do all that your account can\n");
	else
		out_printf(&h->out, "in a %s (%s)\n", !strcmp(kind, "sandbox") ? "process sandbox" : kind,
		           host_string(one, "provider"));
	if (json_is_object(workspace)) {
		branch = host_string(workspace, "branch");
		out_printf(&h->out, "  workspace   %s of %s%s%s\n", host_string(workspace, "mode"),
		           host_string(workspace, "checkout"), branch ? ", branch " : "", branch ? branch : "");
	}
	if (host_string(one, "seed"))
		out_printf(&h->out, "  home        the Work's own; it starts as a copy of %s\n",
		           host_string(one, "seed"));
	print_container(h, json_object_get(one, "policy"));
	json_array_foreach(json_object_get(one, "secrets"), i, item)
	        out_printf(&h->out, "  secret      %s, as %s, from %s\n", host_string(item, "name"),
	                   host_string(item, "variable"), host_string(item, "ref"));
	json_array_foreach(json_object_get(one, "operations"), i, item)
	        out_printf(&h->out, "  operation   %s\n", json_string_value(item));
	json_array_foreach(json_object_get(one, "answers"), i, item) print_answer(h, item);
	if (!json_array_size(json_object_get(one, "answers")) && json_is_object(json_object_get(one, "policy"))) {
		char *text = json_dumps(json_object_get(one, "policy"), JSON_COMPACT);

		out_printf(&h->out, "  policy      %s\n", text ? text : "");
		free(text);
	}
}

void config_granted_print(struct host *h, const json_t *answers)
{
	const json_t *one;
	size_t i;

	json_array_foreach(answers, i, one) print_one(h, one);
}
