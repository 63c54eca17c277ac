/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to an engine that is a child of the test: what it answers is written here, byte by byte. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine.h"
#include "image.h"
#include "suite.h"
#include "version.h"

#define VERSION "{\"Version\":\"28.5.2\",\"ApiVersion\":\"1.51\",\"MinAPIVersion\":\"1.24\"}"

/* ---- the other side ---- */

/* The engine's answer to one request line; NULL: none, the connection is closed. */
typedef const char *(*answer_fn)(const char *line);

struct fake {
	char *dir;
	struct endpoint at;
	pid_t pid;
};

static bool read_request(FILE *f, char *line, size_t size)
{
	char header[1024];
	size_t length = 0;

	if (!fgets(line, (int)size, f))
		return false;
	while (fgets(header, sizeof(header), f) && strcmp(header, "\r\n") != 0)
		if (sscanf(header, "Content-Length: %zu", &length) == 1)
			ck_assert(length < sizeof(header));
	return length == 0 || fread(header, 1, length, f) == length;
}

static void say(int fd, const char *text)
{
	size_t len = strlen(text);

	while (len) {
		ssize_t n = write(fd, text, len);

		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

static void talk(int fd, answer_fn answer)
{
	FILE *f = fdopen(fd, "r");
	char line[512];

	while (f && read_request(f, line, sizeof(line))) {
		const char *text = answer(line);

		if (!text)
			break;
		if (!strncmp(text, "HTTP/", 5)) {
			say(fd, text);
		} else {
			char head[128];

			(void)snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
			               strlen(text));
			say(fd, head);
			say(fd, text);
		}
		if (strstr(text, "\r\nX-Hold:"))
			pause();
	}
	_exit(0);
}

static void serve(int listener, answer_fn answer)
{
	(void)signal(SIGCHLD, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			_exit(1);
		if (fork() == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			talk(fd, answer);
		}
		close(fd);
	}
}

static void start(struct fake *f, answer_fn answer)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	f->dir = suite_mkdir();
	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s/s", f->dir);
	f->at = (struct endpoint){ .context = strdup("fake"), .host = format("unix://%s", at.sun_path) };
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(listener, 8), 0);
	f->pid = fork();
	ck_assert_int_ge(f->pid, 0);
	if (f->pid == 0) {
		(void)setpgid(0, 0);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(listener, answer);
	}
	(void)setpgid(f->pid, f->pid);
	close(listener);
}

