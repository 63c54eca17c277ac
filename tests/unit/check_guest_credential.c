/* SPDX-License-Identifier: Apache-2.0 */
/* git's credential helper, the real static program, with a toolbelt that the test is: which questions are answered, which
 * bytes come out, and that nobody is asked where nothing is to be said. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

#define BASE   "https://github.com"
#define REPO   "acme/web"
#define ASKED  "protocol=https\nhost=github.com\npath=acme/web.git\n\n"
#define SECRET "ghs_S3cret.jwt-part_1"
#define GOOD                                                                                                           \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\","       \
	"\"text\":\"a token\"}],\"structuredContent\":{\"username\":\"x-access-token\",\"password\":\"" SECRET         \
	"\",\"expires\":1767225600999,\"repository\":\"acme/web\"},\"_meta\":{\"n\":-1.5e3}}}\n"
#define GIVEN "username=x-access-token\npassword=" SECRET "\npassword_expiry_utc=1767225600\n"
#define TOOL_ERROR(text)                                                                                               \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text                   \
	"\"}],\"isError\":true}}\n"
#define STRUCTURE(members)                                                                                             \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[],\"structuredContent\":{" members "}}}\n"
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

struct said {
	char out[16384], err[16384];
	int status;
};

static int listener = -1;
static char port[16];

static void listen_here(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(listener, 8), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	(void)snprintf(port, sizeof(port), "%u", (unsigned)ntohs(at.sin_port));
}

static void listen_no_more(void)
{
	close(listener);
	listener = -1;
}

static bool was_asked(void)
{
	struct pollfd p = { listener, POLLIN, 0 };

	return poll(&p, 1, 0) > 0;
}

static void read_all(int fd, char *out, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	ck_assert_uint_lt(len, size - 1);
	close(fd);
}

static void write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		ck_assert_int_gt((int)n, 0);
		data += n;
		len -= (size_t)n;
	}
}

static void start(const int in[2], const int out[2], const int err[2], const char *const *argv)
{
	const char *guest = getenv("OC_TEST_GUEST");

	dup2(in[0], 0);
	dup2(out[1], 1);
	dup2(err[1], 2);
	execv(guest ? guest : "", (char *const *)argv);
	_exit(126);
}

static void ask_at(const char *address, const char *base, const char *repository, const char *operation,
                   const char *question, size_t len, struct said *said)
{
	const char *const argv[] = { "open-conduit-guest", "credential", address, base, repository, operation, NULL };
	int in[2], out[2], err[2], status;
	pid_t pid;

	ck_assert_int_eq(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		start(in, out, err, argv);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	write_all(in[1], question, len);
	close(in[1]);
	read_all(out[0], said->out, sizeof(said->out));
	read_all(err[0], said->err, sizeof(said->err));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	said->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void ask(const char *question, struct said *said)
{
	ask_at(port, BASE, REPO, "get", question, strlen(question), said);
}

/* One client: its line into `asked`, and the answer.  Ends by itself. */
static pid_t serve(const char *answer, int asked)
{
	pid_t pid = fork();
	char line[4096];
	ssize_t n;
	int fd;

	ck_assert_int_ge(pid, 0);
	if (pid > 0)
		return pid;
	fd = accept(listener, NULL, NULL);
	n = recv(fd, line, sizeof(line), 0);
	if (n <= 0 || line[n - 1] != '\n' || (asked >= 0 && write(asked, line, (size_t)n) != n))
		suite_exit(1);
	/* In two pieces, as a stream may come. */
	(void)send(fd, answer, strlen(answer) / 2, MSG_NOSIGNAL);
	(void)send(fd, answer + strlen(answer) / 2, strlen(answer) - strlen(answer) / 2, MSG_NOSIGNAL);
	close(fd);
	suite_exit(0);
}

static void answered(const char *base, const char *question, const char *answer, struct said *said)
{
	pid_t pid = serve(answer, -1);
	int status;

	ask_at(port, base, REPO, "get", question, strlen(question), said);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "the toolbelt was not asked: %s", question);
	ck_assert_int_eq(said->status, 0);
	ck_assert_ptr_null(strstr(said->err, SECRET));
}

