/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "base/time.h"
#include "guest/channel.h"
#include "plan_fixture.h"
#include "store/store.h"
#include "suite.h"

#define RUN "abcdefgh"

static struct fixture f;

static const json_t *command(const oc_plan *plan)
{
	return json_object_get(plan->json, "command");
}

/* The value of a variable: text, NULL for one of the host's, "(absent)". */
static const char *variable(const oc_plan *plan, const char *name)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(command(plan), "env"), i, entry)
	{
		if (strcmp(oc_json_text(entry, "name"), name) == 0)
			return oc_json_text(entry, "value");
	}
	return "(absent)";
}

static bool probed(const oc_plan *plan, const char *id, int kind, const char *first)
{
	const json_t *probe;
	size_t i;

	json_array_foreach(json_object_get(plan->json, "probes"), i, probe)
	{
		const char *arg = json_string_value(json_array_get(json_object_get(probe, "args"), 0));

		if (strcmp(oc_json_text(probe, "id"), id) == 0 && oc_json_integer(probe, "kind", 0) == kind &&
		    (!first || (arg && strcmp(arg, first) == 0)))
			return true;
	}
	return false;
}

START_TEST(test_build)
{
	oc_plan *plan, *again = NULL;
	bool same = false;
	char path[400];

	fixture_open(&f);
	plan = fixture_plan(&f, RUN);
	ck_assert_str_eq(oc_plan_run(plan), RUN);
	ck_assert_str_eq(oc_plan_kind(plan), "sandbox");
	ck_assert(strncmp(oc_plan_digest(plan), "sha256:", 7) == 0);
	ck_assert_str_eq(json_string_value(json_array_get(json_object_get(command(plan), "argv"), 0)), "/usr/bin/sh");
	ck_assert_str_eq(variable(plan, "PATH"), "/usr/local/bin:/usr/bin:/bin");
	ck_assert_str_eq(variable(plan, "USER"), "tester");
	ck_assert_ptr_null(variable(plan, "TERM"));
	ck_assert_str_eq(variable(plan, "LANG"), "(absent)");
	ck_assert_str_eq(variable(plan, "OPEN_CONDUIT_RUN"), RUN);
	snprintf(path, sizeof(path), "%s/live/" RUN "/run/tmp", f.state);
	ck_assert_str_eq(variable(plan, "TMPDIR"), path);
	OK(oc_plan_load(oc_plan_json(plan), strlen(oc_plan_json(plan)), &again, &err));
	ck_assert_str_eq(oc_plan_digest(plan), oc_plan_digest(again));
	oc_plan_free(again);
	/* The same again, once nobody opens or closes a socket meanwhile: the probes name those that listen on this machine. */
	for (int i = 0; i < 20 && !same; i++) {
		oc_plan_free(plan);
		plan = fixture_plan(&f, RUN);
		again = fixture_plan(&f, RUN);
		same = strcmp(oc_plan_json(plan), oc_plan_json(again)) == 0;
		oc_plan_free(again);
	}
	ck_assert(same);
	oc_plan_free(plan);
	fixture_close(&f);
}
END_TEST