static void stop(struct fake *f)
{
	ck_assert_int_eq(kill(-f->pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(f->pid, NULL, 0), f->pid);
	endpoint_clear(&f->at);
	suite_rmdir(f->dir);
}

static struct engine *open_it(struct fake *f, answer_fn answer)
{
	struct engine *engine = NULL;
	struct refusal r = { 0 };

	start(f, answer);
	ck_assert_msg(engine_open(&f->at, &engine, &r) == 0, "%s", r.message);
	return engine;
}

static bool is(const char *line, const char *what)
{
	return strncmp(line, what, strlen(what)) == 0;
}

/* ---- tests ---- */

static const char *plain(const char *line)
{
	if (is(line, "GET /version "))
		return VERSION;
	if (is(line, "GET /v1.51/info "))
		return "{\"ID\":\"abc\"}";
	if (is(line, "POST /v1.51/containers/x/start "))
		return "HTTP/1.1 204 No Content\r\n\r\n";
	if (is(line, "DELETE /v1.51/networks/x "))
		return "HTTP/1.1 403 Forbidden\r\nContent-Length: 39\r\n\r\n{\"message\":\"it has\\u001b[1m "
		       "endpoints\"}";
	if (is(line, "GET /v1.51/moved "))
		return "HTTP/1.1 301 Moved\r\nLocation: /v1.51/info\r\nContent-Length: 0\r\n\r\n";
	if (is(line, "GET /v1.51/text "))
		return "OK";
	if (is(line, "GET /v1.51/half "))
		return "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{\"a\"";
	return NULL;
}

START_TEST(asks)
{
	struct fake f;
	struct engine *e = open_it(&f, plain);
	struct refusal r = { 0 };
	struct reply reply;

	ck_assert_str_eq(engine_version(e), "28.5.2");
	ck_assert_str_eq(json_string_value(json_object_get(engine_info(e, &r), "ID")), "abc");
	engine_ask(e, "POST", "/containers/x/start", NULL, 5000, &reply);
	ck_assert_int_eq(reply.status, 204);
	ck_assert(!reply.why && !reply.json);
	engine_ask(e, "DELETE", "/networks/x", NULL, 5000, &reply);
	ck_assert_int_eq(reply.status, 403);
	ck_assert_str_eq(reply.why, "it has\\x1b[1m endpoints");
	reply_clear(&reply);
	engine_ask(e, "GET", "/moved", NULL, 5000, &reply);
	ck_assert_int_eq(reply.status, 301);
	ck_assert_ptr_nonnull(reply.why);
	reply_clear(&reply);
	engine_ask(e, "GET", "/text", NULL, 5000, &reply);
	ck_assert_int_eq(reply.status, 200);
	ck_assert(!reply.why && !reply.json);
	reply_clear(&reply);
	/* No answer is told from any answer. */
	engine_ask(e, "GET", "/half", NULL, 5000, &reply);
	ck_assert_int_eq(reply.status, 0);
	ck_assert(reply.why && !reply.json);
	reply_clear(&reply);
	engine_ask(e, "GET", "/none", NULL, 5000, &reply);
	ck_assert_int_eq(reply.status, 0);
	ck_assert_ptr_nonnull(reply.why);
	reply_clear(&reply);
	engine_free(e);
	stop(&f);
}
END_TEST

/* Neither a proxy nor anything else of the environment comes between. */
START_TEST(no_proxy)
{
	static const char *const names[] = { "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY" };
	struct fake f;
	struct engine *e;

	for (size_t i = 0; i < COUNT(names); i++)
		ck_assert_int_eq(setenv(names[i], "http://127.0.0.1:1", 1), 0);
	e = open_it(&f, plain);
	engine_free(e);
	stop(&f);
	for (size_t i = 0; i < COUNT(names); i++)
		ck_assert_int_eq(unsetenv(names[i]), 0);
}
END_TEST

static const char *slow(const char *line)
{
	if (is(line, "GET /version "))
		return VERSION;
	if (is(line, "GET /v1.51/quick "))
		return "{}";
	if (is(line, "POST /v1.51/wait "))
		return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Hold: 1\r\n\r\n";
	if (is(line, "GET /v1.51/never "))
		pause();
	return NULL;
}

START_TEST(several_at_once)
{
	struct fake f;
	struct engine *e = open_it(&f, slow);
	struct request *wait = engine_begin(e, "POST", "/wait", NULL, 0), *quick;
	struct reply reply;
	int pair[2];
	struct pollfd extra[2];

	/* The headers of a wait say that it is registered; its end is another matter. */
	while (!request_answered(wait))
		ck_assert_int_eq(engine_poll(e, NULL, 0, 5000), 0);
	ck_assert(!request_done(wait));
	quick = engine_begin(e, "GET", "/quick", NULL, 5000);
	while (!request_done(quick))
		ck_assert_int_eq(engine_poll(e, NULL, 0, 5000), 0);
	request_take(quick, &reply);
	ck_assert_int_eq(reply.status, 200);
	reply_clear(&reply);
	ck_assert(!request_done(wait));
	/* Nothing new: the time-out, and then a descriptor that hangs up. */
	ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
	extra[0] = (struct pollfd){ .fd = pair[0], .events = POLLIN };
	ck_assert_int_eq(engine_poll(e, extra, 1, 50), 0);
	ck_assert_int_eq(extra[0].revents, 0);
	close(pair[1]);
	ck_assert_int_eq(engine_poll(e, extra, 1, 5000), 0);
	ck_assert(extra[0].revents & POLLHUP);
	close(pair[0]);
	/* Dropped while it is under way. */
	request_drop(wait);
	engine_free(e);
	stop(&f);
}
END_TEST

START_TEST(in_time)
{
	struct fake f;
	struct engine *e = open_it(&f, slow);
	struct reply reply;

	engine_ask(e, "GET", "/never", NULL, 100, &reply);
	ck_assert_int_eq(reply.status, 0);
	ck_assert_ptr_nonnull(strstr(reply.why, "timed out"));
	reply_clear(&reply);
	engine_free(e);
	stop(&f);
}
END_TEST

static char *big;

static const char *endless(const char *line)
{
	return is(line, "GET /version ") ? VERSION : big;
}

START_TEST(bounded)
{
	const size_t sizes[] = { ENGINE_REPLY_MAX, ENGINE_REPLY_MAX + 1 };

	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct fake f;
		struct engine *e;
		struct reply reply;

		big = malloc(sizes[i] + 1);
		memset(big, 'x', sizes[i]);
		big[0] = '"';
		big[sizes[i] - 1] = '"';
		big[sizes[i]] = '\0';
		e = open_it(&f, endless);
		engine_ask(e, "GET", "/big", NULL, 20000, &reply);
		ck_assert_int_eq(reply.status, i == 0 ? 200 : 0);
		ck_assert(i == 0 || strstr(reply.why, "longer than 8 MiB"));
		reply_clear(&reply);
		engine_free(e);
		stop(&f);
		free(big);
	}
}
END_TEST

