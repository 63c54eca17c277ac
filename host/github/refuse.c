/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of an answer that isn't a good one: a reason, what it is about, a sentence, and what to do. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "github/github.h"
#include "text.h"

int github_refuse(struct github *g, const char *reason, const char *subject, const char *fix, const char *message, ...)
{
	char text[1200];
	va_list args;

	if (g->error)
		return -1;
	va_start(args, message);
	vsnprintf(text, sizeof(text), message, args);
	va_end(args);
	text[text_valid(text, strlen(text))] = 0;
	g->error = json_pack("{s:s, s:s, s:s, s:s}", "reason", reason, "subject", subject, "message", text, "fix", fix);
	return -1;
}

void github_forgive(struct github *g)
{
	json_decref(g->error);
	g->error = NULL;
}

bool github_fault_of_theirs(const struct github *g)
{
	const char *reason = json_string_value(json_object_get(g->error, "reason"));

	return reason && !strcmp(reason, "github_unavailable");
}

/* Its message, and what it says first of what was wrong in particular. */
static void raw_words(const struct github_answer *a, char *out, size_t size)
{
	const char *message = json_string_value(json_object_get(a->json, "message"));
	const json_t *first = json_array_get(json_object_get(a->json, "errors"), 0);
	const char *more = json_string_value(json_is_object(first) ? json_object_get(first, "message") : first);

	snprintf(out, size, "%s%s%s", message ? message : "", message && more ? ": " : "", more ? more : "");
	out[text_valid(out, strlen(out))] = 0;
}

void github_words(const struct github_answer *a, const char *secret, char out[GITHUB_WORDS_MAX])
{
	char raw[GITHUB_WORDS_MAX];
	struct text shown = { 0 };

	raw_words(a, raw, sizeof(raw));
	if (secret && *secret && strstr(raw, secret))
		snprintf(raw, sizeof(raw), "it repeats the credential, which is not shown");
	text_escape(&shown, raw, false);
	snprintf(out, GITHUB_WORDS_MAX, "%s", shown.data && !shown.failed ? shown.data : "");
	out[text_valid(out, strlen(out))] = 0;
	text_free(&shown);
}

static void moment(long long seconds_from_now, char out[32])
{
	time_t at = (time_t)(github_now_ms() / 1000 + seconds_from_now);
	struct tm tm;

	if (!gmtime_r(&at, &tm) || !strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(out, 32, "later");
}

/* ---- what GitHub says no to ---- */

struct row {
	long status;
	enum github_auth auth; /* GITHUB_NOBODY: whoever asks */
	const char *words;     /* in its message */
	const char *says;      /* ours; "%s" is not in it */
	const char *fix;       /* SITE, REPO, APP and NEEDS are replaced */
};

static const struct row rows[] = {
	{ 401, GITHUB_APP, "could not be decoded", "the private key is none of this App's",
	  "make a new private key on the App's page (SITE/settings/apps, App APP, Private keys) and store it: "
	  "open-conduit "
	  "secret set NAME <FILE" },
	{ 404, GITHUB_APP, "Integration not found", "there is no App of that id, or the key is another App's",
	  "set the connection's app_id to the one that the App's page shows (SITE/settings/apps)" },
	{ 403, GITHUB_NOBODY, "has been suspended", "the App's installation is suspended",
	  "lift the suspension: SITE/settings/installations, or the same page of the organization" },
	{ 403, GITHUB_NOBODY, "Resource not accessible by", "a permission is missing",
	  "give it NEEDS (of an App: its page at SITE/settings/apps, Permissions), then accept that where it is "
	  "installed" },
	{ 422, GITHUB_NOBODY, "not accessible to the parent installation", "the App is not installed on REPO",
	  "add REPO to the App's installation: SITE/settings/installations, or the same page of the organization" },
	{ 422, GITHUB_NOBODY, "permissions requested are not granted", "the App was not granted NEEDS",
	  "give the App NEEDS on its page (SITE/settings/apps, Permissions), then accept that where it is installed" },
	{ 401, GITHUB_TOKEN, "", "the token has expired, was revoked, or is none",
	  "make a fine-grained token for REPO with NEEDS (SITE/settings/personal-access-tokens) and store it: "
	  "open-conduit secret "
	  "set NAME" },
	{ 404, GITHUB_NOBODY, "", "there is no such thing, or it may not be seen",
	  "look whether REPO is spelt right, and whether the App is installed on it: SITE/settings/installations" },
};

/* Of words in capitals, what they stand for here. */
static void expand(const struct github *g, const struct github_call *call, const char *from, char *out, size_t size)
{
	char site[GITHUB_SITE_MAX];
	const struct {
		const char *word, *is;
	} of[] = { { "SITE", site },
		   { "REPO", g->repository ? g->repository : "the repository" },
		   { "NEEDS", call->needs ? call->needs : "the permission that it wants" },
		   { "APP", g->app ? g->app : "" } };
	size_t n = 0;

	github_site(g, site);
	while (*from && n + 1 < size) {
		size_t i = 0;

		while (i < 4 && strncmp(from, of[i].word, strlen(of[i].word)) != 0)
			i++;
		if (i == 4) {
			out[n++] = *from++;
			continue;
		}
		n += (size_t)snprintf(out + n, size - n, "%s", of[i].is);
		from += strlen(of[i].word);
	}
	out[n < size ? n : size - 1] = 0;
}

static const struct row *row_of(const struct github_call *call, const struct github_answer *a, const char *words)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].status == a->status && (!rows[i].auth || rows[i].auth == call->auth) &&
		    strstr(words, rows[i].words))
			return &rows[i];
	return NULL;
}

