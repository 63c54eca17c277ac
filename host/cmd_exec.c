/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binding.h"
#include "secret/secret.h"

#define OWN 3 /* words that are ours */

enum {
	O_SANDBOX,
	O_UNSANDBOXED,
	O_WRITE,
	O_READ,
	O_DENY,
	O_ALLOW,
	O_POLICY,
	O_ENV,
	O_SECRET,
	O_TIMEOUT,
	O_JSON,
	O_VERBOSE,
	O_CONTAINER,
	O_CONTEXT,
	O_CLONE,
	O_CPUS,
	O_MEMORY,
	O_PIDS,
};

static const struct opt OPTIONS[] = {
	[O_SANDBOX] = { "sandbox", 0, "PROVIDER", "the process sandbox that confines it (default: srt)" },
	[O_UNSANDBOXED] = { "unsandboxed", 0, NULL, "confine nothing; the record says so" },
	[O_WRITE] = { "write", 0, "PATH", "may also write PATH" },
	[O_READ] = { "read", 0, "PATH", "may read PATH although a deny covers it" },
	[O_DENY] = { "deny", 0, "PATH", "may not read PATH" },
	[O_ALLOW] = { "allow", 0, "HOST[:PORT]", "may reach HOST; *.domain: any name under it" },
	[O_POLICY] = { "policy", 0, "FILE", "the whole policy from FILE, instead of the flags above" },
	[O_ENV] = { "env", 0, "NAME[=VALUE]", "set a variable; without a value: take it from here" },
	[O_SECRET] = { "secret", 0, "NAME[=SOURCE]", "a variable that is recorded nowhere; see below" },
	[O_CLONE] = { "clone", 0, NULL, "in a throw-away clone of this repository; its commits are saved" },
	[O_TIMEOUT] = { "timeout", 0, "TIME", "end it after TIME: 30, 30s, 500ms, 5m, 2h" },
	[O_JSON] = { "json", 0, NULL, "the record on stdout; the command's output on stderr" },
	[O_VERBOSE] = { "verbose", 'v', NULL, "say the run's id, and more of what happens" },
	[O_CONTAINER] = { "container", 0, "IMAGE", "in a container of NAME@sha256:DIGEST instead" },
	[O_CONTEXT] = { "context", 0, "CONTEXT", "container: the Docker context (default: default)" },
	[O_CPUS] = { "cpus", 0, "N", "container: processors, also parts of one" },
	[O_MEMORY] = { "memory", 0, "SIZE", "container: 512m, 8g" },
	[O_PIDS] = { "pids", 0, "N", "container: processes (default: 4096)" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command COMMAND = {
	.name = "exec",
	.args = "[--] COMMAND [ARGUMENT…]",
	.about = "Run one command in a process sandbox, or a container: the current directory writable, no network.",
	.more = "SOURCE is env:VARIABLE (default: the variable of that NAME) or file:PATH (mode 0600).\n"
	        "--write, --read, --deny, --allow, --env and --secret may be given more than once.\n\n"
	        "exit status: the command's own; 128+N when signal N ended it; 124 timeout; 125 not run, or the\n"
	        "run failed (the reason is on stderr); 126 not executable; 127 not found; 2 usage.\n",
	.opts = OPTIONS,
	.rest = true,
};

static void add(struct words *w, const char *word)
{
	w->v[w->n++] = word;
}

/* git gc would write into .git/info, which is read-only, and say so each time.  What was asked for comes after it, and wins. */
static void exec_git(struct words *env)
{
	static const char *const ours[] = { "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=repack.updateServerInfo",
		                            "GIT_CONFIG_VALUE_0=false" };
	size_t n = sizeof(ours) / sizeof(ours[0]);

	memmove(env->v + n, env->v, (env->n + 1) * sizeof(*env->v));
	memcpy(env->v, ours, sizeof(ours));
	env->n += n;
}

static int allocate(struct exec_args *a, int argc)
{
	struct words *all[] = { &a->write, &a->read, &a->deny, &a->allow, &a->env, &a->secret };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		all[i]->v = calloc((size_t)argc + 1 + OWN, sizeof(char *));
		if (!all[i]->v)
			return -1;
	}
	return 0;
}

static void release(struct exec_args *a)
{
	exec_secrets_free(a);
	free(a->write.v);
	free(a->read.v);
	free(a->deny.v);
	free(a->allow.v);
	free(a->env.v);
	free(a->secret.v);
	free(a->cwd);
	free(a->policy);
}

/* NAME or NAME=SOURCE; NULL, or what is wrong with it. */
static const char *check_secret(const char *spec)
{
	size_t n = strcspn(spec, "=");

	if (!n || strspn(spec, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") < n ||
	    (*spec >= '0' && *spec <= '9'))
		return "its NAME must be the name of a variable";
	if (!spec[n] || secret_ref_valid(spec + n + 1))
		return NULL;
	return "its source must be keyring:NAME, file:PATH or env:VARIABLE (a value is never an argument: others can "
	       "read those)";
}

static int take(struct host *h, struct exec_args *a, struct opt_state *s, int o)
{
	const char *wrong;

	switch (o) {
	case O_SANDBOX:
		a->sandbox = s->value;
		break;
	case O_UNSANDBOXED:
		a->unsandboxed = true;
		break;
	case O_WRITE:
		add(&a->write, s->value);
		break;
	case O_READ:
		add(&a->read, s->value);
		break;
	case O_DENY:
		add(&a->deny, s->value);
		break;
	case O_ALLOW:
		add(&a->allow, s->value);
		break;
	case O_POLICY:
		a->policy_file = s->value;
		break;
	case O_ENV:
		add(&a->env, s->value);
		break;
	case O_JSON:
		h->json = true;
		break;
	case O_VERBOSE:
		h->verbose = true;
		break;
	case O_CONTAINER:
		a->container = s->value;
		break;
	case O_CONTEXT:
		a->context = s->value;
		break;
	case O_CPUS:
		a->cpus = s->value;
		break;
	case O_MEMORY:
		a->memory = s->value;
		break;
	case O_PIDS:
		a->pids = s->value;
		break;
	case O_CLONE:
		a->clone = true;
		break;
	case O_SECRET:
		wrong = check_secret(s->value);
		if (wrong) {
			/* Not repeated: what is wrong may be a value. */
			return opt_usage_error(s, "--secret: %s", wrong);
		}
		add(&a->secret, s->value);
		break;
	case O_TIMEOUT:
		a->timeout_ms = opt_duration(s->value);
		if (a->timeout_ms < 0)
			return opt_usage_error(s, "--timeout %s is no time; write 30, 30s, 500ms, 5m or 2h", s->value);
		break;
	default:
		break;
	}
	return 0;
}

/* What is only said of a container. */
static int check_container(struct exec_args *a, struct opt_state *s)
{
	bool limits = a->cpus || a->memory || a->pids;

	if (a->container && a->deny.n)
		return opt_usage_error(
		        s, "a container has nothing of this machine but what is granted, so --deny would deny nothing");
	if (a->container && a->policy_file && (limits || a->context))
		return opt_usage_error(
		        s, "--policy is the whole policy: put what --context, --cpus, --memory and --pids say into it");
	if (!a->container && a->context)
		return opt_usage_error(s, "--context goes with --container");
	return 0;
}

/* What can't be meant together. */
static int check_together(struct exec_args *a, struct opt_state *s)
{
	bool grants = a->write.n || a->read.n || a->deny.n || a->allow.n;

	if ((a->sandbox != NULL) + a->unsandboxed + (a->container != NULL) > 1)
		return opt_usage_error(s, "choose one of --sandbox, --container and --unsandboxed");
	if (a->unsandboxed && (grants || a->policy_file))
		return opt_usage_error(
		        s, "an unsandboxed run enforces no policy, so --write, --read, --deny, --allow and --policy "
		           "would not hold; leave them or --unsandboxed out");
	if (a->policy_file && grants)
		return opt_usage_error(
		        s, "--policy is the whole policy: put what --write, --read, --deny or --allow add into it");
	if (s->nargs == 0)
		return opt_usage_error(s, "there is no command to run");
	if (!*s->args[0])
		return opt_usage_error(s, "the command's name is empty");
	a->command = s->args;
	return check_container(a, s);
}

/* Known, and refused rather than ignored: nothing runs with less than was asked for. */
static int check_limits(struct host *h, const struct exec_args *a)
{
	struct refusal limit = {
		"sandbox_config",
		a->cpus     ? "--cpus"
		: a->memory ? "--memory"
		            : "--pids",
		"a process sandbox can't hold a run to a limit on processors, memory or processes",
		"use a container, or limit the whole: systemd-run --user --scope -p MemoryMax=2G open-conduit exec …"
	};

	if (a->container || (!a->cpus && !a->memory && !a->pids))
		return 0;
	if (a->unsandboxed)
		limit.message = "an unsandboxed run can't be held to a limit on processors, memory or processes";
	host_refuse(h, "not run", &limit);
	return OC_EREFUSED;
}

static int make_broker(struct host *h, const struct exec_args *a, oc_broker **broker)
{
	oc_broker_options o = host_broker_options(a->sandbox);
	oc_error *err = NULL;
	int rc;

	if (a->container)
		return binding_container_broker(h, "not run", NULL, NULL, broker);
	if (a->unsandboxed)
		rc = oc_unsandboxed_broker_new(h->store, NULL, broker, &err);
	else
		rc = oc_sandbox_broker_new(h->store, &o, broker, &err);
	if (rc < 0)
		host_report(h, "not run", err);
	oc_error_free(err);
	return rc;
}

static int find_cwd(struct host *h, struct exec_args *a)
{
	struct refusal r = { "sandbox_config", ".", NULL, "cd to a directory that exists" };

	a->cwd = getcwd(NULL, 0);
	if (a->cwd && *a->cwd == '/')
		return 0;
	r.message = a->cwd ? "the current directory can't be reached by a path" : "the current directory is gone";
	host_refuse(h, "not run", &r);
	return OC_EREFUSED;
}

static int perform(struct host *h, struct exec_args *a)
{
	oc_request request = OC_REQUEST_INIT;
	oc_broker *broker = NULL;
	struct exec_clone clone;
	int status = EXIT_NOT_RUN;

	if (find_cwd(h, a) < 0 || check_limits(h, a) < 0 || (!a->unsandboxed && exec_policy(h, a) < 0) ||
	    exec_secrets(h, a) < 0 || host_open(h) < 0)
		return status;
	json_decref(host_recover(h));
	if (make_broker(h, a, &broker) < 0)
		return status;
	request.policy = a->policy;
	request.workspace = a->cwd;
	request.argv = (const char *const *)a->command;
	if (a->container && a->clone)
		exec_git(&a->env);
	request.env = a->env.v;
	request.secrets = a->secret.v;
	request.timeout_ms = a->timeout_ms;
	if (exec_clone_begin(h, a, &clone) == 0) {
		if (clone.work) {
			request.work = host_string(clone.work, "id");
			request.workspace = host_string(clone.work, "workspace");
			request.cwd = clone.cwd;
		}
		if (a->unsandboxed || exec_policy_protected(h, broker, a, &request) == 0)
			status = exec_run(h, broker, &request, a);
	}
	exec_clone_end(h, &clone);
	oc_broker_free(broker);
	return status;
}

int cmd_exec(struct host *h, int argc, char **argv)
{
	struct exec_args a = { 0 };
	struct opt_state s;
	int o, rc = allocate(&a, argc) < 0 ? EXIT_NOT_RUN : 0;

	opt_begin(&s, &COMMAND, argc, argv, &h->out, &h->err);
	while (!rc && (o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD) {
			release(&a);
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		}
		rc = take(h, &a, &s, o);
	}
	if (!rc)
		rc = check_together(&a, &s);
	if (!rc)
		rc = perform(h, &a);
	release(&a);
	return rc;
}
