/* SPDX-License-Identifier: Apache-2.0 */
/* One run as text.  Everything comes from the pinned plan and from what guard and guest recorded; what isn't there is
 * called unknown, never taken for granted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/agent.h"
#include "policy_now.h"
#include "runs.h"
#include "work/work.h"

#define WIDTH     90
#define FACTS_MAX 64
#define LABEL     12 /* columns, the blank after it included */

static void head(struct out *o, const char *title)
{
	out_put(o, "\n");
	out_styled(o, STYLE_BOLD, title);
	out_put(o, "\n");
}

static void field(struct out *o, const char *label, const char *text)
{
	if (text && *text)
		out_printf(o, "  %-*s %s\n", LABEL - 1, label, text);
}

/* Names in lines of bearable length. */
static void words(struct out *o, const char *label, const struct text *list, size_t n)
{
	size_t column = 0;

	for (size_t i = 0; i < n; i++) {
		size_t width = strlen(list[i].data ? list[i].data : "") + 2;

		if (column && column + width > WIDTH)
			out_put(o, "\n");
		if (!column || column + width > WIDTH) {
			out_printf(o, "  %-*s", LABEL - 1, i ? "" : label);
			column = 0;
		}
		out_printf(o, " %s%s", list[i].data, i + 1 < n ? "," : "");
		column += width;
	}
	if (n)
		out_put(o, "\n");
}

static void required(struct out *o, const char *label, const char *text)
{
	field(o, label, text && *text ? text : "unknown");
}

static void show_error(struct out *o, const json_t *error)
{
	const json_t *more = json_object_get(error, "more"), *one;
	size_t i;

	if (!json_is_object(error))
		return;
	field(o, "reason", host_string(error, "reason"));
	field(o, "what", host_string(error, "message"));
	field(o, "about", host_string(error, "subject"));
	field(o, "fix", host_string(error, "fix"));
	json_array_foreach(more, i, one) show_error(o, one);
}

static void show_command(struct out *o, const json_t *run)
{
	const json_t *command = json_object_get(json_object_get(run, "plan"), "command");
	const json_t *argv = json_object_get(command, "argv");
	struct text line = { 0 };

	host_command_line(&line, json_is_array(argv) ? argv : json_object_get(run, "command"));
	required(o, "command", line.data);
	required(o, "directory", host_string(command, "cwd"));
	text_free(&line);
}

static void show_times(struct out *o, const json_t *run)
{
	char created[32], ended[32], attempts[32], took[32];
	long long from, to;

	host_time(json_object_get(run, "created"), created, sizeof(created));
	host_time(json_object_get(run, "ended"), ended, sizeof(ended));
	field(o, "created", created);
	field(o, "ended", json_is_null(json_object_get(run, "ended")) && !runs_over(run) ? "not yet" : ended);
	from = host_time_ms(json_object_get(run, "created"));
	to = host_time_ms(json_object_get(run, "ended"));
	snprintf(took, sizeof(took), "%lld.%03lld s", (to - from) / 1000, (to - from) % 1000);
	field(o, "took", from >= 0 && to >= from ? took : NULL);
	snprintf(attempts, sizeof(attempts), "%zu", json_array_size(json_object_get(run, "attempts")));
	field(o, "attempts", attempts);
}

/* Output that the guard had to drop, and processes it had to kill. */
static void show_counts(struct out *o, const json_t *exit)
{
	long long lost = json_integer_value(json_object_get(exit, "lost_bytes"));
	long long killed = json_integer_value(json_object_get(exit, "killed"));
	char text[64];

	if (!json_is_object(exit))
		return;
	snprintf(text, sizeof(text), lost ? "%lld bytes, of which %lld were dropped" : "%lld bytes",
	         (long long)json_integer_value(json_object_get(exit, "output_bytes")), lost);
	field(o, "output", text);
	/* A sandbox's helpers are among them in every run, so this alone is no alarm. */
	snprintf(text, sizeof(text), "%lld that were still there at the end were killed", killed);
	field(o, "processes", killed ? text : NULL);
	field(o, "launch log", host_string(exit, "launch_log"));
}