/* TBC-1, TBC-2: the one repository, however its name is written. */
START_TEST(test_ours)
{
	static const struct {
		const char *base, *question;
	} ours[] = {
		{ BASE, ASKED },
		{ BASE, "protocol=https\nhost=github.com\npath=acme/web\n\n" },
		{ BASE, "protocol=https\nhost=github.com\npath=acme/web"
		        "\n" },
		{ BASE, "protocol=https\nhost=GitHub.COM\npath=ACME/web\n\n" },
		{ BASE, "protocol=https\nhost=github.com\npath=/acme/web\n\n" },
		{ BASE, "protocol=https\nhost=github.com\npath=acme/web/\n\n" },
		{ BASE, "protocol=https\nhost=github.com\npath=/acme/web.git/\n\n" },
		{ BASE, "protocol=https\nhost=github.com:443\npath=acme/web.git\n\n" },
		{ BASE ":443", ASKED },
		{ "https://github.test:8443", "protocol=https\nhost=github.test:8443\npath=acme/web.git\n\n" },
		{ BASE, "protocol=https\nhost=github.com\nusername=x-access-token\npath=acme/web.git\n\n" },
		{ BASE, "capability[]=authtype\ncapability[]=state\nnew=1\nprotocol=https\nhost=github.com\n"
		        "path=acme/web.git\nwwwauth[]=Basic realm=\"GitHub\"\nwwwauth[]=\n\n" },
	};
	struct said said;

	listen_here();
	for (size_t i = 0; i < COUNT(ours); i++) {
		answered(ours[i].base, ours[i].question, GOOD, &said);
		ck_assert_msg(strcmp(said.out, GIVEN) == 0, "%s: %s%s", ours[i].question, said.out, said.err);
		ck_assert_str_eq(said.err, "");
	}
	listen_no_more();
}
END_TEST

START_TEST(test_other)
{
	static const char *const other[] = {
		"protocol=https\nhost=evil.test\npath=acme/web.git\n\n",
		"protocol=http\nhost=github.com\npath=acme/web.git\n\n",
		"protocol=ssh\nhost=github.com\npath=acme/web.git\n\n",
		"protocol=HTTPS\nhost=github.com\npath=acme/web.git\n\n",
		"host=github.com\npath=acme/web.git\n\n",
		"protocol=https\nhost=github.com:444\npath=acme/web.git\n\n",
		"protocol=https\nhost=github.com:\npath=acme/web.git\n\n",
		"protocol=https\nhost=github.com:0443\npath=acme/web.git\n\n",
		"protocol=https\nhost=github.com:443:443\npath=acme/web.git\n\n",
		"protocol=https\nhost=github.com.evil.test\npath=acme/web.git\n\n",
		"protocol=https\nhost=evilgithub.com\npath=acme/web.git\n\n",
		"protocol=https\nhost=github.com.\npath=acme/web.git\n\n",
		"protocol=https\nhost=github.com/\npath=acme/web.git\n\n",
		"protocol=https\nhost=x@github.com\npath=acme/web.git\n\n",
		"protocol=https\nhost=github.co\xd0\xbc\npath=acme/web.git\n\n",
		"protocol=https\nhost=\npath=acme/web.git\n\n",
		"protocol=https\npath=acme/web.git\n\n",
		"protocol=https\nhost=github.com\nusername=x\npath=acme/web.git\n\n",
		"protocol=https\nhost=github.com\nusername=\npath=acme/web.git\n\n",
		"protocol=https\nhost=github.com\npath=acme/other.git\n\n",
		"protocol=https\nhost=github.com\npath=acme//web\n\n",
		"protocol=https\nhost=github.com\npath=//acme/web\n\n",
		"protocol=https\nhost=github.com\npath=acme/web//\n\n",
		"protocol=https\nhost=github.com\npath=acme/web.git/info/lfs\n\n",
		"protocol=https\nhost=github.com\npath=acme/web.git.git\n\n",
		"protocol=https\nhost=github.com\npath=acme/web/../other\n\n",
		"protocol=https\nhost=github.com\npath=x/../acme/web\n\n",
		"protocol=https\nhost=github.com\npath=./acme/web\n\n",
		"protocol=https\nhost=github.com\npath=acme%2Fweb\n\n",
		"protocol=https\nhost=github.com\npath=acme%2Fother\n\n",
		"protocol=https\nhost=github.com\npath=acme/we%62\n\n",
		"protocol=https\nhost=github.com\npath=acme/web?x\n\n",
		"protocol=https\nhost=github.com\npath=acme\n\n",
		"protocol=https\nhost=github.com\npath=\n\n",
		"protocol=https\nhost=github.com\npath=.git\n\n",
		"protocol=https\nhost=github.com\n\n",
		"\n",
		"",
	};
	struct said said;

	listen_here();
	for (size_t i = 0; i < COUNT(other); i++) {
		ask(other[i], &said);
		ck_assert_msg(!*said.out && said.status == 0 && !was_asked(), "answered: %s%s", other[i], said.out);
		ck_assert_msg(strstr(said.err, "is for " BASE "/" REPO " alone\n") && strchr(said.err, '\n')[1] == 0,
		              "%s: %s", other[i], said.err);
	}
	ask("protocol=https\nhost=github.com\n\n", &said);
	ck_assert_ptr_nonnull(strstr(said.err, "credential.useHttpPath"));
	listen_no_more();
}
END_TEST