START_TEST(test_probes)
{
	oc_plan *plan;
	char path[400];

	fixture_open(&f);
	plan = fixture_plan(&f, RUN);
	ck_assert(probed(plan, "P2", OC_PROBE_NO_ROUTE, "169.254.169.254"));
	ck_assert(probed(plan, "P4", OC_PROBE_NO_NAME, RUN ".invalid"));
	ck_assert(probed(plan, "P5", OC_PROBE_PROXY, "HTTP_PROXY"));
	snprintf(path, sizeof(path), "%s/state.db", f.state);
	ck_assert(probed(plan, "P6", OC_PROBE_UNREADABLE, path));
	snprintf(path, sizeof(path), "%s/runs/" RUN "/plan.json", f.state);
	ck_assert(probed(plan, "P6", OC_PROBE_UNREADABLE, path));
	ck_assert(probed(plan, "P7", OC_PROBE_UNREADABLE, "/home/nobody/.ssh"));
	ck_assert(probed(plan, "P7", OC_PROBE_READABLE, "/usr/bin/env"));
	ck_assert(probed(plan, "P8", OC_PROBE_UNWRITABLE, f.home));
	ck_assert(probed(plan, "P8", OC_PROBE_UNWRITABLE, f.dir));
	ck_assert(probed(plan, "P8", OC_PROBE_WRITABLE, f.ws));
	ck_assert(!probed(plan, "P8", OC_PROBE_UNWRITABLE, f.ws));
	ck_assert(probed(plan, "P10", OC_PROBE_NO_SOCKET, "/run/docker.sock"));
	ck_assert(probed(plan, "P11", OC_PROBE_STDIO, NULL));
	ck_assert(probed(plan, "P11", OC_PROBE_ENVIRONMENT, "PATH"));
	ck_assert(probed(plan, "P14", OC_PROBE_SAME, f.ws));
	ck_assert(probed(plan, "P15", OC_PROBE_PRIVILEGES, "before"));
	ck_assert(probed(plan, "P15", OC_PROBE_PRIVILEGES, "after"));
	ck_assert(probed(plan, "P16", OC_PROBE_TRACE, NULL));
	/* An engine that promises no filter of its own is not asked for one. */
	json_object_set_new(json_object_get(f.reply, "guest"), "filters", json_integer(0));
	oc_plan_free(plan);
	plan = fixture_plan(&f, RUN);
	ck_assert(!probed(plan, "P15", OC_PROBE_PRIVILEGES, "before"));
	oc_plan_free(plan);
	fixture_close(&f);
}
END_TEST

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_uint_lt(strlen(path), sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path) + 1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	return fd;
}

/* {toolbelt} has no path on the host, and must be in nobody's way. */
START_TEST(test_toolbelt)
{
	oc_plan *plan = NULL, *again = NULL;
	char path[300];
	int fd;

	fixture_open(&f);
	oc_plan_free(fixture_plan(&f, RUN));
	snprintf(path, sizeof(path), "%s/s", f.dir);
	fd = listen_at(path);
	json_object_set_new(f.resolved, "unix_sockets", json_string("all"));
	json_object_set_new(f.resolved, "sockets",
	                    json_pack("[{s:n,s:s,s:s},{s:s,s:s,s:s}]", "path", "rule", "sockets[0]", "as", "{toolbelt}",
	                              "path", path, "rule", "sockets[1]", "as", path));
	OK(oc_plan_build(&f.in, &plan, &err));
	ck_assert(probed(plan, "P10", OC_PROBE_SOCKET, path));
	OK(oc_plan_load(oc_plan_json(plan), strlen(oc_plan_json(plan)), &again, &err));
	ck_assert_str_eq(oc_plan_digest(plan), oc_plan_digest(again));
	oc_plan_free(again);
	oc_plan_free(plan);
	/* Only it: any other socket needs its path. */
	json_object_set_new(json_array_get(json_object_get(f.resolved, "sockets"), 0), "as", json_string("/x"));
	plan = NULL;
	ck_assert_int_lt(oc_plan_build(&f.in, &plan, NULL), 0);
	close(fd);
	fixture_close(&f);
}
END_TEST

/* However many listen before it in the order of names, one of each directory is tried. */
#define BELT "{\"tools\":[{\"name\":\"say\",\"description\":\"says it\",\"inputSchema\":{\"type\":\"object\"}}]}"

static const char *placed(const oc_plan *plan, const char *name)
{
	const json_t *file;
	size_t i;

	json_array_foreach(json_object_get(command(plan), "files"), i, file)
	{
		if (strcmp(oc_json_text(file, "name"), name) == 0)
			return oc_json_text(file, "text");
	}
	return NULL;
}