static void show_outcome(struct host *h, const json_t *run)
{
	const json_t *exit = json_object_get(run, "exit");
	const json_t *error = json_object_get(run, "error");
	char state[96];

	runs_state(run, state, sizeof(state));
	out_styled(&h->out, STYLE_BOLD, "run");
	out_printf(&h->out, " %s\n", host_string(run, "id"));
	field(&h->out, "state", state);
	show_error(&h->out, json_is_object(error) ? error : json_object_get(exit, "error"));
	show_command(&h->out, run);
	field(&h->out, "work", host_string(run, "work"));
	field(&h->out, "binding", host_string(run, "binding"));
	show_times(&h->out, run);
	show_counts(&h->out, exit);
}

/* What the guest measured of its own making. */
static void show_facts(struct out *o, json_t *facts)
{
	struct text list[FACTS_MAX] = { { 0 } };
	const json_t *value;
	const char *key;
	size_t n = 0;

	json_object_foreach(facts, key, value)
	{
		/* Numbers of namespaces mean something to the probe that compares them, and to no reader. */
		if (!json_is_string(value) || n == FACTS_MAX || !strncmp(key, "ns_", 3))
			continue;
		text_puts(&list[n], key);
		text_puts(&list[n], " ");
		text_puts(&list[n++], json_string_value(value));
	}
	words(o, "facts", list, n);
	for (size_t i = 0; i < n; i++)
		text_free(&list[i]);
}

/* Is it confined?  From the pin and the guest's report alone. */
static void show_confinement(struct host *h, const json_t *run)
{
	const json_t *probes = json_object_get(run, "probes");
	bool none = work_plain(host_string(run, "kind")), pinned = json_is_true(json_object_get(run, "pinned"));
	char at[32], text[96];

	head(&h->out, "confinement");
	if (none && strcmp(host_string(run, "kind"), "none") != 0)
		field(&h->out, "kind", "attach: a person at its agent's terminal");
	if (none) {
		out_put(&h->out, "  ");
		out_styled(&h->out, STYLE_YELLOW,
		           "UNSANDBOXED: nothing confined this run; it could do whatever you can");
		out_put(&h->out, "\n");
	} else {
		field(&h->out, "kind", !strcmp(runs_kind(run), "sandbox") ? "process sandbox" : runs_kind(run));
	}
	host_time(json_object_get(run, "proved"), at, sizeof(at));
	snprintf(text, sizeof(text), "yes, by %zu probes at %s, before the command started", json_array_size(probes),
	         at);
	if (!none)
		field(&h->out, "proved",
		      json_is_string(json_object_get(run, "proved")) || json_is_integer(json_object_get(run, "proved"))
		              ? text
		              : "no: the command did not start");
	show_facts(&h->out, json_object_get(run, "facts"));
	required(&h->out, "digest", host_string(run, "digest"));
	field(&h->out, "record",
	      pinned ? "the plan on record has this digest"
	             : "DOES NOT MATCH: the plan on record has another digest, or is gone");
}

static void show_provider(struct host *h, const json_t *run)
{
	const json_t *provider = json_object_get(run, "provider"), *value;
	json_t *identity = json_object_get(provider, "identity");
	const char *key, *version = host_string(provider, "version");

	if (!json_is_object(provider))
		return;
	head(&h->out, "provider");
	out_printf(&h->out, "  %-15s %s %s\n", "name", host_string(provider, "name"),
	           version ? version : "(version unknown)");
	out_printf(&h->out, "  %-15s %s\n  %-15s %s\n", "path", host_string(provider, "path"), "digest",
	           host_string(provider, "digest"));
	json_object_foreach(identity, key, value) if (json_is_string(value))
	        out_printf(&h->out, "  %-15s %s\n", key, json_string_value(value));
}

/* A newline in it is layout, not an attack. */
void runs_show_text(struct out *o, const char *text)
{
	struct text line = { 0 };
	const char *end;

	for (; text && *text; text = *end ? end + 1 : end) {
		end = text + strcspn(text, "\n");
		text_free(&line);
		text_add(&line, text, (size_t)(end - text));
		out_printf(o, "  %s\n", line.data ? line.data : "");
	}
	text_free(&line);
}

