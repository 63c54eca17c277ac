/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's command: argv[0] found where the run will look for it, and its environment, of which everything
 * is named and only what was given as a value is pinned as one. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/utf8.h"
#include "plan/check.h"
#include "plan/credential.h"
#include "plan/toolbelt.h"
#include "policy/policy.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
#define ARG_MAX_ONE  131071u    /* MAX_ARG_STRLEN: the kernel refuses a longer one */
#define ARG_MAX_ALL  (2u << 20) /* arguments and environment together */
#define ENV_MAX      4096
#define RUN_MARK     "OPEN_CONDUIT_RUN"
#define RUN_DIR      "OPEN_CONDUIT_RUN_DIR"
#define FILES_MAX    (1u << 20)

struct command {
	const struct oc_plan_input *in;
	json_t *env, *argv, *secrets;
	const char *cwd;
	char *run_dir;
	char *belt_at; /* of its toolbelt; NULL: it has none */
	struct oc_plan_credential git;
	size_t bytes;
	bool none, container;
};

static const char *host_value(const struct oc_plan_input *in, const char *name)
{
	size_t n = strlen(name);
	char *const *e;

	for (e = in->environ; e && *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

/* Text that will stand in the plan: UTF-8, bounded, counted. */
static int count_text(struct command *c, const char *what, const char *text, oc_error **err)
{
	size_t n = strlen(text);

	if (n > ARG_MAX_ONE)
		return oc_refuse(err, "sandbox_config", what, "pass it in a file or on stdin",
		                 "%s is %zu bytes long; the system takes %u at most", what, n, ARG_MAX_ONE);
	if (!oc_utf8_valid(text, n))
		return oc_refuse(err, "sandbox_config", what, "pass it in a file or on stdin",
		                 "%s is not UTF-8, so the plan can't hold it", what);
	c->bytes += n + 1;
	if (c->bytes > ARG_MAX_ALL)
		return oc_refuse(err, "sandbox_config", what, "pass it in a file or on stdin",
		                 "the command's arguments and environment are longer than %u bytes together",
		                 ARG_MAX_ALL);
	return 0;
}

static json_t *env_find(json_t *env, const char *name)
{
	json_t *entry;
	size_t i;

	json_array_foreach(env, i, entry)
	{
		if (strcmp(oc_json_text(entry, "name"), name) == 0)
			return entry;
	}
	return NULL;
}

/* value NULL: from the host's environment when the run is released. */
static int env_set(struct command *c, const char *name, const char *value, oc_error **err)
{
	json_t *entry = env_find(c->env, name);
	int rc = count_text(c, name, value ? value : "", err);

	if (rc < 0)
		return rc;
	if (entry)
		return oc_json_set_string(entry, "value", value) ? 0 : oc_nomem(err);
	if (json_array_size(c->env) >= ENV_MAX)
		return oc_refuse(err, "sandbox_config", "env", "unset some",
		                 "the environment has more than %d variables", ENV_MAX);
	entry = json_object();
	if (!oc_json_set_string(entry, "name", name) || !oc_json_set_string(entry, "value", value)) {
		json_decref(entry);
		return oc_nomem(err);
	}
	return oc_json_append(c->env, entry) ? 0 : oc_nomem(err);
}

/* Who we are: the environment's word where it has one, else the password database. */
static int user_name(const struct oc_plan_input *in, char *out, size_t size)
{
	const char *user = host_value(in, "USER");
	struct passwd pw, *found = NULL;
	char text[4096];

	if (!user || !*user)
		user = host_value(in, "LOGNAME");
	if ((!user || !*user) && getpwuid_r(geteuid(), &pw, text, sizeof(text), &found) == 0 && found)
		user = found->pw_name;
	if (!user || !*user || strlen(user) >= size)
		return -1;
	memcpy(out, user, strlen(user) + 1);
	return 0;
}

/* Variables that send git to another repository than the clone, or make programs load and run what is not asked for: the
 * host may have been started from a hook, and a Work's run means its own clone. */
static bool leads_elsewhere(const char *name)
{
	static const char *const names[] = { "NODE_OPTIONS", "BASH_ENV", "ENV" };

	for (size_t i = 0; i < OC_COUNT(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return strncmp(name, "GIT_", 4) == 0 || strncmp(name, "LD_", 3) == 0;
}

/* The whole environment, by name.  What no shell could have exported (functions of bash) is left out. */
static int env_whole(struct command *c, oc_error **err)
{
	char *const *e;
	char name[257];
	int rc = 0;

	for (e = c->in->environ; rc == 0 && e && *e; e++) {
		const char *end = strchr(*e, '=');
		size_t n = end ? (size_t)(end - *e) : 0;

		if (n == 0 || n >= sizeof(name))
			continue;
		memcpy(name, *e, n);
		name[n] = '\0';
		if ((c->in->request->work || c->git.json) && leads_elsewhere(name))
			continue;
		if (c->in->request->rows && (!strcmp(name, "LINES") || !strcmp(name, "COLUMNS")))
			continue; /* the terminal says what size it has, also once it has another */
		if (oc_env_name_valid(name) && strcmp(name, RUN_MARK) != 0 && strcmp(name, RUN_DIR) != 0)
			rc = env_set(c, name, NULL, err);
	}
	return rc;
}

static int env_minimal(struct command *c, oc_error **err)
{
	static const char *const from_host[] = { "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ" };
	const char *shell = host_value(c->in, "SHELL");
	oc_cleanup(oc_freep) char *tmp = oc_path_join(c->run_dir, "tmp");
	char user[256];
	size_t i;
	int rc = tmp ? env_set(c, "PATH", DEFAULT_PATH, err) : oc_nomem(err);

	if (rc == 0)
		rc = env_set(c, "HOME", c->in->home, err);
	if (rc == 0 && user_name(c->in, user, sizeof(user)) == 0) {
		rc = env_set(c, "USER", user, err);
		if (rc == 0)
			rc = env_set(c, "LOGNAME", user, err);
	}
	if (rc == 0)
		rc = env_set(c, "SHELL", shell && oc_path_clean(shell) ? shell : "/bin/sh", err);
	if (rc == 0)
		rc = env_set(c, "TMPDIR", tmp, err);
	for (i = 0; rc == 0 && i < OC_COUNT(from_host); i++)
		if (host_value(c->in, from_host[i]))
			rc = env_set(c, from_host[i], NULL, err);
	return rc;
}

/* What the image sets, and then what is ours to say.  The host's language isn't: its files may not be there. */
static int env_container(struct command *c, oc_error **err)
{
	static const char *const from_host[] = { "TERM", "TZ" };
	oc_cleanup(oc_freep) char *tmp = oc_path_join(c->run_dir, "tmp");
	const char *home = oc_json_text(c->in->resolved, "agent_home"), *name;
	char user[256];
	json_t *value;
	int rc = tmp && home ? env_set(c, "PATH", DEFAULT_PATH, err) : oc_nomem(err);

	json_object_foreach(json_object_get(c->in->reply, "env"), name, value)
	{
		if (c->git.json && strcmp(name, "GIT_CONFIG_PARAMETERS") == 0)
			continue; /* it would come after how git signs in */
		if (rc == 0 && strcmp(name, RUN_MARK) != 0 && strcmp(name, RUN_DIR) != 0)
			rc = env_set(c, name, json_string_value(value), err);
	}
	if (rc == 0 && user_name(c->in, user, sizeof(user)) == 0) {
		rc = env_set(c, "USER", user, err);
		if (rc == 0)
			rc = env_set(c, "LOGNAME", user, err);
	}
	if (rc == 0)
		rc = env_set(c, "HOME", home, err);
	if (rc == 0)
		rc = env_set(c, "SHELL", "/bin/sh", err);
	if (rc == 0)
		rc = env_set(c, "TMPDIR", tmp, err);
	for (size_t i = 0; rc == 0 && i < OC_COUNT(from_host); i++)
		if (host_value(c->in, from_host[i]))
			rc = env_set(c, from_host[i], NULL, err);
	return rc;
}

static int bad_name(const char *entry, const char *what, oc_error **err)
{
	struct oc_buf text;
	int rc;

	oc_buf_init(&text, 4096);
	if (oc_text_escape(&text, entry, OC_MIN(strlen(entry), (size_t)200), false) < 0)
		rc = oc_nomem(err);
	else
		rc = oc_refuse(err, "sandbox_config", what,
		               "use a name of A-Z, a-z, 0-9 and _ that begins with no digit",
		               "\"%s\" is no name of an environment variable", text.data ? text.data : "");
	oc_buf_free(&text);
	return rc;
}

static int reserved(const struct command *c, const char *name, const char *value, const char *what, oc_error **err)
{
	if (strcmp(name, RUN_MARK) != 0 && strcmp(name, RUN_DIR) != 0 && strcmp(name, OC_TOOLBELT_VARIABLE) != 0)
		return c->git.json ? oc_plan_credential_reserved(name, value, err) : 0;
	return oc_refuse(err, "sandbox_config", what, "choose another name", "%s is set by Open Conduit for each run",
	                 name);
}

static int env_request(struct command *c, const char *entry, oc_error **err)
{
	const char *equals = strchr(entry, '=');
	oc_cleanup(oc_freep) char *name = equals ? strndup(entry, (size_t)(equals - entry)) : strdup(entry);
	int rc;

	if (!name)
		return oc_nomem(err);
	if (!oc_env_name_valid(name))
		return bad_name(name, "env", err);
	rc = reserved(c, name, equals ? equals + 1 : NULL, "env", err);
	if (rc < 0)
		return rc;
	if (!equals && !host_value(c->in, name))
		return oc_refuse(err, "sandbox_config", name, "give it a value: NAME=VALUE, or export it first",
		                 "%s is to come from the host's environment and is not set there", name);
	return env_set(c, name, equals ? equals + 1 : NULL, err);
}

static int put_git(struct command *c, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *list = NULL;
	const json_t *pair;
	size_t i;
	int rc = oc_plan_credential_env(c->in, &c->git, c->belt_at, c->env, &list, err);

	json_array_foreach(list, i, pair)
	{
		if (rc == 0)
			rc = env_set(c, oc_json_text(pair, "name"), oc_json_text(pair, "value"), err);
	}
	return rc;
}

static int put_env(struct command *c, oc_error **err)
{
	const char *const *e;
	int rc = c->none ? env_whole(c, err) : c->container ? env_container(c, err) : env_minimal(c, err);

	for (e = c->in->request->env; rc == 0 && e && *e; e++)
		rc = env_request(c, *e, err);
	if (rc == 0 && c->git.json)
		rc = put_git(c, err);
	if (rc == 0)
		rc = env_set(c, RUN_MARK, c->in->run, err);
	if (rc == 0 && c->belt_at)
		rc = env_set(c, OC_TOOLBELT_VARIABLE, c->belt_at, err);
	return rc < 0 ? rc : env_set(c, RUN_DIR, c->run_dir, err);
}

static int put_secrets(struct command *c, oc_error **err)
{
	const char *const *s;
	const json_t *seen;
	size_t i;
	int rc;

	for (s = c->in->request->secrets; s && *s; s++) {
		if (!oc_env_name_valid(*s))
			return bad_name(*s, "secrets", err);
		rc = reserved(c, *s, NULL, "secrets", err);
		if (rc < 0)
			return rc;
		json_array_foreach(c->secrets, i, seen)
		{
			if (strcmp(json_string_value(seen), *s) == 0)
				return oc_refuse(err, "sandbox_config", *s, "name it once",
				                 "the secret %s is asked for twice", *s);
		}
		/* A secret of the host's whole environment replaces the variable; one pinned beside it would be two values. */
		for (i = 0; i < json_array_size(c->env); i++) {
			json_t *entry = json_array_get(c->env, i);

			if (strcmp(oc_json_text(entry, "name"), *s) != 0)
				continue;
			if (!c->none || oc_json_text(entry, "value"))
				return oc_refuse(err, "sandbox_config", *s, "drop one of the two",
				                 "%s is both a variable and a secret", *s);
			json_array_remove(c->env, i);
			break;
		}
		if (json_array_size(c->secrets) >= ENV_MAX || !oc_json_append(c->secrets, json_string(*s)))
			return oc_nomem(err);
	}
	return 0;
}

/* 1, 0 with the reason in *why, or negative: out of memory must not make the next entry of PATH win. */
static int runnable(const struct command *c, const char *path, int *why, oc_error **err)
{
	oc_cleanup(oc_freep) char *real = NULL;
	struct stat st;
	bool missing = false;
	int rc;

	*why = ENOENT;
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	*why = EACCES;
	if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return 0;
	if (c->none)
		return 1;
	/* Inside, the policy decides what can be read: a name that leads to a denied file isn't there. */
	rc = oc_path_resolve(path, &real, &missing);
	if (rc < 0)
		return rc == -ENOMEM ? oc_nomem(err) : 0;
	*why = EPERM;
	return oc_resolved_read(c->in->resolved, path).allowed && oc_resolved_read(c->in->resolved, real).allowed;
}

static int not_runnable(const char *name, int why, oc_error **err)
{
	if (why == EPERM)
		return oc_refuse(err, "sandbox_denied", name, "add its path to read.allow",
		                 "the command %s can't be read under the policy", name);
	return why == EACCES
	               ? oc_fail(err, OC_EFAILED, EACCES, "the command %s is not executable", name)
	               : oc_fail(err, OC_ENOTFOUND, ENOENT, "the command %s was not found in the run's PATH", name);
}

static const char *run_path(struct command *c)
{
	const json_t *entry = env_find(c->env, "PATH");
	const char *path = entry ? oc_json_text(entry, "value") : NULL;

	if (entry && !path)
		path = host_value(c->in, "PATH");
	return path ? path : DEFAULT_PATH;
}

/* Only absolute entries count: an empty or relative one would mean the agent's own directory. */
static int search_path(struct command *c, const char *name, char **out, oc_error **err)
{
	const char *at = run_path(c), *end;
	int why = ENOENT, best = ENOENT, rc;

	for (;; at = end + 1) {
		oc_cleanup(oc_freep) char *dir = NULL;
		oc_cleanup(oc_freep) char *path = NULL;

		end = strchrnul(at, ':');
		if (*at == '/') {
			dir = strndup(at, (size_t)(end - at));
			path = dir ? oc_path_join(dir, name) : NULL;
			if (!path)
				return oc_nomem(err);
			rc = runnable(c, path, &why, err);
			if (rc > 0)
				*out = oc_steal(path);
			if (rc != 0)
				return OC_MIN(rc, 0);
			best = why != ENOENT ? why : best;
		}
		if (!*end)
			return not_runnable(name, best, err);
	}
}

static int find_program(struct command *c, const char *name, char **out, oc_error **err)
{
	oc_cleanup(oc_freep) char *path = NULL;
	int why = ENOENT, rc;

	if (!*name)
		return oc_fail(err, OC_EINVAL, 0, "the command's name is empty");
	if (!strchr(name, '/') && c->container) /* found inside, in the PATH of there */
		return (*out = strdup(name)) ? 0 : oc_nomem(err);
	if (!strchr(name, '/'))
		return search_path(c, name, out, err);
	while (strncmp(name, "./", 2) == 0)
		name += 2 + strspn(name + 2, "/");
	path = *name == '/' ? strdup(name) : oc_path_join(c->cwd, name);
	if (!path)
		return oc_nomem(err);
	if (c->container) {
		*out = oc_steal(path);
		return 0;
	}
	rc = runnable(c, path, &why, err);
	if (rc > 0)
		*out = oc_steal(path);
	return rc == 0 ? not_runnable(path, why, err) : OC_MIN(rc, 0);
}

static int put_argv(struct command *c, oc_error **err)
{
	const char *const *argv = c->in->request->argv;
	oc_cleanup(oc_freep) char *program = NULL;
	char what[32];
	size_t i;
	int rc;

	if (!argv || !argv[0])
		return oc_fail(err, OC_EINVAL, 0, "there is no command");
	for (i = 0; argv[i]; i++) {
		snprintf(what, sizeof(what), "argv[%zu]", i);
		rc = count_text(c, what, argv[i], err);
		if (rc < 0)
			return rc;
	}
	rc = find_program(c, argv[0], &program, err);
	for (i = 0; rc == 0 && argv[i]; i++)
		if (!oc_json_append(c->argv, json_string(i ? argv[i] : program)))
			rc = oc_nomem(err);
	return rc;
}

/* The agent starts here, so it must be there, and under a policy it must be readable. */
static int check_cwd(struct command *c, oc_error **err)
{
	const oc_request *r = c->in->request;
	oc_cleanup(oc_freep) char *real = NULL;
	bool missing = false;
	struct stat st;
	int rc;

	c->cwd = r->cwd ? r->cwd : r->workspace;
	if (!c->cwd || !oc_path_clean(c->cwd))
		return oc_fail(err, OC_EINVAL, 0, "the working directory is not an absolute, clean path");
	rc = oc_path_resolve(c->cwd, &real, &missing);
	if (rc == -ENOMEM)
		return oc_nomem(err);
	if (rc < 0 || missing || stat(c->cwd, &st) < 0 || !S_ISDIR(st.st_mode))
		return oc_refuse(err, "sandbox_config", c->cwd, "mkdir -p it, or name another",
		                 "the working directory is no directory");
	if (!c->none && !oc_resolved_read(c->in->resolved, real).allowed)
		return oc_refuse(err, "sandbox_denied", c->cwd, "add it to read.allow, or name another",
		                 "the working directory can't be read under the policy");
	return 0;
}

static int bad_file(oc_error **err, const char *name, const char *why)
{
	return oc_refuse(err, "sandbox_config", "files", "pass less, or by another way", "the file %s for {run} %s",
	                 name, why);
}

static int add_file(json_t *list, const char *name, const char *text, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *file = json_object();

	return text && oc_json_set_string(file, "name", name) && oc_json_set_string(file, "text", text) &&
	                       oc_json_append(list, json_incref(file))
	               ? 0
	               : oc_nomem(err);
}

/* Files of the run's own directory: pinned with the rest, so that what the command was told is on record too. */
static int put_files(struct command *c, json_t *out, oc_error **err)
{
	const char *const *f = c->in->request->files;
	oc_cleanup(oc_json_decrefp) json_t *list = NULL;
	size_t bytes = 0;
	int rc = 0;

	if ((!f || !f[0]) && !c->belt_at)
		return 0;
	list = json_array();
	for (; f && f[0] && rc == 0; f += 2) {
		if (!oc_plan_file_name_valid(f[0]))
			return bad_file(err, f[0], "has a name that is not letters, digits and . _ - alone");
		if (!f[1])
			return oc_fail(err, OC_EINVAL, 0, "request.files has a name without a text");
		if (!oc_utf8_valid(f[1], strlen(f[1])))
			return bad_file(err, f[0], "is not UTF-8");
		bytes += strlen(f[1]);
		if (bytes > FILES_MAX)
			return bad_file(err, f[0], "is more than 1 MiB, with those before it");
		if (c->belt_at && strcmp(f[0], OC_TOOLBELT_FILE) == 0)
			return bad_file(err, f[0], "is the toolbelt's own");
		rc = add_file(list, f[0], f[1], err);
	}
	if (rc == 0 && c->belt_at) {
		oc_cleanup(oc_freep) char *text = oc_plan_toolbelt_file(c->in, c->belt_at);

		rc = add_file(list, OC_TOOLBELT_FILE, text, err);
	}
	if (rc < 0)
		return rc;
	return oc_json_set(out, "files", oc_steal(list)) ? 0 : oc_nomem(err);
}

static int put_parts(struct command *c, json_t *out, oc_error **err)
{
	const json_t *inherit = json_object_get(c->in->reply, "inherit");
	int rc = check_cwd(c, err);

	if (rc == 0)
		rc = put_env(c, err);
	if (rc == 0)
		rc = put_secrets(c, err);
	if (rc == 0)
		rc = put_argv(c, err);
	if (rc == 0)
		rc = put_files(c, out, err);
	if (rc < 0)
		return rc;
	if (c->in->request->rows &&
	    !oc_json_set(out, "terminal",
	                 json_pack("{s:i, s:i}", "rows", c->in->request->rows, "cols", c->in->request->cols)))
		return oc_nomem(err);
	if (!oc_json_set_string(out, "cwd", c->cwd) ||
	    !oc_json_set(out, "inherit", inherit ? json_deep_copy(inherit) : json_array()))
		return oc_nomem(err);
	return 0;
}

int oc_plan_command(const struct oc_plan_input *in, json_t **out, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *command = json_object();
	struct command c = { .in = in, .none = oc_kind_plain(in->kind), .container = oc_kind_container(in->kind) };
	int rc;

	/* Owned by the object as soon as each is made. */
	if (!oc_json_set(command, "env", c.env = json_array()) ||
	    !oc_json_set(command, "argv", c.argv = json_array()) ||
	    !oc_json_set(command, "secrets", c.secrets = json_array()))
		return oc_nomem(err);
	c.run_dir = oc_plan_run_dir(in);
	c.belt_at = in->request->toolbelt ? oc_plan_toolbelt_at(in) : NULL;
	rc = c.run_dir && (c.belt_at || !in->request->toolbelt) ? oc_plan_credential(in, &c.git, err) : oc_nomem(err);
	if (rc == 0)
		rc = put_parts(&c, command, err);
	oc_plan_credential_free(&c.git);
	free(c.run_dir);
	free(c.belt_at);
	if (rc < 0)
		return rc;
	*out = oc_steal(command);
	return 0;
}
