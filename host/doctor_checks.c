/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor_checks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binding.h"

struct waiting {
	json_t *checks, *error;
	bool done;
};

static void checked(const char *text, const oc_error *err, void *userdata)
{
	struct waiting *w = userdata;

	if (err)
		w->error = host_error_json(err);
	else
		w->checks = json_loads(text, JSON_ALLOW_NUL, NULL);
	w->done = true;
}

static void say_checking(struct host *h, const char *name)
{
	const char *term = getenv("TERM");

	if (!h->err.tty || !term || !strcmp(term, "dumb"))
		return;
	if (name)
		out_printf(&h->err, "open-conduit: checking %s …", name);
	else
		out_put(&h->err, "\r\033[K");
	out_flush(&h->err);
}

/* One check, waited for; its outcome into `out`. */
static void perform(struct host *h, oc_broker *broker, const char *policy, json_t *out)
{
	const char *name = host_string(out, "name");
	struct waiting w = { 0 };
	oc_error *err = NULL;
	int rc = oc_broker_check_policy(broker, policy, checked, &w, &err);

	say_checking(h, name);
	while (rc >= 0 && !w.done)
		rc = oc_context_wait(h->ctx, -1, &err);
	say_checking(h, NULL);
	if (rc < 0 && !w.error)
		w.error = host_error_json(err);
	oc_error_free(err);
	json_object_set_new(out, "ok", json_boolean(json_is_true(json_object_get(w.checks, "ok"))));
	if (w.checks) {
		json_object_set(out, "provider", json_object_get(w.checks, "provider"));
		json_object_set(out, "checks", json_object_get(w.checks, "checks"));
	}
	json_object_set_new(out, "error", w.error ? w.error : json_null());
	json_decref(w.checks);
}

static json_t *entry(const char *kind, const char *name)
{
	return json_pack("{s:s, s:s, s:b, s:n, s:[], s:n}", "kind", kind, "name", name, "ok", 0, "provider", "checks",
	                 "error");
}

static json_t *check_srt(struct host *h)
{
	oc_broker_options o = host_broker_options("srt");
	json_t *out = entry("sandbox", "srt");
	oc_broker *broker = NULL;
	oc_error *err = NULL;

	if (oc_sandbox_broker_new(h->store, &o, &broker, &err) >= 0)
		perform(h, broker, NULL, out);
	else
		json_object_set_new(out, "error", host_error_json(err));
	oc_error_free(err);
	oc_broker_free(broker);
	return out;
}

static json_t *normal_of(const struct config_binding *b)
{
	oc_policy *policy = NULL;
	json_t *normal = NULL;

	if (oc_policy_parse(b->kind, b->place->policy, strlen(b->place->policy), &policy, NULL) == 0)
		normal = json_loads(oc_policy_json(policy), 0, NULL);
	oc_policy_free(policy);
	return normal;
}

static bool same(const json_t *a, const json_t *b, const char *member)
{
	return json_equal(json_object_get(a, member), json_object_get(b, member));
}

/* Bindings that use the same are checked once. */
static bool listed(json_t *list, const json_t *one, const char *binding)
{
	json_t *other;
	size_t i;

	json_array_foreach(list, i, other)
	{
		if (!same(one, other, "name") || !same(one, other, "context") || !same(one, other, "image"))
			continue;
		json_array_append_new(json_object_get(other, "bindings"), json_string(binding));
		return true;
	}
	return false;
}

static void check_container(struct host *h, const struct config *config, const struct config_binding *b, json_t *list)
{
	json_t *normal = normal_of(b), *one = entry("container", b->place->provider);
	oc_broker *broker = NULL;
	oc_error *err = NULL;

	json_object_set(one, "context", json_object_get(json_object_get(normal, "provider"), "context"));
	json_object_set(one, "image", json_object_get(normal, "image"));
	json_object_set_new(one, "bindings", json_pack("[s]", b->full));
	if (normal && !listed(list, one, b->full)) {
		if (binding_container(h, config, b->place->provider, &broker, &err) == 0)
			perform(h, broker, b->place->policy, one);
		else
			json_object_set_new(one, "error", host_error_json(err));
		json_array_append(list, one);
	}
	oc_broker_free(broker);
	oc_error_free(err);
	json_decref(one);
	json_decref(normal);
}

const struct config_binding *doctor_next(const struct config *c, size_t *scope, size_t *at)
{
	for (; c && *scope < c->n_scopes; ++*scope, *at = 0)
		if (*at < c->scopes[*scope].n_bindings)
			return &c->scopes[*scope].bindings[(*at)++];
	return NULL;
}

static bool containers_alone(const struct config *config)
{
	const struct config_binding *b;
	size_t scope = 0, at = 0, sandboxes = 0, containers = 0;

	while ((b = doctor_next(config, &scope, &at))) {
		sandboxes += !strcmp(b->kind, "sandbox");
		containers += !strcmp(b->kind, "container");
	}
	return containers && !sandboxes;
}

struct config *doctor_config(bool *config_bad)
{
	char *path = config_default_path(NULL);
	struct report report = { 0 };
	struct config *config = NULL;

	*config_bad = path && access(path, F_OK) == 0 && config_load(path, NULL, &config, &report) < 0;
	report_free(&report);
	free(path);
	return *config_bad ? NULL : config;
}

json_t *doctor_checks(struct host *h, bool *config_bad)
{
	struct config *config = doctor_config(config_bad);
	const struct config_binding *b;
	json_t *list = json_array();
	size_t scope = 0, at = 0;

	if (!containers_alone(config))
		json_array_append_new(list, check_srt(h));
	while ((b = doctor_next(config, &scope, &at)))
		if (!strcmp(b->kind, "container"))
			check_container(h, config, b, list);
	config_free(config);
	return list;
}
