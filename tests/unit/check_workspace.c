/* SPDX-License-Identifier: Apache-2.0 */
/* Works and their clones against a provider that says what the test wants it to: what is not exactly the protocol is
 * refused and changes no record, each step may be done again, and nothing is removed that was not saved. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "guard/run.h"
#include "loop/context.h"
#include "workspace_world.h"

#define OID "0123456789012345678901234567890123456789"

CASE(names)
{
	static const char *const odd[] = { "",         "-x",   ".x",         "a b",  "a\nb", "a\tb",
		                           "\xc3\xa4", "a\"b", "$(touch x)", "a\\b", "a;b",  "a\x7f" };
	oc_work_options o = OC_WORK_OPTIONS_INIT;
	json_t *a = open_as("agent", "acme/web#12"), *b = open_as("agent", "acme/web#12"),
	       *c = open_as("other", "acme/web#12");
	char long_key[200], *text = NULL;
	oc_error *error = NULL;

	ck_assert_str_eq(oc_json_text(a, "id"), oc_json_text(b, "id"));
	ck_assert_str_ne(oc_json_text(a, "id"), oc_json_text(c, "id"));
	ck_assert_int_eq(strncmp(oc_json_text(a, "id"), "acme-web-12-", 12), 0);
	ck_assert(oc_work_id_valid(oc_json_text(a, "id")));
	json_decref(b);
	/* one of two: only the id, or the whole name, tells */
	ck_assert_int_eq(oc_work_get(store, "acme/web#12", &text, &error), OC_EINVAL);
	oc_error_free(error);
	b = get("web/other/acme/web#12");
	ck_assert_str_eq(oc_json_text(b, "id"), oc_json_text(c, "id"));
	json_decref(b);
	b = get(oc_json_text(a, "id"));
	ck_assert_str_eq(oc_json_text(b, "binding"), "agent");
	ck_assert_int_eq(oc_work_get(store, "nothing", &text, &error), OC_ENOTFOUND);
	oc_error_free(error);
	memset(long_key, 'a', sizeof(long_key) - 1);
	long_key[sizeof(long_key) - 1] = 0;
	o.scope = "web";
	o.binding = "agent";
	o.checkout = checkout;
	for (size_t i = 0; i <= OC_COUNT(odd); i++) {
		o.key = i < OC_COUNT(odd) ? odd[i] : long_key;
		ck_assert_int_eq(oc_work_open(store, &o, &text, &error), OC_EREFUSED);
		ck_assert_str_eq(oc_error_reason(error), "sandbox_config");
		oc_error_free(error);
	}
	long_key[128] = 0; /* the control */
	OK(oc_work_open(store, &o, &text, &err));
	free(text);
	json_decref(a);
	json_decref(b);
	json_decref(c);
}

CASE(options)
{
	oc_work_options o = OC_WORK_OPTIONS_INIT;
	char *text = NULL;
	oc_error *error = NULL;
	json_t *work = open_as("agent", "1");

	ck_assert_int_eq(oc_work_open(store, &o, &text, &error), OC_EINVAL);
	oc_error_free(error);
	o.checkout = checkout;
	o.scope = "web";
	ck_assert_int_eq(oc_work_open(store, &o, &text, &error), OC_EINVAL); /* half a name */
	oc_error_free(error);
	o.binding = "agent";
	o.flags = 1;
	ck_assert_int_eq(oc_work_open(store, &o, &text, &error), OC_EVERSION);
	oc_error_free(error);
	o.flags = 0;
	o.key = "1";
	o.branch = "another";
	OK(oc_work_open(store, &o, &text, &err)); /* it keeps the branch that it has */
	json_decref(work);
	work = parse(text);
	ck_assert_str_eq(oc_json_text(work, "branch"), "agent/1");
	o.checkout = f.home;
	ck_assert_int_eq(oc_work_open(store, &o, &text, &error), OC_EREFUSED);
	ck_assert_str_eq(oc_error_reason(error), "workspace_conflict");
	ck_assert_ptr_nonnull(strstr(oc_error_fix(error), oc_json_text(work, "id")));
	oc_error_free(error);
	o.key = o.branch = NULL; /* of its own: never the same twice */
	OK(oc_work_open(store, &o, &text, &err));
	json_decref(work);
	work = parse(text);
	ck_assert(json_is_true(json_object_get(work, "own")));
	OK(oc_work_open(store, &o, &text, &err));
	ck_assert_ptr_null(strstr(text, oc_json_text(work, "id")));
	free(text);
	json_decref(work);
}