static void refused(const char *question, size_t len, const char *why)
{
	struct said said;

	ask_at(port, BASE, REPO, "get", question, len, &said);
	ck_assert_msg(!*said.out && said.status == 0 && !was_asked(), "answered: %.200s: %s", question, said.out);
	ck_assert_msg(strstr(said.err, why) != NULL, "%.200s: %s", question, said.err);
}

/* TBC-3 */
START_TEST(test_not_a_question)
{
	static const struct {
		const char *question, *why;
		size_t len;
	} wrong[] = {
#define LINE(text, why) { text, why, sizeof(text) - 1 }
		LINE("protocol=https\nhost=github.com\rhost=evil.test\npath=acme/web\n\n", "control character"),
		LINE("protocol=https\r\nhost=github.com\r\npath=acme/web\r\n\r\n", "control character"),
		LINE("protocol=https\nhost=github.com\0.evil.test\npath=acme/web\n\n", "control character"),
		LINE("protocol=https\nhost=github.com\npath=acme/web\nx=\x1b[2J\n\n", "control character"),
		LINE("protocol=https\nhost=github.com\npath=acme/web\nx=a\tb\n\n", "control character"),
		LINE("protocol=https\nhost=github.com\npath=acme/web\nx=\x7f\n\n", "control character"),
		LINE("protocol=https\nhost=github.com\nhost=evil.test\npath=acme/web\n\n", "twice"),
		LINE("protocol=https\nhost=github.com\nhost=github.com\npath=acme/web\n\n", "twice"),
		LINE("protocol=https\nhost=github.com\npath=acme/web\nx=1\nx=1\n\n", "twice"),
		LINE("protocol=https\nhost=github.com\npath=acme/web\n[]=1\n[]=1\n\n", "twice"),
		LINE("protocol=https\nhost=github.com\npath=acme/web\nurl=https://evil.test%0ahost=github.com\n\n",
		     "URL"),
		LINE("protocol=https\nhost=github.com\npath=acme/web\nhost\n\n", "not key=value"),
		LINE("protocol=https\nhost=github.com\npath=acme/web\n=x\n\n", "not key=value"),
		LINE("protocol=https\nhost=github.com\npath=acme/web", "cut short"),
		LINE("protocol=https\nhost=github.com\npath=acme/web\n\nprotocol=https\n", "behind its end"),
		LINE("protocol=https\nhost=github.com\npath=acme/web\n\n\n", "behind its end"),
	};
	static char longest[100000];

	listen_here();
	for (size_t i = 0; i < COUNT(wrong); i++)
		refused(wrong[i].question, wrong[i].len, wrong[i].why);
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, ASKED, strlen(ASKED) - 1);
	longest[strlen(ASKED) + 1] = '=';
	refused(longest, sizeof(longest), "longer than 64 KiB");
	longest[5000] = longest[5001] = '\n';
	refused(longest, 5002, "longer than 4 KiB");
	for (size_t i = strlen(ASKED) - 1; i + 2 < sizeof(longest); i += 2)
		memcpy(longest + i, "=\n", 2);
	refused(longest, 4096, "not key=value");
	for (size_t i = strlen(ASKED) - 1; i + 5 < sizeof(longest); i += 5)
		memcpy(longest + i, "a[]=\n", 5);
	refused(longest, strlen(ASKED) - 1 + 2000, "too many lines");
	listen_no_more();
}
END_TEST