/* A request that acts is sent once, whatever becomes of its connection; what only asks may be asked again. */
static const char *counted;

static const char *hang_up(const char *line)
{
	FILE *f;

	if (is(line, "GET /version "))
		return VERSION;
	f = fopen(counted, "ae");
	fputs(line, f);
	fclose(f);
	return NULL;
}

START_TEST(acts_once)
{
	struct fake f;
	struct engine *e;
	struct reply reply;
	cleanup_free char *text = NULL;
	size_t len;
	char *dir = suite_mkdir(), *path = format("%s/lines", dir);
	FILE *lines;

	counted = path;
	e = open_it(&f, hang_up);
	engine_ask(e, "POST", "/containers/create", NULL, 5000, &reply);
	ck_assert_int_eq(reply.status, 0);
	reply_clear(&reply);
	lines = fopen(path, "re");
	ck_assert_ptr_nonnull(lines);
	text = calloc(1, 4096);
	len = fread(text, 1, 4095, lines);
	fclose(lines);
	ck_assert_int_gt((int)len, 0);
	ck_assert_str_eq(text, "POST /v1.51/containers/create HTTP/1.1\r\n");
	engine_free(e);
	stop(&f);
	free(path);
	suite_rmdir(dir);
}
END_TEST

static const struct {
	const char *version, *api, *min;
	const char *want; /* the version spoken, or what is in the message */
	bool good;
} versions[] = {
	{ "28.5.2", "1.51", "1.24", "1.51", true },           { "28.5.2+dfsg4", "1.51", "1.24", "1.51", true },
	{ "28.0.0-rc.1", "1.48", "1.24", "1.48", true },      { "29.1.0", "1.53", "1.44", "1.51", true },
	{ "30.0.0", "1.44", "1.40", "1.44", true },           { "280.0.0", "1.51", "1.51", "1.51", true },
	{ "27.5.1", "1.47", "1.24", "28 or later", false },   { "5.4.0", "1.41", "1.24", "28 or later", false },
	{ "28.0.0", "1.43", "1.24", "speaks API", false },    { "35.0.0", "1.70", "1.52", "speaks API", false },
	{ "40.0.0", "2.0", "2.0", "speaks API", false },      { "28", "1.51", "1.24", "does not say", false },
	{ "v28.1", "1.51", "1.24", "does not say", false },   { "99999.1", "1.51", "1.24", "does not say", false },
	{ "28.1.0", "1.51x", "1.24", "does not say", false }, { "28.1.0", "1,51", "1.24", "does not say", false },
	{ "28.1.0", "1.51", "", "does not say", false },      { "28.1.0", "", "1.24", "does not say", false },
};

