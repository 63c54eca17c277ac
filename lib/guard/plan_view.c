/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/plan_view.h"

#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "guard/protocol.h"
#include "wire/belt.h"

#define RETRIES_MAX 10

static int unpack_terminal(struct oc_plan_view *v, const json_t *object, oc_error **err)
{
	const struct oc_json_key keys[] = {
		{ "rows", OC_JSON_INT, true, &v->rows },
		{ "cols", OC_JSON_INT, true, &v->cols },
	};

	return object ? oc_json_unpack(object, "command.terminal", NULL, keys, OC_COUNT(keys), err) : 0;
}

static int unpack_command(struct oc_plan_view *v, const json_t *object, oc_error **err)
{
	json_t *terminal = NULL;
	const struct oc_json_key keys[] = {
		{ "argv", OC_JSON_STRINGS, true, &v->argv },       { "cwd", OC_JSON_STRING, true, &v->cwd },
		{ "env", OC_JSON_ARRAY, true, &v->env },           { "secrets", OC_JSON_STRINGS, true, &v->secrets },
		{ "inherit", OC_JSON_STRINGS, true, &v->inherit }, { "files", OC_JSON_ARRAY, false, &v->files },
		{ "terminal", OC_JSON_OBJECT, false, &terminal },
	};
	int rc = oc_json_unpack(object, "command", NULL, keys, OC_COUNT(keys), err);

	return rc < 0 ? rc : unpack_terminal(v, terminal, err);
}

static int unpack_launch(struct oc_plan_view *v, const json_t *object, oc_error **err)
{
	json_t *cleanup = NULL;
	const struct oc_json_key keys[] = {
		{ "argv", OC_JSON_STRINGS, true, &v->launch_argv },
		{ "env", OC_JSON_OBJECT, true, &v->launch_env },
		{ "cwd", OC_JSON_STRING, true, &v->launch_cwd },
		{ "files", OC_JSON_ARRAY, true, NULL },
		{ "hello_retries", OC_JSON_INT, true, &v->hello_retries },
		{ "cleanup", OC_JSON_STRINGS, false, &cleanup },
		{ "inspect", OC_JSON_STRINGS, false, NULL },
	};
	int rc = oc_json_unpack(object, "launch", NULL, keys, OC_COUNT(keys), err);

	v->launch = (json_t *)object;
	v->cleanup = json_array_size(cleanup) > 0;
	return rc;
}

static int unpack_guest(struct oc_plan_view *v, const json_t *object, oc_error **err)
{
	const struct oc_json_key keys[] = {
		{ "path", OC_JSON_STRING, true, &v->guest },
		{ "digest", OC_JSON_STRING, true, &v->guest_digest },
		{ "confined", OC_JSON_BOOL, true, &v->confined },
		{ "landlock", OC_JSON_BOOL, true, &v->landlock },
		{ "nest", OC_JSON_BOOL, true, &v->nest },
		{ "deny_ipc", OC_JSON_BOOL, true, &v->deny_ipc },
		{ "deny_trace", OC_JSON_BOOL, true, &v->deny_trace },
		{ "unix", OC_JSON_BOOL, true, &v->unix_sockets },
		{ "filters", OC_JSON_INT, false, NULL },
		{ "writable", OC_JSON_STRINGS, true, &v->writable },
		{ "links", OC_JSON_ARRAY, false, &v->links },
	};

	return oc_json_unpack(object, "guest", NULL, keys, OC_COUNT(keys), err);
}

static int unpack_limits(struct oc_plan_view *v, const json_t *object, oc_error **err)
{
	const struct oc_json_key keys[] = {
		{ "timeout_ms", OC_JSON_INT, true, &v->timeout_ms },
		{ "grace_ms", OC_JSON_INT, true, &v->grace_ms },
		{ "unhosted_ms", OC_JSON_INT, true, &v->unhosted_ms },
		{ "keep", OC_JSON_BOOL, true, &v->keep },
		{ "journal_bytes", OC_JSON_INT, true, &v->journal_bytes },
	};

	return oc_json_unpack(object, "limits", NULL, keys, OC_COUNT(keys), err);
}

static int unpack_dirs(struct oc_plan_view *v, const json_t *object, oc_error **err)
{
	const struct oc_json_key keys[] = {
		{ "state", OC_JSON_STRING, true, &v->state },
		{ "runs", OC_JSON_STRING, true, &v->runs },
		{ "live", OC_JSON_STRING, true, &v->live },
	};

	return oc_json_unpack(object, "dirs", NULL, keys, OC_COUNT(keys), err);
}

static int unpack_provider(struct oc_plan_view *v, const json_t *object, oc_error **err)
{
	if (!object || json_is_null(object))
		return 0;
	v->provider = oc_json_text(object, "path");
	v->provider_digest = oc_json_text(object, "digest");
	if (!v->provider || !v->provider_digest)
		return oc_fail(err, OC_EPROTO, 0, "provider has no path or digest");
	return 0;
}

static int unpack_toolbelt(struct oc_plan_view *v, const json_t *object, oc_error **err)
{
	const struct oc_json_key keys[] = {
		{ "at", OC_JSON_STRING, true, &v->toolbelt_at },
		{ "belt", OC_JSON_OBJECT, true, &v->toolbelt },
	};
	int rc = object ? oc_json_unpack(object, "toolbelt", NULL, keys, OC_COUNT(keys), err) : 0;

	return rc < 0 || !object ? rc : oc_mcp_belt_check(v->toolbelt, err);
}

static int wrong(oc_error **err, const char *member)
{
	return oc_refuse(err, "pin_mismatch", member, NULL, "The pinned plan can't be carried out: its %s is not valid",
	                 member);
}