static void show_policy(struct host *h, const json_t *run)
{
	const char *text = host_string(run, "policy");

	if (text && !work_plain(host_string(run, "kind"))) {
		head(&h->out, "policy as written");
		runs_show_text(&h->out, text);
	}
	policy_show(&h->out, json_object_get(run, "config"));
}

static void granted(struct out *o, const char *what, const char *path, const char *as, const char *rule)
{
	out_printf(o, "  %-*s%s", LABEL, what, path ? path : "unknown");
	if (as && path && strcmp(as, path) != 0)
		out_printf(o, "  (%s)", as);
	else if (rule)
		out_printf(o, "  (%s)", rule);
	out_put(o, "\n");
}

/* Nothing of this machine is there but its mounts. */
static void show_mounted(struct out *o, const json_t *resolved)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(resolved, "read"), i, one)
	{
		const char *rule = host_string(one, "rule");

		if (json_is_true(json_object_get(one, "allow")) && rule && !strncmp(rule, "read[", 5))
			granted(o, "read", host_string(one, "path"), host_string(one, "as"), rule);
	}
	field(o, "else", "nothing of this machine");
}

static void show_reads(struct out *o, const json_t *resolved)
{
	const json_t *list = json_object_get(resolved, "read"), *one;
	const char *what = "not read";
	size_t i;

	out_printf(o, "  %-*s%s\n", LABEL, "read", "what you can read, but for:");
	json_array_foreach(list, i, one) if (!json_is_true(json_object_get(one, "allow")) &&
	                                     json_is_true(json_object_get(one, "exists")))
	        granted(o, what, host_string(one, "path"), NULL, host_string(one, "rule"));
	json_array_foreach(json_object_get(resolved, "protected"), i,
	                   one) if (json_is_true(json_object_get(one, "exists")))
	        granted(o, what, host_string(one, "path"), NULL, host_string(one, "what"));
	json_array_foreach(list, i, one) if (json_is_true(json_object_get(one, "allow")))
	        granted(o, "but read", host_string(one, "path"), NULL, host_string(one, "rule"));
}

static void show_sockets(struct out *o, const json_t *resolved)
{
	const char *unix_sockets = host_string(resolved, "unix_sockets");
	const json_t *one;
	size_t i;

	if (unix_sockets && !strcmp(unix_sockets, "all"))
		field(o, "sockets", "all that the run can see; hidden from it:");
	else
		field(o, "sockets", unix_sockets ? "none" : "unknown");
	json_array_foreach(json_object_get(resolved, "hidden"), i, one)
	        granted(o, "hidden", host_string(one, "path"), NULL, host_string(one, "why"));
	json_array_foreach(json_object_get(resolved, "sockets"), i, one)
	        granted(o, "but usable", host_string(one, "path"), host_string(one, "as"), host_string(one, "rule"));
}

static void show_network(struct out *o, const json_t *resolved)
{
	const json_t *list = json_object_get(resolved, "network"), *one;
	size_t i;

	if (!json_array_size(list))
		field(o, "network", json_is_array(list) ? "none" : "unknown");
	json_array_foreach(list, i, one) field(o, i ? "" : "network", host_string(one, "entry"));
}

static void show_granted(struct host *h, const json_t *run)
{
	const json_t *resolved = json_object_get(json_object_get(run, "plan"), "resolved"), *one;
	const char *kind = host_string(run, "kind");
	bool container = kind && !strcmp(kind, "container");
	size_t i;

	if (work_plain(host_string(run, "kind")))
		return;
	head(&h->out, "granted");
	if (!json_is_object(resolved)) {
		out_put(&h->out, "  unknown: there is no plan on record\n");
		return;
	}
	json_array_foreach(json_object_get(resolved, "write"), i, one)
	        granted(&h->out, "write", host_string(one, "path"), host_string(one, "as"), host_string(one, "rule"));
	json_array_foreach(json_object_get(resolved, "readonly"), i, one)
	        granted(&h->out, "not written", host_string(one, "path"), NULL, host_string(one, "what"));
	(container ? show_mounted : show_reads)(&h->out, resolved);
	show_network(&h->out, resolved);
	if (!container)
		show_sockets(&h->out, resolved);
}

