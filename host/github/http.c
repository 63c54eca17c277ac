/* SPDX-License-Identifier: Apache-2.0 */
/* One request by libcurl: https alone, no redirect followed, no proxy, .netrc or cookie of anybody's, everything bounded. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "github/github.h"

#define ANSWER_MAX  (4u << 20)
#define HEADERS_MAX 65536u
#define CONNECT_MS  10000L
#define REQUEST_MS  30000L

struct exchange {
	CURL *curl;
	struct curl_slist *headers;
	char *sent;
	char *body;
	size_t len, cap, header_bytes;
	bool too_long;
	char error[CURL_ERROR_SIZE];
};

void github_answer_clear(struct github_answer *a)
{
	json_decref(a->json);
	*a = (struct github_answer){ .wait = -1 };
}

/* Not realloc(): it leaves what it moved. */
static bool grow(struct exchange *x, size_t need)
{
	size_t cap = x->cap ? x->cap : 16384;
	char *more;

	while (cap < need)
		cap *= 2;
	if (cap == x->cap)
		return true;
	more = malloc(cap);
	if (!more)
		return false;
	if (x->body) {
		memcpy(more, x->body, x->len);
		explicit_bzero(x->body, x->cap);
		free(x->body);
	}
	x->body = more;
	x->cap = cap;
	return true;
}

static size_t on_body(char *data, size_t size, size_t n, void *userdata)
{
	struct exchange *x = userdata;
	size_t len = size * n;

	x->too_long = x->too_long || len > ANSWER_MAX - x->len;
	if (x->too_long || !grow(x, x->len + len))
		return 0;
	memcpy(x->body + x->len, data, len);
	x->len += len;
	return len;
}

static size_t on_header(char *data, size_t size, size_t n, void *userdata)
{
	struct exchange *x = userdata;

	(void)data;
	x->header_bytes += size * n;
	x->too_long = x->too_long || x->header_bytes > HEADERS_MAX;
	return x->too_long ? 0 : size * n;
}

static bool header(struct exchange *x, const char *line)
{
	struct curl_slist *more = curl_slist_append(x->headers, line);

	if (more)
		x->headers = more;
	return more != NULL;
}

static bool set_headers(struct exchange *x, const struct github_call *call)
{
	char match[GITHUB_ETAG_MAX + 32];

	snprintf(match, sizeof(match), "If-None-Match: %s", call->etag ? call->etag : "");
	return header(x, "Accept: application/vnd.github+json") && header(x, "X-GitHub-Api-Version: 2022-11-28") &&
	       (!call->etag || header(x, match)) && (!call->body || header(x, "Content-Type: application/json")) &&
	       header(x, "Expect:") && curl_easy_setopt(x->curl, CURLOPT_HTTPHEADER, x->headers) == CURLE_OK;
}

/* Whom we believe is the system's to say, or a file that is named; that we look is nobody's. */
static bool set_trust(CURL *c)
{
	const char *file = getenv("SSL_CERT_FILE");

	if (file && *file &&
	    (curl_easy_setopt(c, CURLOPT_CAINFO, file) != CURLE_OK ||
	     curl_easy_setopt(c, CURLOPT_CAPATH, NULL) != CURLE_OK))
		return false;
	return curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK;
}

static bool set_bounds(struct exchange *x, long ms)
{
	CURL *c = x->curl;

	return curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "https") == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_PROXY, "") == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, ms < CONNECT_MS ? ms : CONNECT_MS) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, ms) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_ERRORBUFFER, x->error) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_WRITEDATA, x) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_HEADERDATA, x) == CURLE_OK;
}

/* What may be said once only goes over a connection of its own: libcurl says it again where a kept one turns out closed. */
static bool set_question(struct exchange *x, const struct github *g, const struct github_call *call, const char *bearer)
{
	char url[2 * GITHUB_PATH_MAX];
	CURL *c = x->curl;

	snprintf(url, sizeof(url), "%s%s", g->api, call->path);
	if (curl_easy_setopt(c, CURLOPT_URL, url) != CURLE_OK ||
	    curl_easy_setopt(c, CURLOPT_USERAGENT, "open-conduit/" OC_VERSION) != CURLE_OK ||
	    curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, call->once ? 1L : 0L) != CURLE_OK)
		return false;
	if (bearer && (curl_easy_setopt(c, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER) != CURLE_OK ||
	               curl_easy_setopt(c, CURLOPT_XOAUTH2_BEARER, bearer) != CURLE_OK))
		return false;
	if (!strcmp(call->method, "GET"))
		return true;
	if (curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, call->method) != CURLE_OK)
		return false;
	if (!call->body)
		return true;
	x->sent = json_dumps(call->body, JSON_COMPACT);
	return x->sent && curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)strlen(x->sent)) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_POSTFIELDS, x->sent) == CURLE_OK;
}

