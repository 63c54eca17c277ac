/* SPDX-License-Identifier: Apache-2.0 */
/* Finding srt: its package directory, the node that runs it, its helpers.  Nothing is executed:
 * a plan has a few milliseconds, and what a program says about its own version has been wrong
 * (every srt before 0.0.78 says 1.0.0).  All paths are resolved here once; check and plan use the
 * same ones, so a verdict is about what is launched. */
#include "locate.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PACKAGE      "@anthropic-ai/sandbox-runtime"
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

#if defined(__x86_64__)
#define ARCH "x64"
#elif defined(__aarch64__)
#define ARCH "arm64"
#else
#define ARCH "unsupported"
#endif

const char *program_name(enum program_id id)
{
	static const char *const names[PROGRAMS] = { "bwrap", "socat", "rg", "bash", "which", "sh" };

	return names[id];
}

static const char *search_path(void)
{
	const char *path = getenv("PATH");

	return path && path[0] ? path : DEFAULT_PATH;
}

/* The next absolute directory of a PATH; NULL at its end. */
static char *next_dir(const char **rest)
{
	while (**rest) {
		const char *start = *rest, *end = strchrnul(start, ':');

		*rest = *end ? end + 1 : end;
		if (*start == '/' && end - start < PATH_MAX)
			return strndup(start, (size_t)(end - start));
	}
	return NULL;
}

bool version_compare(const char *a, const char *b, int *order)
{
	unsigned x[3], y[3];
	int i;

	if (sscanf(a, "%5u.%5u.%5u", &x[0], &x[1], &x[2]) != 3 || sscanf(b, "%5u.%5u.%5u", &y[0], &y[1], &y[2]) != 3)
		return false;
	*order = 0;
	for (i = 0; i < 3 && !*order; i++)
		*order = (x[i] > y[i]) - (x[i] < y[i]);
	return true;
}

static bool too_old(const char *version, const char *minimum)
{
	int order;

	return !version_compare(version, minimum, &order) || order < 0;
}

/* ---- the package ---- */

/* Is dir srt's package?  Takes its real path and version.  real: it is that already. */
static bool take_package(struct srt *srt, const char *dir, bool real)
{
	cleanup_free char *file = format("%s/package.json", dir);
	cleanup_json json_t *json = file ? known_json(srt->known, file) : NULL;
	const char *name = text_of(json, "name"), *version = text_of(json, "version");
	char *tail;

	if (!name || !version || strcmp(name, PACKAGE) != 0)
		return false;
	srt->package = real ? strdup(dir) : realpath(dir, NULL);
	srt->version = strdup(version);
	srt->cli = srt->package ? format("%s/dist/cli.js", srt->package) : NULL;
	srt->modules = srt->package ? strdup(srt->package) : NULL;
	tail = srt->modules ? strstr(srt->modules, "/" PACKAGE) : NULL;
	if (tail && !strcmp(tail, "/" PACKAGE))
		*tail = '\0'; /* where its dependencies are too: they decide as much as it does */
	return srt->cli && srt->modules && srt->version;
}

/* From an executable through all its links up to the package that owns it. */
static bool take_executable(struct srt *srt, const char *path)
{
	cleanup_free char *real = realpath(path, NULL);
	int depth;

	for (depth = 0; real && depth < 4; depth++) {
		char *up = path_parent(real);

		free(real);
		real = up;
		if (real && take_package(srt, real, true))
			return true;
	}
	return false;
}

/* A prefix that npm installed into, in any of its shapes. */
static bool take_prefix(struct srt *srt, const char *prefix)
{
	static const char *const shapes[] = { "", ("/node_modules/" PACKAGE), ("/lib/node_modules/" PACKAGE) };
	size_t i;

	for (i = 0; i < COUNT(shapes); i++) {
		cleanup_free char *dir = format("%s%s", prefix, shapes[i]);

		if (dir && take_package(srt, dir, false))
			return true;
	}
	return false;
}