/* What a run is offered is pinned, with where it is; in a sandbox that is no path, without one it is in {run}. */
START_TEST(test_offered)
{
	static const char *const wrong[] = {
		"",
		"[]",
		"{\"tools\":1}",
		"{\"tools\":[],\"more\":1}",
		"{\"tools\":[{\"name\":\"a b\"}]}",
		"{\"tools\":[{\"name\":\"a\",\"description\":\"\",\"inputSchema\":{\"type\":\"object\",\"oneOf\":[]}}]}"
	};
	const char *const own[] = { "mcp.json", "{}", NULL };
	oc_plan *plan, *again = NULL;

	fixture_open(&f);
	plan = fixture_plan(&f, RUN);
	ck_assert_ptr_null(json_object_get(plan->json, "toolbelt"));
	ck_assert_str_eq(variable(plan, "OPEN_CONDUIT_TOOLBELT"), "(absent)");
	oc_plan_free(plan);
	f.request.toolbelt = BELT;
	plan = fixture_plan(&f, RUN);
	ck_assert_str_eq(oc_json_text(json_object_get(plan->json, "toolbelt"), "at"), "7353");
	ck_assert_str_eq(variable(plan, "OPEN_CONDUIT_TOOLBELT"), "7353");
	ck_assert_ptr_nonnull(strstr(placed(plan, "mcp.json"), "\"mcp\""));
	OK(oc_plan_load(plan->text, strlen(plan->text), &again, &err));
	ck_assert_str_eq(again->digest, plan->digest);
	oc_plan_free(again);
	oc_plan_free(plan);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		oc_error *err = NULL;

		f.request.toolbelt = wrong[i];
		plan = NULL;
		ck_assert_msg(oc_plan_build(&f.in, &plan, &err) < 0 && !plan, "taken: %s", wrong[i]);
		oc_error_free(err);
	}
	f.request.toolbelt = BELT;
	f.request.files = own;
	plan = NULL;
	ck_assert_int_lt(oc_plan_build(&f.in, &plan, NULL), 0);
	f.request.files = NULL;
	plan = fixture_plan_none(&f, RUN);
	ck_assert_ptr_nonnull(strstr(variable(plan, "OPEN_CONDUIT_TOOLBELT"), "/live/" RUN "/run/toolbelt.sock"));
	oc_plan_free(plan);
	fixture_close(&f);
}
END_TEST