static int check_bounds(const struct oc_plan_view *v, oc_error **err)
{
	if (!oc_run_id_valid(v->run))
		return wrong(err, "run");
	if (!oc_path_clean(v->live) || strcmp(oc_path_base(v->live), v->run))
		return wrong(err, "dirs.live");
	if (!oc_path_clean(v->runs) || strcmp(oc_path_base(v->runs), v->run))
		return wrong(err, "dirs.runs");
	if (!oc_path_clean(v->state))
		return wrong(err, "dirs.state");
	if (v->work && (!oc_work_id_valid(v->work) || !v->clone))
		return wrong(err, "work");
	if (!json_array_size(v->argv))
		return wrong(err, "command.argv");
	if (!json_array_size(v->launch_argv) || json_string_value(json_array_get(v->launch_argv, 0))[0] != '/')
		return wrong(err, "launch.argv");
	if (!oc_path_clean(v->launch_cwd))
		return wrong(err, "launch.cwd");
	if (v->hello_retries < 0 || v->hello_retries > RETRIES_MAX)
		return wrong(err, "launch.hello_retries");
	if (v->timeout_ms < 0 || v->grace_ms < 0 || v->unhosted_ms < 0 || v->journal_bytes < 0)
		return wrong(err, "limits");
	if (v->rows < 0 || v->rows > UINT16_MAX || v->cols < 0 || v->cols > UINT16_MAX || !v->rows != !v->cols)
		return wrong(err, "command.terminal");
	if (!oc_kind_plain(v->kind) && !v->confined)
		return wrong(err, "guest.confined");
	if (!oc_kind_plain(v->kind) && (!v->resolved || !v->provider))
		return wrong(err, "resolved");
	return 0;
}

static int unpack(struct oc_plan_view *v, oc_error **err)
{
	int64_t version = 0;
	json_t *command = NULL, *launch = NULL, *guest = NULL, *dirs = NULL, *limits = NULL, *provider = NULL,
	       *toolbelt = NULL;
	const struct oc_json_key keys[] = {
		{ "version", OC_JSON_INT, true, &version },
		{ "kind", OC_JSON_STRING, true, &v->kind },
		{ "run", OC_JSON_STRING, true, &v->run },
		{ "work", OC_JSON_STRING | OC_JSON_NULL_OK, false, &v->work },
		{ "clone", OC_JSON_OBJECT, false, &v->clone },
		{ "binding", OC_JSON_ANY, false, NULL },
		{ "policy", OC_JSON_ANY, false, NULL },
		{ "resolved", OC_JSON_ANY, false, &v->resolved },
		{ "command", OC_JSON_OBJECT, true, &command },
		{ "launch", OC_JSON_OBJECT, true, &launch },
		{ "guest", OC_JSON_OBJECT, true, &guest },
		{ "probes", OC_JSON_ARRAY, true, &v->probes },
		{ "provider", OC_JSON_ANY, false, &provider },
		{ "needs", OC_JSON_ANY, false, NULL },
		{ "tools", OC_JSON_STRINGS, true, &v->tools },
		{ "dirs", OC_JSON_OBJECT, true, &dirs },
		{ "limits", OC_JSON_OBJECT, true, &limits },
		{ "notes", OC_JSON_ANY, false, NULL },
		{ "toolbelt", OC_JSON_OBJECT, false, &toolbelt },
	};
	int rc = oc_json_unpack(v->json, "", NULL, keys, OC_COUNT(keys), err);

	if (rc < 0)
		return rc;
	if (version != 1)
		return oc_fail(err, OC_EVERSION, 0, "This guard does not know plans of version %lld",
		               (long long)version);
	if (v->resolved && json_is_null(v->resolved))
		v->resolved = NULL;
	rc = unpack_command(v, command, err);
	rc = rc < 0 ? rc : unpack_launch(v, launch, err);
	rc = rc < 0 ? rc : unpack_guest(v, guest, err);
	rc = rc < 0 ? rc : unpack_dirs(v, dirs, err);
	rc = rc < 0 ? rc : unpack_limits(v, limits, err);
	rc = rc < 0 ? rc : unpack_provider(v, provider, err);
	rc = rc < 0 ? rc : unpack_toolbelt(v, toolbelt, err);
	return rc < 0 ? rc : check_bounds(v, err);
}

static int load(int run_dir, const char *digest, struct oc_plan_view *v, struct oc_buf *text, oc_error **err)
{
	int rc = oc_read_file(run_dir, OC_GUARD_PLAN, OC_JSON_MAX, text);

	if (rc < 0)
		return oc_fail(err, OC_EIO, -rc, "Can't read %s: %s", OC_GUARD_PLAN, strerror(-rc));
	rc = oc_digest(text->data ? text->data : "", text->len, v->digest);
	if (rc < 0)
		return oc_fail(err, OC_EFAILED, 0, "Can't compute the digest of the plan");
	if (digest && strcmp(digest, v->digest))
		return oc_refuse(err, "pin_mismatch", digest, NULL,
		                 "The pinned plan is not what it was: its digest is now %s", v->digest);
	rc = oc_json_parse(text->data ? text->data : "", text->len, OC_JSON_MAX, OC_GUARD_PLAN, &v->json, err);
	return rc < 0 ? rc : unpack(v, err);
}

int oc_plan_view_load(int run_dir, const char *digest, struct oc_plan_view *out, oc_error **err)
{
	struct oc_buf text;
	int rc;

	memset(out, 0, sizeof(*out));
	oc_buf_init(&text, OC_JSON_MAX);
	rc = load(run_dir, digest, out, &text, err);
	oc_buf_free(&text);
	if (rc < 0)
		oc_plan_view_free(out);
	return rc;
}

void oc_plan_view_free(struct oc_plan_view *view)
{
	json_decref(view->json);
	memset(view, 0, sizeof(*view));
}
