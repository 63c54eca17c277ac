/* SPDX-License-Identifier: Apache-2.0 */
/* How a run's git signs in, tried with the real git under the plan's variables: whatever the files say that it reads, it asks
 * our helper and nobody else. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "plan_fixture.h"
#include "suite.h"

#define RUN         "abcdefgh"
#define BELT        "{\"tools\":[]}"
#define FROM_BELT   "{\"base\":\"https://github.com\",\"repository\":\"acme/web\",\"from\":\"toolbelt\"}"
#define FROM_ENV    "{\"base\":\"https://github.com\",\"repository\":\"acme/web\",\"from\":\"environment\"}"
#define ENV_MAX     200
#define ASKED       "protocol=https\nhost=github.com\npath=acme/web.git\n\n"
#define ASKED_OTHER "protocol=https\nhost=gitlab.test\npath=acme/web.git\n\n"
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static struct fixture f;
static char guest[300], marks[300], own_log[320];

static const json_t *variables(const oc_plan *plan)
{
	return json_object_get(json_object_get(plan->json, "command"), "env");
}

static const char *variable(const oc_plan *plan, const char *name)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(variables(plan), i, entry)
	{
		if (strcmp(oc_json_text(entry, "name"), name) == 0)
			return oc_json_text(entry, "value");
	}
	return "(absent)";
}

/* The configuration of git that the plan sets, a line for each entry. */
static void configured(const oc_plan *plan, char *out, size_t size)
{
	int n = atoi(variable(plan, "GIT_CONFIG_COUNT"));
	size_t len = 0;

	*out = '\0';
	for (int i = 0; i < n; i++) {
		char key[64], value[64];

		snprintf(key, sizeof(key), "GIT_CONFIG_KEY_%d", i);
		snprintf(value, sizeof(value), "GIT_CONFIG_VALUE_%d", i);
		len += (size_t)snprintf(out + len, size - len, "%s=%s\n", variable(plan, key), variable(plan, value));
		ck_assert_uint_lt(len, size);
	}
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(chmod(path, mode), 0);
}

/* A helper that writes down who was asked, in a place with a name that a shell would take apart. */
static void make_guest(void)
{
	char text[1000];

	snprintf(own_log, sizeof(own_log), "%s/own", f.dir);
	snprintf(guest, sizeof(guest), "%s/a 'guest' $x", f.dir);
	snprintf(text, sizeof(text),
	         "#!/bin/sh\nfor i; do printf '%%s|' \"$i\"; done >>%s\ncat >>%s\n"
	         "[ \"$5\" = get ] && printf 'username=x-access-token\\npassword=ours\\n'\nexit 0\n",
	         own_log, own_log);
	write_file(guest, text, 0700);
	f.in.guest = guest;
}

static void hostile(const char *home, const char *repository)
{
	char text[4000], path[400], helper[400];

	snprintf(marks, sizeof(marks), "%s/evil", f.dir);
	snprintf(helper, sizeof(helper), "!echo asked >>%s; echo username=evil; echo password=evil; :", marks);
	snprintf(text, sizeof(text),
	         "[user]\n name=n\n email=e@example.test\n[credential]\n helper=\"%s\"\n useHttpPath=false\n"
	         " username=alice\n"
	         "[credential \"https://github.com\"]\n helper=\"%s\"\n useHttpPath=false\n username=bob\n"
	         "[credential \"https://github.com/acme\"]\n helper=\"%s\"\n useHttpPath=false\n username=carol\n"
	         "[core]\n askPass=%s/askpass\n[commit]\n gpgsign=true\n[tag]\n gpgsign=true\n"
	         "[gpg]\n program=/bin/false\n",
	         helper, helper, helper, f.dir);
	snprintf(path, sizeof(path), "%s/.gitconfig", home);
	write_file(path, text, 0600);
	snprintf(path, sizeof(path), "%s/.git/config", repository);
	write_file(path, strstr(text, "[credential]"), 0600);
	snprintf(path, sizeof(path), "%s/askpass", f.dir);
	snprintf(text, sizeof(text), "#!/bin/sh\necho askpass >>%s\necho evil\n", marks);
	write_file(path, text, 0700);
}

