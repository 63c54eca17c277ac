/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "doctor_binding.h"
#include "doctor_checks.h"
#include "secret/secret.h"

enum { O_BINDING, O_JSON, O_VERBOSE };

static const struct opt OPTIONS[] = {
	[O_BINDING] = { "binding", 0, "SCOPE/BINDING",
	                "also what a run of this binding needs, by one that does nothing" },
	[O_JSON] = { "json", 0, NULL, "facts as JSON on stdout" },
	[O_VERBOSE] = { "verbose", 'v', NULL, "the detail of each check, also of those that pass" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command COMMAND = {
	.name = "doctor",
	.about = "Try what a process sandbox needs, and each container that a binding uses, by doing it; ask GitHub "
	         "what "
	         "bindings need of it, and the keyring where a binding selects a secret of it; say how to mend what is "
	         "missing.",
	.more = "exit status: 0 all is well; 1 a check fails, so that runs are refused; 2 usage.\n",
	.opts = OPTIONS,
};

struct doctor {
	struct host *h;
	json_t *sandboxes; /* as doctor_checks() gives them */
	json_t *github;    /* as doctor_github() gives them */
	json_t *keyring;   /* NULL: no binding wants it */
	json_t *binding;   /* NULL: none was asked for */
	bool config_bad;
};

static void label(struct out *o, const char *name, const char *text)
{
	if (text && *text)
		out_printf(o, "          %-7s%s\n", name, text);
}

static void print_check(struct host *h, const json_t *check)
{
	bool ok = json_is_true(json_object_get(check, "ok"));
	const char *title = host_string(check, "title"), *id = host_string(check, "id");
	const char *detail = host_string(check, "detail");
	/* What nobody has tried is said also where it works. */
	bool untested = detail && strstr(detail, "is untested");

	out_put(&h->out, "  ");
	out_styled(&h->out, ok ? STYLE_GREEN : STYLE_RED, ok ? "ok  " : "FAIL");
	out_printf(&h->out, "    %s", title ? title : id ? id : "a check without a name");
	if (h->verbose && json_is_integer(json_object_get(check, "ms")))
		out_printf(&h->out, " (%lld ms)", (long long)json_integer_value(json_object_get(check, "ms")));
	out_put(&h->out, "\n");
	if (!ok || untested || h->verbose)
		label(&h->out, "what", detail);
	if (!ok)
		label(&h->out, "fix", host_string(check, "fix"));
}

static void print_error(struct host *h, const json_t *error)
{
	const json_t *more = json_object_get(error, "more"), *one;
	const char *reason = host_string(error, "reason");
	size_t i;

	out_put(&h->out, "  ");
	out_styled(&h->out, STYLE_RED, "FAIL");
	out_printf(&h->out, "    %s\n", reason ? reason : "the checks could not be done");
	label(&h->out, "what", host_string(error, "message"));
	label(&h->out, "about", host_string(error, "subject"));
	label(&h->out, "fix", host_string(error, "fix"));
	json_array_foreach(more, i, one) print_error(h, one);
}

static void print_of(struct host *h, const json_t *one)
{
	const json_t *name;
	size_t i;

	json_array_foreach(json_object_get(one, "bindings"), i, name)
	        out_printf(&h->out, "%s%s", i ? ", " : "  of ", json_string_value(name));
	if (i)
		out_put(&h->out, "\n");
}

/* What earlier runs left and recovery could not simply close. */
static size_t print_leftovers(struct host *h, const json_t *runs)
{
	const json_t *run;
	size_t i, n = 0;

	json_array_foreach(runs, i, run)
	{
		const char *detail = host_string(run, "detail");

		if (!n++)
			out_put(&h->out, "\nunfinished runs\n");
		out_printf(&h->out, "  %-12s  %s%s%s\n", host_string(run, "id"), host_string(run, "outcome"),
		           detail && *detail ? ": " : "", detail ? detail : "");
	}
	return n;
}

static bool github_good(const struct doctor *d)
{
	const json_t *one;
	size_t i;

	json_array_foreach(d->github, i, one)
	{
		if (!json_is_true(json_object_get(one, "ok")))
			return false;
	}
	return true;
}

/* Runs are not kept back by it: much of what they do needs no GitHub. */
static void print_github(struct doctor *d)
{
	const json_t *one, *check;
	size_t i, k;

	json_array_foreach(d->github, i, one)
	{
		const json_t *error = json_object_get(one, "error");

		out_put(&d->h->out, "\n");
		out_styled(&d->h->out, STYLE_BOLD, "github: ");
		out_styled(&d->h->out, STYLE_BOLD, host_string(one, "repository"));
		out_printf(&d->h->out, ", connection %s\n", host_string(one, "connection"));
		print_of(d->h, one);
		json_array_foreach(json_object_get(one, "checks"), k, check) print_check(d->h, check);
		if (json_is_object(error))
			print_error(d->h, error);
	}
}

static bool keyring_good(const struct doctor *d)
{
	return !d->keyring || json_is_true(json_object_get(d->keyring, "ok"));
}

static void print_section(struct host *h, const char *title, const char *name, bool ok, const char *what)
{
	out_put(&h->out, "\n");
	out_styled(&h->out, STYLE_BOLD, title);
	if (name)
		out_styled(&h->out, STYLE_BOLD, name);
	out_put(&h->out, "\n  ");
	out_styled(&h->out, ok ? STYLE_GREEN : STYLE_RED, ok ? "ok  " : "FAIL");
	out_printf(&h->out, "    %s\n", what);
}

static void print_keyring(struct doctor *d)
{
	if (!d->keyring)
		return;
	print_section(d->h, "secrets", NULL, keyring_good(d), "the keyring has what bindings select");
	label(&d->h->out, "what", host_string(d->keyring, "detail"));
	label(&d->h->out, "fix", host_string(d->keyring, "fix"));
}

static bool binding_good(const struct doctor *d)
{
	return !d->binding || json_is_true(json_object_get(d->binding, "ok"));
}

static void print_binding(struct doctor *d)
{
	if (d->binding)
		print_section(d->h, "binding: ", host_string(d->binding, "binding"), binding_good(d),
		              binding_good(d)
		                      ? "a run with its policy, secrets and clone started, and ended"
		                      : "a run with its policy, secrets and clone: what is wrong is said above");
}

static const char *version_of(const json_t *one)
{
	const json_t *identity = json_object_get(json_object_get(one, "provider"), "identity");
	const char *version = host_string(identity, host_string(one, "name"));

	return version ? version : host_string(identity, "version");
}

static void print_title(struct host *h, const json_t *one)
{
	const char *kind = host_string(one, "kind"), *version = version_of(one);

	out_styled(&h->out, STYLE_BOLD, strcmp(kind, "sandbox") ? kind : "process sandbox");
	out_styled(&h->out, STYLE_BOLD, ": ");
	out_styled(&h->out, STYLE_BOLD, host_string(one, "name"));
	out_printf(&h->out, "%s%s\n", version ? " " : "", version ? version : "");
	if (host_string(one, "image"))
		out_printf(&h->out, "  context %s, image %s\n", host_string(one, "context"), host_string(one, "image"));
	print_of(h, one);
}

static void print_checks(struct host *h, const json_t *one)
{
	const json_t *list = json_object_get(one, "checks"), *error = json_object_get(one, "error"), *check;
	size_t i;

	print_title(h, one);
	json_array_foreach(list, i, check) print_check(h, check);
	if (json_is_object(error))
		print_error(h, error);
}

/* What comes of it for runs. */
static void print_verdict(struct host *h, const json_t *one)
{
	const json_t *list = json_object_get(one, "checks"), *check;
	bool container = strcmp(host_string(one, "kind"), "sandbox") != 0;
	size_t i, bad = 0;

	json_array_foreach(list, i, check) bad += !json_is_true(json_object_get(check, "ok"));
	if (container && bad)
		out_printf(
		        &h->out,
		        "%zu of %zu checks fail: no binding that is named above runs in a container until they pass.\n",
		        bad, json_array_size(list));
	else if (bad)
		out_printf(&h->out, "%zu of %zu checks fail: nothing runs in a process sandbox until they pass.\n", bad,
		           json_array_size(list));
	else
		out_printf(&h->out, "%s can't be used: nothing runs in it until this is mended.\n",
		           container ? "The container" : "The sandbox");
}

/* Those of a kind, or NULL: all.  False where one can't be used, or where there is none of that kind. */
static bool sandboxes_good(const struct doctor *d, const char *kind)
{
	const json_t *one;
	bool good = true;
	size_t i, n = 0;

	json_array_foreach(d->sandboxes, i, one)
	{
		if (kind && strcmp(kind, host_string(one, "kind")) != 0)
			continue;
		n++;
		good = good && json_is_true(json_object_get(one, "ok"));
	}
	return good && n;
}

static void print_summary(struct doctor *d)
{
	struct host *h = d->h;
	bool sandbox = sandboxes_good(d, "sandbox"), container = sandboxes_good(d, "container");
	const char *what = sandbox && container ? "in a process sandbox and in containers"
	                   : sandbox            ? "in a process sandbox"
	                                        : "in containers";
	const json_t *one;
	size_t i;

	json_array_foreach(d->sandboxes, i, one) if (!json_is_true(json_object_get(one, "ok"))) print_verdict(h, one);
	if (d->config_bad)
		out_put(&h->out, "The config has errors, so nothing of it runs: open-conduit config check\n");
	if (!sandbox && !container)
		return;
	out_printf(&h->out, "%s %s start%s.\n",
	           sandboxes_good(d, NULL) && keyring_good(d) && github_good(d) ? "All is well: runs" : "Runs", what,
	           keyring_good(d) ? "" : ", but for those of bindings whose secret can't be read");
	if (!github_good(d))
		out_put(&h->out, "What they ask of GitHub fails where a check of it does.\n");
}

static bool all_good(const struct doctor *d)
{
	return sandboxes_good(d, NULL) && keyring_good(d) && binding_good(d) && github_good(d);
}

static bool print_text(struct doctor *d, const json_t *runs)
{
	struct host *h = d->h;
	const json_t *one;
	size_t i;

	json_array_foreach(d->sandboxes, i, one)
	{
		if (i)
			out_put(&h->out, "\n");
		print_checks(h, one);
	}
	print_github(d);
	print_keyring(d);
	print_binding(d);
	out_put(&h->out, "\n");
	out_styled(&h->out, STYLE_BOLD, "state");
	out_printf(&h->out, "\n  %s\n", oc_context_state_dir(h->ctx));
	print_leftovers(h, runs);
	out_put(&h->out, "\n");
	print_summary(d);
	return all_good(d);
}

static bool print_json(struct doctor *d, json_t *runs)
{
	json_t *answer = host_answer();

	json_object_set_new(answer, "ok", json_boolean(all_good(d)));
	json_object_set_new(answer, "state_dir", json_string(oc_context_state_dir(d->h->ctx)));
	json_object_set(answer, "sandboxes", d->sandboxes);
	json_object_set_new(answer, "config_good", json_boolean(!d->config_bad));
	json_object_set(answer, "github", d->github);
	json_object_set_new(answer, "keyring", d->keyring ? json_incref(d->keyring) : json_null());
	json_object_set_new(answer, "binding", d->binding ? json_incref(d->binding) : json_null());
	json_object_set_new(answer, "unfinished", runs ? json_incref(runs) : json_array());
	out_json(&d->h->out, answer);
	return all_good(d);
}

int cmd_doctor(struct host *h, int argc, char **argv)
{
	struct doctor d = { .h = h };
	struct opt_state s;
	json_t *runs;
	const char *binding = NULL;
	bool ok;
	int o;

	opt_begin(&s, &COMMAND, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		binding = o == O_BINDING ? s.value : binding;
		h->json |= o == O_JSON;
		h->verbose |= o == O_VERBOSE;
	}
	if (s.nargs)
		return opt_usage_error(&s, "it takes no arguments, but \"%s\" was given", s.args[0]);
	if (host_open(h) < 0)
		return EXIT_NO;
	runs = host_recover(h);
	d.sandboxes = doctor_checks(h, &d.config_bad);
	d.github = doctor_github(h);
	d.keyring = secret_doctor();
	if (binding)
		d.binding = doctor_binding(h, binding);
	ok = (h->json ? print_json(&d, runs) : print_text(&d, runs)) && runs;
	json_decref(runs);
	json_decref(d.sandboxes);
	json_decref(d.github);
	json_decref(d.keyring);
	json_decref(d.binding);
	return ok ? EXIT_GOOD : EXIT_NO;
}