static int said_no(struct github *g, const struct github_call *call, const struct github_answer *a, const char *words)
{
	const struct row *row = row_of(call, a, words);
	const char *subject = g->repository ? g->repository : g->api;
	char says[400], fix[GITHUB_FIX_MAX];

	expand(g, call, row ? row->says : "GitHub refuses it", says, sizeof(says));
	expand(g, call, row ? row->fix : "see what GitHub says of it, in the message", fix, sizeof(fix));
	return github_refuse(g, "github_denied", subject, fix, "%s: %s (GitHub: %ld %s)", call->what, says, a->status,
	                     words);
}

/* ---- everything else ---- */

static int wrong_clock(struct github *g, const struct github_answer *a, const char *words)
{
	long long apart = a->date - github_now_ms() / 1000;
	char by[80] = "by how much isn't known";

	if (a->date)
		snprintf(by, sizeof(by), "GitHub's is %lld seconds %s", apart < 0 ? -apart : apart,
		         apart < 0 ? "behind" : "ahead");
	return github_refuse(g, "github_clock", g->app,
	                     "set this machine's clock: timedatectl set-ntp true; timedatectl",
	                     "GitHub does not accept this machine's time; %s (GitHub: 401 %s)", by, words);
}

static int too_often(struct github *g, const struct github_call *call, const struct github_answer *a, const char *words)
{
	char when[32], fix[GITHUB_FIX_MAX];

	moment(a->wait >= 0 ? a->wait : 60, when);
	snprintf(fix, sizeof(fix), "wait until %s, then try again", when);
	return github_refuse(g, "rate_limited", g->api, fix,
	                     "%s: GitHub takes no more requests until %s (GitHub: %ld %s)", call->what, when, a->status,
	                     words);
}

static int unlike(struct github *g, const struct github_call *call, const struct github_answer *a)
{
	if (a->garbled)
		return github_refuse(g, "github_answer", g->api,
		                     "look whether the connection's address is an API of GitHub's",
		                     "%s: what answered %ld said nothing that GitHub says", call->what, a->status);
	return github_refuse(g, "github_answer", g->repository ? g->repository : g->api,
	                     "name the repository, or the connection's address, as it is called now",
	                     "%s: GitHub answered %ld, that it is somewhere else; that is not followed", call->what,
	                     a->status);
}

int github_denied(struct github *g, const struct github_call *call, const struct github_answer *a)
{
	static const char trust[] = "look at the network, and whether this machine trusts the server's certificate "
	                            "(SSL_CERT_FILE names another list): curl -sSI ";
	char words[GITHUB_WORDS_MAX], fix[GITHUB_FIX_MAX];

	snprintf(fix, sizeof(fix), "%s%.300s", trust, g->api);
	github_words(a, call->auth == GITHUB_APP ? g->jwt : call->token, words);
	if (a->status == 0)
		return github_refuse(g, a->garbled ? "github_answer" : "github_unavailable", g->api, fix,
		                     "%s: no answer from GitHub: %s", call->what, a->why);
	if (a->status >= 500)
		return github_refuse(g, "github_unavailable", g->api, "try again later",
		                     "%s: GitHub can't now (GitHub: %ld %s)", call->what, a->status, words);
	if (a->garbled || a->status < 400)
		return unlike(g, call, a);
	if (github_limited(a))
		return too_often(g, call, a, words);
	if (a->status == 401 && call->auth == GITHUB_APP && github_clock_words(words))
		return wrong_clock(g, a, words);
	return said_no(g, call, a, words);
}