static bool search_package(struct srt *srt)
{
	static const char *const prefixes[] = { "/usr/local", "/usr" };
	static const char *const home_prefixes[] = { ".npm-global", ".local", ".local/share/open-conduit/srt" };
	const char *rest = search_path(), *home = getenv("HOME");
	char *dir;
	size_t i;

	while ((dir = next_dir(&rest))) {
		cleanup_free char *path = format("%s/srt", dir);

		if (path && is_executable(path) && take_executable(srt, path)) {
			srt->beside = dir;
			return true;
		}
		free(dir);
	}
	for (i = 0; home && home[0] == '/' && i < COUNT(home_prefixes); i++) {
		cleanup_free char *prefix = format("%s/%s", home, home_prefixes[i]);

		if (prefix && take_prefix(srt, prefix))
			return true;
	}
	for (i = 0; i < COUNT(prefixes); i++)
		if (take_prefix(srt, prefixes[i]))
			return true;
	return false;
}

int locate_package(struct srt *srt, struct refusal *r)
{
	const char *told = getenv("OPEN_CONDUIT_SRT");
	bool found;

	if (told && told[0])
		found = told[0] == '/' && (is_executable(told) ? take_executable(srt, told) : take_prefix(srt, told));
	else
		found = search_package(srt);
	if (!found && told && told[0])
		return refuse(r, "sandbox_unavailable", told, SRT_INSTALL,
		              "OPEN_CONDUIT_SRT is %s, and srt (%s) is not there", told, PACKAGE);
	if (!found)
		return refuse(r, "sandbox_unavailable", "srt", SRT_INSTALL,
		              "srt (%s) is not installed: looked on PATH (%s) and in npm's usual places", PACKAGE,
		              search_path());
	if (too_old(srt->version, SRT_MINIMUM))
		return refuse(r, "sandbox_unavailable", srt->package, SRT_INSTALL "@latest",
		              "srt %s at %s is too old: %s or later is needed", srt->version, srt->package,
		              SRT_MINIMUM);
	if (access(srt->cli, R_OK) < 0)
		return refuse(r, "sandbox_unavailable", srt->cli, SRT_INSTALL,
		              "srt's package is incomplete: %s is missing", srt->cli);
	return 0;
}

int locate_seccomp(struct srt *srt, struct refusal *r)
{
	srt->vendor = format("%s/vendor", srt->package);
	srt->apply_seccomp = format("%s/vendor/seccomp/" ARCH "/apply-seccomp", srt->package);
	if (!srt->vendor || !srt->apply_seccomp)
		return no_memory(r);
	/* srt would go on without it, in silence, and leave unix sockets open. */
	if (!is_executable(srt->apply_seccomp))
		return refuse(r, "sandbox_unavailable", srt->apply_seccomp, SRT_INSTALL,
		              "srt's seccomp helper is missing: %s", srt->apply_seccomp);
	return 0;
}

/* ---- node ---- */

/* The version of a node, from what lies beside it: npm's package or node's own headers. */
static char *node_version(const struct srt *srt, const char *real)
{
	cleanup_free char *bin = path_parent(real), *prefix = bin ? path_parent(bin) : NULL;
	cleanup_free char *file = format("%s/package.json", prefix ? prefix : "");
	cleanup_free char *header = format("%s/include/node/node_version.h", prefix ? prefix : "");
	cleanup_json json_t *json = file ? known_json(srt->known, file) : NULL;
	const char *name = text_of(json, "name"), *version = text_of(json, "version");
	cleanup_free char *text = NULL;
	const char *major, *minor, *patch;

	if (name && version && !strncmp(name, "node", 4))
		return strdup(version);
	text = header ? read_small(header, 16384) : NULL;
	major = text ? strstr(text, "NODE_MAJOR_VERSION ") : NULL;
	minor = text ? strstr(text, "NODE_MINOR_VERSION ") : NULL;
	patch = text ? strstr(text, "NODE_PATCH_VERSION ") : NULL;
	if (!major || !minor || !patch)
		return NULL;
	return format("%d.%d.%d", atoi(major + 19), atoi(minor + 19), atoi(patch + 19));
}

