/* SPDX-License-Identifier: Apache-2.0 */
/* work attach: the Work's own agent, with a person in front of it.  For a Work that ran in containers that is one more, by the
 * policy that is recorded of the last; for one that nothing confined it is on this machine; no other may have it: what a
 * confined agent wrote must not become what an agent of this machine reads.  For the rest it is a run like any other (plan,
 * pin, guard, the Work's lock, its commits saved), on this machine of the kind "attach". */
#include <stdlib.h>
#include <string.h>

#include "binding.h"
#include "executor/session.h"
#include "terminal.h"
#include "work.h"

#define WHAT "not attached"

enum { O_VERBOSE, O_NO_WAIT };

static const struct opt OPTIONS[] = {
	[O_VERBOSE] = { "verbose", 'v', NULL, "say the run's id, and more of what happens" },
	[O_NO_WAIT] = { "no-wait", 0, NULL, "don't wait for a busy Work" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command COMMAND = {
	.name = "work attach",
	.args = "KEY",
	.about = "Open the session of a Work's agent on this terminal.",
	.more = "For a Work that ran in a container it is one of its own, with the same image, mounts and hosts; else "
	        "nothing\n"
	        "confines it.  Refused for a Work that ran in a process sandbox: on this machine the agent would load "
	        "the "
	        "hooks\n"
	        "and servers that were written into the workspace.  Keys go to the agent, ^C and ^Z too; leave it as "
	        "it is left.  "
	        "Its "
	        "commits\n"
	        "are saved as those of any run.\n\n"
	        "exit status: as of open-conduit exec.\n",
	.opts = OPTIONS,
};

struct attach {
	struct host *h;
	json_t *work;
	struct config *config;
	const struct config_binding *binding;
	const struct executor *executor;
	struct executor_launch launch;
	struct session session;
	const char *boxed; /* the newest of its runs that was in a container; or NULL */
	json_t *plan;      /* of that run */
	char *home;        /* the Work's, in a container */
	bool no_wait;
};

static bool refuse(struct attach *a, const char *reason, const char *message, const char *fix)
{
	struct refusal r = { reason, host_string(a->work, "id"), message, fix };

	host_refuse(a->h, WHAT, &r);
	return false;
}

static bool with_own(struct attach *a, const char *reason, const char *message, const char *command)
{
	char fix[300];

	snprintf(fix, sizeof(fix), "open-conduit work exec %s%.200s -- %s", strcmp(command, "sh") ? "" : "--terminal ",
	         host_string(a->work, "key"), command);
	return refuse(a, reason, message, fix);
}

/* By what is recorded of its runs, never by today's config.  The library holds to it too, once the Work's lock is ours. */
static bool may_attach(struct attach *a)
{
	const json_t *runs = json_object_get(a->work, "runs"), *run;
	size_t i;

	json_array_foreach(runs, i, run)
	{
		const char *kind = host_string(run, "kind");

		if (kind && !strcmp(kind, "container"))
			a->boxed = a->boxed ? a->boxed : host_string(run, "id");
		else if (!work_plain(kind))
			return with_own(
			        a, "attach_sandboxed",
			        "this Work ran in a process sandbox: on this machine an agent would load the hooks "
			        "and servers written into its workspace; attach needs a Work in a container.  A "
			        "command of yours can look at it",
			        "COMMAND");
	}
	return true;
}

/* What it ran under: that is what its agent is opened under. */
static bool find_plan(struct attach *a)
{
	oc_error *err = NULL;
	char *text = NULL;
	json_t *run;

	if (!a->boxed)
		return true;
	if (oc_store_run(a->h->store, a->boxed, &text, &err) < 0) {
		host_report(a->h, WHAT, err);
		oc_error_free(err);
		return false;
	}
	run = host_parse(a->h, "the record of its last run", text);
	a->plan = json_incref(json_object_get(run, "plan"));
	json_decref(run);
	return json_is_object(a->plan) ||
	       refuse(a, NULL, "its run in a container was never planned, so there is no session",
	              "open-conduit runs list");
}

static bool find_executor(struct attach *a)
{
	const char *scope = host_string(a->work, "scope"), *binding = host_string(a->work, "binding");
	char name[600];

	if (!scope || !binding)
		return with_own(a, NULL, "this Work is of no binding, so it has no agent", "sh");
	snprintf(name, sizeof(name), "%.290s/%.290s", scope, binding);
	if (binding_config(a->h, WHAT, &a->config) < 0 ||
	    !(a->binding = binding_find(a->h, WHAT, a->config, name, NULL)) ||
	    !(a->executor = executor_find(a->h, a->binding)))
		return false;
	if (!a->boxed && strcmp(a->binding->kind, "none") != 0)
		return with_own(
		        a, "attach_sandboxed",
		        "its binding confines its agent by now: what configures it is where confined agents write",
		        "sh");
	if (!a->executor->attach)
		return with_own(a, NULL, "its executor is a command and no agent: there is no session to open", "sh");
	return true;
}

static bool prepare(struct attach *a)
{
	struct executor_turn turn = { .binding = a->binding,
		                      .work = host_string(a->work, "key"),
		                      .branch = host_string(a->work, "branch") };
	char fix[600];
	bool busy;

	if (a->boxed)
		a->home = work_home(a->h, a->work, a->binding->config->home_seed, false, &busy);
	if (a->boxed && !a->home)
		return false;
	turn.home = a->home;
	if (session_choose(a->h, a->executor, &turn, a->work, &a->session) < 0)
		return false;
	snprintf(fix, sizeof(fix), "open-conduit run %.300s --work %.250s", a->binding->full,
	         host_string(a->work, "key"));
	if (!a->session.resume)
		return refuse(a, NULL, "its agent has no session yet, or none any more", fix);
	turn.session = a->session.id;
	turn.resume = true;
	return a->executor->attach(a->h, &turn, &a->launch) == 0;
}

static int make_broker(struct attach *a, oc_broker **broker)
{
	oc_error *err = NULL;
	int rc;

	if (a->boxed)
		return binding_container_broker(a->h, WHAT, a->config,
		                                host_string(json_object_get(a->plan, "provider"), "name"), broker);
	rc = oc_unsandboxed_broker_new(a->h->store, NULL, broker, &err);
	if (rc < 0)
		host_report(a->h, WHAT, err);
	oc_error_free(err);
	return rc;
}

static int perform(struct attach *a)
{
	struct terminal terminal = { 0 };
	struct exec_args args = { .terminal = &terminal };
	oc_request request = OC_REQUEST_INIT;
	oc_broker *broker = NULL;
	struct texts specs = { 0 };
	char *git = NULL;
	int status = EXIT_NOT_RUN;

	request.policy = host_string(json_object_get(a->plan, "policy"), "text");
	request.need_hosts = texts_list(&a->launch.hosts);
	request.binding = a->binding->full;
	request.argv = texts_list(&a->launch.argv);
	request.env = texts_list(&a->launch.env);
	request.attach = 1;
	terminal_size(&request.rows, &request.cols);
	if (!binding_secrets(a->binding, &args, &specs) || (a->boxed && !binding_git(a->binding, &git)) ||
	    a->launch.argv.failed || a->launch.env.failed) {
		out_put(&a->h->err, "open-conduit: out of memory\n");
	} else if (exec_secrets(a->h, &args) == 0 && make_broker(a, &broker) == 0) {
		request.secrets = args.secret.v;
		request.git_credential = git;
		status = work_perform(a->h, broker, &a->work, &request, &args, !a->no_wait);
	}
	oc_broker_free(broker);
	exec_secrets_free(&args);
	free(args.secret.v);
	texts_free(&specs);
	free(git);
	return status;
}

static int attach(struct attach *a, const char *name)
{
	int status = EXIT_NOT_RUN;
	const char *state;

	if (host_open(a->h) < 0)
		return status;
	json_decref(host_recover(a->h));
	work_settle(a->h);
	a->work = work_find(a->h, name);
	state = host_string(a->work, "state");
	if (a->work && state && !strcmp(state, "finished"))
		refuse(a, NULL, "this Work is finished: its workspace is gone", "open-conduit work list");
	else if (a->work && may_attach(a) && find_plan(a) && find_executor(a) && terminal_check(a->h, WHAT) == 0 &&
	         prepare(a))
		status = perform(a);
	executor_launch_free(&a->launch);
	json_decref(a->plan);
	free(a->home);
	config_free(a->config);
	json_decref(a->work);
	return status;
}

int work_attach(struct host *h, int argc, char **argv)
{
	struct attach a = { .h = h };
	struct opt_state s;
	int o;

	opt_begin(&s, &COMMAND, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		h->verbose |= o == O_VERBOSE;
		a.no_wait |= o == O_NO_WAIT;
	}
	if (s.nargs != 1)
		return opt_usage_error(&s,
		                       s.nargs ? "one KEY at a time" : "which Work? open-conduit work list shows them");
	return attach(&a, s.args[0]);
}