START_TEST(test_many_sockets)
{
	enum { MANY = 600 };
	int fds[MANY], last, i;
	char path[300];
	oc_plan *plan;

	fixture_open(&f);
	snprintf(path, sizeof(path), "%s/a", f.dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	for (i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "%s/a/%03d", f.dir, i);
		fds[i] = listen_at(path);
	}
	snprintf(path, sizeof(path), "%s/z", f.dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/z/s", f.dir);
	last = listen_at(path);
	plan = fixture_plan(&f, RUN);
	ck_assert(probed(plan, "P10", OC_PROBE_NO_SOCKET, path));
	snprintf(path, sizeof(path), "%s/a/000", f.dir);
	ck_assert(probed(plan, "P10", OC_PROBE_NO_SOCKET, path));
	snprintf(path, sizeof(path), "%s/a/599", f.dir);
	ck_assert(!probed(plan, "P10", OC_PROBE_NO_SOCKET, path));
	oc_plan_free(plan);
	for (i = 0; i < MANY; i++)
		close(fds[i]);
	close(last);
	fixture_close(&f);
}
END_TEST

/* The numbers are written twice, because this layer doesn't see the guest's; they are the same. */
START_TEST(test_kinds)
{
	ck_assert_int_eq((int)OC_PLAN_NO_ROUTE, (int)OC_PROBE_NO_ROUTE);
	ck_assert_int_eq((int)OC_PLAN_NO_TCP, (int)OC_PROBE_NO_TCP);
	ck_assert_int_eq((int)OC_PLAN_NO_NAME, (int)OC_PROBE_NO_NAME);
	ck_assert_int_eq((int)OC_PLAN_PROXY, (int)OC_PROBE_PROXY);
	ck_assert_int_eq((int)OC_PLAN_UNREADABLE, (int)OC_PROBE_UNREADABLE);
	ck_assert_int_eq((int)OC_PLAN_READABLE, (int)OC_PROBE_READABLE);
	ck_assert_int_eq((int)OC_PLAN_UNWRITABLE, (int)OC_PROBE_UNWRITABLE);
	ck_assert_int_eq((int)OC_PLAN_WRITABLE, (int)OC_PROBE_WRITABLE);
	ck_assert_int_eq((int)OC_PLAN_MOUNT_ROOT, (int)OC_PROBE_MOUNT_ROOT);
	ck_assert_int_eq((int)OC_PLAN_NO_SOCKET, (int)OC_PROBE_NO_SOCKET);
	ck_assert_int_eq((int)OC_PLAN_SOCKET, (int)OC_PROBE_SOCKET);
	ck_assert_int_eq((int)OC_PLAN_STDIO, (int)OC_PROBE_STDIO);
	ck_assert_int_eq((int)OC_PLAN_ENVIRONMENT, (int)OC_PROBE_ENVIRONMENT);
	ck_assert_int_eq((int)OC_PLAN_SAME, (int)OC_PROBE_SAME);
	ck_assert_int_eq((int)OC_PLAN_NAMESPACES, (int)OC_PROBE_NAMESPACES);
	ck_assert_int_eq((int)OC_PLAN_PRIVILEGES, (int)OC_PROBE_PRIVILEGES);
	ck_assert_int_eq((int)OC_PLAN_NO_WRITE_FIFO, (int)OC_PROBE_NO_WRITE_FIFO);
	ck_assert_int_eq((int)OC_PLAN_TRACE, (int)OC_PROBE_TRACE);
	ck_assert_int_eq((int)OC_PLAN_CONTAINER, (int)OC_PROBE_CONTAINER);
	ck_assert_int_eq((int)OC_PROBE_LAST, (int)OC_PROBE_CONTAINER);
}
END_TEST

START_TEST(test_none)
{
	oc_plan *plan;
	char *json = NULL;

	fixture_open(&f);
	plan = fixture_plan_none(&f, RUN);
	ck_assert_str_eq(oc_plan_kind(plan), "none");
	ck_assert_uint_eq(json_array_size(json_object_get(plan->json, "probes")), 0);
	ck_assert(json_is_false(json_object_get(json_object_get(plan->json, "guest"), "confined")));
	ck_assert_ptr_null(variable(plan, "PATH")); /* the host's own */
	ck_assert_ptr_null(variable(plan, "USER"));
	OK(oc_plan_explain(plan, "read", "/etc/shadow", &json, &err));
	ck_assert_ptr_nonnull(strstr(json, "\"rule\":\"unsandboxed\""));
	free(json);
	oc_plan_free(plan);
	fixture_close(&f);
}
END_TEST

static oc_plan *build_kind(const char *kind, const json_t *clone, int rc)
{
	static char lines[] = "LINES=7", columns[] = "COLUMNS=7", other[] = "OTHER=7";
	char *variables[] = { lines, columns, other, NULL };
	struct oc_plan_input in = { .request = &f.request,
		                    .kind = kind,
		                    .run = RUN,
		                    .clone = clone,
		                    .guest = "/usr/libexec/guest",
		                    .guest_digest = FIXTURE_DIGEST,
		                    .state_dir = f.state,
		                    .home = f.home,
		                    .environ = variables };
	oc_plan *plan = NULL;
	oc_error *err = NULL;

	ck_assert_int_eq(oc_plan_build(&in, &plan, &err), rc);
	oc_error_free(err);
	return plan;
}

/* A terminal has a size of its own, and a plan of kind attach is one of a Work's and has one. */
START_TEST(test_terminal)
{
	json_t *clone =
	        json_pack("{s:{s:i, s:i}, s:{s:i, s:i}}", "root", "dev", 1, "ino", 2, "git", "dev", 1, "ino", 3);
	const json_t *terminal;
	oc_plan *plan;

	fixture_open(&f);
	plan = build_kind("none", NULL, 0);
	ck_assert_ptr_null(json_object_get(command(plan), "terminal"));
	ck_assert_ptr_null(variable(plan, "LINES")); /* the control: it is the host's */
	oc_plan_free(plan);
	ck_assert_ptr_null(build_kind("attach", NULL, OC_EPROTO));
	f.request.rows = 65535;
	f.request.cols = 1;
	plan = build_kind("none", NULL, 0);
	terminal = json_object_get(command(plan), "terminal");
	ck_assert_int_eq(oc_json_integer(terminal, "rows", 0), 65535);
	ck_assert_int_eq(oc_json_integer(terminal, "cols", 0), 1);
	ck_assert_str_eq(variable(plan, "LINES"), "(absent)");
	ck_assert_str_eq(variable(plan, "COLUMNS"), "(absent)");
	ck_assert_ptr_null(variable(plan, "OTHER"));
	oc_plan_free(plan);
	ck_assert_ptr_null(build_kind("attach", NULL, OC_EPROTO));
	f.request.work = "a-work";
	plan = build_kind("attach", clone, 0);
	ck_assert_str_eq(oc_plan_kind(plan), "attach");
	ck_assert(json_is_false(json_object_get(json_object_get(plan->json, "guest"), "confined")));
	oc_plan_free(plan);
	f.request.rows = f.request.cols = 0;
	ck_assert_ptr_null(build_kind("attach", clone, OC_EPROTO));
	f.request.work = NULL;
	json_decref(clone);
	fixture_close(&f);
}
END_TEST

struct refused {
	const char *env[3], *secrets[3], *argv0;
	int code;
	const char *reason, *subject;
};

START_TEST(test_command_refused)
{
	static const struct refused cases[] = {
		{ { "A=1", "A=2" }, { NULL }, "sh", 0, NULL, NULL }, /* the control: the last one counts */
		{ { "1A=1" }, { NULL }, "sh", OC_EREFUSED, "sandbox_config", "env" },
		{ { "A B=1" }, { NULL }, "sh", OC_EREFUSED, "sandbox_config", "env" },
		{ { "=x" }, { NULL }, "sh", OC_EREFUSED, "sandbox_config", "env" },
		{ { "NOT_SET_ANYWHERE" }, { NULL }, "sh", OC_EREFUSED, "sandbox_config", "NOT_SET_ANYWHERE" },
		{ { "A=\xff" }, { NULL }, "sh", OC_EREFUSED, "sandbox_config", "A" },
		{ { "OPEN_CONDUIT_RUN=x" }, { NULL }, "sh", OC_EREFUSED, "sandbox_config", "env" },
		{ { "T=1" }, { "T" }, "sh", OC_EREFUSED, "sandbox_config", "T" },
		{ { NULL }, { "T", "T" }, "sh", OC_EREFUSED, "sandbox_config", "T" },
		{ { NULL }, { "T-T" }, "sh", OC_EREFUSED, "sandbox_config", "secrets" },
		{ { NULL }, { NULL }, "no-such-command", OC_ENOTFOUND, NULL, NULL },
		{ { NULL }, { NULL }, "/etc/passwd", OC_EFAILED, NULL, NULL },
		{ { NULL }, { NULL }, "./nothing", OC_ENOTFOUND, NULL, NULL },
		{ { NULL }, { NULL }, "", OC_EINVAL, NULL, NULL },
		{ { "PATH=relative::" }, { NULL }, "sh", OC_ENOTFOUND, NULL, NULL },
	};
	size_t i;

	fixture_open(&f);
	oc_plan_free(fixture_plan(&f, RUN));
	for (i = 0; i < OC_COUNT(cases); i++) {
		oc_plan *plan = NULL;
		oc_error *err = NULL;
		int rc;

		f.request.env = cases[i].env;
		f.request.secrets = cases[i].secrets;
		f.argv[0] = cases[i].argv0;
		rc = oc_plan_build(&f.in, &plan, &err);
		ck_assert_msg(rc == cases[i].code, "case %zu: %d %s", i, rc, oc_error_message(err));
		if (cases[i].reason) {
			ck_assert_str_eq(oc_error_reason(err), cases[i].reason);
			ck_assert_str_eq(oc_error_subject(err), cases[i].subject);
			ck_assert_ptr_nonnull(oc_error_fix(err));
		}
		if (plan)
			ck_assert_str_eq(variable(plan, "A"), "2");
		oc_plan_free(plan);
		oc_error_free(err);
	}
	f.request.env = f.request.secrets = NULL;
	fixture_close(&f);
}
END_TEST

START_TEST(test_denied_command)
{
	json_t *rule;
	oc_plan *plan = NULL;
	oc_error *err = NULL;

	fixture_open(&f);
	oc_plan_free(fixture_plan(&f, RUN));
	rule = json_pack("{s:s,s:b,s:s,s:s,s:b,s:b}", "path", "/usr/bin", "allow", 0, "rule", "read.deny[0]", "as",
	                 "/usr/bin", "exists", 1, "dir", 1);
	json_array_append_new(json_object_get(f.resolved, "read"), rule);
	ck_assert_int_eq(oc_plan_build(&f.in, &plan, &err), OC_EREFUSED);
	ck_assert_str_eq(oc_error_reason(err), "sandbox_denied");
	oc_error_free(err);
	fixture_close(&f);
}
END_TEST

START_TEST(test_bad_reply)
{
	static const char *const members[] = { "identity", "launch", "guest", "inherit", "proxy", "tools", "notes" };
	json_t *whole;
	size_t i;

	fixture_open(&f);
	oc_plan_free(fixture_plan(&f, RUN));
	whole = json_deep_copy(f.reply);
	for (i = 0; i < OC_COUNT(members); i++) {
		oc_plan *plan = NULL;
		oc_error *err = NULL;

		json_object_del(f.reply, members[i]);
		ck_assert_msg(oc_plan_build(&f.in, &plan, &err) < 0, "without %s", members[i]);
		ck_assert_str_eq(oc_error_reason(err), "provider_failed");
		ck_assert_str_eq(oc_error_subject(err), members[i]);
		oc_error_free(err);
		json_object_set(f.reply, members[i], json_object_get(whole, members[i]));
	}
	json_object_set_new(json_object_get(f.reply, "guest"), "unix", json_true());
	json_object_set_new(json_object_get(f.reply, "guest"), "landlock", json_false());
	{
		oc_plan *plan = NULL;
		oc_error *err = NULL;

		ck_assert_int_lt(oc_plan_build(&f.in, &plan, &err), 0);
		ck_assert_str_eq(oc_error_subject(err), "guest.unix");
		oc_error_free(err);
	}
	json_decref(whole);
	fixture_close(&f);
}
END_TEST

START_TEST(test_diff)
{
	oc_plan *a, *b, *same;
	char *json = NULL;

	fixture_open(&f);
	a = fixture_plan(&f, RUN);
	same = fixture_plan(&f, RUN);
	f.argv[2] = "false";
	b = fixture_plan(&f, RUN);
	OK(oc_plan_diff(a, same, &json, &err));
	ck_assert_str_eq(json, "[]");
	free(json);
	OK(oc_plan_diff(a, b, &json, &err));
	ck_assert_str_eq(json, "[{\"a\":\"true\",\"b\":\"false\",\"path\":\"command.argv[2]\"}]");
	free(json);
	oc_plan_free(a);
	oc_plan_free(b);
	oc_plan_free(same);
	fixture_close(&f);
}
END_TEST

static int build_once(void *userdata)
{
	oc_plan *plan = NULL;
	oc_error *err = NULL;
	int rc = oc_plan_build(userdata, &plan, &err);

	oc_plan_free(plan);
	oc_error_free(err);
	return rc;
}

/* What fails may end the build or be one optional answer less; it never crashes, leaks or passes a half. */
START_TEST(test_no_memory)
{
	long n;

	fixture_open(&f);
	oc_plan_free(fixture_plan(&f, RUN));
	n = alloc_fail_each(build_once, &f.in, 0);
	ck_assert_int_gt(n, 500);
	fixture_close(&f);
}
END_TEST

struct pinning {
	oc_plan *plan;
	oc_store *store;
};

static int pin_once(void *userdata)
{
	struct pinning *p = userdata;
	oc_error *err = NULL;
	int rc = oc_plan_pin(p->plan, p->store, &err);

	oc_error_free(err);
	return rc;
}

START_TEST(test_pin_no_memory)
{
	struct pinning p = { 0 };

	fixture_open(&f);
	p.plan = fixture_plan(&f, RUN);
	OK(oc_store_open(f.ctx, &p.store, &err));
	ck_assert_int_gt(alloc_fail_each(pin_once, &p, 0), 20);
	OK(oc_plan_pin(p.plan, p.store, &err));
	oc_store_free(p.store);
	oc_plan_free(p.plan);
	fixture_close(&f);
}
END_TEST

/* Not a limit, a figure: printed for whoever looks. */
START_TEST(test_cost)
{
	enum { ROUNDS = 200 };
	oc_plan *plan = NULL;
	int64_t begin;
	int i;

	fixture_open(&f);
	oc_plan_free(fixture_plan(&f, RUN));
	begin = oc_mono_ns();
	for (i = 0; i < ROUNDS; i++) {
		OK(oc_plan_build(&f.in, &plan, &err));
		oc_plan_free(plan);
	}
	printf("# plan: %.3f ms\n", (double)(oc_mono_ns() - begin) / ROUNDS / 1e6);
	fixture_close(&f);
}
END_TEST

SUITE_MAIN("plan", test_build, test_probes, test_toolbelt, test_offered, test_many_sockets, test_kinds, test_none,
           test_terminal, test_command_refused, test_denied_command, test_bad_reply, test_diff, test_no_memory,
           test_pin_no_memory, test_cost)
