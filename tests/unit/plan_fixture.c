/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "suite.h"

void fixture_ok(int rc, oc_error *err)
{
	ck_assert_msg(rc >= 0, "%d: %s (subject %s)", rc, oc_error_message(err), oc_error_subject(err));
	oc_error_free(err);
}

oc_context *fixture_context(const char *state)
{
	oc_context_options options = OC_CONTEXT_OPTIONS_INIT;
	oc_context *ctx = NULL;

	options.state_dir = state;
	OK(oc_context_new(&options, &ctx, &err));
	return ctx;
}

static json_t *resolved_of(struct fixture *f, const char *run)
{
	struct stat st;
	json_t *json;

	ck_assert_int_eq(stat(f->ws, &st), 0);
	json = json_pack("{s:s, s:s, s:o, s:[{s:s,s:s,s:s,s:I,s:I,s:b},{s:o,s:s,s:s,s:i,s:i,s:b}], "
	                 "s:[{s:s,s:b,s:s,s:s,s:b,s:b}],"
	                 " s:[{s:s,s:s,s:b,s:b}], s:[], s:n, s:[{s:s,s:s,s:i,s:b}], s:s, s:[], s:[], s:[s]}",
	                 "home", f->home, "workspace", f->ws, "run_dir", json_sprintf("%s/live/%s/run", f->state, run),
	                 "write", "path", f->ws, "rule", "write[0]", "as", "{workspace}", "dev", (json_int_t)st.st_dev,
	                 "ino", (json_int_t)st.st_ino, "dir", 1, "path", json_sprintf("%s/live/%s/run", f->state, run),
	                 "rule", "{run}", "as", "{run}", "dev", 0, "ino", 0, "dir", 1, "read", "path",
	                 "/home/nobody/.ssh", "allow", 0, "rule", "default", "as", "~/.ssh", "exists", 0, "dir", 1,
	                 "protected", "path", f->state, "what", "state", "exists", 1, "dir", 1, "readonly", "git",
	                 "network", "entry", "github.com", "host", "github.com", "port", 0, "wildcard", 0,
	                 "unix_sockets", "none", "sockets", "hidden", "tools", "/usr/bin/env");
	ck_assert_ptr_nonnull(json);
	return json;
}

static void make_json(struct fixture *f)
{
	f->reply = json_pack(
	        "{s:{s:s}, s:{s:[s,s],s:{s:s},s:s,s:[{s:i,s:s}],s:i}, s:{s:b,s:b,s:b,s:b,s:b,s:i}, s:[s,s], s:{s:s},"
	        " s:[s], s:[s]}",
	        "identity", "srt", "0.0.83", "launch", "argv", "/usr/bin/env", "x", "env", "PATH", "/usr/bin", "cwd",
	        f->ws, "files", "fd", 3, "text", "{}", "hello_retries", 3, "guest", "landlock", 1, "nest", 0,
	        "deny_ipc", 1, "deny_trace", 0, "unix", 0, "filters", 1, "inherit", "HTTP_PROXY", "HTTPS_PROXY",
	        "proxy", "variable", "HTTP_PROXY", "tools", "/usr/bin/env", "notes", "no hosts are reported");
	f->provider = json_pack("{s:s,s:s,s:s,s:s}", "name", "srt", "version", "0.1.0", "path", "/usr/bin/env",
	                        "digest", FIXTURE_DIGEST);
	ck_assert_ptr_nonnull(f->reply);
	ck_assert_ptr_nonnull(f->provider);
}

void fixture_open(struct fixture *f)
{
	static const char text[] = "{\"write\":[\"{workspace}\"],\"network\":{\"allow\":[\"github.com\"]}}";
	oc_request request = OC_REQUEST_INIT;

	memset(f, 0, sizeof(*f));
	f->dir = suite_mkdir();
	snprintf(f->state, sizeof(f->state), "%s/state", f->dir);
	snprintf(f->ws, sizeof(f->ws), "%s/ws", f->dir);
	snprintf(f->home, sizeof(f->home), "%s/home", f->dir);
	ck_assert_int_eq(mkdir(f->ws, 0700) | mkdir(f->home, 0700), 0);
	f->ctx = fixture_context(f->state);
	make_json(f);
	OK(oc_policy_parse("sandbox", text, strlen(text), &f->policy, &err));
	snprintf(f->env_path, sizeof(f->env_path), "PATH=/usr/bin:/bin");
	snprintf(f->env_term, sizeof(f->env_term), "TERM=dumb");
	snprintf(f->env_home, sizeof(f->env_home), "USER=tester");
	f->env[0] = f->env_path;
	f->env[1] = f->env_term;
	f->env[2] = f->env_home;
	f->argv[0] = "sh";
	f->argv[1] = "-c";
	f->argv[2] = "true";
	f->request = request;
	f->request.argv = f->argv;
	f->request.workspace = f->ws;
}

oc_plan *fixture_plan(struct fixture *f, const char *run)
{
	oc_plan *plan = NULL;

	json_decref(f->resolved);
	f->resolved = resolved_of(f, run);
	f->in = (struct oc_plan_input){ .request = &f->request,
		                        .kind = "sandbox",
		                        .run = run,
		                        .policy = f->policy,
		                        .resolved = f->resolved,
		                        .reply = f->reply,
		                        .provider = f->provider,
		                        .guest = "/usr/bin/env",
		                        .guest_digest = FIXTURE_DIGEST,
		                        .state_dir = f->state,
		                        .home = f->home,
		                        .environ = f->env };
	OK(oc_plan_build(&f->in, &plan, &err));
	return plan;
}

oc_plan *fixture_plan_none(struct fixture *f, const char *run)
{
	struct oc_plan_input in = { .request = &f->request,
		                    .kind = "none",
		                    .run = run,
		                    .guest = "/usr/bin/env",
		                    .guest_digest = FIXTURE_DIGEST,
		                    .state_dir = f->state,
		                    .home = f->home,
		                    .environ = f->env };
	oc_plan *plan = NULL;

	OK(oc_plan_build(&in, &plan, &err));
	return plan;
}

void fixture_close(struct fixture *f)
{
	json_decref(f->resolved);
	json_decref(f->reply);
	json_decref(f->provider);
	oc_policy_free(f->policy);
	oc_context_free(f->ctx);
	suite_rmdir(f->dir);
}

oc_store *fixture_store(struct fixture *f)
{
	oc_store *store = NULL;

	OK(oc_store_open(f->ctx, &store, &err));
	return store;
}

json_t *fixture_run(oc_store *store, const char *id)
{
	char *text = NULL;
	json_t *json;

	OK(oc_store_run(store, id, &text, &err));
	json = json_loads(text, 0, NULL);
	free(text);
	ck_assert_ptr_nonnull(json);
	return json;
}
