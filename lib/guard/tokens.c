/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/tokens.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "guard/guard.h"

#define LOOK_MS 30000 /* at the wall clock, which may be set, and goes on while the machine sleeps */

static void empty(struct oc_guard_token *t)
{
	if (t->value)
		explicit_bzero(t->value, t->len);
	free(t->value);
	memset(t, 0, sizeof(*t));
}

static struct oc_guard_token *find(const struct oc_guard *g, const char *id)
{
	for (size_t i = 0; i < OC_TOKENS_MAX; i++)
		if (g->tokens.v[i].id[0] && strcmp(g->tokens.v[i].id, id) == 0)
			return (struct oc_guard_token *)&g->tokens.v[i];
	return NULL;
}

const char *oc_tokens_find(const struct oc_guard *g, const char *id)
{
	const struct oc_guard_token *t = find(g, id);

	return t ? t->value : NULL;
}

bool oc_tokens_held(const struct oc_guard *g)
{
	for (size_t i = 0; i < OC_TOKENS_MAX; i++)
		if (g->tokens.v[i].id[0])
			return true;
	return false;
}

void oc_tokens_free(struct oc_guard *g)
{
	for (size_t i = 0; i < OC_TOKENS_MAX; i++)
		empty(&g->tokens.v[i]);
	oc_source_free(oc_steal(g->tokens.timer));
}

/* What has expired is worth nothing to anybody. */
static void look(void *userdata)
{
	struct oc_guard *g = userdata;
	int64_t now = oc_wall_ms(), next = -1;

	for (size_t i = 0; i < OC_TOKENS_MAX; i++) {
		struct oc_guard_token *t = &g->tokens.v[i];

		if (t->id[0] && t->expires_ms <= now)
			empty(t);
		else if (t->id[0])
			next = next < 0 ? t->expires_ms - now : OC_MIN(next, t->expires_ms - now);
	}
	oc_source_set_timer(g->tokens.timer, OC_MIN(next, (int64_t)LOOK_MS));
	oc_ending_forgot(g);
}

static int watch(struct oc_guard *g, oc_error **err)
{
	if (!g->tokens.timer)
		return oc_loop_add_timer(g->loop, 0, look, g, &g->tokens.timer, err);
	oc_source_set_timer(g->tokens.timer, 0);
	return 0;
}

static int named(const struct oc_guard *g, const char *digest, const char *id, oc_error **err)
{
	if (strcmp(digest, g->digest))
		return oc_refuse(err, "pin_mismatch", g->run, NULL, "This guard holds the plan %s, not %s", g->digest,
		                 digest);
	return oc_token_id_valid(id) ? 0 : oc_fail(err, OC_EINVAL, 0, "That is no token's id");
}

static struct oc_guard_token *place(struct oc_guard *g)
{
	for (size_t i = 0; i < OC_TOKENS_MAX; i++) {
		size_t at = (g->tokens.next + i) % OC_TOKENS_MAX;

		if (g->tokens.v[at].id[0])
			continue;
		g->tokens.next = at + 1;
		return &g->tokens.v[at];
	}
	return NULL;
}

/* In everything that is recorded from now on: nobody but us has it yet. */
static int keep(struct oc_guard *g, const char *id, const char *value, size_t len, int64_t expires_ms, oc_error **err)
{
	struct oc_guard_token *t = place(g);
	int rc;

	if (!t)
		return oc_fail(err, OC_ELIMIT, 0, "The guard of run %s holds %d tokens already", g->run, OC_TOKENS_MAX);
	rc = watch(g, err);
	rc = rc < 0 ? rc : oc_streams_redact(g, (size_t)(t - g->tokens.v), "token", value, len, err);
	if (rc < 0)
		return rc;
	t->value = malloc(len + 1);
	if (!t->value)
		return oc_nomem(err);
	memcpy(t->value, value, len);
	t->value[len] = '\0';
	t->len = len;
	t->expires_ms = expires_ms;
	memcpy(t->id, id, strlen(id) + 1);
	return 0;
}

/* Asked again, because the answer was not heard, it is the same one. */
static int again(struct oc_guard_token *t, const char *value, size_t len, oc_error **err)
{
	if (t->len == len && memcmp(t->value, value, len) == 0)
		return 0;
	return oc_fail(err, OC_EEXISTS, 0, "The guard holds another token of this id");
}