/* plan NULL: without what the plan sets, which is the control. */
static void environment(const oc_plan *plan, const char *const *more, char **env)
{
	static char pool[65536], path[] = "PATH=/usr/bin:/bin", language[] = "LC_ALL=C";
	size_t i, n = 3, len = (size_t)snprintf(pool, sizeof(pool), "HOME=%s", f.home) + 1;
	const json_t *entry;

	env[0] = pool;
	env[1] = path;
	env[2] = language;
	for (; more && *more; more++)
		env[n++] = (char *)*more;
	json_array_foreach(plan ? variables(plan) : NULL, i, entry)
	{
		const char *name = oc_json_text(entry, "name"), *value = oc_json_text(entry, "value");

		if (!value || !strcmp(name, "HOME") || !strcmp(name, "PATH"))
			continue;
		env[n++] = pool + len;
		len += (size_t)snprintf(pool + len, sizeof(pool) - len, "%s=%s", name, value) + 1;
		ck_assert(n < ENV_MAX && len < sizeof(pool));
	}
	env[n] = NULL;
}

struct said {
	char out[8192];
	int status;
};

/* git in the workspace, with both of its outputs in one. */
static void git(const oc_plan *plan, const char *const *more, const char *const *argv, const char *input,
                struct said *said)
{
	char *env[ENV_MAX], name[400];
	FILE *file;
	size_t n;
	int status;
	pid_t pid;

	snprintf(name, sizeof(name), "%s/input", f.dir);
	write_file(name, input, 0600);
	environment(plan, more, env);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		dup2(open(name, O_RDONLY | O_CLOEXEC), 0);
		snprintf(name, sizeof(name), "%s/output", f.dir);
		dup2(open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), 1);
		dup2(1, 2);
		if (chdir(f.ws) == 0 && setsid() > 0)
			execve("/usr/bin/git", (char *const *)argv, env);
		_exit(126);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	said->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	snprintf(name, sizeof(name), "%s/output", f.dir);
	file = fopen(name, "re");
	ck_assert_ptr_nonnull(file);
	n = fread(said->out, 1, sizeof(said->out) - 1, file);
	said->out[n] = '\0';
	fclose(file);
}

static bool there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void open_world(void)
{
	static const char *const init[] = { "git", "init", "-q", "-b", "main", NULL };
	struct said said;

	fixture_open(&f);
	make_guest();
	git(NULL, NULL, init, "", &said);
	ck_assert_msg(said.status == 0, "%s", said.out);
	hostile(f.home, f.ws);
}

static oc_plan *plan_of(const char *credential, const char *toolbelt)
{
	oc_plan *plan = NULL;

	f.request.git_credential = credential;
	f.request.toolbelt = toolbelt;
	oc_plan_free(fixture_plan(&f, RUN));
	f.in.guest = guest;
	OK(oc_plan_build(&f.in, &plan, &err));
	return plan;
}

static oc_plan *plan_outside(const char *credential, const char *toolbelt, int rc)
{
	struct oc_plan_input in = { .request = &f.request,
		                    .kind = "none",
		                    .run = RUN,
		                    .guest = guest,
		                    .guest_digest = FIXTURE_DIGEST,
		                    .state_dir = f.state,
		                    .home = f.home,
		                    .environ = f.env };
	oc_plan *plan = NULL;
	oc_error *err = NULL;

	f.request.git_credential = credential;
	f.request.toolbelt = toolbelt;
	ck_assert_int_eq(oc_plan_build(&in, &plan, &err), rc);
	oc_error_free(err);
	return plan;
}