START_TEST(negotiates)
{
	for (size_t i = 0; i < COUNT(versions); i++) {
		cleanup_json json_t *reply = json_pack("{s:s, s:s, s:s}", "Version", versions[i].version, "ApiVersion",
		                                       versions[i].api, "MinAPIVersion", versions[i].min);
		cleanup_free char *version = NULL, *spoken = NULL;
		struct refusal r = { 0 };
		struct api api;
		bool good = version_take(reply, "ctx", &api, &version, &r) == 0;

		ck_assert_msg(good == versions[i].good, "%s: %s", versions[i].version, r.message);
		if (good) {
			spoken = format("%d.%d", api.major, api.minor);
			ck_assert_str_eq(spoken, versions[i].want);
			ck_assert_str_eq(version, versions[i].version);
		} else {
			ck_assert_msg(strstr(r.message, versions[i].want) != NULL, "%s", r.message);
			ck_assert_ptr_nonnull(r.fix);
		}
		refusal_clear(&r);
	}
}
END_TEST

static const char *old(const char *line)
{
	(void)line;
	return "{\"Version\":\"24.0.7\",\"ApiVersion\":\"1.43\",\"MinAPIVersion\":\"1.12\"}";
}

static void refused(const struct endpoint *at, const char *why, const char *fix)
{
	struct engine *e = NULL;
	struct refusal r = { 0 };

	ck_assert_int_lt(engine_open(at, &e, &r), 0);
	ck_assert_ptr_null(e);
	ck_assert_str_eq(r.reason, "sandbox_unavailable");
	ck_assert_msg(strstr(r.message, why) != NULL, "%s", r.message);
	ck_assert_msg(strstr(r.fix, fix) != NULL, "%s", r.fix);
	refusal_clear(&r);
}

