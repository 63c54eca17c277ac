/* SPDX-License-Identifier: Apache-2.0 */
/* "claude-code": Anthropic's Claude Code, without a terminal.  The prompt goes in on standard input and never in its
 * arguments, the session's id is ours, and nothing of the workspace's own settings or servers is loaded. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent.h"

#define PROGRAM     "claude"
#define API         "api.anthropic.com"
#define RETRIES     "4" /* about 10 seconds in all; its own 10 are minutes, in which a refused key looks like work */
#define PROJECT_MAX 4096

/* The program that the operator would start, by its real name: a link that is moved later starts no other. */
static char *find_program(void)
{
	const char *path = getenv("PATH"), *end;
	char found[PATH_MAX];

	for (; path && *path; path = *end ? end + 1 : end) {
		struct stat st;
		int n;

		end = path + strcspn(path, ":");
		n = snprintf(found, sizeof(found), "%.*s/%s", (int)(end - path), path, PROGRAM);
		/* A relative one would depend on where we stand. */
		if (*path == '/' && n > 0 && (size_t)n < sizeof(found) && stat(found, &st) == 0 &&
		    S_ISREG(st.st_mode) && access(found, X_OK) == 0)
			return realpath(found, NULL);
	}
	return NULL;
}

static int refuse(struct host *h, const struct refusal *r)
{
	host_refuse(h, "not run", r);
	return OC_EREFUSED;
}

/* In a container it is the image's: found there, and nothing of this machine's. */
static char *program_of(const struct executor_turn *turn)
{
	return turn->home ? strdup(PROGRAM) : find_program();
}

static int no_program(struct host *h)
{
	return refuse(h, &(struct refusal){ "sandbox_unavailable", PROGRAM, "there is no claude in PATH",
	                                    "npm install -g @anthropic-ai/claude-code, or put it into PATH" });
}

/* HOST:PORT of a URL; false: it is none that can be compared with a policy. */
static bool url_host(const char *url, char *out, size_t size)
{
	bool https = !strncmp(url, "https://", 8);
	const char *host = https ? url + 8 : !strncmp(url, "http://", 7) ? url + 7 : NULL;
	size_t n = host ? strcspn(host, "/?#") : 0, name = n;
	int put;

	if (!n || memchr(host, '@', n))
		return false;
	/* A colon in brackets is a part of the address. */
	for (size_t i = n; i-- > 0 && host[i] != ']';)
		if (host[i] == ':')
			name = i;
	put = name < n ? snprintf(out, size, "%.*s", (int)n, host)
	               : snprintf(out, size, "%.*s:%s", (int)n, host, https ? "443" : "80");
	return name > 0 && put > 0 && (size_t)put < size;
}

static int need_api(struct host *h, const struct executor_turn *turn, struct executor_launch *out)
{
	const char *url = executor_variable(turn->binding, "ANTHROPIC_BASE_URL");
	char host[300], subject[512];

	if (!url) {
		texts_add(&out->hosts, API ":443");
		return 0;
	}
	if (url_host(url, host, sizeof(host))) {
		texts_add(&out->hosts, "%s", host);
		return 0;
	}
	snprintf(subject, sizeof(subject), "%.400s.config.env.ANTHROPIC_BASE_URL", turn->binding->field);
	return refuse(h, &(struct refusal){ "sandbox_config", subject,
	                                    "it is no URL of http or https without a name and password in it",
	                                    "write a URL such as \"https://gateway.example.com\"; a key is a secret" });
}

/* Unless the binding sets it. */
static void by_default(const struct executor_turn *turn, struct executor_launch *out, const char *name,
                       const char *value)
{
	if (!executor_variable(turn->binding, name))
		texts_add(&out->env, "%s=%s", name, value);
}

