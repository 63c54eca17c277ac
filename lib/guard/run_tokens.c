/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens between their makers, the store and the run's guard.  The guard gets a value before the store says that there is one, and
 * forgets it after the store says that it is over: whoever is killed in between leaves a token that somebody will end. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/sha256.h"
#include "base/time.h"
#include "guard/ask.h"
#include "guard/protocol.h"
#include "store/tokens.h"

#define ABOUT_MAX 4096u

static int check(oc_store *store, const char *run, const char *id, oc_error **err)
{
	if (!store || !oc_run_id_valid(run))
		return oc_fail(err, OC_EINVAL, 0, "a token is of a store and a run, by its whole id");
	if (!oc_token_id_valid(id))
		return oc_fail(err, OC_EINVAL, 0, "a token's id is 16 to 32 of a-z and 0-9");
	return oc_context_check(store->ctx, err);
}

static int check_about(const char *about, json_t **json, oc_error **err)
{
	size_t len = about ? strnlen(about, ABOUT_MAX + 1) : 0;
	int rc;

	if (len > ABOUT_MAX)
		return oc_fail(err, OC_ELIMIT, 0, "what a token is about is at most 4 KiB");
	rc = oc_json_parse(about ? about : "", len, ABOUT_MAX, "about", json, err);
	if (rc == 0 && !json_is_object(*json))
		return oc_fail(err, OC_EINVAL, 0, "what a token is about is a JSON object");
	return rc;
}

int oc_token_begin(oc_store *store, const char *run, const char *about, int64_t lives_ms, char id[OC_TOKEN_ID_SIZE],
                   oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	oc_cleanup(oc_closep) int dir = -1;
	int rc;

	if (!store || !oc_run_id_valid(run) || !id || lives_ms < 1 || lives_ms > OC_TOKEN_LIVES_MAX)
		return oc_fail(err, OC_EINVAL, 0,
		               "a token is of a store and a run, by its whole id, and lives for a year at most");
	rc = oc_context_check(store->ctx, err);
	rc = rc < 0 ? rc : check_about(about, &json, err);
	if (rc < 0)
		return rc;
	dir = oc_store_run_dir(store, run, false, err);
	rc = dir < 0 ? dir : oc_guard_holds_tokens(dir, run, err);
	return rc < 0 ? rc : oc_store_token_begin(store, run, json, lives_ms, id, err);
}

/* {"digest","id"}, which each of the three has; *params new. */
static int named(oc_store *store, const char *run, const char *id, json_t **params, oc_error **err)
{
	oc_cleanup(oc_freep) char *text = NULL;
	oc_cleanup(oc_json_decrefp) json_t *out = json_object();
	char digest[OC_DIGEST_SIZE];
	int rc = oc_store_pinned(store, run, &text, digest, err);

	if (rc < 0)
		return rc;
	if (!oc_json_set_string(out, "digest", digest) || !oc_json_set_string(out, "id", id))
		return oc_nomem(err);
	*params = oc_steal(out);
	return 0;
}

static void wipe(const json_t *string)
{
	if (json_is_string(string))
		explicit_bzero((char *)(uintptr_t)json_string_value(string), json_string_length(string));
}

static int ask(oc_store *store, const char *run, const char *method, const json_t *params, json_t **result,
               oc_error **err)
{
	oc_cleanup(oc_closep) int dir = oc_store_run_dir(store, run, false, err);

	return dir < 0 ? dir : oc_guard_ask(dir, run, method, params, result, err);
}

static int put_value(json_t *params, const char *value, size_t len, int64_t expires_ms, oc_error **err)
{
	oc_cleanup(oc_freep) char *text = oc_base64_encode(value, len);
	bool ok = text && oc_json_set_string(params, "value", text) &&
	          oc_json_set(params, "expires_ms", json_integer(expires_ms));

	if (text)
		explicit_bzero(text, strlen(text));
	return ok ? 0 : oc_nomem(err);
}

/* 1: it has it; 0: nobody is there to have it. */
static int deposited(int rc, oc_error *why_taken, oc_error **err)
{
	const char *reason = oc_error_reason(why_taken);

	if (rc == 0)
		return 1;
	if (rc == OC_ENOTFOUND || (reason && strcmp(reason, "run_over") == 0))
		rc = 0;
	else if (err)
		*err = oc_steal(why_taken);
	oc_error_free(why_taken);
	return rc;
}