bool github_path(char path[GITHUB_PATH_MAX], const char *segment)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
	size_t n = strlen(path);

	for (const char *c = segment; *c && n + 4 < GITHUB_PATH_MAX; c++)
		n += (size_t)snprintf(path + n, 4, strchr(plain, *c) ? "%c" : "%%%02X", (unsigned char)*c);
	return n + 4 < GITHUB_PATH_MAX;
}

/* ---- the answer ---- */

static const char *said(CURL *c, const char *name)
{
	struct curl_header *h;

	return curl_easy_header(c, name, 0, CURLH_HEADER, -1, &h) == CURLHE_OK ? h->value : NULL;
}

static long long number(const char *text)
{
	return text && *text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 12
	               ? strtoll(text, NULL, 10)
	               : -1;
}

/* By a clock that may differ from ours, so as seconds from when the answer was made. */
static long long asked_wait(CURL *c, long long date)
{
	const char *after = said(c, "retry-after");
	long long seconds = number(after), reset = number(said(c, "x-ratelimit-reset"));

	if (after && seconds < 0 && date && curl_getdate(after, NULL) > 0)
		seconds = (long long)curl_getdate(after, NULL) - date;
	if (!after && number(said(c, "x-ratelimit-remaining")) == 0 && reset >= 0)
		seconds = reset - (date ? date : github_now_ms() / 1000);
	else if (!after)
		return -1;
	return seconds > 0 ? seconds : 0;
}

static void read_head(CURL *c, struct github_answer *a)
{
	const char *date = said(c, "date"), *etag = said(c, "etag");
	time_t at = date ? curl_getdate(date, NULL) : -1;

	(void)curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &a->status);
	a->date = at > 0 ? (long long)at : 0;
	a->wait = asked_wait(c, a->date);
	if (etag && strlen(etag) < sizeof(a->etag))
		memcpy(a->etag, etag, strlen(etag) + 1);
}

static void read_answer(struct exchange *x, CURLcode rc, struct github_answer *a)
{
	long sent = 0;

	if (rc == CURLE_OK)
		read_head(x->curl, a);
	if (rc == CURLE_OK && x->len)
		a->json = json_loadb(x->body, x->len, JSON_REJECT_DUPLICATES, NULL);
	a->garbled = x->too_long || (rc == CURLE_OK && x->len && !a->json);
	if (rc == CURLE_OK)
		return;
	(void)curl_easy_getinfo(x->curl, CURLINFO_REQUEST_SIZE, &sent);
	a->heard = sent > 0;
	a->hopeless = x->too_long || rc == CURLE_PEER_FAILED_VERIFICATION || rc == CURLE_SSL_CACERT_BADFILE ||
	              rc == CURLE_URL_MALFORMAT || rc == CURLE_UNSUPPORTED_PROTOCOL;
	snprintf(a->why, sizeof(a->why), "%.300s",
	         x->too_long ? "its answer is longer than any of GitHub's"
	         : *x->error ? x->error
	                     : curl_easy_strerror(rc));
}

static void exchange_end(struct exchange *x)
{
	if (x->body)
		explicit_bzero(x->body, x->cap);
	free(x->body);
	free(x->sent);
	curl_slist_free_all(x->headers);
	curl_easy_reset(x->curl); /* keeps the connection */
}

void github_http(struct github *g, const struct github_call *call, const char *bearer, struct github_answer *a)
{
	long long left = g->deadline - github_mono_ms();
	struct exchange x = { .curl = g->curl };

	github_answer_clear(a);
	if (!x.curl)
		x.curl = g->curl = curl_easy_init();
	if (left < 1 || !x.curl) {
		snprintf(a->why, sizeof(a->why), "%s", x.curl ? "there is no time left" : "out of memory");
		a->hopeless = true;
		return;
	}
	if (set_bounds(&x, left < REQUEST_MS ? (long)left : REQUEST_MS) && set_trust(x.curl) && set_headers(&x, call) &&
	    set_question(&x, g, call, bearer)) {
		read_answer(&x, curl_easy_perform(x.curl), a);
	} else {
		snprintf(a->why, sizeof(a->why), "libcurl takes the request not: it is too old, or out of memory");
		a->hopeless = true;
	}
	exchange_end(&x);
}