static int check_deposit(const struct oc_guard *g, const char *value, size_t len, int64_t expires_ms, oc_error **err)
{
	int64_t now = oc_wall_ms();

	if (g->state != OC_GUARD_PROVEN && g->state != OC_GUARD_RUNNING)
		return oc_refuse(err, "run_over", g->run, NULL, "Run %s is %s: it gets no token", g->run,
		                 oc_machine_state_name(g->state));
	if (!oc_token_value_valid(value, len))
		return oc_fail(err, OC_EINVAL, 0, "A token is %u to %u bytes of printable ASCII", OC_TOKEN_VALUE_MIN,
		               OC_TOKEN_VALUE_MAX);
	if (expires_ms <= now || expires_ms - now > OC_TOKEN_LIVES_MAX)
		return oc_fail(err, OC_EINVAL, 0, "A token that is deposited expires within a year, and has not yet");
	return 0;
}

static int deposit(struct oc_guard *g, const char *id, const char *value, size_t len, int64_t expires_ms,
                   oc_error **err)
{
	struct oc_guard_token *t = find(g, id);
	int rc = check_deposit(g, value, len, expires_ms, err);

	if (rc < 0)
		return rc;
	return t ? again(t, value, len, err) : keep(g, id, value, len, expires_ms, err);
}

/* The parsed text is ours until the message is gone: what was secret in it is wiped at once. */
static void wipe(const char *text)
{
	explicit_bzero((char *)(uintptr_t)text, strlen(text));
}

int oc_tokens_deposit(struct oc_guard *g, const json_t *params, oc_error **err)
{
	oc_cleanup(oc_freep) void *data = NULL;
	const char *digest = NULL, *id = NULL, *value = NULL;
	int64_t expires_ms = 0;
	size_t len = 0;
	const struct oc_json_key keys[] = { { "digest", OC_JSON_STRING, true, &digest },
		                            { "id", OC_JSON_STRING, true, &id },
		                            { "value", OC_JSON_STRING, true, &value },
		                            { "expires_ms", OC_JSON_INT, true, &expires_ms } };
	int rc = oc_json_unpack(params, "", NULL, keys, OC_COUNT(keys), err);

	rc = rc < 0 ? rc : named(g, digest, id, err);
	if (rc >= 0 && oc_base64_decode(value, strlen(value), &data, &len) < 0)
		rc = oc_fail(err, OC_EPROTO, 0, "The value is not base64");
	if (rc >= 0)
		rc = deposit(g, id, data, len, expires_ms, err);
	if (value)
		wipe(value);
	if (data)
		explicit_bzero(data, len);
	return rc;
}

static int unpack(const struct oc_guard *g, const json_t *params, const char **id, oc_error **err)
{
	const char *digest = NULL;
	const struct oc_json_key keys[] = { { "digest", OC_JSON_STRING, true, &digest },
		                            { "id", OC_JSON_STRING, true, id } };
	int rc = oc_json_unpack(params, "", NULL, keys, OC_COUNT(keys), err);

	return rc < 0 ? rc : named(g, digest, *id, err);
}

int oc_tokens_withdraw(struct oc_guard *g, const json_t *params, json_t **result, oc_error **err)
{
	oc_cleanup(oc_freep) char *text = NULL;
	const struct oc_guard_token *t;
	const char *id = NULL;
	int rc = unpack(g, params, &id, err);

	if (rc < 0)
		return rc;
	if (g->state != OC_GUARD_STOPPING && g->state != OC_GUARD_EXITED)
		return oc_fail(err, OC_EINVAL, 0, "Run %s is %s: its tokens are its own until it ends", g->run,
		               oc_machine_state_name(g->state));
	t = find(g, id);
	if (!t)
		return oc_fail(err, OC_ENOTFOUND, 0, "The guard of run %s holds no token %s", g->run, id);
	text = oc_base64_encode(t->value, t->len);
	*result = text ? json_pack("{s:s}", "value", text) : NULL;
	if (text)
		wipe(text);
	return *result ? 0 : oc_nomem(err);
}

int oc_tokens_forget(struct oc_guard *g, const json_t *params, oc_error **err)
{
	struct oc_guard_token *t;
	const char *id = NULL;
	int rc = unpack(g, params, &id, err);

	if (rc < 0)
		return rc;
	t = find(g, id);
	if (t)
		empty(t);
	oc_ending_forgot(g);
	return 0;
}
