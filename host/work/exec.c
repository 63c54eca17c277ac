/* SPDX-License-Identifier: Apache-2.0 */
/* work exec: the operator's own command in a Work's workspace.  It goes the way of every run (plan, pin, guard, the Work's
 * lock), and the record says that nothing confined it. */
#include <string.h>

#include "exec.h"
#include "work.h"

enum { O_JSON, O_VERBOSE, O_NO_WAIT };

static const struct opt OPTIONS[] = {
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

		*confined = *confined || !kind || strcmp(kind, "none");
		if (kind && (!strcmp(kind, "none") || !strcmp(kind, "sandbox")))
			continue;
		host_refuse(h, "not run", &r);
		return false;
	}
	return true;
}

static int after(struct host *h, const char *run, int status, json_t *answer, void *userdata)
{
	return work_after(h, userdata, run, status, answer);
}

static int perform(struct host *h, json_t **work, char **command, bool wait)
{
	struct exec_args a = { .retry_busy = wait, .after = after };
	oc_request request = OC_REQUEST_INIT;
	oc_broker *broker = NULL;
	oc_error *err = NULL;
	int status = EXEC_BUSY;

	if (oc_unsandboxed_broker_new(h->store, NULL, &broker, &err) < 0) {
		host_report(h, "not run", err);
		oc_error_free(err);
		return EXIT_NOT_RUN;
	}
	while (status == EXEC_BUSY) {
		json_t *made = work_ready(h, host_string(*work, "id"), wait);

		if (!made) {
			status = EXIT_NOT_RUN;
			break;
		}
		json_decref(*work);
		*work = made;
		a.after_userdata = made;
		request.work = host_string(made, "id");
		request.workspace = host_string(made, "workspace");
		request.argv = (const char *const *)command;
		status = exec_run(h, broker, &request, &a);
	}
	oc_broker_free(broker);
	return status;
}

static int run(struct host *h, char **args, bool wait)
{
	bool confined = false;
	json_t *work;
	int status = EXIT_NOT_RUN;

	if (host_open(h) < 0)
		return status;
	json_decref(host_recover(h));
	work_settle(h);
	work = work_find(h, args[0]);
	if (work && may_exec(h, work, &confined)) {
		if (confined)
			out_put(&h->err, "open-conduit: not confined, in files that a confined agent wrote\n");
		status = perform(h, &work, args + 1, wait);
	}
	json_decref(work);
	return status;
}

int work_exec(struct host *h, int argc, char **argv)
{
	struct opt_state s;
	bool wait = true;
	int o;

	opt_begin(&s, &COMMAND, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		h->json |= o == O_JSON;
		h->verbose |= o == O_VERBOSE;
		wait = wait && o != O_NO_WAIT;
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
	return run(h, s.args, wait);
}