/* 1: taken, 0: not there, -1: there and too old (*old says which). */
static int take_node(struct srt *srt, const char *path, char **old)
{
	cleanup_free char *real = is_executable(path) ? realpath(path, NULL) : NULL;
	cleanup_free char *version = real ? node_version(srt, real) : NULL;

	if (!real)
		return 0;
	if (version && too_old(version, NODE_MINIMUM)) {
		if (!*old)
			*old = format("%s is %s", real, version);
		return -1;
	}
	srt->node = strdup(real);
	srt->node_version = version ? strdup(version) : NULL;
	return srt->node ? 1 : 0;
}

int locate_node(struct srt *srt, struct refusal *r)
{
	static const char *const shapes[] = { ("node-linux-" ARCH), "node", "../.." };
	cleanup_free char *old = NULL;
	const char *rest = search_path();
	char *dir;
	size_t i;
	int taken = 0;

	for (i = 0; taken <= 0 && i < COUNT(shapes); i++) {
		cleanup_free char *path = format("%s/%s/bin/node", srt->modules, shapes[i]);

		taken = path ? take_node(srt, path, &old) : 0;
	}
	if (taken <= 0 && srt->beside) {
		cleanup_free char *path = format("%s/node", srt->beside);

		taken = path ? take_node(srt, path, &old) : 0;
	}
	while (taken <= 0 && (dir = next_dir(&rest))) {
		cleanup_free char *path = format("%s/node", dir);

		taken = path ? take_node(srt, path, &old) : 0;
		free(dir);
	}
	if (taken > 0)
		return 0;
	return refuse(r, "sandbox_unavailable", "node", "npm install -g node@22",
	              "srt needs Node.js %s or later: %s; looked beside srt and on PATH (%s)", NODE_MINIMUM,
	              old ? old : "there is none", search_path());
}

/* ---- the helpers ---- */

/* Where a program of this directory leads.  Six are looked for, and most are no links: the directory is resolved once. */
static char *real_program(const char *dir, char **real_dir, const char *path, const char *name)
{
	char target[2];

	if (readlink(path, target, sizeof(target)) >= 0 || errno != EINVAL)
		return realpath(path, NULL);
	if (!*real_dir)
		*real_dir = realpath(dir, NULL);
	return *real_dir ? format("%s/%s", (*real_dir)[1] ? *real_dir : "", name) : NULL;
}

static bool take_programs(struct srt *srt, const char *dir)
{
	cleanup_free char *real_dir = NULL;
	bool holds = false;
	int id;

	for (id = 0; id < PROGRAMS; id++) {
		struct program *p = &srt->programs[id];
		cleanup_free char *path = p->found ? NULL : format("%s/%s", dir, program_name(id));

		if (!path || !is_executable(path))
			continue;
		p->real = real_program(dir, &real_dir, path, program_name(id));
		p->found = p->real ? strdup(path) : NULL;
		holds = holds || p->found;
	}
	return holds;
}

static int missing_programs(const struct srt *srt, struct refusal *r)
{
	static const char *const packages[PROGRAMS] = {
		"bubblewrap", "socat", "ripgrep", "bash", "debianutils", "dash"
	};
	cleanup_free char *names = strdup(""), *fix = strdup("sudo apt-get install");
	const char *first = NULL;
	int id;

	for (id = 0; names && fix && id < PROGRAMS; id++) {
		char *longer;

		if (srt->programs[id].found)
			continue;
		longer = format("%s%s%s", names, first ? ", " : "", program_name(id));
		free(names);
		names = longer;
		longer = format("%s %s", fix, packages[id]);
		free(fix);
		fix = longer;
		first = first ? first : program_name(id);
	}
	if (!names || !fix)
		return no_memory(r);
	if (!first)
		return 0;
	return refuse(r, "sandbox_unavailable", first, fix, "srt needs what is missing here: %s; looked on PATH (%s)",
	              names, search_path());
}

int locate_programs(struct srt *srt, struct refusal *r)
{
	const char *rest = search_path();
	char *dir;

	srt->path = strdup("");
	while (srt->path && (dir = next_dir(&rest))) {
		if (take_programs(srt, dir)) {
			char *longer = format("%s%s%s", srt->path, srt->path[0] ? ":" : "", dir);

			free(srt->path);
			srt->path = longer;
		}
		free(dir);
	}
	if (!srt->path)
		return no_memory(r);
	return missing_programs(srt, r);
}

