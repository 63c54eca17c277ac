/* SPDX-License-Identifier: Apache-2.0 */
/* What a broker has under way: a plan waiting for its provider, or a check.  Freeing the broker
 * drops them; completing one takes it out of the list before its callback runs. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "broker/broker.h"
#include "store/works.h"

#define PLAN_TIMEOUT_MS  30000
#define CHECK_TIMEOUT_MS 120000

struct oc_operation {
	struct oc_operation *next;
	oc_broker *broker;
	struct oc_request_copy request;
	oc_policy *policy;
	json_t *resolved;
	oc_plan_fn planned;
	oc_check_fn checked;
	void *userdata;
	struct oc_source *soon; /* completes what needs no provider, but never inside the call */
};

static void operation_free(struct oc_operation *op)
{
	if (op->planned)
		oc_request_release(&op->request);
	oc_policy_free(op->policy);
	json_decref(op->resolved);
	oc_source_free(op->soon);
	free(op);
}

static void unlink_operation(struct oc_operation *op)
{
	for (struct oc_operation **p = &op->broker->operations; *p; p = &(*p)->next)
		if (*p == op) {
			*p = op->next;
			return;
		}
}

static int operation_new(oc_broker *broker, struct oc_operation **out, oc_error **err)
{
	struct oc_operation *op = calloc(1, sizeof(*op));

	if (!op)
		return oc_nomem(err);
	op->broker = broker;
	op->next = broker->operations;
	broker->operations = op;
	*out = op;
	return 0;
}

void oc_broker_free(oc_broker *broker)
{
	if (!broker)
		return;
	/* Ends the connection first: outstanding calls are dropped with it, without a callback. */
	oc_provider_free(broker->provider);
	while (broker->operations) {
		struct oc_operation *op = broker->operations;

		broker->operations = op->next;
		operation_free(op);
	}
	oc_strv_free(&broker->tools);
	free(broker->guest);
	free(broker);
}

static int needs_of(const oc_request *r, json_t **out, oc_error **err)
{
	struct {
		const char *name;
		const char *const *list;
	} lists[] = { { "hosts", r->need_hosts }, { "read", r->need_read }, { "write", r->need_write } };
	oc_cleanup(oc_json_decrefp) json_t *needs = json_object();

	for (size_t i = 0; i < OC_COUNT(lists); i++) {
		json_t *array = json_array();

		if (!oc_json_set(needs, lists[i].name, array))
			return oc_nomem(err);
		for (const char *const *s = lists[i].list; s && *s; s++)
			if (!oc_json_append(array, json_string(*s)))
				return oc_fail(err, OC_EINVAL, 0, "request.need_%s holds what is not UTF-8",
				               lists[i].name);
	}
	*out = oc_steal(needs);
	return 0;
}

static json_t *provider_identity(oc_broker *broker, const json_t *reply)
{
	oc_cleanup(oc_json_decrefp) json_t *p = json_object();
	json_t *identity = json_object_get(reply, "identity");

	if (!oc_json_set_string(p, "name", oc_provider_name(broker->provider)) ||
	    !oc_json_set_string(p, "version", oc_provider_version(broker->provider)) ||
	    !oc_json_set_string(p, "path", oc_provider_path(broker->provider)) ||
	    !oc_json_set_string(p, "digest", oc_provider_file_digest(broker->provider)) ||
	    !oc_json_set(p, "identity", identity ? json_incref(identity) : json_object()))
		return NULL;
	return oc_steal(p);
}

/* What the Work's clone was when it was made: the guard compares.  NULL without a Work. */
static int clone_of(oc_broker *broker, const oc_request *r, json_t **out, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *work = NULL;
	oc_cleanup(oc_freep) char *workspace = NULL;
	json_t *root, *git;
	int rc;

	*out = NULL;
	if (!r->work)
		return 0;
	rc = oc_store_work(broker->store, r->work, &work, err);
	if (rc < 0)
		return rc;
	workspace = oc_store_work_path(broker->store, r->work, OC_WORKSPACE);
	if (!workspace)
		return oc_nomem(err);
	root = json_object_get(work, "root");
	git = json_object_get(work, "git");
	if (!json_is_object(root) || !json_is_object(git) || strcmp(oc_json_text(work, "state"), "open"))
		return oc_refuse(err, "sandbox_workspace", r->work, "open-conduit work list",
		                 "the clone of this Work is not made, or on its way to be removed");
	if (strcmp(r->workspace, workspace))
		return oc_fail(err, OC_EINVAL, 0, "request.workspace is not the workspace of its Work, %s", workspace);
	*out = json_pack("{s:O, s:O}", "root", root, "git", git);
	return *out ? 0 : oc_nomem(err);
}

