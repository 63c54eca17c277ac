/* SPDX-License-Identifier: Apache-2.0 */
/* One turn of a binding: its Work found or begun, made ready, planned, run, saved.
 *
 *   config ─▶ binding ─▶ Work ─▶ clone ─▶ executor ─▶ request ─▶ exec_run ─▶ save (and, without --work, the end) */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "binding.h"
#include "executor/prompt.h"
#include "executor/session.h"
#include "github_ask.h"
#include "secret/secret.h"
#include "serve/link.h"
#include "toolbelt/toolbelt.h"
#include "work/work.h"

enum { O_WORK, O_INPUT, O_TIMEOUT, O_DETACH, O_NO_WAIT, O_JSON, O_VERBOSE };

static const struct opt OPTIONS[] = {
	[O_WORK] = { "work", 0, "KEY", "a turn of the Work KEY; without it: a Work of this run alone" },
	[O_INPUT] = { "input", 0, "JSON", "what the turn is about: an object, or @FILE" },
	[O_TIMEOUT] = { "timeout", 0, "TIME", "end it after TIME: 30, 30s, 500ms, 5m, 2h" },
	[O_DETACH] = { "detach", 0, NULL, "print the run's id and leave it to itself" },
	[O_NO_WAIT] = { "no-wait", 0, NULL, "don't wait for a busy Work" },
	[O_JSON] = { "json", 0, NULL, "the record on stdout; the command's output on stderr" },
	[O_VERBOSE] = { "verbose", 'v', NULL, "say the run's id, and more of what happens" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command COMMAND = {
	.name = "run",
	.args = "SCOPE/BINDING",
	.about = "One turn of a binding of the config, in the clone of its Work; its commits are saved back.",
	.more = "exit status: the command's own; 128+N when signal N ended it; 124 the time was over; 125 not run, or "
	        "the\n"
	        "run or its save failed (the reason is on stderr); 126 not executable; 127 not found; 2 usage.\n",
	.opts = OPTIONS,
};

struct turn {
	struct host *h;
	const char *name, *key, *input_text;
	bool detach, no_wait;
	const char *queued; /* the id that this run has since it was queued */
	long long timeout_ms;
	struct config *config;
	const struct config_binding *binding;
	const struct executor *executor;
	struct turn_input input;
	json_t *work;
	char *home;    /* the Work's own, in a container */
	bool toolbelt; /* the run has one */
	json_t *bot;   /* in whose name its git commits, or NULL */
	char run[HOST_RUN_ID + 1];
	bool told; /* the end of an own Work was already seen to */

	/* Of an executor that speaks with us: */
	struct session session;
	struct agent_prompt prompt;
	struct agent agent;
};

static bool find_binding(struct turn *t)
{
	if (binding_config(t->h, "not run", &t->config) == 0)
		t->binding = binding_find(t->h, "not run", t->config, t->name, "open-conduit run");
	return t->binding != NULL;
}

static bool needs_clone(struct turn *t)
{
	char field[300];
	struct refusal r = {
		"sandbox_workspace", field, "the binding has no workspace that is a clone: nothing to run in",
		"\"resource\": {\"provider\": \"git\", \"config\": {\"checkout\": \"/path\", \"mode\": \"clone\"}}"
	};
	const struct config_resource *resource = t->binding->resource;

	if (resource && resource->config && resource->config->mode && !strcmp(resource->config->mode, "clone") &&
	    !strcmp(resource->provider, "git") && !resource->config->setup.n)
		return true;
	snprintf(field, sizeof(field), "%.280s.resource", t->binding->field);
	host_refuse(t->h, "not run", &r);
	return false;
}

static bool open_work(struct turn *t)
{
	t->work = work_open_binding(t->h, t->binding, t->key, &t->input);
	return t->work != NULL;
}

static bool ready(struct turn *t)
{
	json_t *work = work_ready(t->h, host_string(t->work, "id"), !t->no_wait);

	if (work)
		json_decref(t->work);
	t->work = work ? work : t->work;
	return work != NULL;
}

/* What an agent of a container left in the workspace is not for programs of this machine, whatever the binding says by now. */
static bool may_run(struct turn *t)
{
	const json_t *runs = json_object_get(t->work, "runs"), *run;
	char fix[340];
	struct refusal r = {
		"attach_sandboxed", host_string(t->work, "id"),
		"this Work ran in a container, and its binding confines nothing by now: no command of this "
		"machine is run in its workspace",
		fix
	};
	size_t i;

	snprintf(fix, sizeof(fix), "open-conduit work finish %.250s, or give the binding its container again",
	         host_string(t->work, "key"));
	json_array_foreach(runs, i, run)
	{
		const char *kind = host_string(run, "kind");

		if (strcmp(t->binding->kind, "none") != 0 || !kind || strcmp(kind, "container") != 0)
			continue;
		host_refuse(t->h, "not run", &r);
		return false;
	}
	return true;
}

/* EXEC_BUSY: another run was faster. */
static int make_home(struct turn *t)
{
	bool busy = false;

	if (t->home || strcmp(t->binding->kind, "container") != 0)
		return 0;
	t->home = work_home(t->h, t->work, t->binding->config->home_seed, !t->no_wait, &busy);
	if (t->home && t->executor->settle)
		t->executor->settle(t->home);
	return t->home ? 0 : busy ? EXEC_BUSY : EXIT_NOT_RUN;
}

static int choose_id(struct turn *t)
{
	if (!t->queued)
		return host_run_id(t->run);
	snprintf(t->run, sizeof(t->run), "%s", t->queued);
	return 0;
}

/* {run} of this run, as the run will see it: without links. */
static char *run_dir(struct turn *t)
{
	char *state = realpath(oc_context_state_dir(t->h->ctx), NULL), *dir = NULL;

	if (state && asprintf(&dir, "%s/live/%s/run", state, t->run) < 0)
		dir = NULL;
	free(state);
	return dir;
}

/* Whoever may be its host from now on needn't wait to see whether we still are. */
static void note_left(struct host *h, const char *run)
{
	oc_error *err = NULL;

	if (oc_store_note(h->store, run, "left", "{}", &err) < 0)
		oc_error_free(err);
}

/* The end of the run, before its answer: its commits, and the end of a Work that was its own. */
static int after(struct host *h, const char *run, int status, json_t *answer, void *userdata)
{
	struct turn *t = userdata;

	json_object_set_new(answer, "work",
	                    json_pack("{s:s, s:s, s:s}", "id", host_string(t->work, "id"), "key",
	                              host_string(t->work, "key"), "branch", host_string(t->work, "branch")));
	t->told = true;
	if (t->executor->talk)
		status = agent_conclude(&t->agent, json_object_get(answer, "record"), status, answer);
	if (!t->detach || status != EXIT_GOOD)
		return work_after(h, t->work, run, status, answer);
	/* A run left to itself is saved by whoever comes after it. */
	note_left(h, run);
	return status;
}

/* Before a Work is begun.  Each attempt reads them anew, so that no value is kept while a busy Work is waited for. */
static bool check_secrets(struct turn *t)
{
	bool good = true;

	for (size_t i = 0; good && i < t->binding->n_secrets; i++) {
		const struct config_secret *s = &t->binding->secrets[i];
		struct secret_problem p = { { 0 }, { 0 } };
		struct secret_value value = { NULL, 0 };

		good = secret_read(s->variable, s->ref, &value, &p) == SECRET_PRESENT;
		if (!good)
			secret_refuse(t->h, "not run", s->name, &p);
		secret_value_free(&value);
		secret_problem_free(&p);
	}
	return good;
}

static void answer_call(oc_toolcall *call, void *userdata)
{
	struct turn *t = userdata;
	const struct toolbelt belt = { t->h, t->binding, host_string(t->work, "id"), t->run };

	toolbelt_call(&belt, call);
}

/* A run that can write the agent's own program decides what the next one is, and what its operator starts. */
static bool replaces_program(struct turn *t, oc_broker *broker, const oc_request *request)
{
	const char *program = request->argv[0];
	struct refusal r = {
		"sandbox_denied", program,
		"the policy lets the run write the program that it is: the next turn would start what this one "
		"left there",
		"take the directory out of write, or install it elsewhere"
	};
	json_t *answer = NULL;
	char *text = NULL;
	bool may;

	/* What a policy can't be read for is told by the run itself, with everything else.  A container's is its image's. */
	if (!request->policy || t->home || !t->executor->talk ||
	    oc_broker_explain(broker, request, "write", program, &text, NULL) < 0)
		return false;
	answer = host_parse(t->h, "what the policy says of the program", text);
	may = !answer || json_is_true(json_object_get(answer, "allowed"));
	if (may && answer)
		host_refuse(t->h, "not run", &r);
	json_decref(answer);
	return may;
}

static int perform(struct turn *t, oc_broker *broker, const struct executor_launch *launch, struct exec_args *a)
{
	oc_request request = OC_REQUEST_INIT;
	char *belt = t->toolbelt ? toolbelt_request(t->binding) : NULL, *git = NULL;
	int status;

	if (!binding_git(t->binding, &git) || (t->toolbelt && !belt)) {
		free(git);
		free(belt);
		out_put(&t->h->err, "open-conduit: out of memory\n");
		return EXIT_NOT_RUN;
	}
	a->call = answer_call;
	a->call_userdata = t;
	request.toolbelt = belt;
	request.git_credential = git;
	request.run = t->run;
	request.work = host_string(t->work, "id");
	request.binding = t->binding->full;
	request.policy = t->binding->place ? t->binding->place->policy : NULL;
	request.workspace = host_string(t->work, "workspace");
	request.argv = texts_list(&launch->argv);
	request.env = texts_list(&launch->env);
	request.secrets = a->secret.v;
	request.need_hosts = texts_list(&launch->hosts);
	request.need_read = texts_list(&launch->read);
	request.need_write = texts_list(&launch->write);
	request.files = texts_list(&launch->files);
	request.keep = t->detach;
	request.timeout_ms = t->timeout_ms;
	status = replaces_program(t, broker, &request) ? EXIT_NOT_RUN : exec_run(t->h, broker, &request, a);
	free(git);
	free(belt);
	return status;
}

/* What an executor that speaks needs before its command is made: a session, and what is said first. */
static int prepare_talk(struct turn *t, struct executor_turn *turn)
{
	int rc;

	if (!t->executor->talk)
		return 0;
	prompt_free(&t->prompt);
	rc = session_choose(t->h, t->executor, turn, t->work, &t->session);
	if (rc == 0)
		rc = prompt_make(t->h, turn, t->executor, t->config->dir, host_string(t->work, "id"), &t->prompt);
	turn->prompt = t->prompt.line;
	turn->session = t->session.id;
	turn->resume = t->session.resume;
	return rc;
}

static int perform_talk(struct turn *t, oc_broker *broker, const struct executor_launch *launch, struct exec_args *a)
{
	const struct config_requires *requires = t->binding->requires;
	int status = EXIT_NOT_RUN;

	t->agent = (struct agent){ .h = t->h,
		                   .executor = t->executor,
		                   .work = host_string(t->work, "id"),
		                   .run = t->run,
		                   .prompt = &t->prompt,
		                   .detach = t->detach,
		                   .hosted = t->queued && t->executor->inject,
		                   .needs_tools = requires && requires->toolbelt };
	a->talk = &agent_talk;
	a->talk_userdata = &t->agent;
	if (agent_begin(&t->agent) < 0)
		out_put(&t->h->err, "open-conduit: out of memory\n");
	else if (prompt_give(t->h, &t->prompt, host_string(t->work, "id"), t->run) == 0)
		status = perform(t, broker, launch, a);
	agent_end(&t->agent);
	return status;
}

/* Git commits in the bot's name where its connection says so: asked before anything is planned. */
static bool ask_bot(struct turn *t)
{
	const struct config_connection *link = t->binding->link;
	json_t *request, *error = NULL;

	if (!link || strcmp(link->config->git, "bot") != 0)
		return true;
	request = github_request(link, t->binding->repo, "identity", &error);
	if (request)
		t->bot = github_wait(t->h, request, &error);
	if (!t->bot)
		host_report_json(t->h, "not run", error);
	json_decref(error);
	return t->bot != NULL;
}

/* The variables win over what the clone's configuration says; what the binding sets itself wins over them. */
static void name_bot(const struct turn *t, struct texts *env)
{
	static const struct {
		const char *variable, *member;
	} names[] = { { "GIT_AUTHOR_NAME", "name" },
		      { "GIT_AUTHOR_EMAIL", "email" },
		      { "GIT_COMMITTER_NAME", "name" },
		      { "GIT_COMMITTER_EMAIL", "email" } };

	for (size_t i = 0; t->bot && i < sizeof(names) / sizeof(names[0]); i++)
		if (!executor_variable(t->binding, names[i].variable))
			texts_add(env, "%s=%s", names[i].variable, host_string(t->bot, names[i].member));
}

/* One attempt at the turn: EXEC_BUSY when another run was faster. */
static int attempt(struct turn *t, oc_broker *broker)
{
	struct exec_args a = { .detach = t->detach, .retry_busy = !t->no_wait, .after = after, .after_userdata = t };
	struct executor_launch launch = { { 0 } };
	struct texts specs = { 0 };
	int status = EXIT_NOT_RUN;
	char *dir = NULL;

	if (choose_id(t) == 0 && (dir = run_dir(t))) {
		struct executor_turn turn = { .binding = t->binding,
			                      .input = &t->input,
			                      .run_dir = dir,
			                      .work = host_string(t->work, "key"),
			                      .branch = host_string(t->work, "branch"),
			                      .home = t->home };
		int rc;

		turn.toolbelt = t->toolbelt = toolbelt_wanted(t->binding, t->executor->toolbelt);
		rc = prepare_talk(t, &turn);

		if (rc == 0)
			rc = t->executor->prepare(t->h, &turn, &launch);
		name_bot(t, &launch.env);
		if (!binding_secrets(t->binding, &a, &specs) ||
		    (rc == 0 && (launch.argv.failed || launch.env.failed || launch.files.failed))) {
			out_put(&t->h->err, "open-conduit: out of memory\n");
			rc = -1;
		}
		if (rc == 0 && exec_secrets(t->h, &a) == 0)
			status = t->executor->talk ? perform_talk(t, broker, &launch, &a)
			                           : perform(t, broker, &launch, &a);
	}
	exec_secrets_free(&a);
	free(a.secret.v);
	executor_launch_free(&launch);
	texts_free(&specs);
	free(dir);
	return status;
}

/* The issue that the Work's turns are about: what its toolbelt's operations on an issue act on. */
static bool keep_number(struct turn *t)
{
	const json_t *number = json_object_get(t->input.json, "number");
	oc_error *err = NULL;
	char text[64];
	int rc;

	if (!t->binding->repo || json_integer_value(number) <= 0)
		return true;
	snprintf(text, sizeof(text), "{\"number\":%lld}", (long long)json_integer_value(number));
	rc = oc_work_set(t->h->store, host_string(t->work, "id"), TOOLBELT_GITHUB, text, &err);
	if (rc < 0)
		host_report(t->h, "not run", err);
	oc_error_free(err);
	return rc >= 0;
}

static int run(struct turn *t)
{
	oc_broker *broker = NULL;
	int status = EXEC_BUSY;

	if (binding_broker(t->h, "not run", t->config, t->binding, &broker) < 0)
		return EXIT_NOT_RUN;
	while (status == EXEC_BUSY) {
		status = ready(t) && keep_number(t) ? make_home(t) : EXIT_NOT_RUN;
		if (status == 0)
			status = attempt(t, broker);
	}
	oc_broker_free(broker);
	/* A Work of its own has no second turn, also when the first one never was. */
	if (!t->told && json_is_true(json_object_get(t->work, "own")))
		json_decref(work_end(t->h, host_string(t->work, "id"), true));
	if (t->detach && status == EXIT_GOOD && !t->h->json)
		out_printf(&t->h->out, "%s\n", t->run);
	return status;
}

/* With a daemon a detached turn is its own: 1, or 0 where there is none and it is ours; negative: said why not. */
static int submit(struct turn *t)
{
	struct link_turn turn = {
		.run = t->run, .binding = t->name, .key = t->key, .input = t->input.text, .timeout_ms = t->timeout_ms
	};

	/* Who won't wait for a busy Work doesn't wait in a queue either. */
	if (!t->detach || t->no_wait || t->queued)
		return 0;
	return host_run_id(t->run) < 0 ? -1 : link_submit(t->h, &turn);
}

/* Started by the daemon: the id is one that somebody was given, and descriptor 3 says by its lock that we are there. */
static bool take_queued(struct turn *t)
{
	t->queued = getenv("OPEN_CONDUIT_QUEUED");
	if (!t->queued)
		return true;
	if (strlen(t->queued) != HOST_RUN_ID || strspn(t->queued, HOST_RUN_LETTERS) != HOST_RUN_ID ||
	    fcntl(3, F_SETFD, FD_CLOEXEC) < 0) {
		out_put(&t->h->err, "open-conduit: OPEN_CONDUIT_QUEUED is set by open-conduit serve alone\n");
		return false;
	}
	return true;
}

static int perform_turn(struct turn *t)
{
	int status = EXIT_NOT_RUN, rc = submit(t);

	if (rc)
		return rc > 0 ? EXIT_GOOD : status;
	if (check_secrets(t) && host_open(t->h) >= 0) {
		json_decref(host_recover(t->h));
		work_settle(t->h);
		if (ask_bot(t) && open_work(t) && may_run(t))
			status = run(t);
	}
	return status;
}

static int turn(struct turn *t)
{
	int status = EXIT_NOT_RUN;

	if (take_queued(t) && find_binding(t) && needs_clone(t) && (t->executor = executor_find(t->h, t->binding)) &&
	    turn_input_read(t->h, t->input_text, &t->input) == 0)
		status = perform_turn(t);
	json_decref(t->work);
	json_decref(t->bot);
	free(t->home);
	prompt_free(&t->prompt);
	turn_input_free(&t->input);
	config_free(t->config);
	return status;
}

int cmd_run(struct host *h, int argc, char **argv)
{
	struct turn t = { .h = h };
	struct opt_state s;
	int o;

	opt_begin(&s, &COMMAND, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		switch (o) {
		case OPT_HELP:
			return EXIT_GOOD;
		case OPT_BAD:
			return EXIT_USAGE;
		case O_WORK:
			t.key = s.value;
			break;
		case O_INPUT:
			t.input_text = s.value;
			break;
		case O_TIMEOUT:
			t.timeout_ms = opt_duration(s.value);
			if (t.timeout_ms <= 0)
				return opt_usage_error(&s, "--timeout %s is no time; write 30, 30s, 500ms, 5m or 2h",
				                       s.value);
			break;
		default:
			t.detach |= o == O_DETACH;
			t.no_wait |= o == O_NO_WAIT;
			h->json |= o == O_JSON;
			h->verbose |= o == O_VERBOSE;
		}
	}
	if (s.nargs != 1)
		return opt_usage_error(&s, s.nargs ? "one binding at a time"
		                                   : "which binding? SCOPE/BINDING of the config");
	t.name = s.args[0];
	return turn(&t);
}
