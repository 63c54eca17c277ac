/* SPDX-License-Identifier: Apache-2.0 */
#include "store/tokens.h"

#include <string.h>

#include "base/fault.h"
#include "base/time.h"
#include "store/chain.h"
#include "store/sql.h"

#define ID_LENGTH  24
#define DETAIL_MAX 4096u
#define LIST_MAX   10000

int oc_token_rank(const char *state)
{
	static const struct {
		const char *state;
		int rank;
	} ranks[] = { { "asked", 1 }, { "made", 2 }, { "revoked", 3 }, { "expired", 3 }, { "never", 3 } };

	for (size_t i = 0; state && i < OC_COUNT(ranks); i++)
		if (strcmp(ranks[i].state, state) == 0)
			return ranks[i].rank;
	return 0;
}

static int no_token(const char *id, oc_error **err)
{
	return oc_error_makef(err, OC_ENOTFOUND, 0, NULL, id, "open-conduit runs list",
	                      "that run has no token of this id");
}

/* What is over makes room, and so does what its service has forgotten by itself. */
static int room(oc_store *store, const char *run, int64_t now, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	char fix[80];
	int rc = oc_sql_prepare(
	        store, &st, err,
	        "SELECT state, (SELECT count(*) FROM tokens WHERE run = runs.id AND ended_ms IS NULL AND "
	        "expires_ms > ?) FROM runs WHERE id = ?",
	        "is", now, run);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return oc_error_makef(err, OC_ENOTFOUND, 0, NULL, run, "open-conduit runs list", "there is no run %s",
		                      run);
	if (oc_state_ended(oc_sql_text(st, 0)))
		return oc_refuse(err, "run_over", run, oc_store_show_run(fix, run),
		                 "run %s is over: it gets no token any more", run);
	if (sqlite3_column_int64(st, 1) >= OC_TOKENS_MAX)
		return oc_error_makef(err, OC_ELIMIT, 0, NULL, run, oc_store_show_run(fix, run),
		                      "run %s has %d tokens already that are not over", run, OC_TOKENS_MAX);
	return 0;
}

static int asked(oc_store *store, const char *run, const char *id, const json_t *about, int64_t lives_ms,
                 oc_error **err)
{
	oc_cleanup(oc_freep) char *text = json_dumps(about, JSON_COMPACT | JSON_SORT_KEYS);
	int64_t now = oc_wall_ms(), expires = now + lives_ms;
	int rc = text ? room(store, run, now, err) : oc_nomem(err);

	if (rc >= 0)
		rc = oc_sql_run(store, err,
		                "INSERT INTO tokens (run, id, state, about, created_ms, expires_ms) VALUES (?, ?, "
		                "'asked', ?, ?, ?)",
		                "sssii", run, id, text, now, expires);
	if (rc < 0)
		return rc;
	return oc_store_chain(store, run, "token",
	                      json_pack("{s:s, s:s, s:O, s:I}", "id", id, "state", "asked", "about", about,
	                                "expires_ms", (json_int_t)expires),
	                      err);
}

int oc_store_token_begin(oc_store *store, const char *run, const json_t *about, int64_t lives_ms,
                         char id[OC_TOKEN_ID_SIZE], oc_error **err)
{
	char made[OC_TOKEN_ID_SIZE] = "";
	int rc = oc_random_id(made, ID_LENGTH);

	if (rc < 0)
		return oc_fail(err, OC_EIO, -rc, "there is no random number to be had");
	rc = oc_sql_begin(store, true, err);
	if (rc >= 0)
		rc = oc_sql_end(store, asked(store, run, made, about, lives_ms, err), err);
	if (rc < 0)
		return rc;
	memcpy(id, made, sizeof(made));
	oc_fault("token:asked");
	return 0;
}

/* Its state now, or that there is none. */
static int state_of(oc_store *store, const char *run, const char *id, sqlite3_stmt **st, const char **state,
                    oc_error **err)
{
	int rc = oc_sql_prepare(store, st, err, "SELECT state FROM tokens WHERE run = ? AND id = ?", "ss", run, id);

	if (rc == 0)
		rc = oc_sql_step(store, *st, err);
	if (rc <= 0)
		return rc < 0 ? rc : no_token(id, err);
	*state = oc_sql_text(*st, 0);
	return oc_token_rank(*state) ? 0 : oc_sql_fail(store, SQLITE_CORRUPT, err);
}

static int made(oc_store *store, const char *run, const char *id, int64_t expires_ms, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	const char *state = NULL;
	int rc = state_of(store, run, id, &st, &state, err);

	if (rc < 0 || oc_token_rank(state) > 1)
		return rc < 0 ? rc : oc_token_rank(state) == 2;
	oc_sql_finalizep(&st);
	rc = oc_sql_run(store, err, "UPDATE tokens SET state = 'made', expires_ms = ? WHERE run = ? AND id = ?", "iss",
	                expires_ms, run, id);
	if (rc >= 0)
		rc = oc_store_chain(
		        store, run, "token",
		        json_pack("{s:s, s:s, s:I}", "id", id, "state", "made", "expires_ms", (json_int_t)expires_ms),
		        err);
	return rc < 0 ? rc : 1;
}

