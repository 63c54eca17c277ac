/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec.h"

enum { O_POLICY, O_READ, O_WRITE, O_HOST, O_SOCKET, O_JSON };

static const struct opt OPTIONS[] = {
	[O_POLICY] = { "policy", 0, "FILE", "the policy of a process sandbox, as JSON" },
	[O_READ] = { "read", 0, "PATH", "may a run read PATH?" },
	[O_WRITE] = { "write", 0, "PATH", "may a run write PATH?" },
	[O_HOST] = { "host", 0, "HOST[:PORT]", "may a run reach HOST?" },
	[O_SOCKET] = { "socket", 0, "PATH", "may a run use the unix socket PATH?" },
	[O_JSON] = { "json", 0, NULL, "facts as JSON on stdout" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command COMMAND = {
	.name = "explain",
	.args = "--policy FILE --read PATH | --write PATH | --host HOST | --socket PATH …",
	.about = "Would the policy allow it, by which rule, and what line would allow it.",
	.more = "{workspace} means the current directory.  Several questions may be asked at once.\n\n"
	        "exit status: 0 all is allowed; 1 something is refused, or the policy is; 2 usage.\n",
	.opts = OPTIONS,
};

struct question {
	int what; /* O_READ … */
	const char *subject;
};

static char *subject_of(const struct question *q, const char *cwd)
{
	const char *home = getenv("HOME");
	struct text t = { 0 };

	if (q->what == O_HOST)
		return strdup(q->subject);
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

/* 1: allowed, 0: refused, negative: said why. */
static int ask(struct host *h, oc_broker *broker, const oc_request *request, const struct question *q, json_t *answers)
{
	char *subject = subject_of(q, request->workspace), *text = NULL;
	oc_error *err = NULL;
	json_t *answer = NULL;
	int rc = subject ? oc_broker_explain(broker, request, OPTIONS[q->what].name, subject, &text, &err) : OC_ENOMEM;

	if (rc < 0)
		host_report(h, "no answer", err);
	else
		answer = host_parse(h, "the answer", text);
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

static int ask_all(struct host *h, struct exec_args *a, const struct question *questions, size_t n)
{
	static const char *const argv[] = { "true", NULL };
	oc_broker_options o = host_broker_options("srt");
	oc_request request = OC_REQUEST_INIT;
	oc_broker *broker = NULL;
	json_t *answers = json_array();
	oc_error *err = NULL;
	bool all = true, failed = false;

	if (oc_sandbox_broker_new(h->store, &o, &broker, &err) < 0) {
		host_report(h, "no answer", err);
		failed = true;
	}
	request.policy = a->policy;
	request.workspace = a->cwd;
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
	oc_error_free(err);
	oc_broker_free(broker);
	return all && !failed ? EXIT_GOOD : EXIT_NO;
}

static int perform(struct host *h, struct exec_args *a, const struct question *questions, size_t n)
{
	struct refusal r = { "sandbox_config", ".", "the current directory is gone", "cd to a directory that exists" };
	int status = EXIT_NO;

	a->cwd = getcwd(NULL, 0);
	if (!a->cwd)
		host_refuse(h, "no answer", &r);
	else if (exec_policy(h, a) >= 0 && host_open(h) >= 0)
		status = ask_all(h, a, questions, n);
	free(a->cwd);
	free(a->policy);
	return status;
}

int cmd_explain(struct host *h, int argc, char **argv)
{
	struct question *questions = calloc((size_t)argc + 1, sizeof(*questions));
	struct exec_args a = { 0 };
	struct opt_state s;
	size_t n = 0;
	int o, status = EXIT_USAGE;

	opt_begin(&s, &COMMAND, argc, argv, &h->out, &h->err);
	while (questions && (o = opt_next(&s)) >= 0) {
		if (o == O_POLICY)
			a.policy_file = s.value;
		else if (o == O_JSON)
			h->json = true;
		else
			questions[n++] = (struct question){ o, s.value };
	}
	if (!questions)
		status = EXIT_NO;
	else if (o == OPT_HELP)
		status = EXIT_GOOD;
	else if (o == OPT_END && s.nargs)
		opt_usage_error(&s, "\"%s\" is no question; ask by --read, --write, --host or --socket", s.args[0]);
	else if (o == OPT_END && !a.policy_file)
		opt_usage_error(&s, "name the policy: --policy FILE");
	else if (o == OPT_END && !n)
		opt_usage_error(&s, "ask something: --read PATH, --write PATH, --host HOST or --socket PATH");
	else if (o == OPT_END)
		status = perform(h, &a, questions, n);
	free(questions);
	return status;
}
