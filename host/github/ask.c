/* SPDX-License-Identifier: Apache-2.0 */
/* A question asked again as long as that can help: faults of a server, limits of rate, a clock that is off once, a token so
 * new that not all of GitHub knows it. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "github/github.h"

#define ATTEMPTS_MAX 5u
#define LIMITED_MS   60000LL /* where GitHub doesn't say how long */
#define SPARE_MS     1000LL  /* what an attempt after a pause needs at least */
#define FRESH_MS     5000LL

static long long clock_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

long long github_mono_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

long long github_now_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

void github_site(const struct github *g, char out[GITHUB_SITE_MAX])
{
	const char *host = g->api + strlen("https://");

	host += strncmp(host, "api.", 4) == 0 ? 4 : 0;
	snprintf(out, GITHUB_SITE_MAX, "https://%.*s", (int)strcspn(host, "/"), host);
}

bool github_clock_words(const char *words)
{
	return strstr(words, "'Expiration time' claim ('exp')") || strstr(words, "'Issued at' claim ('iat')");
}

bool github_limited(const struct github_answer *a)
{
	char words[GITHUB_WORDS_MAX];

	if (a->status == 429)
		return true;
	github_words(a, NULL, words);
	return a->status == 403 && (a->wait >= 0 || strcasestr(words, "rate limit"));
}

/* Who asks: NULL for nobody, or what says so; false after refusing. */
static bool bearer_of(struct github *g, const struct github_call *call, const char **bearer)
{
	const char *why;

	*bearer = NULL;
	if (call->auth == GITHUB_TOKEN)
		*bearer = call->token;
	if (call->auth != GITHUB_APP)
		return true;
	if (!*g->jwt && github_jwt(g->key, g->app, github_now_ms() / 1000 + g->ahead, g->jwt, &why) < 0) {
		github_refuse(g, "secret_missing", g->app,
		              "store the private key of the App as GitHub made it, a text that begins with "
		              "-----BEGIN RSA PRIVATE KEY-----: open-conduit secret set NAME <FILE",
		              "the private key of App %s can't be used: %s", g->app, why);
		return false;
	}
	*bearer = g->jwt;
	return true;
}

/* Once: whoever says again that the time is wrong means something else. */
static bool correct_clock(struct github *g, const struct github_call *call, const struct github_answer *a)
{
	char words[GITHUB_WORDS_MAX];

	github_words(a, NULL, words);
	if (call->auth != GITHUB_APP || a->status != 401 || g->corrected || !a->date || !github_clock_words(words))
		return false;
	g->ahead = a->date - github_now_ms() / 1000;
	g->corrected = true;
	explicit_bzero(g->jwt, sizeof(g->jwt));
	return true;
}

/* Milliseconds until it is worth to ask again; -1: never. */
static long long pause_before(struct github *g, const struct github_call *call, const struct github_answer *a,
                              unsigned n)
{
	if (a->status == 0)
		return a->hopeless || (call->once && a->heard) ? -1 : 500LL << n;
	if (a->status >= 500)
		return call->once ? -1 : 500LL << n;
	if (github_limited(a))
		return a->wait >= 0 ? a->wait * 1000 + 250 : LIMITED_MS << n;
	if (correct_clock(g, call, a))
		return 0;
	if (a->status == 401 && call->token_made && github_mono_ms() - call->token_made < FRESH_MS)
		return 1000LL * (n + 1);
	return -1;
}

static bool good(const struct github_answer *a)
{
	return !a->garbled && ((a->status >= 200 && a->status < 300) || a->status == 304);
}

int github_ask(struct github *g, const struct github_call *call, struct github_answer *a)
{
	const char *bearer;

	github_answer_clear(a);
	for (unsigned n = 0;; n++) {
		long long pause;

		if (!bearer_of(g, call, &bearer))
			return -1;
		github_http(g, call, bearer, a);
		if (good(a))
			return 0;
		pause = n + 1 < ATTEMPTS_MAX ? pause_before(g, call, a, n) : -1;
		if (pause < 0 || g->deadline - github_mono_ms() < pause + SPARE_MS)
			return github_denied(g, call, a);
		(void)poll(NULL, 0, (int)pause);
	}
}