/* Where only what is listed can be reached. */
static void quiet(const struct executor_turn *turn, struct executor_launch *out)
{
	by_default(turn, out, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
	if (turn->home)
		texts_add(&out->env, "CLAUDE_CONFIG_DIR=%s", turn->home);
}

static void environment(const struct executor_turn *turn, struct executor_launch *out)
{
	/* Its own default is /tmp, where all runs of a user meet, and where one that is confined may not write. */
	texts_add(&out->env, "TMPDIR=%s/tmp", turn->run_dir);
	texts_add(&out->env, "CLAUDE_CODE_TMPDIR=%s/tmp", turn->run_dir);
	texts_add(&out->env, AGENT_SESSION "=%s", turn->session);
	quiet(turn, out);
	by_default(turn, out, "CLAUDE_CODE_MAX_RETRIES", RETRIES);
}

static void arguments(const struct executor_turn *turn, const char *program, struct executor_launch *out)
{
	static const char *const always[] = {
		"--print",   "--input-format",         "stream-json",       "--output-format",   "stream-json",
		"--verbose", "--replay-user-messages", "--permission-mode", "bypassPermissions", "--setting-sources",
		"user",      "--strict-mcp-config"
	};

	texts_add(&out->argv, "%s", program);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		texts_add(&out->argv, "%s", always[i]);
	if (turn->toolbelt) {
		texts_add(&out->argv, "--mcp-config");
		texts_add(&out->argv, "%s/mcp.json", turn->run_dir);
	}
	texts_add(&out->argv, "%s", turn->resume ? "--resume" : "--session-id");
	texts_add(&out->argv, "%s", turn->session);
}

static int prepare(struct host *h, const struct executor_turn *turn, struct executor_launch *out)
{
	const char *dir = executor_config_dir(turn);
	char *program = program_of(turn);
	int rc = program ? 0 : no_program(h);

	if (rc == 0)
		rc = need_api(h, turn, out);
	if (rc == 0)
		rc = executor_common(h, turn, out);
	if (rc == 0) {
		arguments(turn, program, out);
		environment(turn, out);
		if (!turn->home)
			texts_add(&out->read, "%s", program);
		/* Read-only it would run, and keep no transcript: the next turn could not go on. */
		if (dir && !turn->home)
			texts_add(&out->write, "%s", dir);
		texts_add(&out->files, "%s", AGENT_PROMPT);
		texts_add(&out->files, "%s", turn->prompt);
	}
	free(program);
	return rc;
}

/* Its own terminal program, in the session that its turns had.  What lies in the workspace configures it no more than there. */
static int attach(struct host *h, const struct executor_turn *turn, struct executor_launch *out)
{
	static const char *const always[] = { "--setting-sources", "user", "--strict-mcp-config", "--resume" };
	char *program = program_of(turn);
	int rc = program ? 0 : no_program(h);

	if (rc == 0 && turn->home)
		rc = need_api(h, turn, out);
	if (rc == 0) {
		texts_add(&out->argv, "%s", program);
		/* What it may do is the container's to say; it asks its user whether that is meant. */
		if (turn->home)
			texts_add(&out->argv, "--permission-mode=bypassPermissions");
		for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
			texts_add(&out->argv, "%s", always[i]);
		texts_add(&out->argv, "%s", turn->session);
		executor_of_work(turn, out);
	}
	if (rc == 0 && turn->home)
		quiet(turn, out);
	free(program);
	return rc;
}

/* Its first questions to a person would be about colours; those that matter it asks anyhow.  What a seed or an agent left
 * there stays. */
static void settle(const char *home)
{
	static const char text[] = "{\"hasCompletedOnboarding\":true}\n";
	int dir = open(home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd = dir < 0 ? -1 : openat(dir, ".claude.json", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	/* Without it there are a few questions more. */
	if (fd >= 0 && write(fd, text, sizeof(text) - 1) < 0)
		unlinkat(dir, ".claude.json", 0);
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
}

/* The directory of sessions; in a home that an agent made, no link of its. */
static DIR *open_projects(const struct executor_turn *turn)
{
	const char *dir = executor_config_dir(turn), *own = getenv("CLAUDE_CONFIG_DIR");
	char path[PATH_MAX];
	DIR *list;
	int fd;

	if (!dir && own && *own)
		dir = own;
	if (dir)
		snprintf(path, sizeof(path), "%s/projects", dir);
	else
		snprintf(path, sizeof(path), "%s/.claude/projects", getenv("HOME") ? getenv("HOME") : "");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (turn->home ? O_NOFOLLOW : 0));
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list && fd >= 0)
		close(fd);
	return list;
}

static bool is_session(int dir, const char *project, const char *id)
{
	char name[NAME_MAX + 64];
	struct stat st;

	if (*project == '.' || fstatat(dir, project, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return false;
	snprintf(name, sizeof(name), "%s/%s.jsonl", project, id);
	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

/* projects/<directory, each / a ->/<id>.jsonl: a file, and not an empty one.  What an agent made of its own directory is
 * only looked at by name. */
static bool has_session(const struct executor_turn *turn, const char *id)
{
	DIR *list = open_projects(turn);
	struct dirent *entry;
	bool found = false;
	unsigned n = 0;

	while (list && !found && n++ < PROJECT_MAX && (entry = readdir(list)))
		found = is_session(dirfd(list), entry->d_name, id);
	if (list)
		closedir(list);
	return found;
}

const struct executor executor_claude = {
	.name = "claude-code",
	.toolbelt = true,
	.inject = true,
	.resume = true,
	.prepare = prepare,
	.attach = attach,
	.settle = settle,
	.has_session = has_session,
	.talk = &claude_talk,
};