static const struct {
	const char *reply, *words;
} created[] = {
	{ "{}", "root" },
	{ "[]", "no JSON object" },
	{ "{\"root\":@ROOT@,\"git\":@GIT@,\"branch\":\"agent/1\",\"baseline\":\"" OID "\",\"origin\":null}", "notes" },
	{ "{\"root\":@ROOT@,\"git\":@GIT@,\"branch\":\"agent/1\",\"baseline\":\"" OID "\",\"notes\":[]}", "origin" },
	{ "{\"root\":@ROOT@,\"git\":@GIT@,\"branch\":\"agent/1\",\"baseline\":\"" OID "\",\"origin\":null,\"notes\":[],"
	  "\"note\":1}",
	  "note" },
	{ "{\"root\":@ROOT@,\"git\":@GIT@,\"branch\":\"agent/2\",\"baseline\":\"" OID
	  "\",\"origin\":null,\"notes\":[]}",
	  "branch" },
	{ "{\"root\":@ROOT@,\"git\":@GIT@,\"branch\":\"agent/1\",\"baseline\":\"main\",\"origin\":null,\"notes\":[]}",
	  "baseline" },
	{ "{\"root\":@ROOT@,\"git\":@GIT@,\"branch\":\"agent/1\",\"baseline\":\"" OID "\",\"origin\":7,\"notes\":[]}",
	  "origin" },
	{ "{\"root\":@ROOT@,\"git\":@GIT@,\"branch\":\"agent/1\",\"baseline\":\"" OID
	  "\",\"origin\":null,\"notes\":[1]}",
	  "notes" },
	{ "{\"root\":@GIT@,\"git\":@ROOT@,\"branch\":\"agent/1\",\"baseline\":\"" OID
	  "\",\"origin\":null,\"notes\":[]}",
	  "not what is there" },
	{ "{\"root\":{\"dev\":1},\"git\":@GIT@,\"branch\":\"agent/1\",\"baseline\":\"" OID
	  "\",\"origin\":null,\"notes\":[]}",
	  "ino" },
	{ "{\"root\":{\"dev\":1,\"ino\":-2},\"git\":@GIT@,\"branch\":\"agent/1\",\"baseline\":\"" OID
	  "\",\"origin\":null,"
	  "\"notes\":[]}",
	  "no device" },
	{ "{\"root\":{\"dev\":1,\"ino\":2,\"x\":1},\"git\":@GIT@,\"branch\":\"agent/1\",\"baseline\":\"" OID
	  "\",\"origin\":null,\"notes\":[]}",
	  "x" },
	{ "die", "failed at \"create\"" },
};

/* A wrong answer records nothing, and the next create makes it anew. */
PROVIDED(creation)
{
	json_t *work = open_as("agent", "1"), *now;
	const char *id = oc_json_text(work, "id");
	char asked[400], *text;
	struct stat st;

	ck_assert(json_is_null(json_object_get(work, "root")));
	for (size_t i = 0; i < OC_COUNT(created); i++) {
		say(checkout, "create.json", created[i].reply);
		bad(CREATE, id, "provider_failed", created[i].words);
		now = get(id);
		ck_assert(json_is_null(json_object_get(now, "root")));
		json_decref(now);
	}
	say(checkout, "create.json", "refuse");
	bad(CREATE, id, "sandbox_workspace", "it can't be");
	say(checkout, "create.json", NULL);
	say(checkout, "asked", NULL);
	good(CREATE, id); /* the control */
	now = get(id);
	ck_assert_int_eq(stat(oc_json_text(now, "workspace"), &st), 0);
	ck_assert_int_eq(oc_json_integer(json_object_get(now, "root"), "ino", -1), (int64_t)st.st_ino);
	ck_assert_str_eq(oc_json_text(now, "baseline"), OID);
	json_decref(now);
	good(CREATE, id); /* again: nobody is asked */
	snprintf(asked, sizeof(asked), "%s/asked", checkout);
	text = NULL;
	{
		FILE *file = fopen(asked, "r");
		size_t size = 0;

		ck_assert_ptr_nonnull(file);
		ck_assert_int_gt(getdelim(&text, &size, 0, file), 0);
		fclose(file);
	}
	ck_assert_ptr_nonnull(strstr(text, "create {"));
	ck_assert_ptr_null(strstr(strstr(text, "create {") + 1, "create {"));
	free(text);
	json_decref(work);
}