START_TEST(test_nothing_to_do)
{
	static const char *const operations[] = { "store", "erase", "capability", "" };
	static char much[300000];
	struct said said;

	memset(much, 'p', sizeof(much));
	listen_here();
	for (size_t i = 0; i < COUNT(operations); i++) {
		ask_at(port, BASE, REPO, operations[i], ASKED "password=" SECRET "\n", strlen(ASKED), &said);
		ck_assert_msg(!*said.out && !*said.err && said.status == 0 && !was_asked(), "%s: %s%s", operations[i],
		              said.out, said.err);
		ask_at(port, BASE, REPO, operations[i], much, sizeof(much), &said);
		ck_assert_msg(!*said.out && !*said.err && said.status == 0, "%s", operations[i]);
	}
	listen_no_more();
}
END_TEST

/* The one request, as the guard reads it. */
START_TEST(test_request)
{
	int asked[2], status;
	char line[8192];
	struct said said;
	json_t *json, *want;
	pid_t pid;

	listen_here();
	ck_assert_int_eq(pipe2(asked, O_CLOEXEC), 0);
	pid = serve(GOOD, asked[1]);
	close(asked[1]);
	ask(ASKED, &said);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_str_eq(said.out, GIVEN);
	read_all(asked[0], line, sizeof(line));
	json = json_loads(line, 0, NULL);
	ck_assert_ptr_nonnull(json);
	json_object_del(json_object_get(json_object_get(json, "params"), "_meta"),
	                "io.modelcontextprotocol/clientInfo");
	want = json_pack("{s:s, s:i, s:s, s:{s:s, s:{}, s:{s:s, s:{}}}}", "jsonrpc", "2.0", "id", 1, "method",
	                 "tools/call", "params", "name", "github.git.credential", "arguments", "_meta",
	                 "io.modelcontextprotocol/protocolVersion", "2026-07-28",
	                 "io.modelcontextprotocol/clientCapabilities");
	ck_assert_msg(json_equal(json, want), "%s", line);
	json_decref(json);
	json_decref(want);
	listen_no_more();
}
END_TEST

/* A run without a sandbox has its toolbelt at a path, which may be longer than a socket's name. */
START_TEST(test_at_a_path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char *dir = suite_mkdir(), path[400];
	struct said said;
	int status, in;
	pid_t pid;

	(void)snprintf(path, sizeof(path), "%s/%0120d", dir, 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	in = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "%s/%0120d/s", dir, 0);
	(void)snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/s", in);
	ck_assert_uint_gt(strlen(path), sizeof(at.sun_path));
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	close(in);
	pid = serve(GOOD, -1);
	ask_at(path, BASE, REPO, "get", ASKED, strlen(ASKED), &said);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_str_eq(said.out, GIVEN);
	listen_no_more();
	suite_rmdir(dir);
}
END_TEST

