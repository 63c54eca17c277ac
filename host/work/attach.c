/* SPDX-License-Identifier: Apache-2.0 */
/* work attach: an agent of the operator's own, on the operator's terminal, in what another agent wrote.  Only a container
 * can hold that, and containers are not built yet: so it is refused, and the reason is the one that holds. */
#include <string.h>

#include "work.h"

static const struct opt OPTIONS[] = {
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command COMMAND = {
	.name = "work attach",
	.args = "KEY",
	.about = "Open a Work's session on this terminal, in a container of its own (not built yet).",
	.more = "Refused for a Work that ran in a process sandbox: on this machine the agent would load the hooks and "
	        "servers\n"
	        "that were written into the workspace.\n",
	.opts = OPTIONS,
};

/* By what is recorded of its runs, never by today's config. */
static bool ran_in_sandbox(const json_t *work)
{
	const json_t *runs = json_object_get(work, "runs"), *run;
	size_t i;

	json_array_foreach(runs, i, run)
	{
		const char *kind = host_string(run, "kind");

		if (kind && !strcmp(kind, "sandbox"))
			return true;
	}
	return false;
}

static int refuse(struct host *h, const json_t *work)
{
	struct refusal sandboxed = {
		"attach_sandboxed", host_string(work, "id"),
		"this Work ran in a process sandbox: on this machine an agent would load the hooks and servers written "
		"into "
		"its workspace",
		"run it in a container to attach to it; a command of yours: open-conduit work exec KEY -- COMMAND"
	};
	struct refusal unbuilt = { "sandbox_unavailable", host_string(work, "id"),
		                   "attaching to a Work is not built yet",
		                   "a command of yours: open-conduit work exec KEY -- COMMAND" };

	host_refuse(h, "not attached", ran_in_sandbox(work) ? &sandboxed : &unbuilt);
	return EXIT_NOT_RUN;
}

int work_attach(struct host *h, int argc, char **argv)
{
	struct opt_state s;
	json_t *work;
	int o, status = EXIT_NOT_RUN;

	opt_begin(&s, &COMMAND, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END)
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
	if (s.nargs != 1)
		return opt_usage_error(&s,
		                       s.nargs ? "one KEY at a time" : "which Work? open-conduit work list shows them");
	work = host_open(h) >= 0 ? work_find(h, s.args[0]) : NULL;
	if (work)
		status = refuse(h, work);
	json_decref(work);
	return status;
}
