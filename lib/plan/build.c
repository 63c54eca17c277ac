/* SPDX-License-Identifier: Apache-2.0 */
/* Putting a plan together.  Nothing on the machine is changed; the result passes the same check as a stored one. */
#include <string.h>

#include "base/path.h"
#include "plan/check.h"
#include "plan/credential.h"
#include "plan/toolbelt.h"
#include "policy/policy.h"

#define GRACE_MS      5000
#define UNHOSTED_MS   10000
#define JOURNAL_BYTES 67108864

char *oc_plan_run_dir(const struct oc_plan_input *in)
{
	const char *resolved = oc_json_text(in->resolved, "run_dir");
	struct oc_buf path;

	oc_buf_init(&path, 65536);
	if ((resolved ? oc_buf_puts(&path, resolved) : oc_buf_printf(&path, "%s/live/%s/run", in->state_dir, in->run)) <
	    0) {
		oc_buf_free(&path);
		return NULL;
	}
	return oc_buf_steal(&path);
}

static bool set_path(json_t *out, const char *key, const struct oc_plan_input *in, const char *middle, const char *end)
{
	oc_cleanup(oc_buf_free) struct oc_buf path = { 0 };

	oc_buf_init(&path, 65536);
	return oc_buf_printf(&path, "%s/%s/%s%s", in->state_dir, middle, in->run, end) == 0 &&
	       oc_json_set_string(out, key, path.data);
}

/* Shared, not copied: neither a plan nor what it is made of is ever changed. */
static bool share(json_t *out, const char *key, const json_t *from)
{
	json_t *value = json_object_get(from, key);

	return value && oc_json_set(out, key, json_incref(value));
}

/* The reply's shape: what is wrong in it is the provider's fault, and is said so. */
static int out_of_bounds(const char *field, oc_error **err)
{
	return oc_refuse(err, "provider_failed", field, "open-conduit doctor",
	                 "the provider's answer to plan has %s out of bounds", field);
}

/* What is set where the command will be, before ours: an image's variables. */
static int check_env(const json_t *env, oc_error **err)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)env, name, value)
	{
		if (!oc_env_name_valid(name) || !json_is_string(value))
			return out_of_bounds("env", err);
	}
	return 0;
}

static int check_reply(const json_t *reply, oc_error **err)
{
	json_t *launch = NULL, *guest = NULL, *proxy = NULL, *env = NULL;
	int64_t filters = 0;
	const char *variable = NULL;
	const struct oc_json_key keys[] = {
		{ "identity", OC_JSON_OBJECT, true, NULL }, { "launch", OC_JSON_OBJECT, true, &launch },
		{ "guest", OC_JSON_OBJECT, true, &guest },  { "inherit", OC_JSON_STRINGS, true, NULL },
		{ "proxy", OC_JSON_ANY, true, &proxy },     { "tools", OC_JSON_STRINGS, true, NULL },
		{ "notes", OC_JSON_STRINGS, true, NULL },   { "env", OC_JSON_OBJECT, false, &env },
	};
	const struct oc_json_key launch_keys[] = {
		{ "argv", OC_JSON_STRINGS, true, NULL },      { "env", OC_JSON_OBJECT, true, NULL },
		{ "cwd", OC_JSON_STRING, true, NULL },        { "files", OC_JSON_ARRAY, true, NULL },
		{ "hello_retries", OC_JSON_INT, true, NULL }, { "cleanup", OC_JSON_STRINGS, false, NULL },
		{ "inspect", OC_JSON_STRINGS, false, NULL },
	};
	const struct oc_json_key guest_keys[] = {
		{ "landlock", OC_JSON_BOOL, true, NULL }, { "nest", OC_JSON_BOOL, true, NULL },
		{ "deny_ipc", OC_JSON_BOOL, true, NULL }, { "deny_trace", OC_JSON_BOOL, true, NULL },
		{ "unix", OC_JSON_BOOL, true, NULL },     { "filters", OC_JSON_INT, true, &filters },
		{ "links", OC_JSON_ARRAY, false, NULL },  { "hides", OC_JSON_STRINGS, false, NULL },
	};
	const struct oc_json_key proxy_keys[] = { { "variable", OC_JSON_STRING, true, &variable } };
	int rc;

	if (!json_is_object(reply))
		return oc_refuse(err, "provider_failed", "plan", "open-conduit doctor",
		                 "the provider's answer to plan is no object");
	rc = oc_json_unpack(reply, "", "provider_failed", keys, OC_COUNT(keys), err);
	if (rc == 0)
		rc = oc_json_unpack(launch, "launch", "provider_failed", launch_keys, OC_COUNT(launch_keys), err);
	if (rc == 0)
		rc = oc_json_unpack(guest, "guest", "provider_failed", guest_keys, OC_COUNT(guest_keys), err);
	if (rc == 0 && json_is_object(proxy))
		rc = oc_json_unpack(proxy, "proxy", "provider_failed", proxy_keys, OC_COUNT(proxy_keys), err);
	if (rc < 0)
		return rc;
	if (filters < 0 || filters > 16)
		return out_of_bounds("guest.filters", err);
	if (!json_is_object(proxy) && !json_is_null(proxy))
		return out_of_bounds("proxy", err);
	if (variable && !oc_env_name_valid(variable))
		return out_of_bounds("proxy.variable", err);
	return check_env(env, err);
}