#define SAVED "{\"ref\":\"refs/open-conduit/@ID@/head\",\"commit\":\"" OID "\"}"
static const struct {
	const char *reply, *words;
} saves[] = {
	{ "{}", "missing" },
	{ "{\"saved\":[],\"outcome\":\"kept\",\"leftover\":[],\"lost\":[],\"notes\":[]}", "tip" },
	{ "{\"tip\":null,\"saved\":[],\"outcome\":\"forced\",\"leftover\":[],\"lost\":[],\"notes\":[]}", "outcome" },
	{ "{\"tip\":\"zz\",\"saved\":[],\"outcome\":\"kept\",\"leftover\":[],\"lost\":[],\"notes\":[]}", "tip" },
	{ "{\"tip\":null,\"saved\":[{\"ref\":\"refs/heads/main\",\"commit\":\"" OID
	  "\"}],\"outcome\":\"kept\",\"leftover\":[],\"lost\":[],\"notes\":[]}",
	  "not of this Work" },
	{ "{\"tip\":null,\"saved\":[{\"ref\":\"refs/open-conduit/other/head\",\"commit\":\"" OID
	  "\"}],\"outcome\":\"kept\",\"leftover\":[],\"lost\":[],\"notes\":[]}",
	  "not of this Work" },
	{ "{\"tip\":null,\"saved\":[{\"ref\":\"refs/open-conduit/@ID@\",\"commit\":\"" OID
	  "\"}],\"outcome\":\"kept\",\"leftover\":[],\"lost\":[],\"notes\":[]}",
	  "not of this Work" },
	{ "{\"tip\":null,\"saved\":[{\"ref\":\"refs/open-conduit/@ID@/"
	  "head\",\"commit\":\"HEAD\"}],\"outcome\":\"kept\","
	  "\"leftover\":[],\"lost\":[],\"notes\":[]}",
	  "no commit" },
	{ "{\"tip\":null,\"saved\":[" SAVED "],\"outcome\":\"kept\",\"leftover\":[" SAVED "],\"lost\":[],\"notes\":[]}",
	  "what" },
	{ "{\"tip\":null,\"saved\":[],\"outcome\":\"kept\",\"leftover\":[],\"lost\":[{\"what\":\"x\"}],\"notes\":[]}",
	  "why" },
	{ "{\"tip\":null,\"saved\":{},\"outcome\":\"kept\",\"leftover\":[],\"lost\":[],\"notes\":[]}", "saved" },
	{ "{\"tip\":null,\"saved\":[],\"outcome\":\"kept\",\"leftover\":[],\"lost\":[],\"notes\":[],\"forced\":true}",
	  "forced" },
	{ "die", "failed at \"save\"" },
};

static void say_save(const char *id, const char *reply)
{
	char text[2000], *at;

	snprintf(text, sizeof(text), "%s", reply);
	while ((at = strstr(text, "@ID@"))) {
		char rest[2000];

		snprintf(rest, sizeof(rest), "%s", at + 4);
		snprintf(at, sizeof(text) - (size_t)(at - text), "%s%s", id, rest);
	}
	say(checkout, "save.json", text);
}

PROVIDED(saving)
{
	const char *id = made("1");
	json_t *work, *run;

	a_run("firstrun01", id, "exited");
	a_run("refused001", id, "failed");
	for (size_t i = 0; i < OC_COUNT(saves); i++) {
		say_save(id, saves[i].reply);
		bad(SAVE, id, "provider_failed", saves[i].words);
		work = get(id);
		ck_assert_uint_eq(json_array_size(json_object_get(work, "unsaved")), 1);
		ck_assert(json_is_null(json_object_get(work, "save")));
		json_decref(work);
	}
	say_save(id, "{\"tip\":\"" OID "\",\"saved\":[" SAVED
	             "],\"outcome\":\"kept\",\"leftover\":[],\"lost\":[],\"notes\":[]}");
	good(SAVE, id); /* the control */
	work = get(id);
	ck_assert_uint_eq(json_array_size(json_object_get(work, "unsaved")), 0);
	ck_assert_str_eq(oc_json_text(json_object_get(work, "save"), "tip"), OID);
	ck_assert_str_eq(oc_json_text(work, "state"), "open");
	json_decref(work);
	run = fixture_run(store, "firstrun01");
	ck_assert_str_eq(oc_json_text(json_object_get(run, "save"), "tip"), OID);
	json_decref(run);
	run = fixture_run(store, "refused001"); /* nothing ran: nothing of it is saved */
	ck_assert(json_is_null(json_object_get(run, "save")));
	json_decref(run);
}