int locate_relay(struct srt *srt, struct refusal *r)
{
	char self[PATH_MAX]; /* the kernel's own name for it: no links in that */
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	cleanup_free char *dir = n > 0 ? (self[n] = '\0', path_parent(self)) : NULL;
	cleanup_free char *relay = format("%s/open-conduit-relay", dir ? dir : "");

	srt->relay = relay ? realpath(relay, NULL) : NULL;
	if (srt->relay && is_executable(srt->relay))
		return 0;
	return refuse(r, "sandbox_unavailable", relay, REINSTALL, "Open Conduit's relay for srt is missing: %s",
	              relay ? relay : "open-conduit-relay");
}

int locate(struct srt *srt, struct refusal *r)
{
	if (locate_package(srt, r) < 0 || locate_seccomp(srt, r) < 0 || locate_node(srt, r) < 0 ||
	    locate_relay(srt, r) < 0)
		return -1;
	return locate_programs(srt, r);
}

void srt_clear(struct srt *srt)
{
	int id;

	for (id = 0; id < PROGRAMS; id++) {
		free(srt->programs[id].found);
		free(srt->programs[id].real);
	}
	free(srt->package);
	free(srt->modules);
	free(srt->beside);
	free(srt->cli);
	free(srt->vendor);
	free(srt->apply_seccomp);
	free(srt->version);
	free(srt->node);
	free(srt->node_version);
	free(srt->relay);
	free(srt->path);
	*srt = (struct srt){ 0 };
}

/* ---- what it is ---- */

static json_t *string_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

/* A large file by what changes whenever it is replaced. */
static json_t *stamp_of(const char *path)
{
	struct stat st;
	cleanup_free char *text = NULL;

	if (!path || stat(path, &st) < 0)
		return json_null();
	text = format("%lld bytes, %lld.%09ld", (long long)st.st_size, (long long)st.st_mtim.tv_sec,
	              st.st_mtim.tv_nsec);
	return string_or_null(text);
}

static json_t *digest_json(const struct srt *srt, const char *path)
{
	cleanup_free char *digest = path ? known_digest(srt->known, path) : NULL;

	return string_or_null(digest);
}

json_t *srt_identity(const struct srt *srt)
{
	cleanup_free char *manifest = srt->package ? format("%s/package.json", srt->package) : NULL;
	json_t *identity =
	        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "srt", string_or_null(srt->version),
	                  "package", string_or_null(srt->package), "cli_digest", digest_json(srt, srt->cli),
	                  "package_digest", digest_json(srt, manifest), "seccomp_stamp", stamp_of(srt->apply_seccomp),
	                  "node", string_or_null(srt->node_version), "node_path", string_or_null(srt->node),
	                  "node_stamp", stamp_of(srt->node), "relay_digest", digest_json(srt, srt->relay));
	int id;

	for (id = 0; identity && id < PROGRAMS; id++) {
		const char *real = srt->programs[id].real;
		json_t *entry = json_pack("{s:o, s:o}", "path", string_or_null(real), "stamp", stamp_of(real));

		if (!entry || json_object_set_new(identity, program_name(id), entry) < 0) {
			json_decref(identity);
			return NULL;
		}
	}
	return identity;
}

json_t *srt_tools(const struct srt *srt, const char *guest)
{
	const char *const fixed[] = { srt->package, srt->modules, srt->cli, srt->apply_seccomp,
		                      srt->node,    srt->relay,   guest };
	json_t *tools = json_array();
	size_t i;
	int id;

	for (i = 0; tools && i < COUNT(fixed); i++)
		if (fixed[i] && json_array_append_new(tools, json_string(fixed[i])) < 0)
			goto failed;
	for (id = 0; tools && id < PROGRAMS; id++)
		if (json_array_append_new(tools, json_string(srt->programs[id].real)) < 0)
			goto failed;
	return tools;
failed:
	json_decref(tools);
	return NULL;
}