static bool put_launch(json_t *out, const struct oc_plan_input *in)
{
	json_t *launch, *argv = NULL;

	if (in->reply)
		return share(out, "launch", in->reply);
	launch = json_object();
	if (!oc_json_set(out, "launch", launch))
		return false;
	argv = json_array();
	return oc_json_set(launch, "argv", argv) && oc_json_append(argv, json_string(in->guest)) &&
	       oc_json_append(argv, json_string("enter")) && oc_json_set(launch, "env", json_object()) &&
	       oc_json_set_string(json_object_get(launch, "env"), "PATH", "/usr/local/bin:/usr/bin:/bin") &&
	       set_path(launch, "cwd", in, "live", "/cwd") && oc_json_set(launch, "files", json_array()) &&
	       oc_json_set(launch, "hello_retries", json_integer(0));
}

/* Where Landlock allows writes: the grants, and the tmpfs that the sandbox has instead of a hidden /tmp, which a
 * probe then proves to be its own. */
static bool put_writable(json_t *guest, const json_t *resolved)
{
	json_t *list = json_array();
	const json_t *entry;
	size_t i;

	if (!oc_json_set(guest, "writable", list))
		return false;
	json_array_foreach(json_object_get(resolved, "write"), i, entry)
	{
		if (!oc_json_append(list, json_string(oc_json_text(entry, "path"))))
			return false;
	}
	json_array_foreach(json_object_get(resolved, "hidden"), i, entry)
	{
		if (strcmp(oc_json_text(entry, "path"), "/tmp") == 0 && !oc_json_append(list, json_string("/tmp")))
			return false;
	}
	/* A container's is a tmpfs of its own. */
	return !json_object_get(resolved, "agent_home") || oc_json_append(list, json_string("/tmp"));
}

static bool put_guest(json_t *out, const struct oc_plan_input *in)
{
	static const char *const flags[] = { "landlock", "nest", "deny_ipc", "deny_trace", "unix" };
	const json_t *from = json_object_get(in->reply, "guest");
	json_t *guest = json_object();
	size_t i;

	if (!oc_json_set(out, "guest", guest) || !oc_json_set_string(guest, "path", in->guest) ||
	    !oc_json_set_string(guest, "digest", in->guest_digest) ||
	    !oc_json_set(guest, "confined", json_boolean(in->reply != NULL)) || !put_writable(guest, in->resolved))
		return false;
	if (json_array_size(json_object_get(from, "links")) > 0 &&
	    !oc_json_set(guest, "links", json_incref(json_object_get(from, "links"))))
		return false;
	for (i = 0; i < OC_COUNT(flags); i++)
		if (!oc_json_set(guest, flags[i], json_boolean(json_is_true(json_object_get(from, flags[i])))))
			return false;
	return true;
}

static bool put_provider(json_t *out, const struct oc_plan_input *in)
{
	json_t *provider;

	if (!in->provider)
		return oc_json_set(out, "provider", json_null());
	provider = json_copy((json_t *)in->provider);
	return oc_json_set(out, "provider", provider) &&
	       (json_object_get(provider, "identity") || share(provider, "identity", in->reply));
}

static bool put_policy(json_t *out, const struct oc_plan_input *in)
{
	json_t *policy = json_object();

	return oc_json_set(out, "policy", policy) &&
	       oc_json_set_string(policy, "text", in->policy ? in->policy->text : "{}") &&
	       oc_json_set(policy, "normal",
	                   in->policy && in->policy->normal ? json_incref(in->policy->normal) : json_object());
}

static bool put_list(json_t *out, const char *key, const char *const *list)
{
	json_t *array = json_array();

	if (!oc_json_set(out, key, array))
		return false;
	for (; list && *list; list++)
		if (!oc_json_append(array, json_string(*list)))
			return false;
	return true;
}

/* The provider's, and how git signs in. */
static int put_notes(json_t *out, const struct oc_plan_input *in, oc_error **err)
{
	const json_t *from = json_object_get(in->reply, "notes");
	json_t *notes = from ? json_deep_copy(from) : json_array();
	oc_cleanup(oc_freep) char *note = NULL;
	struct oc_plan_credential git = { 0 };
	int rc = oc_json_set(out, "notes", notes) ? oc_plan_credential(in, &git, err) : oc_nomem(err);

	if (rc == 0 && git.json) {
		note = oc_plan_credential_note(in, &git);
		if (!note || !oc_json_append(notes, json_string(note)))
			rc = oc_nomem(err);
	}
	oc_plan_credential_free(&git);
	return rc;
}