int oc_store_token_made(oc_store *store, const char *run, const char *id, int64_t expires_ms, oc_error **err)
{
	int rc = oc_sql_begin(store, true, err);

	return rc < 0 ? rc : oc_sql_end(store, made(store, run, id, expires_ms, err), err);
}

/* Why it is not over: the same words again are nothing new, however often somebody tries. */
static int explain(oc_store *store, const char *run, const char *id, const char *detail, oc_error **err)
{
	int rc = oc_sql_run(store, err, "UPDATE tokens SET detail = ?1 WHERE run = ?2 AND id = ?3 AND detail IS NOT ?1",
	                    "sss", detail, run, id);

	if (rc <= 0)
		return rc;
	rc = oc_store_chain(store, run, "token", json_pack("{s:s, s:s?}", "id", id, "detail", detail), err);
	return rc < 0 ? rc : 1;
}

static int over(oc_store *store, const char *run, const char *id, const char *state, const char *detail, oc_error **err)
{
	int64_t now = oc_wall_ms();
	int rc =
	        oc_sql_run(store, err, "UPDATE tokens SET state = ?, detail = ?, ended_ms = ? WHERE run = ? AND id = ?",
	                   "ssiss", state, detail, now, run, id);

	if (rc >= 0)
		rc = oc_store_chain(store, run, "token",
		                    json_pack("{s:s, s:s, s:s?, s:I}", "id", id, "state", state, "detail", detail,
		                              "ended_ms", (json_int_t)now),
		                    err);
	return rc < 0 ? rc : 1;
}

static int end(oc_store *store, const char *run, const char *id, const char *state, const char *detail, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	const char *now = NULL;
	int rc = state_of(store, run, id, &st, &now, err), rank;

	if (rc < 0)
		return rc;
	rank = oc_token_rank(now);
	oc_sql_finalizep(&st);
	if (rank == 3)
		return 0;
	if (oc_token_rank(state) == 2)
		return explain(store, run, id, detail, err);
	if (rank == 2 && strcmp(state, "never") == 0)
		return oc_fail(err, OC_EINVAL, 0, "token %s was made: it can't be one that never was", id);
	return over(store, run, id, state, detail, err);
}

int oc_store_token_end(oc_store *store, const char *run, const char *id, const char *state, const char *detail,
                       oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *text = detail ? json_string(detail) : json_null();
	int rc;

	if (oc_token_rank(state) < 2)
		return oc_fail(err, OC_EINVAL, 0, "a token ends as revoked, expired or never, or stays made");
	if (!text || (detail && strlen(detail) > DETAIL_MAX))
		return oc_fail(err, OC_EINVAL, 0, "what is said of a token is UTF-8, and at most %u bytes", DETAIL_MAX);
	rc = oc_sql_begin(store, true, err);
	return rc < 0 ? rc : oc_sql_end(store, end(store, run, id, state, detail, err), err);
}

static bool put_row(json_t *out, sqlite3_stmt *st)
{
	return oc_json_set_string(out, "run", oc_sql_text(st, 0)) &&
	       oc_json_set_string(out, "id", oc_sql_text(st, 1)) &&
	       oc_json_set_string(out, "state", oc_sql_text(st, 2)) && oc_json_set(out, "about", oc_sql_json(st, 3)) &&
	       oc_json_set(out, "created", oc_sql_time(st, 4)) && oc_json_set(out, "expires", oc_sql_time(st, 5)) &&
	       oc_json_set(out, "ended", oc_sql_time(st, 6)) && oc_json_set_string(out, "detail", oc_sql_text(st, 7));
}

int oc_store_tokens(oc_store *store, const char *run, json_t **list, oc_error **err)
{
	static const char of_run[] =
	        "SELECT run, id, state, about, created_ms, expires_ms, ended_ms, detail FROM tokens WHERE "
	        "run = ? ORDER BY created_ms, id LIMIT ?";
	static const char left[] =
	        "SELECT run, tokens.id, tokens.state, about, tokens.created_ms, expires_ms, tokens.ended_ms, detail "
	        "FROM tokens JOIN runs ON runs.id = run WHERE tokens.ended_ms IS NULL AND runs.state IN ('exited', "
	        "'failed', 'run_lost') ORDER BY tokens.created_ms, tokens.id LIMIT ?";
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *out = json_array();
	int rc = run ? oc_sql_prepare(store, &st, err, of_run, "si", run, (int64_t)LIST_MAX)
	             : oc_sql_prepare(store, &st, err, left, "i", (int64_t)LIST_MAX);

	while (rc >= 0 && (rc = oc_sql_step(store, st, err)) > 0) {
		oc_cleanup(oc_json_decrefp) json_t *one = json_object();

		if (!put_row(one, st) || !oc_json_append(out, json_incref(one)))
			return oc_nomem(err);
	}
	if (rc < 0)
		return rc;
	*list = oc_steal(out);
	return *list ? 0 : oc_nomem(err);
}
