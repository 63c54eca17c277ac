/* SPDX-License-Identifier: Apache-2.0 */
/* open-conduit-github: a question on standard input, its answer on standard output; nothing secret is ever an argument. */
#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "github/github.h"

#define REQUEST_MAX (1u << 20)
#define GRACE_S     10 /* after an operation's deadline: a process that is still there ends */

static const struct op {
	const char *name;
	github_op *run;
	int seconds;
	bool plain; /* has no api, repository or auth */
} ops[] = {
	{ "mint", op_mint, 50, false },   { "revoke", op_revoke, 100, true },   { "identity", op_identity, 50, false },
	{ "check", op_check, 50, false }, { "perform", op_perform, 50, false }, { "poll", op_poll, 120, false },
};

#ifdef OC_FAULTS
void github_fault(const char *point)
{
	const char *wanted = getenv("OPEN_CONDUIT_FAULT");

	if (wanted && !strcmp(wanted, point))
		kill(getpid(), SIGKILL);
}
#endif

/* Its memory is in nobody's reach, and in no file; what it says is in no list of keys of TLS. */
static bool harden(void)
{
	const struct rlimit none = { 0, 0 };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	return sigaction(SIGPIPE, &ignore, NULL) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0 &&
	       setrlimit(RLIMIT_CORE, &none) == 0 && unsetenv("SSLKEYLOGFILE") == 0 && wipe_begin();
}

void github_more_time(struct github *g, int seconds)
{
	g->deadline = github_mono_ms() + seconds * 1000LL;
	alarm((unsigned)seconds + GRACE_S);
}

static json_t *read_request(void)
{
	char *text = malloc(REQUEST_MAX + 1);
	json_t *request = NULL;
	size_t len = 0;
	ssize_t n = -1;

	while (text && len <= REQUEST_MAX && (n = read(STDIN_FILENO, text + len, REQUEST_MAX + 1 - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		len += (size_t)n;
	}
	if (n == 0)
		request = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	if (text)
		explicit_bzero(text, len);
	free(text);
	return request;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool only(const char *text, const char *chars, size_t max)
{
	return text && *text && strlen(text) <= max && strspn(text, chars) == strlen(text);
}

#define WORDS  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._"
#define TOKENS WORDS "~+/="

/* https, a host, perhaps a port and a path without an end of "/"; nobody's name or password. */
bool github_api_fits(const char *api)
{
	size_t len = api ? strlen(api) : 0;

	return len > 8 && !strncmp(api, "https://", 8) && only(api + 8, WORDS ":[]/", 250) && api[8] != '/' &&
	       api[len - 1] != '/' && !strstr(api + 8, "//") && !strstr(api, "/.");
}

static bool repository_fits(const char *repository)
{
	const char *name = repository ? strchr(repository, '/') : NULL;

	return name && name != repository && only(repository, WORDS "/", 200) && !strchr(name + 1, '/') && name[1] &&
	       repository[0] != '.' && strcmp(name, "/.") != 0 && strcmp(name, "/..") != 0;
}

/* What is missing or malformed, or NULL. */
static const char *read_common(struct github *g, const json_t *request)
{
	const json_t *auth = json_object_get(request, "auth");

	g->api = text_of(request, "api");
	g->repository = text_of(request, "repository");
	g->app = text_of(auth, "app");
	g->key = text_of(auth, "key");
	g->token = text_of(auth, "token");
	if (!github_api_fits(g->api))
		return "api";
	if (!repository_fits(g->repository))
		return "repository";
	if (g->token)
		return only(g->token, TOKENS, GITHUB_TOKEN_MAX) && !g->app && !g->key ? NULL : "auth";
	return only(g->app, WORDS, 64) && g->key && strlen(g->key) <= GITHUB_KEY_MAX ? NULL : "auth";
}

static int reply(json_t *answer)
{
	char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
	size_t len = text ? strlen(text) : 0, at = 0;
	ssize_t n;

	while (at < len && ((n = write(STDOUT_FILENO, text + at, len - at)) > 0 || errno == EINTR))
		at += n > 0 ? (size_t)n : 0;
	free(text);
	return text && at == len ? 0 : 1;
}

static int refuse_request(const char *what)
{
	fprintf(stderr, "open-conduit-github: no request that it knows: %s\n", what);
	return 2;
}

static int answer(const struct op *op, const json_t *request)
{
	struct github g = { .request = request };
	const char *wrong = op->plain ? NULL : read_common(&g, request);
	json_t *told;
	int rc;

	if (wrong)
		return refuse_request(wrong);
	github_more_time(&g, op->seconds);
	told = op->run(&g);
	if (told && g.corrected)
		json_object_set_new(told, "clock", json_integer(g.ahead));
	if (!told)
		told = g.error ? json_pack("{s:O}", "error", g.error)
		               : json_pack("{s:{s:s, s:s, s:s, s:s}}", "error", "reason", "github_unavailable",
		                           "subject", op->name, "message", "out of memory", "fix", "try again");
	rc = reply(told);
	json_decref(told);
	github_forgive(&g);
	curl_easy_cleanup(g.curl);
	explicit_bzero(&g, sizeof(g));
	return rc;
}

int main(int argc, char **argv)
{
	json_t *request;
	const char *name;
	int rc = -1;

	(void)argv;
	if (argc != 1 || !harden()) {
		fprintf(stderr, "open-conduit-github is part of open-conduit: see open-conduit-config(5)\n");
		return 2;
	}
	request = read_request();
	name = text_of(request, "op");
	for (size_t i = 0; name && i < sizeof(ops) / sizeof(ops[0]); i++)
		if (!strcmp(ops[i].name, name))
			rc = answer(&ops[i], request);
	if (rc < 0)
		rc = refuse_request("op");
	json_decref(request);
	curl_global_cleanup();
	return rc;
}