static int build(struct oc_operation *op, const json_t *reply, oc_plan **plan, oc_error **err)
{
	oc_broker *broker = op->broker;
	oc_cleanup(oc_json_decrefp) json_t *provider = NULL, *clone = NULL;
	struct oc_plan_input in = {
		.request = &op->request.request,
		.kind = op->request.request.attach && oc_kind_plain(broker->kind) ? OC_KIND_ATTACH : broker->kind,
		.run = op->request.run,
		.policy = op->policy,
		.resolved = op->resolved,
		.reply = reply,
		.guest = broker->guest,
		.guest_digest = broker->guest_digest,
		.state_dir = broker->ctx->state_dir,
		.home = broker->ctx->home,
		.environ = broker->ctx->environ,
	};
	int rc = clone_of(broker, &op->request.request, &clone, err);

	if (rc == 0 && op->request.request.attach)
		rc = oc_store_work_attach(broker->store, op->request.request.work, broker->kind, err);
	if (rc < 0)
		return rc;
	in.clone = clone;
	if (reply) {
		rc = oc_resolved_tools(op->resolved, json_object_get(reply, "tools"), err);
		if (rc < 0)
			return rc;
		provider = provider_identity(broker, reply);
		if (!provider)
			return oc_nomem(err);
		in.provider = provider;
	}
	return oc_plan_build(&in, plan, err);
}

static void finish_plan(struct oc_operation *op, const json_t *reply, const oc_error *failure)
{
	oc_error *err = NULL;
	oc_plan *plan = NULL;

	unlink_operation(op);
	if (!failure)
		build(op, reply, &plan, &err);
	op->planned(plan, failure ? failure : err, op->userdata);
	oc_error_free(err);
	operation_free(op);
}

static void plan_answered(const json_t *result, const oc_error *err, void *userdata)
{
	finish_plan(userdata, result, err);
}

static void plan_soon(void *userdata)
{
	finish_plan(userdata, NULL, NULL);
}

static int ask_plan(struct oc_operation *op, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *params = json_object();
	oc_cleanup(oc_buf_free) struct oc_buf live = { 0 };

	oc_buf_init(&live, 8192);
	if (oc_buf_printf(&live, "%s/live/%s", op->broker->ctx->state_dir, op->request.run) < 0 ||
	    !oc_json_set_string(params, "run", op->request.run) ||
	    !oc_json_set(params, "resolved", json_incref(op->resolved)) ||
	    !oc_json_set_string(params, "guest", op->broker->guest) || !oc_json_set_string(params, "live", live.data))
		return oc_nomem(err);
	if (oc_kind_container(op->broker->kind) &&
	    !oc_json_set(params, "terminal", json_boolean(op->request.request.rows != 0)))
		return oc_nomem(err);
	return oc_provider_call(op->broker->provider, "plan", oc_steal(params), PLAN_TIMEOUT_MS, plan_answered, op,
	                        err);
}

static int needs_toolbelt(const struct oc_operation *op, oc_error **err)
{
	const json_t *entry;
	size_t i;

	if (!op->request.request.toolbelt)
		return 0;
	json_array_foreach(json_object_get(op->resolved, "sockets"), i, entry)
	{
		const char *as = oc_json_text(entry, "as");

		if (as && strcmp(as, "{toolbelt}") == 0)
			return 0;
	}
	return oc_refuse(err, "sandbox_denied", "{toolbelt}", "\"sockets\": [\"{toolbelt}\"]",
	                 "the run needs its toolbelt, which the policy does not grant");
}

static int prepare_plan(struct oc_operation *op, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *needs = NULL;
	int rc;

	/* It gets ready meanwhile.  What keeps it from that is told when it is asked: a wrong policy comes first. */
	if (op->broker->provider)
		oc_provider_start(op->broker->provider);
	rc = oc_broker_resolve(op->broker, &op->request, &op->policy, &op->resolved, err);
	if (!rc && op->resolved) {
		rc = needs_of(&op->request.request, &needs, err);
		if (!rc)
			rc = oc_resolved_needs(op->resolved, needs, err);
		if (!rc)
			rc = needs_toolbelt(op, err);
	}
	if (rc < 0)
		return rc;
	if (op->broker->provider)
		return ask_plan(op, err);
	return oc_loop_add_timer(op->broker->ctx->loop, 0, plan_soon, op, &op->soon, err);
}

int oc_broker_plan(oc_broker *broker, const oc_request *request, oc_plan_fn fn, void *userdata, oc_error **err)
{
	struct oc_operation *op = NULL;
	int rc;

	if (!broker || !fn)
		return oc_fail(err, OC_EINVAL, 0, "oc_broker_plan needs a broker and a callback");
	rc = oc_context_check(broker->ctx, err);
	if (!rc)
		rc = operation_new(broker, &op, err);
	if (rc < 0 || !op)
		return rc;
	op->userdata = userdata;
	rc = oc_request_copy(&op->request, request, broker->kind, err);
	if (!rc) {
		op->planned = fn;
		rc = prepare_plan(op, err);
	}
	if (rc < 0) {
		unlink_operation(op);
		operation_free(op);
	}
	return rc;
}