START_TEST(test_variables)
{
	static const char *const own[] = { "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=repack.updateServerInfo",
		                           "GIT_CONFIG_VALUE_0=false", "GIT_TERMINAL_PROMPT=0", NULL };
	char text[4096], want[4096], quoted[400];
	oc_plan *plan;

	fixture_open(&f);
	make_guest();
	snprintf(quoted, sizeof(quoted), "'%s/a '\\''guest'\\'' $x'", f.dir);
	plan = plan_of(NULL, BELT);
	ck_assert_str_eq(variable(plan, "GIT_CONFIG_COUNT"), "(absent)");
	ck_assert_str_eq(variable(plan, "GIT_ASKPASS"), "(absent)");
	ck_assert_uint_eq(json_array_size(json_object_get(plan->json, "notes")), 1);
	oc_plan_free(plan);
	f.request.env = own;
	plan = plan_of(FROM_BELT, BELT);
	configured(plan, text, sizeof(text));
	snprintf(want, sizeof(want),
	         "repack.updateServerInfo=false\n"
	         "credential.helper=\ncredential.https://github.com.helper=\n"
	         "credential.https://github.com.helper=!%s credential 7353 https://github.com acme/web\n"
	         "credential.https://github.com.useHttpPath=true\n"
	         "credential.https://github.com.username=x-access-token\n"
	         "commit.gpgsign=false\ntag.gpgsign=false\n",
	         quoted);
	ck_assert_str_eq(text, want);
	ck_assert_str_eq(variable(plan, "GIT_TERMINAL_PROMPT"), "0");
	ck_assert_str_eq(variable(plan, "GIT_ASKPASS"), "");
	ck_assert_str_eq(variable(plan, "SSH_ASKPASS"), "");
	ck_assert_str_eq(json_string_value(json_array_get(json_object_get(plan->json, "notes"), 1)),
	                 "git signs in to https://github.com/acme/web alone, through the run's toolbelt");
	/* The provider's answer is not ours to write in. */
	ck_assert_uint_eq(json_array_size(json_object_get(f.reply, "notes")), 1);
	oc_plan_free(plan);
	f.request.env = NULL;
	fixture_close(&f);
}
END_TEST

/* Where the helper is to ask, by what the run is. */
START_TEST(test_addresses)
{
	char text[4096];
	oc_plan *plan;

	fixture_open(&f);
	make_guest();
	plan = plan_of(FROM_BELT, NULL);
	configured(plan, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, " credential none:toolbelt https://github.com acme/web\n"));
	oc_plan_free(plan);
	plan = plan_of(FROM_ENV, BELT);
	configured(plan, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, " credential env https://github.com -\n"));
	oc_plan_free(plan);
	f.request.attach = 1;
	plan = plan_of(FROM_BELT, NULL);
	configured(plan, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, " credential none:attach https://github.com acme/web\n"));
	oc_plan_free(plan);
	f.request.attach = 0;
	/* Without a sandbox git keeps what its user has for other hosts, and how he signs. */
	plan = plan_outside(FROM_BELT, BELT, 0);
	configured(plan, text, sizeof(text));
	ck_assert_int_eq(strncmp(text, "credential.https://github.com.helper=\n", 38), 0);
	ck_assert_ptr_nonnull(strstr(text, "/live/" RUN "/run/toolbelt.sock https://github.com acme/web\n"));
	ck_assert_ptr_null(strstr(text, "gpgsign"));
	ck_assert_ptr_null(strstr(text, "credential.helper"));
	oc_plan_free(plan);
	fixture_close(&f);
}
END_TEST

static void refused(const char *credential, const char *subject)
{
	oc_plan *plan = NULL;
	oc_error *err = NULL;

	f.request.git_credential = credential;
	ck_assert_msg(oc_plan_build(&f.in, &plan, &err) < 0 && !plan, "taken: %s", credential);
	if (subject) {
		ck_assert_str_eq(oc_error_reason(err), "sandbox_config");
		ck_assert_msg(strcmp(oc_error_subject(err), subject) == 0, "%s: %s", credential, oc_error_subject(err));
		ck_assert_ptr_nonnull(oc_error_fix(err));
	}
	oc_error_free(err);
}