PROVIDED(removal)
{
	const char *id = made("1");
	json_t *work = get(id), *next;
	struct stat st;

	bad(REMOVE, id, "workspace_conflict", "not finally saved");
	good(SAVE, id);
	bad(REMOVE, id, "workspace_conflict", "not finally saved");
	say_save(id, "{\"tip\":null,\"saved\":[],\"outcome\":\"kept\",\"leftover\":[],\"lost\":[{\"what\":\"a "
	             "fifo\",\"why\":"
	             "\"no git object\"}],\"notes\":[]}");
	good(FINAL, id);
	bad(REMOVE, id, "workspace_conflict", "not finally saved");
	say(checkout, "save.json", NULL);
	good(FINAL, id);
	a_run("laterrun01", id, "exited"); /* something ran since */
	bad(REMOVE, id, "workspace_conflict", "not finally saved");
	good(FINAL, id);
	ck_assert_int_eq(stat(oc_json_text(work, "workspace"), &st), 0);
	a_run("unknown001", id, "unknown");
	bad(REMOVE, id, "work_busy", "unknown001");
	bad(CREATE, id, "work_busy", "unknown001");
	OK(oc_store_state(store, "unknown001", "failed", NULL, &err));
	good(REMOVE, id);
	ck_assert_int_lt(stat(oc_json_text(work, "workspace"), &st), 0);
	json_decref(work);
	work = get(id);
	ck_assert_str_eq(oc_json_text(work, "state"), "finished");
	next = open_as("agent", "1"); /* the name is free, and its refs are others */
	ck_assert_str_ne(oc_json_text(next, "id"), oc_json_text(work, "id"));
	json_decref(next);
	json_decref(work);
	{
		struct answer a = { 0 };
		oc_error *error = NULL;

		ck_assert_int_eq(oc_workspace_create(workspace, id, 0, on_answer, &a, &error), OC_EREFUSED);
		ck_assert_str_eq(oc_error_reason(error), "workspace_conflict");
		oc_error_free(error);
	}
}

/* A clone without a record was used by no run. */
PROVIDED(unrecorded)
{
	json_t *work = open_as("agent", "1");
	const char *id = oc_json_text(work, "id");
	char path[400];
	struct stat st;
	int dir = -1;

	OK(dir = oc_store_work_dir(store, id, true, &err));
	ck_assert_int_eq(mkdirat(dir, OC_WORKSPACE, 0700), 0);
	close(openat(dir, OC_WORKSPACE "/half", O_CREAT | O_WRONLY, 0600));
	close(dir);
	good(CREATE, id);
	snprintf(path, sizeof(path), "%s/half", oc_json_text(work, "workspace"));
	ck_assert_int_lt(lstat(path, &st), 0);
	json_decref(work);
}

PROVIDED(locks)
{
	const char *id = made("1");
	struct answer a = { 0 };
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/works/%s/lock", f.state, id);
	fd = open(path, O_RDWR);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	bad(SAVE, id, "work_busy", "another process");
	perform(SAVE, id, 120, &a);
	ck_assert_str_eq(a.reason, "work_busy");
	OK(oc_workspace_save(workspace, id, 0, -1, on_answer, &a, &err));
	a.count = 0;
	for (int i = 0; i < 3; i++)
		ck_assert_int_ge(oc_context_wait(f.ctx, 100, NULL), 0);
	ck_assert_int_eq(a.count, 0);
	close(fd);
	wait_for(&a);
	ck_assert_int_eq(a.code, 0);
	json_decref(a.json);
	fd = open(path, O_RDWR);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0); /* and it is free again */
	close(fd);
}

/* What is removed by hand is said to be gone_by_hand, and the Work can be finished. */
PROVIDED(gone_by_hand)
{
	const char *id = made("1");
	json_t *work = get(id);
	struct answer a = { 0 };
	char command[600];

	ck_assert_int_eq(rename(oc_json_text(work, "workspace"), checkout), -1); /* not empty: a control of nothing */
	snprintf(command, sizeof(command), "%s/moved", f.dir);
	ck_assert_int_eq(rename(oc_json_text(work, "workspace"), command), 0);
	bad(CREATE, id, "sandbox_workspace", "gone");
	perform(FINAL, id, 0, &a);
	ck_assert_int_eq(a.code, 0);
	ck_assert_uint_eq(json_array_size(json_object_get(a.json, "lost")), 1);
	json_decref(a.json);
	good(REMOVE, id);
	json_decref(work);
}

