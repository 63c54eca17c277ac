/* SPDX-License-Identifier: Apache-2.0 */
/* open-conduit-github: one question to GitHub, for the host, which links none of what this needs.  What goes in and out is
 * in HACKING.md.  One file an operation; what they share is here. */
#ifndef HOST_GITHUB_GITHUB_H
#define HOST_GITHUB_GITHUB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GITHUB_TOKEN_MIN 8     /* bytes of one of an App's */
#define GITHUB_TOKEN_MAX 16384 /* bytes of a token or of a personal one */
#define GITHUB_KEY_MAX   16384
#define GITHUB_JWT_MAX   4096
#define GITHUB_PATH_MAX  1024
#define GITHUB_WORDS_MAX 400 /* of a message of GitHub's */
#define GITHUB_ETAG_MAX  256
#define GITHUB_SITE_MAX  264
#define GITHUB_FIX_MAX   1200

enum github_auth { GITHUB_NOBODY = 0, GITHUB_APP, GITHUB_TOKEN };

/* One question, and the answer to it. */
struct github {
	const json_t *request; /* borrowed, as what is read of it here */
	const char *api, *repository, *app, *key, *token;
	json_t *error;      /* the first refusal */
	long long deadline; /* by github_mono_ms() */
	long long ahead;    /* seconds that GitHub's clock is ahead of ours, where that had to be corrected */
	bool corrected;
	void *curl; /* kept for its connection */
	char jwt[GITHUB_JWT_MAX];
};

/* What an operation does: its answer, or NULL with g->error. */
typedef json_t *github_op(struct github *g);
github_op op_mint, op_revoke, op_identity, op_check, op_perform, op_poll;

struct github_call {
	const char *method;
	const char *path; /* below the API's address, escaped */
	const char *what; /* what it is about, in messages: "the App's installation" */
	const json_t *body;
	enum github_auth auth;
	const char *token;    /* GITHUB_TOKEN: which */
	long long token_made; /* by github_mono_ms(), or 0: a new one may be unknown to some of GitHub for seconds */
	const char *etag;     /* the answer is 304 where nothing has changed since; or NULL */
	const char *needs;    /* "contents: write": what the App lacks where it may not; or NULL */
	bool once;            /* never said again where it may have been heard */
};

struct github_answer {
	long status;  /* 0: there is none */
	json_t *json; /* NULL: it has none */
	char etag[GITHUB_ETAG_MAX];
	long long date; /* seconds, by GitHub's clock; 0: it doesn't say */
	long long wait; /* seconds until it wants to be asked again; -1: it doesn't say */
	bool heard;     /* without an answer: it may have been */
	bool hopeless;  /* without an answer: as will be the next */
	bool garbled;   /* its body is no JSON, or too much */
	char why[GITHUB_WORDS_MAX];
};

/* ---- main.c ---- */

bool github_api_fits(const char *api);
/* From now on; a process that is still there after ends. */
void github_more_time(struct github *g, int seconds);

/* ---- refuse.c ---- */

/* Refuse, if nothing was before.  -1. */
int github_refuse(struct github *g, const char *reason, const char *subject, const char *fix, const char *message, ...)
        __attribute__((format(printf, 5, 6)));
void github_forgive(struct github *g); /* the refusal doesn't matter */
/* Was that a fault which another attempt may not meet? */
bool github_fault_of_theirs(const struct github *g);
/* What GitHub says of its own answer, on one line, without `secret` (or NULL). */
void github_words(const struct github_answer *a, const char *secret, char out[GITHUB_WORDS_MAX]);
/* A refusal of what an answer that isn't a good one tells.  -1. */
int github_denied(struct github *g, const struct github_call *call, const struct github_answer *a);

/* ---- http.c ---- */

/* One request, one answer, no second try. */
void github_http(struct github *g, const struct github_call *call, const char *bearer, struct github_answer *a);
void github_answer_clear(struct github_answer *a);
/* Append a segment or a value to a path, escaped.  False: it doesn't fit. */
bool github_path(char path[GITHUB_PATH_MAX], const char *segment);

/* ---- ask.c ---- */

/* Ask, and again as long as that can help and there is time.  0 with an answer of 2xx or 304; -1, and the last answer. */
int github_ask(struct github *g, const struct github_call *call, struct github_answer *a);
bool github_clock_words(const char *words); /* is that a message about clocks? */
bool github_limited(const struct github_answer *a);
long long github_mono_ms(void);
long long github_now_ms(void);
/* https://github.com or https://HOST, of the pages for people. */
void github_site(const struct github *g, char out[GITHUB_SITE_MAX]);

/* ---- jwt.c ---- */

/* An App's proof of itself, for a clock that says `now` (seconds).  0, or *why. */
int github_jwt(const char *key, const char *app, long long now, char out[GITHUB_JWT_MAX], const char **why);

/* ---- app.c ---- */

struct app_token {
	char value[GITHUB_TOKEN_MAX + 1];
	size_t len;
	long long expires; /* ms, by our clock */
	long long made;    /* by github_mono_ms() */
};

/* The App itself: GET /app.  New, or NULL. */
json_t *app_self(struct github *g, struct github_answer *a);
/* Its installation on the repository.  New, or NULL. */
json_t *app_installation(struct github *g);
/* One attempt to make a token with exactly these permissions ({"contents":"write"}) for exactly the repository.  1: made; 0: none
 * was; -1: whether one was isn't known; both refused. */
int app_mint(struct github *g, const json_t *installation, const json_t *permissions, struct app_token *out);
/* End a token: 0 also where it was over already. */
int app_revoke(struct github *g, const struct app_token *token);
/* For one operation: what a person gave for it, or a token of the App's that app_token_end() revokes. */
int app_token_for(struct github *g, const json_t *permissions, struct app_token *out);
void app_token_end(struct github *g, struct app_token *token);

/* ---- wipe.c ---- */

/* Whatever jansson and libcurl free from now on is overwritten before.  False: out of memory. */
bool wipe_begin(void);

#ifdef OC_FAULTS
void github_fault(const char *point); /* tests: a process whose OPEN_CONDUIT_FAULT names the point ends there */
#else
#define github_fault(point) ((void)0)
#endif

#endif
