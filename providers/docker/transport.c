/* SPDX-License-Identifier: Apache-2.0 */
/* Requests by libcurl's multi interface: no proxy and no .netrc of the environment, no redirect, nothing but HTTP/1.1. */
#include "transport.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/checks.h"

#define CONNECT_MS      5000L
#define CONNECTIONS_MAX 8L
#define WAIT_MS         60000 /* libcurl takes no endless wait */

struct request {
	struct request *next;
	struct transport *t;
	CURL *easy;
	struct curl_slist *headers;
	struct text body;
	char *sent;
	CURLcode rc;
	bool answered, done, too_long;
	bool told; /* engine_poll has returned since the last of these changed */
	char error[CURL_ERROR_SIZE];
};

struct transport {
	CURLM *multi;
	struct endpoint at;
	char *base; /* "http://docker" */
	struct request *requests;
};

void reply_clear(struct reply *reply)
{
	json_decref(reply->json);
	free(reply->why);
	*reply = (struct reply){ 0 };
}

/* ---- the transport ---- */

static bool copy_endpoint(const struct endpoint *from, struct endpoint *to)
{
	struct refusal ignored = { 0 };
	cleanup_json json_t *json = endpoint_json(from);
	bool copied = json && endpoint_from_json(json, to, &ignored) == 0;

	refusal_clear(&ignored);
	return copied;
}

static char *base_url(const struct endpoint *at)
{
	if (endpoint_socket(at))
		return strdup("http://docker");
	return format("%s://%s", at->ca || at->cert || at->skip_verify ? "https" : "http", at->host + strlen("tcp://"));
}

struct transport *transport_new(const struct endpoint *at)
{
	struct transport *t = calloc(1, sizeof(*t));

	if (!t || curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
		free(t);
		return NULL;
	}
	t->multi = curl_multi_init();
	t->base = base_url(at);
	if (t->multi && t->base && copy_endpoint(at, &t->at) &&
	    curl_multi_setopt(t->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_MAX) == CURLM_OK)
		return t;
	transport_free(t);
	return NULL;
}

void transport_free(struct transport *t)
{
	if (!t)
		return;
	while (t->requests)
		request_drop(t->requests);
	if (t->multi)
		curl_multi_cleanup(t->multi);
	endpoint_clear(&t->at);
	free(t->base);
	free(t);
	curl_global_cleanup();
}

/* ---- one request ---- */

static size_t on_body(char *data, size_t size, size_t n, void *userdata)
{
	struct request *request = userdata;
	size_t len = size * n;

	if (len > ENGINE_REPLY_MAX - request->body.len) {
		request->too_long = true;
		return 0;
	}
	return text_add(&request->body, data, len) ? len : 0;
}

static size_t on_header(char *data, size_t size, size_t n, void *userdata)
{
	struct request *request = userdata;
	size_t len = size * n;

	if (len == 2 && data[0] == '\r' && !request->answered) {
		long status = 0;

		(void)curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
		request->answered = status >= 200;
		request->told = !request->answered;
	}
	return len;
}

static bool set_place(struct request *request)
{
	const struct endpoint *at = &request->t->at;
	const char *path = endpoint_socket(at);
	CURL *c = request->easy;

	if (path)
		return curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, path) == CURLE_OK;
	return (!at->ca || curl_easy_setopt(c, CURLOPT_CAINFO, at->ca) == CURLE_OK) &&
	       (!at->cert || curl_easy_setopt(c, CURLOPT_SSLCERT, at->cert) == CURLE_OK) &&
	       (!at->key || curl_easy_setopt(c, CURLOPT_SSLKEY, at->key) == CURLE_OK) &&
	       curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, at->skip_verify ? 0L : 1L) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, at->skip_verify ? 0L : 2L) == CURLE_OK;
}

static bool set_common(struct request *request, const char *url, const char *method, int timeout_ms)
{
	CURL *c = request->easy;
	bool reads = strcmp(method, "GET") == 0;

	return curl_easy_setopt(c, CURLOPT_URL, url) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_PROXY, "") == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)timeout_ms) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, reads ? 0L : 1L) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_ERRORBUFFER, request->error) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_PRIVATE, request) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_WRITEDATA, request) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_HEADERDATA, request) == CURLE_OK;
}

static bool add_header(struct request *request, const char *line)
{
	struct curl_slist *more = curl_slist_append(request->headers, line);

	if (more)
		request->headers = more;
	return more != NULL;
}

static bool set_body(struct request *request, const char *method, const json_t *body)
{
	CURL *c = request->easy;

	if (!strcmp(method, "GET"))
		return true;
	if (curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method) != CURLE_OK)
		return false;
	if (!strcmp(method, "DELETE"))
		return true;
	request->sent = body ? json_dumps(body, JSON_COMPACT) : strdup("");
	return request->sent && add_header(request, body ? "Content-Type: application/json" : "Content-Type:") &&
	       add_header(request, "Expect:") &&
	       curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)strlen(request->sent)) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_POSTFIELDS, request->sent) == CURLE_OK &&
	       curl_easy_setopt(c, CURLOPT_HTTPHEADER, request->headers) == CURLE_OK;
}