START_TEST(test_refused)
{
#define AT(base)   "{\"base\":\"" base "\",\"repository\":\"a/b\",\"from\":\"toolbelt\"}"
#define OF(repo)   "{\"base\":\"https://h\",\"repository\":\"" repo "\",\"from\":\"toolbelt\"}"
#define FROM(from) "{\"base\":\"https://h\",\"repository\":\"a/b\",\"from\":" from "}"
	static const struct {
		const char *credential, *subject;
	} wrong[] = {
		{ "", NULL },
		{ "[]", NULL },
		{ "{", NULL },
		{ "{}", NULL },
		{ "{\"base\":\"https://h\",\"repository\":\"a/b\",\"from\":\"toolbelt\",\"more\":1}",
		  "git_credential.more" },
		{ AT("http://github.com"), "git_credential.base" },
		{ AT("https://"), "git_credential.base" },
		{ AT("https://github.com/"), "git_credential.base" },
		{ AT("https://a@github.com"), "git_credential.base" },
		{ AT("https://git hub.com"), "git_credential.base" },
		{ AT("https://github.com'"), "git_credential.base" },
		{ AT("https://github.com;x"), "git_credential.base" },
		{ AT("https://github.com\\nx"), "git_credential.base" },
		{ AT("https://-h"), "git_credential.base" },
		{ AT("https://a..b"), "git_credential.base" },
		{ AT("https://a."), "git_credential.base" },
		{ AT("https://a:"), "git_credential.base" },
		{ AT("https://a:0"), "git_credential.base" },
		{ AT("https://a:65536"), "git_credential.base" },
		{ AT("https://a:1:2"), "git_credential.base" },
		{ AT("https://[::1]"), "git_credential.base" },
		{ OF(""), "git_credential.repository" },
		{ OF("a"), "git_credential.repository" },
		{ OF("a/"), "git_credential.repository" },
		{ OF("/b"), "git_credential.repository" },
		{ OF("a/b/c"), "git_credential.repository" },
		{ OF("a/.."), "git_credential.repository" },
		{ OF("a/b c"), "git_credential.repository" },
		{ OF("a/$(x)"), "git_credential.repository" },
		{ OF("a/b\\n"), "git_credential.repository" },
		{ FROM("\"\""), "git_credential.from" },
		{ FROM("\"host\""), "git_credential.from" },
		{ FROM("null"), "git_credential.from" },
	};

	fixture_open(&f);
	make_guest();
	oc_plan_free(plan_of(AT("https://github.test:8443"), BELT));
	oc_plan_free(plan_of(OF("a-b/.github"), BELT));
	for (size_t i = 0; i < COUNT(wrong); i++)
		refused(wrong[i].credential, wrong[i].subject);
	fixture_close(&f);
}
END_TEST

/* What the request sets that would undo it, or be undone without a word. */
START_TEST(test_other_variables)
{
	static const char *const wrong[][2] = {
		{ "GIT_CONFIG_COUNT=x", "GIT_CONFIG_COUNT" },
		{ "GIT_CONFIG_COUNT=", "GIT_CONFIG_COUNT" },
		{ "GIT_CONFIG_COUNT=-1", "GIT_CONFIG_COUNT" },
		{ "GIT_CONFIG_COUNT=1001", "GIT_CONFIG_COUNT" },
		{ "GIT_CONFIG_COUNT=99999999999999999999", "GIT_CONFIG_COUNT" },
		{ "GIT_CONFIG_COUNT", "GIT_CONFIG_COUNT" },
		{ "GIT_CONFIG_PARAMETERS='credential.helper='", "GIT_CONFIG_PARAMETERS" },
		{ "GIT_ASKPASS=/bin/x", "GIT_ASKPASS" },
		{ "SSH_ASKPASS=/bin/x", "SSH_ASKPASS" },
		{ "GIT_TERMINAL_PROMPT=1", "GIT_TERMINAL_PROMPT" },
	};
	static char count[] = "GIT_CONFIG_COUNT=7", parameters[] = "GIT_CONFIG_PARAMETERS='credential.helper='";
	const char *env[2] = { NULL }, *const secrets[] = { "GIT_ASKPASS", NULL };
	oc_plan *plan;

	fixture_open(&f);
	make_guest();
	oc_plan_free(plan_of(FROM_BELT, BELT));
	f.request.env = env;
	f.env[3] = NULL;
	f.env[2] = count;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		env[0] = wrong[i][0];
		refused(FROM_BELT, wrong[i][1]);
		oc_plan_free(plan_of(NULL, BELT)); /* control: without one it is no business of ours */
	}
	f.request.env = NULL;
	f.request.secrets = secrets;
	refused(FROM_BELT, "GIT_ASKPASS");
	f.request.secrets = NULL;
	/* Nor does what the host has in its own environment come first, or last. */
	f.env[0] = parameters;
	plan = plan_outside(FROM_BELT, BELT, 0);
	ck_assert_str_eq(variable(plan, "GIT_CONFIG_PARAMETERS"), "(absent)");
	ck_assert_str_eq(variable(plan, "GIT_CONFIG_COUNT"), "4");
	oc_plan_free(plan);
	plan = plan_outside(NULL, BELT, 0);
	ck_assert_ptr_null(variable(plan, "GIT_CONFIG_PARAMETERS"));
	oc_plan_free(plan);
	fixture_close(&f);
}
END_TEST