/* A store that was lost finds its Works again by their own files. */
PROVIDED(restored)
{
	static const char *const files[] = { "state.db", "state.db-wal", "state.db-shm", "store.lock" };
	char id[OC_WORK_ID_SIZE], path[400];
	json_t *work = open_as("agent", "never-made");

	json_decref(work);
	snprintf(id, sizeof(id), "%s", made("1"));
	oc_workspace_free(workspace);
	oc_store_free(store);
	for (size_t i = 0; i < OC_COUNT(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", f.state, files[i]);
		(void)unlink(path);
	}
	store = fixture_store(&f);
	workspace = new_workspace();
	work = get("1");
	ck_assert_str_eq(oc_json_text(work, "id"), id);
	ck_assert(json_is_object(json_object_get(work, "root")));
	ck_assert_str_eq(oc_json_text(work, "baseline"), OID);
	json_decref(work);
	good(FINAL, id);
	good(REMOVE, id);
}

PROVIDED(dropped)
{
	const char *id = made("1");
	struct answer a = { 0 };
	int fds;

	say(checkout, "save.json", "hang");
	OK(oc_workspace_save(workspace, id, 0, 0, on_answer, &a, &err));
	for (int i = 0; i < 3; i++)
		ck_assert_int_ge(oc_context_wait(f.ctx, 100, NULL), 0);
	oc_workspace_free(workspace);
	workspace = NULL;
	ck_assert_int_eq(a.count, 0);
	fds = suite_count_fds();
	workspace = new_workspace();
	say(checkout, "save.json", NULL);
	good(SAVE, id); /* the lock went with it */
	oc_workspace_free(workspace);
	workspace = NULL;
	ck_assert_int_eq(suite_count_fds(), fds);
}

static int without_memory(void *userdata)
{
	unsigned *n = userdata;
	oc_work_options o = OC_WORK_OPTIONS_INIT;
	char key[32], *text = NULL;
	oc_error *error = NULL;
	int rc;

	snprintf(key, sizeof(key), "n%u", ++*n);
	o.scope = "web";
	o.binding = "agent";
	o.key = key;
	o.checkout = checkout;
	o.author_name = "A";
	o.author_email = "a@example.org";
	rc = oc_work_open(store, &o, &text, &error);
	free(text);
	text = NULL;
	if (rc >= 0)
		rc = oc_work_get(store, key, &text, &error);
	free(text);
	text = NULL;
	if (rc >= 0)
		rc = oc_work_list(store, 1, 1, &text, &error);
	free(text);
	oc_error_free(error);
	return rc;
}

/* It plans, so it reads the guest; nothing is executed. */
static oc_broker *plain_broker(void)
{
	oc_broker *broker = NULL;

	free(f.ctx->libexec_dir);
	f.ctx->libexec_dir = strdup(f.dir);
	say(f.dir, "open-conduit-guest", "");
	OK(oc_unsandboxed_broker_new(store, NULL, &broker, &err));
	return broker;
}

static oc_plan *planned; /* the last one that was made */

static void on_plan(oc_plan *plan, const oc_error *err, void *userdata)
{
	struct answer *a = userdata;

	a->count++;
	a->code = err ? oc_error_code(err) : 0;
	snprintf(a->reason, sizeof(a->reason), "%s", err && oc_error_reason(err) ? oc_error_reason(err) : "");
	snprintf(a->message, sizeof(a->message), "%s", err ? oc_error_message(err) : oc_plan_kind(plan));
	oc_plan_free(planned);
	planned = plan;
}

static void plan_attach(oc_broker *broker, const char *id, const char *reason)
{
	oc_request request = OC_REQUEST_INIT;
	struct answer a = { 0 };
	char path[600];

	snprintf(path, sizeof(path), "%s/works/%s/workspace", f.state, id);
	request.work = id;
	request.workspace = path;
	request.argv = (const char *const[]){ "/bin/sh", NULL };
	request.rows = 24;
	request.cols = 80;
	request.attach = 1;
	OK(oc_broker_plan(broker, &request, on_plan, &a, &err));
	wait_for(&a);
	ck_assert_msg(!strcmp(a.reason, reason), "%s: %s", a.reason, a.message);
	if (!*reason)
		ck_assert_str_eq(a.message, "attach");
}

/* The last step before the command: with no guard there it can go no further than to ask for one. */
static int release(const char *id)
{
	oc_error *error = NULL;
	oc_run *run = NULL;
	int rc;

	OK(oc_run_new(store, id, NULL, NULL, &run, &err));
	OK(oc_plan_load(oc_plan_json(planned), strlen(oc_plan_json(planned)), &run->plan, &err));
	memcpy(run->digest, oc_plan_digest(planned), strlen(oc_plan_digest(planned)) + 1);
	rc = oc_run_release(run, run->digest, &error);
	if (rc == OC_EREFUSED)
		ck_assert_str_eq(oc_error_reason(error), "attach_sandboxed");
	oc_error_free(error);
	oc_run_free(run);
	return rc;
}

/* A run that was confined came between the plan and the Work's lock. */
PROVIDED(attach_released)
{
	oc_broker *broker = plain_broker();
	const char *id = made("plain");
	char run[OC_RUN_ID_SIZE];

	plan_attach(broker, id, "");
	snprintf(run, sizeof(run), "%s", oc_plan_run(planned));
	OK(oc_plan_pin(planned, store, &err));
	ck_assert_int_eq(release(run), OC_ECLOSED); /* the control */
	a_run_of("sandbox", "runaaaaaaaaa", id, "exited");
	ck_assert_int_eq(release(run), OC_EREFUSED);
	oc_plan_free(oc_steal(planned));
	oc_broker_free(broker);
}

/* Which Works may be attached to is told by their runs: not one that was confined, however long ago and however it went. */
PROVIDED(attachable)
{
	static const char *const kinds[] = { "sandbox", "container", "machine", "anything" };
	oc_broker *broker;
	const char *id;
	char run[16];

	broker = plain_broker();
	id = made("plain");
	a_run("runaaaaaaaaa", id, "exited");
	a_run_of("attach", "runbbbbbbbbb", id, "exited");
	plan_attach(broker, id, "");
	OK(oc_store_work_attach(store, id, OC_KIND_ATTACH, &err));
	for (size_t i = 0; i < OC_COUNT(kinds); i++) {
		oc_error *error = NULL;

		snprintf(run, sizeof(run), "run%zuzzzzzzz", i);
		id = made(kinds[i]);
		a_run_of(kinds[i], run, id, "failed");
		ck_assert_int_eq(oc_store_work_attach(store, id, OC_KIND_ATTACH, &error), OC_EREFUSED);
		ck_assert_str_eq(oc_error_reason(error), "attach_sandboxed");
		ck_assert_ptr_nonnull(strstr(oc_error_message(error), run));
		oc_error_free(error);
		plan_attach(broker, id, "attach_sandboxed");
		ck_assert_int_eq(oc_store_work_attach(store, id, OC_KIND_CONTAINER, NULL), i == 1 ? 0 : OC_EREFUSED);
	}
	oc_plan_free(oc_steal(planned));
	oc_broker_free(broker);
}

/* What an attach is not: half a terminal, without a Work, in a sandbox. */
CASE(bad_attach)
{
	const oc_request good = { .size = sizeof(good),
		                  .work = "a-work",
		                  .workspace = "/",
		                  .rows = 24,
		                  .cols = 80,
		                  .attach = 1,
		                  .argv = (const char *const[]){ "/bin/sh", NULL } };
	oc_request bad[] = { good, good, good, good };
	oc_broker *broker;

	bad[0].rows = 0;
	bad[1].cols = 0;
	bad[2].rows = bad[2].cols = 0;
	bad[3].work = NULL;
	broker = plain_broker();
	for (size_t i = 0; i < OC_COUNT(bad); i++) {
		oc_error *error = NULL;

		ck_assert_int_eq(oc_broker_plan(broker, &bad[i], on_plan, NULL, &error), OC_EINVAL);
		oc_error_free(error);
	}
	oc_broker_free(broker);
}

CASE(no_memory)
{
	unsigned n = 0;

	/* What SQLite holds for its next statement comes with the first. */
	ck_assert_int_eq(without_memory(&n), 0);
	ck_assert_int_gt(alloc_fail_each(without_memory, &n, 1), 20);
}

SUITE_MAIN("workspace", names, options, creation, saving, removal, unrecorded, locks, gone_by_hand, restored, dropped,
           attachable, attach_released, bad_attach, no_memory)