struct request *request_begin(struct transport *t, const char *method, const char *path, const json_t *body,
                              int timeout_ms)
{
	struct request *request = calloc(1, sizeof(*request));
	cleanup_free char *url = format("%s%s", t->base, path);

	if (!request)
		return NULL;
	request->t = t;
	request->told = true;
	request->easy = curl_easy_init();
	request->next = t->requests;
	t->requests = request;
	if (url && request->easy && set_place(request) && set_common(request, url, method, timeout_ms) &&
	    set_body(request, method, body) && curl_multi_add_handle(t->multi, request->easy) == CURLM_OK)
		return request;
	request_drop(request);
	return NULL;
}

bool request_answered(const struct request *request)
{
	return request->answered || request->done;
}

bool request_done(const struct request *request)
{
	return request->done;
}

void request_drop(struct request *request)
{
	struct request **at;

	if (!request)
		return;
	at = &request->t->requests;
	while (*at != request)
		at = &(*at)->next;
	*at = request->next;
	if (request->easy) {
		(void)curl_multi_remove_handle(request->t->multi, request->easy);
		curl_easy_cleanup(request->easy);
	}
	curl_slist_free_all(request->headers);
	text_clear(&request->body);
	free(request->sent);
	free(request);
}

/* ---- moving all that is under way ---- */

static void take_messages(struct transport *t)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(t->multi, &left))) {
		char *private = NULL;
		struct request *request;

		if (message->msg != CURLMSG_DONE ||
		    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private) != CURLE_OK)
			continue;
		request = (struct request *)(void *)private;
		request->rc = message->data.result;
		request->done = true;
		request->told = false;
	}
}

static int move(struct transport *t)
{
	int running;

	if (curl_multi_perform(t->multi, &running) != CURLM_OK)
		return -EIO;
	take_messages(t);
	return 0;
}

static bool news(const struct transport *t)
{
	const struct request *request;

	for (request = t->requests; request; request = request->next)
		if (!request->told)
			return true;
	return false;
}

static void tell(struct transport *t)
{
	struct request *request;

	for (request = t->requests; request; request = request->next)
		request->told = true;
}

/* libcurl's own revents leave a hang-up out, so they are asked for again. */
static int wait(struct transport *t, struct pollfd *extra, size_t n, int ms)
{
	struct curl_waitfd fds[ENGINE_EXTRA_MAX];

	for (size_t i = 0; i < n; i++)
		fds[i] = (struct curl_waitfd){ .fd = extra[i].fd,
			                       .events = (short)((extra[i].events & POLLIN ? CURL_WAIT_POLLIN : 0) |
			                                         (extra[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0)) };
	if (curl_multi_poll(t->multi, fds, (unsigned)n, ms, NULL) != CURLM_OK)
		return -EIO;
	return n && poll(extra, n, 0) > 0;
}

int transport_poll(struct transport *t, struct pollfd *extra, size_t n, int timeout_ms)
{
	int64_t until = now_ms() + timeout_ms;

	if (n > ENGINE_EXTRA_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		extra[i].revents = 0;
	for (;;) {
		int64_t left = timeout_ms < 0 ? WAIT_MS : until - now_ms();
		int ready, rc = move(t);

		if (rc < 0 || news(t))
			return tell(t), rc;
		ready = wait(t, extra, n, left <= 0 ? 0 : left > WAIT_MS ? WAIT_MS : (int)left);
		if (ready)
			return ready < 0 ? ready : 0;
		if (left <= 0)
			return 0;
	}
}

/* ---- what came ---- */

static char *transport_why(const struct request *request)
{
	if (request->too_long)
		return format("the engine's answer is longer than %u MiB", ENGINE_REPLY_MAX >> 20);
	return strdup(request->error[0] ? request->error : curl_easy_strerror(request->rc));
}

static void read_reply(struct request *request, struct reply *out)
{
	const char *said;

	(void)curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &out->status);
	if (request->body.len)
		out->json = json_loadb(request->body.data, request->body.len, JSON_REJECT_DUPLICATES, NULL);
	if (out->status >= 200 && out->status < 300)
		return;
	said = text_of(out->json, "message");
	out->why = said ? shown(said) : format("the engine answered with status %ld", out->status);
}

void request_take(struct request *request, struct reply *out)
{
	struct transport *t = request->t;
	int rc = 0;

	*out = (struct reply){ 0 };
	while (!request->done && rc == 0) {
		rc = move(t);
		if (rc == 0 && !request->done)
			rc = wait(t, NULL, 0, WAIT_MS);
	}
	if (rc == 0 && request->rc == CURLE_OK)
		read_reply(request, out);
	else
		out->why = rc < 0 ? strdup(strerror(-rc)) : transport_why(request);
	request_drop(request);
}

char *engine_escape(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
	struct text t = { 0 };
	bool good = text_puts(&t, "");

	for (; good && *text; text++) {
		char hex[4] = { *text };

		if (!strchr(plain, *text))
			(void)snprintf(hex, sizeof(hex), "%%%02X", (unsigned char)*text);
		good = text_puts(&t, hex);
	}
	if (good)
		return t.data;
	text_clear(&t);
	return NULL;
}