static void show_inherited(struct out *o, const json_t *names)
{
	size_t n = json_array_size(names);
	struct text *list = calloc(n + 1, sizeof(*list));

	for (size_t i = 0; list && i < n; i++)
		text_puts(&list[i], json_string_value(json_array_get(names, i))
		                            ? json_string_value(json_array_get(names, i))
		                            : "?");
	if (list)
		words(o, "sandbox's", list, n);
	for (size_t i = 0; list && i < n; i++)
		text_free(&list[i]);
	free(list);
}

/* "A=1", "TOKEN (secret)": names of what it got, and values only where they were pinned. */
static void show_environment(struct host *h, const json_t *run)
{
	const json_t *command = json_object_get(json_object_get(run, "plan"), "command"), *one;
	size_t i;

	if (!json_is_object(command))
		return;
	head(&h->out, "environment");
	json_array_foreach(json_object_get(command, "env"), i, one)
	{
		const char *value = host_string(one, "value");

		out_printf(&h->out, "  %s%s%s\n", host_string(one, "name"), value ? "=" : " (from the host)",
		           value ? value : "");
	}
	json_array_foreach(json_object_get(command, "secrets"), i, one)
	        out_printf(&h->out, "  %s (secret: its value is recorded nowhere)\n", json_string_value(one));
	show_inherited(&h->out, json_object_get(command, "inherit"));
}

static void show_probe(struct host *h, const json_t *probe)
{
	bool ok = json_is_true(json_object_get(probe, "ok"));
	const char *detail = host_string(probe, "detail");

	out_put(&h->out, "  ");
	out_styled(&h->out, ok ? STYLE_GREEN : STYLE_RED, ok ? "ok  " : "FAIL");
	out_printf(&h->out, "  %-4s  %6lld us  %s\n", host_string(probe, "id"),
	           (long long)(json_integer_value(json_object_get(probe, "ns")) / 1000), detail ? detail : "");
}

static void show_probes(struct host *h, const json_t *run)
{
	const json_t *probes = json_object_get(run, "probes"), *one;
	size_t i;

	if (!json_array_size(probes))
		return;
	head(&h->out, "probes: what was tried inside, before the command started");
	json_array_foreach(probes, i, one) show_probe(h, one);
}

/* Its commits, and where they are. */
static void show_save(struct host *h, const json_t *run)
{
	const char *id = host_string(run, "work");
	const json_t *save = json_object_get(run, "save");
	oc_error *err = NULL;
	char *text = NULL, at[32];
	json_t *work;

	if (!id)
		return;
	work = oc_work_get(h->store, id, &text, &err) < 0 ? NULL : host_parse(h, "the Work", text);
	oc_error_free(err);
	head(&h->out, "commits saved");
	if (json_is_object(save)) {
		host_time(json_object_get(save, "at"), at, sizeof(at));
		field(&h->out, "saved", at);
		field(&h->out, "into", host_string(work, "checkout"));
		work_save_lines(&h->out, work, save);
		if (!json_array_size(json_object_get(save, "saved")))
			out_put(&h->out, "  nothing new was committed\n");
	} else {
		out_put(&h->out, runs_over(run) && !json_is_null(json_object_get(run, "proved"))
		                         ? "  not yet: open-conduit work list saves them\n"
		                         : "  none\n");
	}
	json_decref(work);
}

/* How the turn went, by what its agent said; the state above is its command's. */
static void show_agent(struct host *h, const json_t *run)
{
	const struct executor *executor = agent_executor_of(run);
	const json_t *noted = agent_noted(run);

	if (!executor)
		return;
	head(&h->out, "agent");
	field(&h->out, "executor", executor->name);
	required(&h->out, "turn", host_string(noted, "outcome"));
	show_error(&h->out, noted);
	field(&h->out, "session", agent_session_of(run));
}