START_TEST(not_reached)
{
	struct fake f;
	struct endpoint at = { .context = (char *)"default", .host = (char *)"unix:///nowhere/docker.sock" };

	ck_assert_int_eq(unsetenv("DOCKER_HOST"), 0);
	ck_assert_int_eq(unsetenv("XDG_RUNTIME_DIR"), 0);
	refused(&at, "is not there",
	        "\"settings\": {\"extensions\": {\"docker\": {\"pass_env\": [\"XDG_RUNTIME_DIR\"]}}}");
	at.context = (char *)"other";
	refused(&at, "is not there", "systemctl start docker");
	start(&f, old);
	refused(&f.at, "version 24.0.7", "28 or later");
	ck_assert_int_eq(kill(f.pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(f.pid, NULL, 0), f.pid);
	refused(&f.at, "nothing listens", "systemctl restart docker");
	endpoint_clear(&f.at);
	suite_rmdir(f.dir);
}
END_TEST

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define IMAGE(os, arch, labels)                                                                                        \
	"{\"Id\":\"sha256:" HEX "\",\"RepoDigests\":[\"a@sha256:" HEX "\"],\"Os\":\"" os "\",\"Architecture\":\"" arch \
	"\",\"Config\":{\"Labels\":" labels "}}"
#ifdef __aarch64__
#define ARCH  "arm64"
#define OTHER "amd64"
#else
#define ARCH  "amd64"
#define OTHER "arm64"
#endif

static const char *images(const char *line)
{
	if (is(line, "GET /version "))
		return VERSION;
	if (is(line, "GET /v1.51/images/good@sha256:" HEX "/json ") ||
	    is(line, "GET /v1.51/images/sha256:" HEX "/json "))
		return IMAGE("linux", ARCH, "{\"org.example\":\"x\"}");
	if (is(line, "GET /v1.51/images/foreign@"))
		return IMAGE("linux", OTHER, "null");
	if (is(line, "GET /v1.51/images/windows@"))
		return IMAGE("windows", ARCH, "null");
	if (is(line, "GET /v1.51/images/labelled@"))
		return IMAGE("linux", ARCH, "{\"io.openconduit.run\":\"x\"}");
	if (is(line, "GET /v1.51/images/another@"))
		return "{\"Id\":\"sha256:x\",\"RepoDigests\":[],\"Os\":\"linux\",\"Architecture\":\"" ARCH "\"}";
	if (is(line, "GET /v1.51/images/broken@"))
		return "HTTP/1.1 500 Oh\r\nContent-Length: 20\r\n\r\n{\"message\":\"a disk\"}";
	return "HTTP/1.1 404 Not Found\r\nContent-Length: 16\r\n\r\n{\"message\":\"no\"}";
}

static const struct {
	const char *name, *why; /* NULL: found */
} sought[] = {
	{ "good@sha256:" HEX, NULL },
	{ "foreign@sha256:" HEX, "linux/" OTHER },
	{ "windows@sha256:" HEX, "windows/" ARCH },
	{ "labelled@sha256:" HEX, "io.openconduit.run" },
	{ "another@sha256:" HEX, "another one" },
	{ "broken@sha256:" HEX, "a disk" },
	{ "absent@sha256:" HEX, "has no image" },
	{ "good", "no image by digest" },
};

START_TEST(finds_images)
{
	struct fake f;
	struct engine *e = open_it(&f, images);

	for (size_t i = 0; i < COUNT(sought); i++) {
		cleanup_json json_t *inspect = NULL;
		struct refusal r = { 0 };
		bool found = image_find(e, sought[i].name, &inspect, &r) == 0;

		ck_assert_msg(found == !sought[i].why, "%s: %s", sought[i].name, r.message);
		ck_assert_int_eq(found, inspect != NULL);
		ck_assert_msg(found || strstr(r.message, sought[i].why), "%s", r.message);
		ck_assert(found || r.fix);
		if (!strncmp(sought[i].name, "absent", 6))
			ck_assert_str_eq(r.fix, "docker --context fake pull absent@sha256:" HEX);
		refusal_clear(&r);
	}
	engine_free(e);
	stop(&f);
}
END_TEST

static const struct {
	const char *set, *why, *fix;
} gateways[] = {
	{ NULL, "this build pins none", "gateway-image" },
	{ "", "this build pins none", "gateway-image" },
	{ "sha256:" HEX, NULL, NULL },
	{ "good@sha256:" HEX, NULL, NULL },
	{ "sha256:1" HEX, "is no image ID", "gateway-image" },
	{ "good:1", "is no image ID", "gateway-image" },
	{ "../x@sha256:" HEX, "is no image ID", "gateway-image" },
	{ "absent@sha256:" HEX, "gateway image is missing", "docker --context fake pull absent@" },
	{ "sha256:0000000000000000000000000000000000000000000000000000000000000000", "gateway image is missing",
	  "gateway-image" },
	{ "foreign@sha256:" HEX, "linux/" OTHER, "" },
};

START_TEST(finds_the_gateway)
{
	struct fake f;
	struct engine *e = open_it(&f, images);

	for (size_t i = 0; i < COUNT(gateways); i++) {
		cleanup_json json_t *inspect = NULL;
		struct refusal r = { 0 };

		ck_assert_int_eq(
		        gateways[i].set ? setenv(IMAGE_VARIABLE, gateways[i].set, 1) : unsetenv(IMAGE_VARIABLE), 0);
		if (gateway_find(e, &inspect, &r) == 0) {
			ck_assert_msg(!gateways[i].why, "%s", gateways[i].set);
			ck_assert_ptr_nonnull(inspect);
		} else {
			ck_assert_msg(gateways[i].why && strstr(r.message, gateways[i].why), "%s", r.message);
			ck_assert_msg(strstr(r.fix, gateways[i].fix) != NULL, "%s", r.fix);
		}
		refusal_clear(&r);
	}
	engine_free(e);
	stop(&f);
}
END_TEST

START_TEST(escapes)
{
	cleanup_free char *text = engine_escape("a-b_c.d~{\"x\":[\"y=1 é\"]}");

	ck_assert_str_eq(text, "a-b_c.d~%7B%22x%22%3A%5B%22y%3D1%20%C3%A9%22%5D%7D");
}
END_TEST

SUITE_MAIN("docker_engine", asks, no_proxy, several_at_once, in_time, bounded, acts_once, negotiates, not_reached,
           finds_images, finds_the_gateway, escapes)
