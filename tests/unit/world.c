/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "suite.h"

static char *sub(const struct world *w, const char *name)
{
	char *path = NULL;

	ck_assert_int_gt(asprintf(&path, "%s/%s", w->root, name), 0);
	return path;
}

void world_make(struct world *w)
{
	char *made = suite_mkdir();

	memset(w, 0, sizeof(*w));
	w->root = realpath(made, NULL);
	ck_assert_ptr_nonnull(w->root);
	free(made);
	w->home = sub(w, "home");
	w->workspace = sub(w, "ws");
	w->state = sub(w, "home/.local/state/open-conduit");
	w->config = sub(w, "home/.config/open-conduit");
	w->run = sub(w, "home/.local/state/open-conduit/live/r1/run");
	world_dir(w, "~");
	world_dir(w, "{workspace}");
	world_dir(w, "{state}");
	oc_strv_init(&w->tools, 16);
}

void world_end(struct world *w)
{
	for (size_t i = 0; i < w->n_environ; i++)
		free(w->environ[i]);
	oc_strv_free(&w->tools);
	free(w->home);
	free(w->workspace);
	free(w->state);
	free(w->config);
	free(w->run);
	suite_rmdir(w->root);
}

char *world_path(const struct world *w, const char *name)
{
	const struct {
		const char *prefix, *base;
	} bases[] = {
		{ "~", w->home }, { "{workspace}", w->workspace }, { "{state}", w->state }, { "{root}", w->root }
	};
	char *path = NULL;

	for (size_t i = 0; i < OC_COUNT(bases); i++) {
		size_t len = strlen(bases[i].prefix);

		if (strncmp(name, bases[i].prefix, len) == 0 && (name[len] == '/' || name[len] == '\0')) {
			ck_assert_int_gt(asprintf(&path, "%s%s", bases[i].base, name + len), 0);
			return path;
		}
	}
	return strdup(name);
}

void world_dir(const struct world *w, const char *name)
{
	char *path = world_path(w, name);

	ck_assert_msg(oc_mkdirs(path, 0700) == 0, "mkdir %s", path);
	free(path);
}

static void parents(const char *path)
{
	char *up = oc_path_parent(path);

	ck_assert_int_eq(oc_mkdirs(up, 0700), 0);
	free(up);
}

void world_file(const struct world *w, const char *name, const char *text)
{
	char *path = world_path(w, name);
	int fd;

	parents(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_msg(fd >= 0, "open %s", path);
	text = text ? text : path;
	ck_assert_int_eq(oc_write_all(fd, text, strlen(text)), 0);
	close(fd);
	free(path);
}

void world_link(const struct world *w, const char *name, const char *to)
{
	char *path = world_path(w, name), *target = world_path(w, to);

	parents(path);
	ck_assert_msg(symlink(target, path) == 0, "symlink %s", path);
	free(path);
	free(target);
}

void world_env(struct world *w, const char *name, const char *path)
{
	char *value = world_path(w, path);

	ck_assert_uint_lt(w->n_environ + 1, OC_COUNT(w->environ));
	ck_assert_int_gt(asprintf(&w->environ[w->n_environ++], "%s=%s", name, value), 0);
	free(value);
}

static char *fill(const struct world *w, const char *policy)
{
	struct oc_buf b;

	oc_buf_init(&b, 1u << 20);
	while (*policy) {
		bool root = strncmp(policy, "{root}", 6) == 0, state = strncmp(policy, "{state}", 7) == 0;

		if (root || state)
			ck_assert_int_eq(oc_buf_puts(&b, root ? w->root : w->state), 0);
		else
			ck_assert_int_eq(oc_buf_add(&b, policy, 1), 0);
		policy += root ? 6 : state ? 7 : 1;
	}
	return oc_buf_steal(&b);
}

int world_resolve(const struct world *w, const char *policy, json_t **resolved, oc_error **err)
{
	char *text = fill(w, policy);
	struct oc_resolve_input in = { .agent_home = w->agent_home,
		                       .home = w->home,
		                       .workspace = w->workspace,
		                       .run_dir = w->run,
		                       .state_dir = w->state,
		                       .config_dir = w->config,
		                       .libexec_dir = w->libexec,
		                       .environ = w->environ,
		                       .git = w->git,
		                       .work = w->work,
		                       .tools = &w->tools };
	oc_policy *p = NULL;
	int rc = oc_policy_parse(w->kind ? w->kind : "sandbox", text, strlen(text), &p, err);

	free(text);
	if (rc == 0) {
		in.policy = p;
		rc = oc_resolve(&in, resolved, err);
	}
	oc_policy_free(p);
	return rc;
}

json_t *world_granted(const struct world *w, const char *policy)
{
	json_t *resolved = NULL;
	oc_error *err = NULL;
	int rc = world_resolve(w, policy, &resolved, &err);

	ck_assert_msg(rc == 0, "%s: %s", policy, oc_error_json(err));
	return resolved;
}

void world_refused(const struct world *w, const char *policy, const char *reason, const char *word)
{
	json_t *resolved = NULL;
	oc_error *err = NULL;
	char *want = world_path(w, word);
	bool found = false;
	int rc = world_resolve(w, policy, &resolved, &err);

	ck_assert_msg(rc == OC_EREFUSED, "%s: %d %s", policy, rc, rc ? oc_error_message(err) : "was granted");
	for (const oc_error *e = err; e && !found; e = oc_error_next(e)) {
		const char *fix = oc_error_fix(e), *subject = oc_error_subject(e);

		found = strcmp(oc_error_reason(e), reason) == 0 &&
		        (strstr(oc_error_message(e), want) || (fix && strstr(fix, want)) ||
		         (subject && strstr(subject, want)));
		ck_assert_msg(fix && *fix, "no fix: %s", oc_error_message(e));
	}
	ck_assert_msg(found, "%s: no %s naming %s: %s", policy, reason, want, oc_error_json(err));
	oc_error_free(err);
	free(want);
}

bool world_read(const struct world *w, const json_t *resolved, const char *name)
{
	char *path = world_path(w, name);
	bool allowed = oc_resolved_read(resolved, path).allowed;

	free(path);
	return allowed;
}

bool world_write(const struct world *w, const json_t *resolved, const char *name)
{
	char *path = world_path(w, name);
	bool allowed = oc_resolved_write(resolved, path).allowed;

	free(path);
	return allowed;
}

const json_t *world_entry(const json_t *resolved, const char *list, const char *path)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(resolved, list), i,
	                   item) if (oc_json_text(item, "path") &&
	                             strcmp(oc_json_text(item, "path"), path) == 0) return item;
	return NULL;
}

bool world_listed(const struct world *w, const json_t *resolved, const char *list, const char *name)
{
	char *path = world_path(w, name);
	bool found = world_entry(resolved, list, path) != NULL;

	free(path);
	return found;
}

void world_repository(const struct world *w, const char *git)
{
	char name[256];
	static const char *const parts[] = { "HEAD", "config", "objects/x", "refs/x" };

	for (size_t i = 0; i < OC_COUNT(parts); i++) {
		snprintf(name, sizeof(name), "%s/%s", git, parts[i]);
		world_file(w, name, "x");
	}
}

void world_clone(const struct world *w)
{
	world_repository(w, "{workspace}/.git");
	world_dir(w, "{workspace}/.git/hooks");
	world_dir(w, "{workspace}/.git/info");
	world_file(w, "{workspace}/.git/commondir", "../.git");
	world_file(w, "{workspace}/.git/config.worktree", "");
	world_file(w, "{workspace}/.git/objects/info/alternates", "");
}
