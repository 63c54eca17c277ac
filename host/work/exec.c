/* SPDX-License-Identifier: Apache-2.0 */
/* work exec: the operator's own command in a Work's workspace.  It goes the way of every run (plan, pin, guard, the Work's
 * lock), and the record says that nothing confined it. */
#include <string.h>

#include "exec.h"
#include "terminal.h"
#include "work.h"

enum { O_TERMINAL, O_JSON, O_VERBOSE, O_NO_WAIT };

static const struct opt OPTIONS[] = {
	[O_TERMINAL] = { "terminal", 't', NULL, "on this terminal, with one of its own: an editor, a shell" },
	[O_JSON] = { "json", 0, NULL, "the record on stdout; the command's output on stderr" },
	[O_VERBOSE] = { "verbose", 'v', NULL, "say the run's id, and more of what happens" },
	[O_NO_WAIT] = { "no-wait", 0, NULL, "don't wait for a busy Work" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command COMMAND = {
	.name = "work exec",
	.args = "KEY -- COMMAND [ARGUMENT…]",
	.about = "Run one command of yours in a Work's workspace.  Nothing confines it.",
	.more = "The files are the agent's: what reads hooks, settings or build files there runs what the agent "
	        "wrote.\n"
	        "Refused for a Work that ran in a container: its files are not for this machine's programs.\n\n"
	        "exit status: as of open-conduit exec.\n",
	.opts = OPTIONS,
	.rest = true,
};

/* By what is recorded of its runs, never by today's config. */
static bool may_exec(struct host *h, const json_t *work, bool *confined)
{
	const json_t *runs = json_object_get(work, "runs"), *run;
	struct refusal r = { "attach_sandboxed", host_string(work, "id"),
		             "this Work ran in a container, so no command of this machine is run in its workspace",
		             "look at what it saved: open-conduit work show" };
	size_t i;

	json_array_foreach(runs, i, run)
	{
		const char *kind = host_string(run, "kind");

		*confined = *confined || !work_plain(kind);
		if (work_plain(kind) || (kind && !strcmp(kind, "sandbox")))
			continue;
		host_refuse(h, "not run", &r);
		return false;
	}
	return true;
}

static int perform(struct host *h, json_t **work, char **command, bool wait, bool on_terminal)
{
	oc_request request = OC_REQUEST_INIT;
	struct terminal terminal = { 0 };
	struct exec_args a = { .terminal = on_terminal ? &terminal : NULL };
	oc_broker *broker = NULL;
	oc_error *err = NULL;
	int status = EXIT_NOT_RUN;

	request.argv = (const char *const *)command;
	if (on_terminal)
		terminal_size(&request.rows, &request.cols);
	if (oc_unsandboxed_broker_new(h->store, NULL, &broker, &err) < 0)
		host_report(h, "not run", err);
	else
		status = work_perform(h, broker, work, &request, &a, wait);
	oc_error_free(err);
	oc_broker_free(broker);
	return status;
}

static int run(struct host *h, char **args, bool wait, bool on_terminal)
{
	bool confined = false;
	json_t *work;
	int status = EXIT_NOT_RUN;

	if ((on_terminal && terminal_check(h, "not run") < 0) || host_open(h) < 0)
		return status;
	json_decref(host_recover(h));
	work_settle(h);
	work = work_find(h, args[0]);
	if (work && may_exec(h, work, &confined)) {
		if (confined)
			out_put(&h->err, "open-conduit: not confined, in files that a confined agent wrote\n");
		status = perform(h, &work, args + 1, wait, on_terminal);
	}
	json_decref(work);
	return status;
}

int work_exec(struct host *h, int argc, char **argv)
{
	struct opt_state s;
	bool wait = true, on_terminal = false;
	int o;

	opt_begin(&s, &COMMAND, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		h->json |= o == O_JSON;
		h->verbose |= o == O_VERBOSE;
		wait = wait && o != O_NO_WAIT;
		on_terminal |= o == O_TERMINAL;
	}
	/* KEY, then what is left: the "--" that ends our flags stands after it. */
	if (s.nargs >= 2 && !strcmp(s.args[1], "--")) {
		s.args[1] = s.args[0];
		s.args++;
		s.nargs--;
	}
	if (s.nargs < 1)
		return opt_usage_error(&s, "which Work? open-conduit work list shows them");
	if (s.nargs < 2 || !*s.args[1])
		return opt_usage_error(&s, "there is no command to run");
	if (on_terminal && h->json)
		return opt_usage_error(&s, "--json goes with no --terminal: both would write to standard output");
	return run(h, s.args, wait, on_terminal);
}