static const char *const fill[] = { "git", "credential", "fill", NULL };

static void log_is(const char *want)
{
	char text[4096] = "";
	FILE *file = fopen(own_log, "re");

	ck_assert_ptr_nonnull(file);
	(void)fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	ck_assert_str_eq(text, want);
	unlink(own_log);
}

/* TBC-4: files of the user, of the repository, what srt sets: ours is asked, alone, and is told which repository. */
START_TEST(test_hostile_files)
{
	static const char *const srt[] = { "GIT_CONFIG_PARAMETERS='http.proxyAuthMethod=basic'", NULL };
	struct said said;
	oc_plan *plan;

	open_world();
	git(NULL, NULL, fill, ASKED, &said);
	ck_assert_msg(strstr(said.out, "password=evil") && there(marks), "the control: %s", said.out);
	unlink(marks);
	plan = plan_of(FROM_BELT, BELT);
	for (int i = 0; i < 2; i++) {
		git(plan, i ? srt : NULL, fill, ASKED, &said);
		ck_assert_msg(strstr(said.out, "password=ours\n") && said.status == 0, "%s", said.out);
		ck_assert(!there(marks));
		log_is("credential|7353|https://github.com|acme/web|get|"
		       "protocol=https\nhost=github.com\npath=acme/web.git\nusername=x-access-token\n");
	}
	git(plan, NULL, fill, ASKED_OTHER, &said);
	ck_assert_msg(said.status == 128 && strstr(said.out, "terminal prompts disabled"), "%s", said.out);
	ck_assert(!there(marks) && !there(own_log));
	oc_plan_free(plan);
	/* Outside, the user's own for another host. */
	plan = plan_outside(FROM_BELT, BELT, 0);
	git(plan, NULL, fill, ASKED_OTHER, &said);
	ck_assert_msg(strstr(said.out, "password=evil\n") && there(marks), "%s", said.out);
	unlink(marks);
	git(plan, NULL, fill, ASKED, &said);
	ck_assert_msg(strstr(said.out, "password=ours\n") && !there(marks), "%s", said.out);
	oc_plan_free(plan);
	fixture_close(&f);
}
END_TEST

/* Keys of the user are never in a sandbox. */
START_TEST(test_signing)
{
	static const char *const commit[] = { "git", "commit", "-q", "--allow-empty", "-m", "m", NULL };
	static const char *const tag[] = { "git", "tag", "-m", "m", "v1", NULL };
	struct said said;
	oc_plan *plan;

	open_world();
	git(NULL, NULL, commit, "", &said);
	ck_assert_msg(said.status != 0 && strstr(said.out, "gpg failed"), "the control: %s", said.out);
	plan = plan_of(FROM_BELT, BELT);
	git(plan, NULL, commit, "", &said);
	ck_assert_msg(said.status == 0, "%s", said.out);
	git(plan, NULL, tag, "", &said);
	ck_assert_msg(said.status == 0, "%s", said.out);
	oc_plan_free(plan);
	fixture_close(&f);
}
END_TEST

