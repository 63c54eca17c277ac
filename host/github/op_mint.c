/* SPDX-License-Identifier: Apache-2.0 */
/* A token for a run's git.  Each that may come to be is on the disk before GitHub is asked for it, and each that did is either with
 * the run's guard or revoked before this process ends; where an answer was lost, the record stays as it was. */
#include <stdlib.h>
#include <string.h>

#include "github/state.h"

#define LIVES_MS     (3660LL * 1000) /* GitHub's hour, and a minute until it has heard of it */
#define ATTEMPTS_MAX 3
#define REVOKING_S   30

struct mint {
	struct github *g;
	struct state s;
	const char *run;
	char id[OC_TOKEN_ID_SIZE];
	struct app_token token;
};

static bool begin(struct mint *m)
{
	struct github *g = m->g;
	json_t *about = json_pack("{s:s, s:s, s:s, s:s}", "service", "github", "api", g->api, "repository",
	                          g->repository, "app", g->app);
	char *text = about ? json_dumps(about, JSON_COMPACT) : NULL;
	oc_error *err = NULL;
	int rc = text ? oc_token_begin(m->s.store, m->run, text, LIVES_MS, m->id, &err) : -1;

	if (err)
		state_refuse(g, err);
	free(text);
	json_decref(about);
	return rc >= 0;
}

/* Nobody else has it.  It is revoked now or by time, and what is recorded says which. */
static void take_back(struct mint *m, const char *why)
{
	json_t *before = m->g->error;

	m->g->error = NULL;
	github_more_time(m->g, REVOKING_S);
	github_fault("github:revoking");
	if (app_revoke(m->g, &m->token) == 0) {
		github_fault("github:revoked");
		(void)state_end(m->g, &m->s, m->run, m->id, "revoked", why);
	} else {
		(void)state_end(m->g, &m->s, m->run, m->id, "made", "it could not be revoked: it expires by itself");
	}
	if (before) {
		github_forgive(m->g);
		m->g->error = before;
	}
}

static json_t *deposit(struct mint *m)
{
	oc_error *err = NULL;
	int rc;

	github_fault("github:minted");
	rc = oc_token_deposit(m->s.store, m->run, m->id, m->token.value, m->token.len, m->token.expires, &err);
	if (rc > 0) {
		github_fault("github:deposited");
		return json_pack("{s:s, s:I}", "token", m->id, "expires", (json_int_t)m->token.expires);
	}
	if (rc < 0)
		state_refuse(m->g, err);
	else
		github_refuse(m->g, "run_over", m->run, "start the next run",
		              "the run was over before its token was made");
	take_back(m, rc < 0 ? "the guard did not take it" : "the run was over before it was made");
	return NULL;
}

/* Refused: what is known of it goes on the record, and the refusal stays the first one. */
static void record_refusal(struct mint *m, int rc)
{
	const char *why = json_string_value(json_object_get(m->g->error, "message"));
	/* One that it had to make first was revoked already. */
	const char *state = rc < 0 ? "made" : m->token.len ? "revoked" : "never";

	(void)state_end(m->g, &m->s, m->run, m->id, state, why);
}

/* Where an answer was lost another token is asked for, as another: nobody can tell whether there is a first. */
static json_t *mint(struct mint *m, const json_t *installation, const json_t *permissions)
{
	for (int n = 0;; n++) {
		int rc;

		if (!begin(m))
			return NULL;
		github_fault("github:minting");
		rc = app_mint(m->g, installation, permissions, &m->token);
		if (rc == 1)
			return deposit(m);
		record_refusal(m, rc);
		if (rc == 0 || n + 1 == ATTEMPTS_MAX || !github_fault_of_theirs(m->g))
			return NULL;
		github_forgive(m->g);
	}
}

json_t *op_mint(struct github *g)
{
	struct mint m = { .g = g, .run = json_string_value(json_object_get(g->request, "run")) };
	json_t *permissions = json_pack("{s:s}", "contents", "write"), *installation = NULL, *told = NULL;

	if (!m.run || !g->app)
		github_refuse(g, "github_denied", g->repository, "give the connection \"auth\": \"app\"",
		              "tokens are made for a run, by an App");
	else if (permissions && state_open(g, &m.s))
		installation = app_installation(g);
	if (installation)
		told = mint(&m, installation, permissions);
	explicit_bzero(&m.token, sizeof(m.token));
	json_decref(installation);
	json_decref(permissions);
	state_close(&m.s);
	return told;
}