static int deposit(oc_store *store, const char *run, const char *id, const char *value, size_t len, int64_t expires_ms,
                   oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *params = NULL, *result = NULL;
	oc_error *why = NULL;
	int rc = named(store, run, id, &params, err);

	rc = rc < 0 ? rc : put_value(params, value, len, expires_ms, err);
	if (rc < 0)
		return rc;
	rc = ask(store, run, "deposit", params, &result, &why);
	wipe(json_object_get(params, "value"));
	return deposited(rc, why, err);
}

int oc_token_deposit(oc_store *store, const char *run, const char *id, const char *value, size_t len,
                     int64_t expires_ms, oc_error **err)
{
	int rc = check(store, run, id, err);

	if (rc == 0 && !oc_token_value_valid(value, len))
		return oc_fail(err, OC_EINVAL, 0, "a token is %u to %u bytes of printable ASCII", OC_TOKEN_VALUE_MIN,
		               OC_TOKEN_VALUE_MAX);
	if (rc == 0 && (expires_ms < 1 || expires_ms - oc_wall_ms() > OC_TOKEN_LIVES_MAX))
		return oc_fail(err, OC_EINVAL, 0, "a token lives for a year at most");
	if (rc == 0)
		rc = deposit(store, run, id, value, len, expires_ms, err);
	oc_fault("token:deposited");
	if (rc > 0)
		rc = oc_store_token_made(store, run, id, expires_ms, err);
	oc_fault("token:recorded");
	return rc;
}

int oc_token_list(oc_store *store, const char *run, char **json, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *list = NULL;
	int rc;

	if (!store || !json || (run && !oc_run_id_valid(run)))
		return oc_fail(err, OC_EINVAL, 0, "oc_token_list: a store, a run's whole id or none, and json");
	rc = oc_context_check(store->ctx, err);
	rc = rc < 0 ? rc : oc_store_tokens(store, run, &list, err);
	if (rc < 0)
		return rc;
	*json = json_dumps(list, JSON_COMPACT);
	return *json ? 0 : oc_nomem(err);
}

static int take_value(const json_t *result, char *value, size_t *len, oc_error **err)
{
	const json_t *text = json_object_get(result, "value");
	oc_cleanup(oc_freep) void *data = NULL;
	size_t n = 0;
	int rc = json_is_string(text) ? oc_base64_decode(json_string_value(text), json_string_length(text), &data, &n)
	                              : OC_EPROTO;

	if (rc == 0 && oc_token_value_valid(data, n)) {
		memcpy(value, data, n);
		*len = n;
	} else {
		rc = rc == OC_ENOMEM ? oc_nomem(err) : oc_fail(err, OC_EPROTO, 0, "the guard gave no token");
	}
	if (data)
		explicit_bzero(data, n);
	wipe(text);
	return rc;
}

int oc_token_take(oc_store *store, const char *run, const char *id, char *value, size_t *len, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *params = NULL, *result = NULL;
	int rc = check(store, run, id, err);

	if (rc == 0 && (!value || !len))
		return oc_fail(err, OC_EINVAL, 0, "oc_token_take: value and len must not be NULL");
	rc = rc < 0 ? rc : named(store, run, id, &params, err);
	rc = rc < 0 ? rc : ask(store, run, "withdraw", params, &result, err);
	return rc < 0 ? rc : take_value(result, value, len, err);
}

/* Nobody is left to forget it: then nobody has it. */
static int forget(oc_store *store, const char *run, const char *id, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *params = NULL, *result = NULL;
	oc_error *why = NULL;
	int rc = named(store, run, id, &params, err);

	if (rc < 0)
		return rc;
	rc = ask(store, run, "forget", params, &result, &why);
	if (rc == OC_ENOTFOUND)
		rc = 0;
	else if (rc < 0 && err)
		*err = oc_steal(why);
	oc_error_free(why);
	return rc;
}

/* A guard that was killed can't take its socket along. */
static int forgotten(oc_store *store, const char *run, oc_error **err)
{
	oc_cleanup(oc_closep) int dir = oc_store_run_dir(store, run, false, err);

	if (dir < 0)
		return dir;
	return faccessat(dir, OC_GUARD_EXIT, F_OK, 0) == 0 ? oc_guard_drop_socket(dir, err) : 0;
}

int oc_token_end(oc_store *store, const char *run, const char *id, const char *state, const char *detail,
                 oc_error **err)
{
	int rc = check(store, run, id, err);

	rc = rc < 0 ? rc : oc_store_token_end(store, run, id, state, detail, err);
	oc_fault("token:ended");
	if (rc < 0 || strcmp(state, "made") == 0)
		return OC_MIN(rc, 0);
	rc = forget(store, run, id, err);
	return rc < 0 ? rc : forgotten(store, run, err);
}
