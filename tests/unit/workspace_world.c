/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture f;
oc_store *store;
oc_workspace *workspace;
char checkout[CHECKOUT_MAX];

oc_workspace *new_workspace(void)
{
	oc_workspace_options o = OC_WORKSPACE_OPTIONS_INIT;
	oc_workspace *w = NULL;

	o.provider = "directories";
	o.provider_dir = getenv("OC_TEST_PROVIDERS");
	ck_assert_ptr_nonnull(o.provider_dir);
	OK(oc_workspace_new(store, &o, &w, &err));
	return w;
}

void setup(void)
{
	fixture_open(&f);
	snprintf(checkout, sizeof(checkout), "%s/checkout", f.dir);
	ck_assert_int_eq(mkdir(checkout, 0700), 0);
	store = fixture_store(&f);
	workspace = new_workspace();
}

void teardown(void)
{
	oc_workspace_free(workspace);
	oc_store_free(store);
	fixture_close(&f);
}

void say(const char *dir, const char *name, const char *text)
{
	char path[600];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!text) {
		(void)unlink(path);
		return;
	}
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

json_t *parse(char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	ck_assert_ptr_nonnull(json);
	free(text);
	return json;
}

json_t *open_as(const char *binding, const char *key)
{
	oc_work_options o = OC_WORK_OPTIONS_INIT;
	char *text = NULL;

	o.scope = "web";
	o.binding = binding;
	o.key = key;
	o.checkout = checkout;
	o.branch = "agent/1";
	OK(oc_work_open(store, &o, &text, &err));
	return parse(text);
}

json_t *get(const char *name)
{
	char *text = NULL;

	OK(oc_work_get(store, name, &text, &err));
	return parse(text);
}

void on_answer(const char *json, const oc_error *err, void *userdata)
{
	struct answer *a = userdata;

	ck_assert(!json != !err);
	a->count++;
	json_decref(a->json);
	a->json = json ? json_loads(json, 0, NULL) : NULL;
	a->code = err ? oc_error_code(err) : 0;
	snprintf(a->reason, sizeof(a->reason), "%s", err && oc_error_reason(err) ? oc_error_reason(err) : "");
	snprintf(a->message, sizeof(a->message), "%s", err ? oc_error_message(err) : "");
}

void wait_for(struct answer *a)
{
	a->count = 0;
	for (int i = 0; i < 200 && !a->count; i++)
		ck_assert_int_ge(oc_context_wait(f.ctx, 100, NULL), 0);
	ck_assert_int_eq(a->count, 1);
}

void perform(enum step step, const char *id, int64_t wait_ms, struct answer *a)
{
	a->count = 0;
	switch (step) {
	case CREATE:
		OK(oc_workspace_create(workspace, id, wait_ms, on_answer, a, &err));
		break;
	case REMOVE:
		OK(oc_workspace_remove(workspace, id, wait_ms, on_answer, a, &err));
		break;
	default:
		OK(oc_workspace_save(workspace, id, step == FINAL ? OC_SAVE_FINAL : 0, wait_ms, on_answer, a, &err));
	}
	ck_assert_int_eq(a->count, 0); /* never inside the call */
	wait_for(a);
}

void good(enum step step, const char *id)
{
	struct answer a = { 0 };

	perform(step, id, 0, &a);
	ck_assert_msg(!a.code, "%s: %s", a.reason, a.message);
	json_decref(a.json);
}

void bad(enum step step, const char *id, const char *reason, const char *words)
{
	struct answer a = { 0 };

	perform(step, id, 0, &a);
	ck_assert_msg(!strcmp(a.reason, reason), "%s: %s", a.reason, a.message);
	ck_assert_msg(strstr(a.message, words) != NULL, "%s", a.message);
}

/* The id of a Work, made. */
const char *made(const char *key)
{
	static char id[OC_WORK_ID_SIZE];
	json_t *work = open_as("agent", key);

	snprintf(id, sizeof(id), "%s", oc_json_text(work, "id"));
	json_decref(work);
	good(CREATE, id);
	return id;
}

/* A run of the Work that ended, as the store would have it. */
void a_run(const char *id, const char *work, const char *state)
{
	a_run_of("none", id, work, state);
}

void a_run_of(const char *kind, const char *id, const char *work, const char *state)
{
	json_t *head = json_pack("{s:s, s:s, s:s, s:[s]}", "kind", kind, "work", work, "binding", "web/agent",
	                         "command", "true");
	oc_plan *plan = fixture_plan_none(&f, id);

	OK(oc_store_pin(store, id, oc_plan_json(plan), oc_plan_digest(plan), head, &err));
	OK(oc_store_state(store, id, state, NULL, &err));
	json_decref(head);
	oc_plan_free(plan);
}
