/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_binding.h"
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
	.about = "Try what a process sandbox needs, by doing it, and the keyring where a binding selects a secret of "
	         "it; "
	         "say how to mend what is missing.",
	.more = "exit status: 0 all is well; 1 a check fails, so that runs are refused; 2 usage.\n",
	.opts = OPTIONS,
};

struct doctor {
	struct host *h;
	json_t *checks, *error;
	json_t *keyring; /* NULL: no binding wants it */
	json_t *binding; /* NULL: none was asked for */
	bool done;
};

static void checked(const char *text, const oc_error *err, void *userdata)
{
	struct doctor *d = userdata;

	if (err)
		d->error = host_error_json(err);
	else
		d->checks = json_loads(text, JSON_ALLOW_NUL, NULL);
	d->done = true;
}

static void wait_for(struct doctor *d)
{
	oc_error *err = NULL;

	while (!d->done && oc_context_wait(d->h->ctx, -1, &err) >= 0)
		;
	if (!d->done)
		d->error = host_error_json(err);
	oc_error_free(err);
}

static void say_checking(struct host *h, bool on)
{
	const char *term = getenv("TERM");

	if (!h->err.tty || !term || !strcmp(term, "dumb"))
		return;
	out_put(&h->err, on ? "open-conduit: checking srt …" : "\r\033[K");
	out_flush(&h->err);
}

static void check_srt(struct doctor *d)
{
	oc_broker_options o = host_broker_options("srt");
	oc_broker *broker = NULL;
	oc_error *err = NULL;
	int rc = oc_sandbox_broker_new(d->h->store, &o, &broker, &err);

	if (rc >= 0)
		rc = oc_broker_check(broker, checked, d, &err);
	if (rc >= 0) {
		say_checking(d->h, true);
		wait_for(d);
		say_checking(d->h, false);
	} else {
		d->error = host_error_json(err);
	}
	oc_error_free(err);
	oc_broker_free(broker);
}

static void label(struct out *o, const char *name, const char *text)
{
	if (text && *text)
		out_printf(o, "          %-7s%s\n", name, text);
}

static void print_check(struct host *h, const json_t *check)
{
	bool ok = json_is_true(json_object_get(check, "ok"));
	const char *title = host_string(check, "title"), *id = host_string(check, "id");

	out_put(&h->out, "  ");
	out_styled(&h->out, ok ? STYLE_GREEN : STYLE_RED, ok ? "ok  " : "FAIL");
	out_printf(&h->out, "    %s", title ? title : id ? id : "a check without a name");
	if (h->verbose && json_is_integer(json_object_get(check, "ms")))
		out_printf(&h->out, " (%lld ms)", (long long)json_integer_value(json_object_get(check, "ms")));
	out_put(&h->out, "\n");
	if (!ok || h->verbose)
		label(&h->out, "what", host_string(check, "detail"));
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

static bool print_text(struct doctor *d, const json_t *runs)
{
	struct host *h = d->h;
	const json_t *list = json_object_get(d->checks, "checks"), *check;
	const json_t *provider = json_object_get(d->checks, "provider");
	bool ok = json_is_true(json_object_get(d->checks, "ok"));
	const char *version = host_string(json_object_get(provider, "identity"), "srt");
	size_t i, bad = 0;

	out_styled(&h->out, STYLE_BOLD, "process sandbox: srt");
	out_printf(&h->out, "%s%s\n", version ? " " : "", version ? version : "");
	json_array_foreach(list, i, check)
	{
		print_check(h, check);
		bad += !json_is_true(json_object_get(check, "ok"));
	}
	if (d->error)
		print_error(h, d->error);
	print_keyring(d);
	print_binding(d);
	out_put(&h->out, "\n");
	out_styled(&h->out, STYLE_BOLD, "state");
	out_printf(&h->out, "\n  %s\n", oc_context_state_dir(h->ctx));
	print_leftovers(h, runs);
	out_put(&h->out, "\n");
	if (ok && !keyring_good(d))
		out_put(&h->out,
		        "Runs in a process sandbox start, but for those of bindings whose secret can't be read.\n");
	else if (ok)
		out_put(&h->out, "All is well: runs in a process sandbox start.\n");
	else if (bad)
		out_printf(&h->out, "%zu of %zu checks fail: nothing runs in a process sandbox until they pass.\n", bad,
		           json_array_size(list));
	else
		out_put(&h->out, "The sandbox can't be used: nothing runs in it until this is mended.\n");
	return ok && keyring_good(d) && binding_good(d);
}

static bool print_json(struct doctor *d, json_t *runs)
{
	json_t *answer = host_answer(), *srt = json_object();
	bool ok = json_is_true(json_object_get(d->checks, "ok")), all = ok && keyring_good(d) && binding_good(d);

	json_object_set_new(srt, "kind", json_string("sandbox"));
	json_object_set_new(srt, "name", json_string("srt"));
	json_object_set_new(srt, "ok", json_boolean(ok));
	json_object_set_new(srt, "provider", json_deep_copy(json_object_get(d->checks, "provider")));
	json_object_set_new(srt, "checks", json_deep_copy(json_object_get(d->checks, "checks")));
	if (!json_object_get(srt, "provider"))
		json_object_set_new(srt, "provider", json_null());
	if (!json_object_get(srt, "checks"))
		json_object_set_new(srt, "checks", json_array());
	json_object_set_new(srt, "error", d->error ? json_incref(d->error) : json_null());
	json_object_set_new(answer, "ok", json_boolean(all));
	json_object_set_new(answer, "state_dir", json_string(oc_context_state_dir(d->h->ctx)));
	json_object_set_new(answer, "sandboxes", json_pack("[o]", srt));
	json_object_set_new(answer, "keyring", d->keyring ? json_incref(d->keyring) : json_null());
	json_object_set_new(answer, "binding", d->binding ? json_incref(d->binding) : json_null());
	json_object_set_new(answer, "unfinished", runs ? json_incref(runs) : json_array());
	out_json(&d->h->out, answer);
	return all;
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
	check_srt(&d);
	d.keyring = secret_doctor();
	if (binding)
		d.binding = doctor_binding(h, binding);
	ok = (h->json ? print_json(&d, runs) : print_text(&d, runs)) && runs;
	json_decref(runs);
	json_decref(d.checks);
	json_decref(d.keyring);
	json_decref(d.binding);
	json_decref(d.error);
	return ok ? EXIT_GOOD : EXIT_NO;
}