static bool put_rest(json_t *out, const struct oc_plan_input *in)
{
	const oc_request *r = in->request;
	json_t *needs = json_object(), *dirs = NULL, *limits = NULL;

	if (!oc_json_set(out, "needs", needs) || !put_list(needs, "hosts", r->need_hosts) ||
	    !put_list(needs, "read", r->need_read) || !put_list(needs, "write", r->need_write))
		return false;
	if (!(in->reply ? share(out, "tools", in->reply) : oc_json_set(out, "tools", json_array())))
		return false;
	dirs = json_object();
	if (!oc_json_set(out, "dirs", dirs) || !oc_json_set_string(dirs, "state", in->state_dir) ||
	    !set_path(dirs, "runs", in, "runs", "") || !set_path(dirs, "live", in, "live", ""))
		return false;
	limits = json_object();
	return oc_json_set(out, "limits", limits) && oc_json_set(limits, "timeout_ms", json_integer(r->timeout_ms)) &&
	       oc_json_set(limits, "grace_ms", json_integer(r->grace_ms ? r->grace_ms : GRACE_MS)) &&
	       oc_json_set(limits, "unhosted_ms", json_integer(UNHOSTED_MS)) &&
	       oc_json_set(limits, "keep", json_boolean(r->keep != 0)) &&
	       oc_json_set(limits, "journal_bytes", json_integer(JOURNAL_BYTES));
}

static bool put_head(json_t *out, const struct oc_plan_input *in)
{
	return oc_json_set(out, "version", json_integer(1)) && oc_json_set_string(out, "kind", in->kind) &&
	       oc_json_set_string(out, "run", in->run) && oc_json_set_string(out, "work", in->request->work) &&
	       (!in->clone || oc_json_set(out, "clone", json_deep_copy(in->clone))) &&
	       oc_json_set_string(out, "binding", in->request->binding) && put_policy(out, in) &&
	       oc_json_set(out, "resolved", in->resolved ? json_incref((json_t *)in->resolved) : json_null());
}

static int check_input(const struct oc_plan_input *in, oc_error **err)
{
	bool sandbox = !oc_kind_plain(in->kind);

	if (!in->request || !in->run || !in->guest || !in->guest_digest || !in->state_dir || !in->home)
		return oc_fail(err, OC_EINVAL, 0,
		               "a plan needs a request, a run, a guest, a state directory and a home");
	if (sandbox && (!in->policy || !in->resolved || !in->reply || !in->provider))
		return oc_fail(err, OC_EINVAL, 0,
		               "a sandbox's plan needs a policy, what it means here and a provider's answer");
	if (!oc_kind_valid(in->kind) || (!sandbox && (in->resolved || in->reply || in->provider)))
		return oc_fail(err, OC_EINVAL, 0, "only a sandbox's plan has a resolved policy and a provider");
	if (in->request->timeout_ms < 0 || in->request->grace_ms < 0)
		return oc_fail(err, OC_EINVAL, 0, "a time limit can't be negative");
	return in->reply ? check_reply(in->reply, err) : 0;
}

int oc_plan_build(const struct oc_plan_input *in, oc_plan **out, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *plan = NULL, *command = NULL, *probes = NULL, *toolbelt = NULL;
	int rc = check_input(in, err);

	if (rc == 0)
		rc = oc_plan_command(in, &command, err);
	if (rc == 0)
		rc = oc_plan_toolbelt(in, &toolbelt, err);
	if (rc == 0 && in->resolved)
		rc = oc_plan_probes(in, command, &probes, err);
	if (rc < 0)
		return rc;
	plan = json_object();
	if (!put_head(plan, in) || !put_launch(plan, in) || !put_guest(plan, in) || !put_provider(plan, in) ||
	    !put_rest(plan, in) || !oc_json_set(plan, "command", oc_steal(command)) ||
	    (toolbelt && !oc_json_set(plan, "toolbelt", oc_steal(toolbelt))) ||
	    !oc_json_set(plan, "probes", probes ? oc_steal(probes) : json_array()))
		return oc_nomem(err);
	rc = put_notes(plan, in, err);
	if (rc < 0)
		return rc;
	rc = oc_plan_from_json(oc_steal(plan), out, err);
	/* What the check finds here came in with the provider's answer: everything else was made above. */
	if (rc == OC_EPROTO && in->reply)
		oc_prefix(err, "the plan of provider %s", oc_json_text(in->provider, "name"));
	return rc;
}