/* A server that wants to know who asks; for ten connections at most. */
static pid_t serve(int *port)
{
	static const char answer[] = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n"
	                             "Content-Length: 0\r\nConnection: close\r\n\r\n";
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[4096];
	pid_t pid;

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	for (int i = 0; pid == 0 && i < 10; i++) {
		int peer = accept(fd, NULL, NULL);

		if (recv(peer, text, sizeof(text), 0) > 0)
			(void)send(peer, answer, sizeof(answer) - 1, MSG_NOSIGNAL);
		close(peer);
	}
	if (pid == 0)
		suite_exit(0);
	close(fd);
	return pid;
}

/* A name that leads elsewhere gets nothing there, from nobody. */
START_TEST(test_instead_of)
{
	static const char *const list[] = { "git", "ls-remote", "https://github.com/acme/web.git", NULL };
	char path[400], text[400];
	struct said said;
	oc_plan *plan;
	FILE *file;
	int port;
	pid_t pid;

	open_world();
	pid = serve(&port);
	snprintf(path, sizeof(path), "%s/.gitconfig", f.home);
	snprintf(text, sizeof(text), "[url \"http://127.0.0.1:%d/\"]\n insteadOf=https://github.com/\n", port);
	file = fopen(path, "ae");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
	plan = plan_of(FROM_BELT, BELT);
	git(plan, NULL, list, "", &said);
	ck_assert_msg(said.status == 128 && strstr(said.out, "terminal prompts disabled"), "%s", said.out);
	ck_assert(!there(marks) && !there(own_log));
	git(NULL, NULL, list, "", &said);
	ck_assert_msg(there(marks), "the control: %s", said.out);
	oc_plan_free(plan);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	fixture_close(&f);
}
END_TEST

/* The real helper: with a token of the run's environment, and one that stops git with words. */
START_TEST(test_real)
{
	const char *real = getenv("OC_TEST_GUEST");
	static const char *const token[] = { "GH_TOKEN=ghp_personal", NULL };
	struct said said;
	oc_plan *plan;

	open_world();
	ck_assert_ptr_nonnull(real);
	snprintf(guest, sizeof(guest), "%s", real);
	plan = plan_of(FROM_ENV, NULL);
	git(plan, token, fill, ASKED, &said);
	ck_assert_msg(strstr(said.out, "username=x-access-token\npassword=ghp_personal\n") != NULL, "%s", said.out);
	git(plan, NULL, fill, ASKED, &said);
	ck_assert_msg(said.status == 128 && strstr(said.out, "neither GH_TOKEN nor GITHUB_TOKEN") &&
	                      strstr(said.out, "told us to quit"),
	              "%s", said.out);
	oc_plan_free(plan);
	f.request.attach = 1;
	plan = plan_of(FROM_BELT, NULL);
	git(plan, token, fill, ASKED, &said);
	ck_assert_msg(said.status == 128 && strstr(said.out, "let the agent push on its next turn\n"), "%s", said.out);
	ck_assert(!there(marks));
	oc_plan_free(plan);
	f.request.attach = 0;
	fixture_close(&f);
}
END_TEST

static int build(void *userdata)
{
	oc_plan *plan = NULL;
	int rc = oc_plan_build(userdata, &plan, NULL);

	oc_plan_free(plan);
	return rc;
}

START_TEST(test_memory)
{
	fixture_open(&f);
	make_guest();
	oc_plan_free(plan_of(FROM_BELT, NULL));
	ck_assert_int_gt(alloc_fail_each(build, &f.in, 0), 50);
	fixture_close(&f);
}
END_TEST

SUITE_MAIN("plan_credential", test_variables, test_addresses, test_refused, test_other_variables, test_hostile_files,
           test_signing, test_instead_of, test_real, test_memory)