static void show_host(struct out *o, const json_t *run, const json_t *one)
{
	static const char *const counts[] = { "allowed", "denied", "failed" };
	const char *why = host_string(one, "why"), *host = host_string(one, "host");
	char name[300], probe[300];

	snprintf(probe, sizeof(probe), "%.250s.invalid", host_string(run, "id"));
	snprintf(name, sizeof(name), strchr(host ? host : "", ':') ? "[%.280s]:%lld" : "%.280s:%lld", host ? host : "?",
	         (long long)json_integer_value(json_object_get(one, "port")));
	out_printf(o, "  %-40s", name);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		long long n = (long long)json_integer_value(json_object_get(one, counts[i]));

		if (n)
			out_printf(o, " %s %lld", counts[i], n);
	}
	if (json_integer_value(json_object_get(one, "allowed")))
		out_printf(o, ", %lld bytes up, %lld down", (long long)json_integer_value(json_object_get(one, "up")),
		           (long long)json_integer_value(json_object_get(one, "down")));
	out_printf(o, "%s%s%s\n", why ? ": " : "", why ? why : "",
	           host && !strcmp(host, probe) ? " (by the probe of the network)" : "");
}

/* Where a provider reports them; where it doesn't its notes say so. */
static void show_hosts(struct host *h, const json_t *run)
{
	const json_t *network = json_object_get(run, "network"), *one;
	long long lost = (long long)json_integer_value(json_object_get(network, "lost"));
	size_t i;

	if (!json_array_size(json_object_get(network, "hosts")) && !lost)
		return;
	head(&h->out, "hosts asked for");
	json_array_foreach(json_object_get(network, "hosts"), i, one) show_host(&h->out, run, one);
	if (lost)
		out_printf(&h->out, "  and %lld that were not recorded: too many at once, or in all\n", lost);
}

static void show_calls(struct host *h, const json_t *run)
{
	const json_t *calls = json_object_get(run, "calls"), *one;
	size_t i;

	if (!json_array_size(calls))
		return;
	head(&h->out, "calls of the toolbelt");
	json_array_foreach(calls, i, one)
	{
		char number[32];

		snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(json_object_get(one, "number")));
		out_printf(&h->out, "  %-*s %-16s %s\n", LABEL - 1, number, host_string(one, "name"),
		           host_string(one, "outcome"));
	}
}

/* Made for it, and what became of each. */
static void show_token(struct out *o, const json_t *one)
{
	const char *state = host_string(one, "state"), *detail = host_string(one, "detail");
	const char *repository = host_string(json_object_get(one, "about"), "repository");
	char created[32], expires[32], ended[32];
	bool over = json_is_string(json_object_get(one, "ended"));

	host_time(json_object_get(one, "created"), created, sizeof(created));
	host_time(json_object_get(one, "expires"), expires, sizeof(expires));
	host_time(json_object_get(one, "ended"), ended, sizeof(ended));
	out_printf(o, "  %s%s%s\n", host_string(one, "id"), repository ? " for " : "", repository ? repository : "");
	field(o, "asked for", created);
	if (over)
		out_printf(o, "  %-*s %s%s%s\n", LABEL - 1, state && !strcmp(state, "never") ? "not made" : state,
		           ended, detail ? ": " : "", detail ? detail : "");
	else
		out_printf(o, "  %-*s no%s%s: it expires at %s%s\n", LABEL - 1, "revoked", detail ? ", " : "",
		           detail ? detail : "", expires,
		           state && !strcmp(state, "asked") ? " at the latest, if it was made at all" : "");
}

static void show_tokens(struct host *h, const json_t *run)
{
	const json_t *tokens = json_object_get(run, "tokens"), *one;
	size_t i;

	if (!json_array_size(tokens))
		return;
	head(&h->out, "tokens made for it");
	json_array_foreach(tokens, i, one) show_token(&h->out, one);
}

static void show_notes(struct host *h, const json_t *run)
{
	const json_t *notes = json_object_get(run, "notes"), *one;
	size_t i;

	if (!json_array_size(notes))
		return;
	head(&h->out, "notes");
	json_array_foreach(notes, i, one) out_printf(&h->out, "  %s\n", json_string_value(one));
}

void runs_show(struct host *h, const json_t *run)
{
	show_outcome(h, run);
	show_agent(h, run);
	show_calls(h, run);
	show_tokens(h, run);
	show_hosts(h, run);
	show_save(h, run);
	show_confinement(h, run);
	show_policy(h, run);
	show_granted(h, run);
	show_environment(h, run);
	show_probes(h, run);
	show_provider(h, run);
	show_notes(h, run);
}