/* TBC-8: git stops at once, and its user reads why. */
START_TEST(test_refusals)
{
	static const struct {
		const char *answer, *words;
	} told[] = {
		{ TOOL_ERROR("not_installed: the App is not installed on acme/web\\nfix: install it\\n\\u001b[2J"),
		  "open-conduit: git has no credential: not_installed: the App is not installed on acme/web\n"
		  "  fix: install it\n  ?[2J\n" },
		{ TOOL_ERROR(""), "refused without a word" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"Unknown tool: "
		  "github.git.credential\"}}\n",
		  "has no github.git.credential\n  fix: add \"@github.workspace\" to the binding's \"operations\"" },
		{ "{\"error\":{\"message\":\"Unsupported protocol version\",\"code\":-32022},\"id\":1}\n",
		  "the run's toolbelt: Unsupported protocol version\n" },
		{ "", "went away: ECONNRESET" },
		{ "{\"jsonrpc\":\"2.0\"", "went away: ECONNRESET" },
		{ "no JSON\n", "is no credential" },
		{ "{}\n", "is no credential" },
		{ "{\"id\":2,\"result\":{}}\n", "is no credential" },
		{ STRUCTURE(""), "is no credential" },
		{ STRUCTURE("\"username\":\"x-access-token\""), "is no credential" },
	};
	struct said said;

	listen_here();
	for (size_t i = 0; i < COUNT(told); i++) {
		answered(BASE, ASKED, told[i].answer, &said);
		ck_assert_msg(strcmp(said.out, "quit=1\n") == 0, "%s: %s", told[i].answer, said.out);
		ck_assert_msg(strstr(said.err, told[i].words) != NULL, "%s: %s", told[i].answer, said.err);
		ck_assert_int_eq(strncmp(said.err, "open-conduit: git has no credential: ", 37), 0);
	}
	listen_no_more();
	ask(ASKED, &said);
	ck_assert_str_eq(said.out, "quit=1\n");
	ck_assert_ptr_nonnull(strstr(said.err, "no toolbelt here: ECONNREFUSED"));
}
END_TEST

/* What git could take for a line of its own, or for another value, is never passed on, nor shown. */
START_TEST(test_values)
{
#define WITH(password) STRUCTURE("\"username\":\"x-access-token\",\"expires\":1,\"password\":" password)
	static const char *const bad[] = {
		WITH("\"" SECRET "\\nhost=evil.test\""),
		WITH("\"" SECRET "\\r\""),
		WITH("\"" SECRET "\\u0000\""),
		WITH("\"" SECRET "\\u001b\""),
		WITH("\"" SECRET " x\""),
		WITH("\"" SECRET "\\u007f\""),
		WITH("\"" SECRET "\xc3\xa9\""),
		WITH("\"\""),
		WITH("null"),
		WITH("1"),
		WITH("[\"" SECRET "\"]"),
		WITH("\"" SECRET "\",\"password\":\"" SECRET "\""),
		WITH("\"" SECRET "\",\"expires\":2"),
		WITH("\"" SECRET "\",\"username\":\"other\""),
		STRUCTURE("\"username\":\"x\\ny\",\"password\":\"" SECRET "\""),
		STRUCTURE("\"username\":\"x\",\"password\":\"" SECRET "\",\"expires\":-1"),
		STRUCTURE("\"username\":\"x\",\"password\":\"" SECRET "\",\"expires\":1.5"),
		STRUCTURE("\"username\":\"x\",\"password\":\"" SECRET "\",\"expires\":\"1\""),
	};
	struct said said;

	listen_here();
	for (size_t i = 0; i < COUNT(bad); i++) {
		answered(BASE, ASKED, bad[i], &said);
		ck_assert_msg(strcmp(said.out, "quit=1\n") == 0, "%s: %s", bad[i], said.out);
		ck_assert_ptr_nonnull(strstr(said.err, "is no credential"));
	}
	answered(BASE, ASKED, STRUCTURE("\"username\":\"u\",\"password\":\"" SECRET "\""), &said);
	ck_assert_str_eq(said.out, "username=u\npassword=" SECRET "\n");
	listen_no_more();
}
END_TEST

