/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binding.h"
#include "stand_in.h"
#include "work/work.h"

enum { O_POLICY, O_WORK, O_READ, O_WRITE, O_HOST, O_SOCKET, O_JSON };

static const struct opt OPTIONS[] = {
	[O_POLICY] = { "policy", 0, "FILE", "the policy of a process sandbox, as JSON" },
	[O_WORK] = { "work", 0, "KEY",
	             "for the next turn of this Work; without it {workspace} is a place that no file is in yet" },
	[O_READ] = { "read", 0, "PATH", "may a run read PATH?" },
	[O_WRITE] = { "write", 0, "PATH", "may a run write PATH?" },
	[O_HOST] = { "host", 0, "HOST[:PORT]", "may a run reach HOST?" },
	[O_SOCKET] = { "socket", 0, "PATH", "may a run use the unix socket PATH?" },
	[O_JSON] = { "json", 0, NULL, "facts as JSON on stdout" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command COMMAND = {
	.name = "explain",
	.args = "SCOPE/BINDING | --policy FILE --read PATH | --write PATH | --host HOST | --socket PATH …",
	.about = "Would the policy allow it, by which rule, and what line would allow it.",
	.more = "The policy is the binding's, or the file's, for which {workspace} means the current directory.  A "
	        "path may\n"
	        "begin with {workspace} or ~, or is meant beneath the workspace.  Several questions may be asked at "
	        "once.\n\n"
	        "exit status: 0 all is allowed; 1 something is refused, or the policy is; 2 usage.\n",
	.opts = OPTIONS,
};

struct question {
	int what; /* O_READ … */
	const char *subject;
};

/* Of whom it is asked. */
struct asked {
	struct host *h;
	struct exec_args a; /* policy, and cwd: what {workspace} means */
	const char *name, *key;
	struct config *config;
	const struct config_binding *binding;
	json_t *work;
	char *stand_in;
};

static char *subject_of(const struct question *q, const char *cwd)
{
	const char *home = getenv("HOME");
	struct text t = { 0 };

	if (q->what == O_HOST || !strcmp(q->subject, "{toolbelt}"))
		return strdup(q->subject);
	if (!strncmp(q->subject, "{workspace}", 11) && (!q->subject[11] || q->subject[11] == '/')) {
		text_puts(&t, cwd);
		text_puts(&t, q->subject + 11);
		return t.data;
	}
	/* --read=~/x isn't expanded by every shell. */
	if (!strncmp(q->subject, "~/", 2) && home) {
		text_puts(&t, home);
		text_puts(&t, q->subject + 1);
		return t.data;
	}
	return exec_path(cwd, q->subject);
}

static void print_answer(struct host *h, const json_t *a)
{
	bool allowed = json_is_true(json_object_get(a, "allowed"));
	const char *subject = host_string(a, "subject"), *resolved = host_string(a, "resolved");
	const char *rule = host_string(a, "rule"), *line = host_string(a, "allow_line");

	out_styled(&h->out, allowed ? STYLE_GREEN : STYLE_RED, allowed ? "allowed" : "refused");
	out_printf(&h->out, "  %s %s", host_string(a, "question"), subject);
	if (resolved && subject && strcmp(resolved, subject) != 0)
		out_printf(&h->out, " (which is %s)", resolved);
	out_put(&h->out, "\n");
	out_printf(&h->out, "  rule   %s\n", rule && *rule ? rule : "none: what no rule grants is refused");
	if (!allowed)
		out_printf(&h->out, "  line   %s\n", line && *line ? line : "none: no policy can allow it");
}

/* What nothing confines is allowed, and no rule is asked. */
static json_t *unconfined(const struct question *q, const char *subject)
{
	return json_pack("{s:s, s:s, s:s, s:b, s:s, s:n}", "question", OPTIONS[q->what].name, "subject", subject,
	                 "resolved", subject, "allowed", 1, "rule", "unsandboxed", "allow_line");
}

/* 1: allowed, 0: refused, negative: said why.  broker NULL: nothing confines it. */
static int ask(struct host *h, oc_broker *broker, const oc_request *request, const struct question *q, json_t *answers)
{
	char *subject = subject_of(q, request->workspace), *text = NULL;
	oc_error *err = NULL;
	json_t *answer = NULL;
	int rc = subject ? 0 : OC_ENOMEM;

	if (rc == 0 && broker)
		rc = oc_broker_explain(broker, request, OPTIONS[q->what].name, subject, &text, &err);
	if (rc < 0)
		host_report(h, "no answer", err);
	else
		answer = broker ? host_parse(h, "the answer", text) : unconfined(q, subject);
	if (answer && !h->json)
		print_answer(h, answer);
	if (answer)
		rc = json_is_true(json_object_get(answer, "allowed"));
	if (answer)
		json_array_append_new(answers, answer);
	oc_error_free(err);
	free(subject);
	return answer ? rc : -1;
}

static int make_broker(const struct asked *k, oc_broker **broker)
{
	oc_broker_options o = host_broker_options("srt");
	oc_error *err = NULL;
	int rc;

	if (k->binding)
		return strcmp(k->binding->kind, "none")
		               ? binding_broker(k->h, "no answer", k->config, k->binding, broker)
		               : 0;
	rc = oc_sandbox_broker_new(k->h->store, &o, broker, &err);
	if (rc < 0)
		host_report(k->h, "no answer", err);
	oc_error_free(err);
	return rc;
}

static int ask_all(struct asked *k, const struct question *questions, size_t n)
{
	static const char *const argv[] = { "true", NULL };
	oc_request request = OC_REQUEST_INIT;
	oc_broker *broker = NULL;
	json_t *answers = json_array();
	bool all = true, failed = make_broker(k, &broker) < 0;
	struct host *h = k->h;

	request.policy = k->a.policy;
	request.workspace = k->a.cwd;
	request.work = host_string(k->work, "id");
	request.argv = argv;
	for (size_t i = 0; i < n && !failed; i++) {
		int rc = ask(h, broker, &request, &questions[i], answers);

		all = all && rc == 1;
		failed = rc < 0;
	}
	if (h->json && !failed) {
		json_t *whole = host_answer();

		json_object_set_new(whole, "allowed", json_boolean(all));
		json_object_set(whole, "answers", answers);
		out_json(&h->out, whole);
	}
	json_decref(answers);
	oc_broker_free(broker);
	return all && !failed ? EXIT_GOOD : EXIT_NO;
}

static bool refuse(struct asked *k, const char *subject, const char *message, const char *fix)
{
	struct refusal r = { "sandbox_config", subject, message, fix };

	host_refuse(k->h, "no answer", &r);
	return false;
}

/* The policy of a file, for the current directory. */
static bool by_file(struct asked *k)
{
	k->a.cwd = getcwd(NULL, 0);
	if (!k->a.cwd)
		return refuse(k, ".", "the current directory is gone", "cd to a directory that exists");
	return exec_policy(k->h, &k->a) >= 0 && host_open(k->h) >= 0;
}

/* The clone of a Work of this binding, made. */
static bool find_work(struct asked *k)
{
	char name[600];

	snprintf(name, sizeof(name), "%.290s/%.290s", k->name, k->key);
	k->work = work_find(k->h, name);
	if (!k->work)
		return false;
	if (!json_is_object(json_object_get(k->work, "root")))
		return refuse(k, host_string(k->work, "id"), "the clone of this Work is not made yet",
		              "ask without --work");
	k->a.cwd = strdup(host_string(k->work, "workspace"));
	return k->a.cwd != NULL;
}

static bool by_binding(struct asked *k)
{
	if (binding_config(k->h, "no answer", &k->config) < 0 ||
	    !(k->binding = binding_find(k->h, "no answer", k->config, k->name, "open-conduit explain")) ||
	    host_open(k->h) < 0)
		return false;
	if (k->binding->place)
		k->a.policy = strdup(k->binding->place->policy);
	if (k->key)
		return find_work(k);
	k->stand_in = stand_in_make();
	stand_in_fill_policy(k->stand_in, k->binding->kind, k->a.policy);
	k->a.cwd = k->stand_in ? realpath(k->stand_in, NULL) : NULL;
	return k->a.cwd || refuse(k, "TMPDIR", "no directory could be made to stand in for the clone", "set TMPDIR");
}

static int perform(struct asked *k, const struct question *questions, size_t n)
{
	int status = EXIT_NO;

	if (k->name ? by_binding(k) : by_file(k))
		status = ask_all(k, questions, n);
	stand_in_free(k->stand_in);
	config_free(k->config);
	json_decref(k->work);
	free(k->a.cwd);
	free(k->a.policy);
	return status;
}

/* NULL, or what is wrong with the command line. */
static const char *misused(const struct asked *k, const struct opt_state *s, size_t n)
{
	if (s->nargs > 1)
		return "one binding at a time; ask by --read, --write, --host or --socket";
	if (!k->a.policy_file && !s->nargs)
		return "name the policy: SCOPE/BINDING of the config, or --policy FILE";
	if (k->a.policy_file && s->nargs)
		return "a binding has a policy of its own: leave out --policy, or the binding";
	if (k->key && !s->nargs)
		return "--work goes with a binding";
	return n ? NULL : "ask something: --read PATH, --write PATH, --host HOST or --socket PATH";
}

int cmd_explain(struct host *h, int argc, char **argv)
{
	struct question *questions = calloc((size_t)argc + 1, sizeof(*questions));
	struct asked k = { .h = h };
	struct opt_state s;
	const char *wrong;
	size_t n = 0;
	int o, status = EXIT_USAGE;

	opt_begin(&s, &COMMAND, argc, argv, &h->out, &h->err);
	while (questions && (o = opt_next(&s)) >= 0) {
		if (o == O_POLICY)
			k.a.policy_file = s.value;
		else if (o == O_WORK)
			k.key = s.value;
		else if (o == O_JSON)
			h->json = true;
		else
			questions[n++] = (struct question){ o, s.value };
	}
	if (!questions) {
		status = EXIT_NO;
	} else if (o == OPT_HELP) {
		status = EXIT_GOOD;
	} else if (o == OPT_END && (wrong = misused(&k, &s, n))) {
		opt_usage_error(&s, "%s", wrong);
	} else if (o == OPT_END) {
		k.name = s.nargs ? s.args[0] : NULL;
		status = perform(&k, questions, n);
	}
	free(questions);
	return status;
}