static void deliver_checks(struct oc_operation *op, const json_t *checks, const oc_error *failure)
{
	oc_cleanup(oc_freep) char *text = checks ? json_dumps(checks, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	oc_error *err = NULL;

	if (!failure && !text)
		oc_nomem(&err);
	unlink_operation(op);
	op->checked(failure || err ? NULL : text, failure ? failure : err, op->userdata);
	oc_error_free(err);
	operation_free(op);
}

/* {"ok","provider","checks":[…]} from the provider's answer; keeps the verdict. */
static int judge(oc_broker *broker, const json_t *reply, json_t **out, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *identity = provider_identity(broker, reply), *whole = json_object();
	oc_cleanup(oc_buf_free) struct oc_buf key = { 0 };
	oc_cleanup(oc_freep) char *text = NULL;
	json_t *checks = json_object_get(reply, "checks"), *check;
	bool ok = json_array_size(checks) > 0;
	size_t i;
	int rc;

	oc_buf_init(&key, OC_JSON_MAX);
	rc = oc_checks_check(oc_provider_name(broker->provider), reply, err);
	if (rc < 0)
		return rc;
	json_array_foreach(checks, i, check) ok = ok && json_is_true(json_object_get(check, "ok"));
	if (!identity || !oc_json_set(whole, "ok", json_boolean(ok)) ||
	    !oc_json_set(whole, "provider", json_incref(identity)) ||
	    !oc_json_set(whole, "checks", json_incref(checks)))
		return oc_nomem(err);
	text = json_dumps(whole, JSON_COMPACT | JSON_SORT_KEYS);
	rc = text ? oc_verdict_key(identity, &key, err) : oc_nomem(err);
	if (!rc)
		rc = oc_store_verdict_put(broker->store, oc_provider_name(broker->provider), key.data, ok, text, err);
	if (!rc)
		*out = oc_steal(whole);
	return rc;
}

static void check_answered(const json_t *result, const oc_error *failure, void *userdata)
{
	struct oc_operation *op = userdata;
	oc_cleanup(oc_json_decrefp) json_t *whole = NULL;
	oc_error *err = NULL;

	if (!failure)
		judge(op->broker, result, &whole, &err);
	deliver_checks(op, whole, failure ? failure : err);
	oc_error_free(err);
}

/* Kind none depends on nothing that could be checked. */
static void check_soon(void *userdata)
{
	oc_cleanup(oc_json_decrefp) json_t *whole = json_pack("{s:b,s:n,s:[]}", "ok", 1, "provider", "checks");

	deliver_checks(userdata, whole, NULL);
}

static int ask_check(struct oc_operation *op, oc_error **err)
{
	oc_context *ctx = op->broker->ctx;
	oc_cleanup(oc_json_decrefp) json_t *params = json_object();
	oc_cleanup(oc_freep) char *live = oc_path_join(ctx->state_dir, "live");
	const struct oc_policy *policy = oc_kind_container(op->broker->kind) ? op->policy : NULL;

	if (!live || !oc_json_set_string(params, "state_dir", ctx->state_dir) ||
	    !oc_json_set_string(params, "guest", op->broker->guest) || !oc_json_set_string(params, "live_dir", live))
		return oc_nomem(err);
	if (policy && (!oc_json_set_string(params, "context",
	                                   oc_json_text(json_object_get(policy->normal, "provider"), "context")) ||
	               !oc_json_set_string(params, "image", oc_json_text(policy->normal, "image"))))
		return oc_nomem(err);
	return oc_provider_call(op->broker->provider, "check", oc_steal(params), CHECK_TIMEOUT_MS, check_answered, op,
	                        err);
}

int oc_broker_check(oc_broker *broker, oc_check_fn fn, void *userdata, oc_error **err)
{
	return oc_broker_check_policy(broker, NULL, fn, userdata, err);
}

int oc_broker_check_policy(oc_broker *broker, const char *policy, oc_check_fn fn, void *userdata, oc_error **err)
{
	struct oc_operation *op = NULL;
	int rc;

	if (!broker || !fn)
		return oc_fail(err, OC_EINVAL, 0, "oc_broker_check needs a broker and a callback");
	if (oc_kind_container(broker->kind) && !policy)
		return oc_fail(err, OC_EINVAL, 0,
		               "a check of containers needs a policy: it names the context and the image");
	rc = oc_context_check(broker->ctx, err);
	if (!rc)
		rc = operation_new(broker, &op, err);
	if (rc < 0 || !op)
		return rc;
	op->checked = fn;
	op->userdata = userdata;
	if (policy && !oc_kind_plain(broker->kind))
		rc = oc_policy_parse(broker->kind, policy, strlen(policy), &op->policy, err);
	if (rc == 0)
		rc = broker->provider ? ask_check(op, err)
		                      : oc_loop_add_timer(broker->ctx->loop, 0, check_soon, op, &op->soon, err);
	if (rc < 0) {
		unlink_operation(op);
		operation_free(op);
	}
	return rc;
}