/* A token of the new form, and one that is longer than any. */
START_TEST(test_long)
{
	char *answer = malloc(20000);
	struct said said;

	listen_here();
	for (int n = 520; n < 20000; n = n == 520 ? 8191 : n == 8191 ? 8192 : 20000) {
		int len = snprintf(answer, 20000, STRUCTURE("\"username\":\"u\",\"password\":\"%0*d\""), n, 7);

		ck_assert_int_gt(len, n);
		answered(BASE, ASKED, answer, &said);
		ck_assert_msg(n > 8191 ? strcmp(said.out, "quit=1\n") == 0
		                       : strlen(said.out) == strlen("username=u\npassword=\n") + (size_t)n,
		              "%d: %zu", n, strlen(said.out));
	}
	free(answer);
	listen_no_more();
}
END_TEST

START_TEST(test_none)
{
	struct said said;

	ask_at("none:attach", BASE, REPO, "get", ASKED, strlen(ASKED), &said);
	ck_assert_str_eq(said.out, "quit=1\n");
	ck_assert_ptr_nonnull(strstr(said.err, "let the agent push on its next turn"));
	ask_at("none:toolbelt", BASE, REPO, "get", ASKED, strlen(ASKED), &said);
	ck_assert_str_eq(said.out, "quit=1\n");
	ck_assert_ptr_nonnull(strstr(said.err, "no github.git.credential\n  fix: add \"@github.workspace\""));
	/* Another repository's credential is nobody's to refuse. */
	ask_at("none:attach", BASE, "acme/other", "get", ASKED, strlen(ASKED), &said);
	ck_assert_str_eq(said.out, "");
	ask_at("7353x", BASE, REPO, "get", ASKED, strlen(ASKED), &said);
	ck_assert_str_eq(said.out, "quit=1\n");
	ask_at("none:attach", "http://github.com", REPO, "get", ASKED, strlen(ASKED), &said);
	ck_assert_str_eq(said.out, "");
	ck_assert_ptr_nonnull(strstr(said.err, "set up for no repository"));
	ask_at("none:attach", BASE, "acme", "get", ASKED, strlen(ASKED), &said);
	ck_assert_str_eq(said.out, "");
}
END_TEST

static void personal(const char *gh, const char *github, const char *question, const char *out, const char *words)
{
	struct said said;

	unsetenv("GH_TOKEN");
	unsetenv("GITHUB_TOKEN");
	if (gh)
		setenv("GH_TOKEN", gh, 1);
	if (github)
		setenv("GITHUB_TOKEN", github, 1);
	ask_at("env", BASE, "-", "get", question, strlen(question), &said);
	ck_assert_str_eq(said.out, out);
	ck_assert_msg(words ? strstr(said.err, words) != NULL : !*said.err, "%s", said.err);
	ck_assert_ptr_null(strstr(said.err, SECRET));
	unsetenv("GH_TOKEN");
	unsetenv("GITHUB_TOKEN");
}

START_TEST(test_environment)
{
	static const char any[] = "protocol=https\nhost=github.com\n\n";
	static const char other[] = "protocol=https\nhost=evil.test\n\n";
	static const char given[] = "username=x-access-token\npassword=" SECRET "\n";

	personal(SECRET, NULL, any, given, NULL);
	personal(NULL, SECRET, any, given, NULL);
	personal(SECRET, "other", ASKED, given, NULL);
	personal("", SECRET, any, given, NULL);
	personal(SECRET, NULL, other, "", "is for " BASE " alone");
	personal(NULL, NULL, any, "quit=1\n", "neither GH_TOKEN nor GITHUB_TOKEN");
	personal(SECRET "\nhost=evil.test", NULL, any, "quit=1\n", "GH_TOKEN holds");
	personal(NULL, SECRET "\xc3\xa9", any, "quit=1\n", "GITHUB_TOKEN holds");
	personal(SECRET " ", NULL, any, "quit=1\n", "GH_TOKEN holds");
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { test_ours,    test_other,     test_not_a_question, test_nothing_to_do,
		                       test_request, test_at_a_path, test_refusals,       test_values,
		                       test_long,    test_none,      test_environment };

	(void)signal(SIGPIPE, SIG_IGN);
	return suite_run("guest_credential", tests, sizeof(tests) / sizeof(tests[0]));
}
