/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clone.h"
#include "base/fd.h"
#include "base/os.h"
#include "base/path.h"
#include "base/time.h"
#include "guard/hardlinks.h"
#include "guard/live.h"
#include "guard/protocol.h"

#define MAX_ENTRIES 10000000u
#define TMPDIR_MAX  74
#define QUICK_MAX   1000u /* entries: by far not so many that the scan would take another thread */
#define QUICK_NS    20000000
#define ID_MASK     ((1ull << 53) - 1) /* JSON carries no more, so plans hold device and inode cut to it */

/* Of the scan; until 0: however long it takes. */
struct bounds {
	uint64_t entries;
	int64_t until;
};

static void collect(oc_error **all, oc_error *one)
{
	if (!one)
		return;
	if (*all)
		oc_error_append(all, one);
	else
		*all = one;
}

static void check_identity(const char *path, const json_t *planned, const char *what, const char *reason,
                           oc_error **all)
{
	int64_t dev = oc_json_integer(planned, "dev", -1), ino = oc_json_integer(planned, "ino", -1);
	struct oc_os_id id;
	oc_error *err = NULL;
	int rc = oc_os_identify(AT_FDCWD, path, &id);

	if (rc < 0)
		oc_refuse(&err, reason, path, "Put it back, or start a new run", "%s %s is not there any more: %s",
		          what, path, strerror(-rc));
	else if (dev < 0 || ino < 0 || (id.dev & ID_MASK) != (uint64_t)dev || (id.ino & ID_MASK) != (uint64_t)ino)
		oc_refuse(&err, reason, path, "Start a new run, which is planned with what is there now",
		          "%s %s is not what it was when the run was planned: something else took its place", what,
		          path);
	collect(all, err);
}

/* A rule that is no grant has no number, and the run's own directories are made afresh below. */
static void check_places(const struct oc_plan_view *p, const char *list, const char *what, bool numbered,
                         oc_error **all)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(p->resolved, list), i, item)
	{
		const char *path = oc_json_text(item, "path");

		if (path && !oc_path_within(p->live, path) && (!numbered || oc_json_integer(item, "ino", 0)))
			check_identity(path, item, what, "sandbox_denied", all);
	}
}

static void check_grants(const struct oc_plan_view *p, oc_error **all)
{
	const json_t *git = json_object_get(p->resolved, "git");

	check_places(p, "write", "The write grant", false, all);
	check_places(p, "read", "The read grant", true, all);
	if (json_is_object(git) && oc_json_text(git, "path"))
		check_identity(oc_json_text(git, "path"), git, "The repository", "sandbox_denied", all);
}

static void check_digest(const char *path, const char *planned, const char *what, oc_error **all)
{
	oc_cleanup(oc_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char digest[OC_DIGEST_SIZE];
	oc_error *err = NULL;
	int rc = fd < 0 ? -errno : oc_digest_fd(fd, digest);

	if (rc < 0)
		oc_refuse(&err, "pin_mismatch", path, "Install Open Conduit again, then start a new run",
		          "The %s %s can't be read: %s", what, path, strerror(-rc));
	else if (strcmp(digest, planned))
		oc_refuse(&err, "pin_mismatch", path, "Start a new run: it is planned with the new one",
		          "The %s %s was replaced after the run was planned: it is %s now", what, path, digest);
	collect(all, err);
}

static bool others_write(const struct stat *st)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return true;
	if (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX))
		return false;
	/* A private group of the user's own (umask 002) is nobody else. */
	return (st->st_mode & S_IWOTH) || ((st->st_mode & S_IWGRP) && st->st_gid != 0 && st->st_gid != getegid());
}

static int check_writable(const char *tool, const char *path, oc_error **err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return oc_refuse(err, "sandbox_unavailable", tool, "open-conduit doctor", "%s can't be looked at: %s",
		                 path, strerror(errno));
	if (!others_write(&st))
		return 0;
	return oc_refuse(err, "sandbox_denied", tool, "Make it writable by you or root alone (chmod go-w)",
	                 "%s decides how the run is confined, and %s can be changed by another user", tool, path);
}

static int check_tool_grants(const struct oc_plan_view *p, const char *tool, oc_error **err)
{
	const json_t *list = json_object_get(p->resolved, "write"), *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *path = oc_json_text(item, "path");

		if (path && oc_path_within(path, tool))
			return oc_refuse(err, "sandbox_denied", tool, "Grant less, or install it somewhere else",
			                 "%s decides how the run is confined, and lies in the write grant %s", tool,
			                 path);
	}
	return 0;
}

static bool listed(const struct oc_strv *list, const char *path)
{
	size_t i;

	for (i = 0; i < list->n && strcmp(list->v[i], path); i++)
		;
	return i < list->n;
}

/* It and all above it, up to a directory that was found in order for another tool: most lie in the same few. */
static int check_tool_path(const char *tool, struct oc_strv *fine, oc_error **err)
{
	oc_cleanup(oc_freep) char *path = strdup(tool);
	size_t before = fine->n;
	int rc = path ? 0 : oc_nomem(err);

	while (rc == 0 && !listed(fine, path)) {
		char *parent = oc_path_parent(path);

		rc = parent ? check_writable(tool, path, err) : oc_nomem(err);
		if (rc == 0 && oc_strv_add(fine, path) < 0)
			rc = oc_nomem(err);
		oc_freep(&path);
		path = parent;
	}
	/* What lies beneath something that isn't in order isn't either. */
	while (rc < 0 && fine->n > before)
		oc_freep(&fine->v[--fine->n]);
	return rc;
}

static void check_tool(const struct oc_plan_view *p, const char *tool, struct oc_strv *fine, oc_error **all)
{
	oc_error *err = NULL;

	if (check_tool_grants(p, tool, &err) == 0)
		(void)check_tool_path(tool, fine, &err);
	collect(all, err);
}

static void check_tools(const struct oc_plan_view *p, oc_error **all)
{
	struct oc_strv fine;
	const json_t *item;
	size_t i;

	oc_strv_init(&fine, 65536);
	json_array_foreach(p->tools, i, item) if (oc_path_clean(json_string_value(item)))
	        check_tool(p, json_string_value(item), &fine, all);
	if (p->confined)
		check_tool(p, p->guest, &fine, all);
	if (p->confined && p->provider)
		check_tool(p, p->provider, &fine, all);
	oc_strv_free(&fine);
}

static int scan_grants(const struct oc_plan_view *p, struct oc_hardlinks *h, bool dirs, oc_error **err)
{
	const json_t *list = json_object_get(p->resolved, "write"), *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *path = oc_json_text(item, "path"), *rule = oc_json_text(item, "rule");
		int rc;

		/* A Work's home was made by us and is a mount of its own: no run can make a link from elsewhere into it. */
		if (rule && strcmp(rule, "{home}") == 0)
			continue;
		if (!path || oc_path_within(p->live, path) || json_is_false(json_object_get(item, "dir")) == dirs)
			continue;
		rc = oc_hardlinks_scan(h, path, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void check_hardlinks(const struct oc_plan_view *p, const struct bounds *bounds, oc_error **all)
{
	struct oc_hardlinks *h = NULL;
	oc_error *err = NULL;
	int rc;

	/* Kind none confines nothing: a link there reaches no further than the run itself. */
	if (!p->confined)
		return;
	rc = oc_hardlinks_new(bounds->entries, &h, &err);
	if (rc == 0)
		oc_hardlinks_until(h, bounds->until);
	rc = rc < 0 ? rc : scan_grants(p, h, true, &err);
	rc = rc < 0 ? rc : scan_grants(p, h, false, &err);
	if (rc == 0)
		(void)oc_hardlinks_judge(h, &err);
	oc_hardlinks_free(h);
	collect(all, err);
}

static void check_tmpdir(const struct oc_plan_view *p, oc_error **all)
{
	const char *tmp = oc_json_text(p->launch_env, "TMPDIR");
	oc_error *err = NULL;

	if (p->confined && tmp && strlen(tmp) > TMPDIR_MAX)
		oc_refuse(&err, "sandbox_unavailable", tmp, "Set XDG_STATE_HOME to a shorter path",
		          "The run's temporary directory has a name of %zu bytes, and sockets in it allow %d",
		          strlen(tmp), TMPDIR_MAX);
	collect(all, err);
}

bool oc_preflight_started(int run_dir)
{
	return faccessat(run_dir, OC_GUARD_STARTED, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

static void check_earlier(int run_dir, const struct oc_plan_view *p, oc_error **all)
{
	oc_error *err = NULL;
	pid_t pid = 0;
	enum oc_alive alive = oc_guard_alive(run_dir, OC_GUARD_STARTED, &pid, &err);

	if (alive == OC_ALIVE_NO) {
		/* Its children may be there still, also where it is not, and what they made elsewhere. */
		if (oc_guard_sweep(run_dir, p->run, &err) >= 0 &&
		    (!oc_preflight_started(run_dir) || oc_guard_cleanup(p->json, p->digest, &err) >= 0)) {
			oc_error_free(err);
			err = NULL;
		}
	} else if (alive == OC_ALIVE_YES) {
		oc_refuse(&err, "sandbox_unavailable", p->run, "Wait for it to end, or kill it",
		          "An earlier attempt of this run is still alive (process %d)", (int)pid);
	}
	collect(all, err);
}

static void check_part(const char *git, const struct oc_clone_part *part, oc_error **all)
{
	oc_cleanup(oc_freep) char *path = oc_path_join(git, part->name);
	const char *why = path ? oc_clone_check(path, part->type, part->content) : NULL;
	oc_error *err = NULL;

	if (!path)
		oc_nomem(&err);
	else if (why)
		oc_refuse(&err, "sandbox_workspace", path, "Finish the Work (open-conduit work finish) and begin anew",
		          "The workspace is no clone of ours any more: %s %s", path, why);
	collect(all, err);
}

/* The clone that this Work made, by the numbers it had then: an agent can put another directory in its place, and what
 * git is told by one that we did not make is nothing we know. */
static void check_clone(const struct oc_plan_view *p, oc_error **all)
{
	static const char *const places[] = { "root", "git" };
	const struct oc_clone_part *part;
	oc_cleanup(oc_buf_free) struct oc_buf path = { 0 };
	oc_error *err = NULL;

	if (!p->work)
		return;
	oc_buf_init(&path, 8192);
	for (size_t i = 0; i < OC_COUNT(places); i++) {
		if ((i ? oc_buf_puts(&path, "/.git")
		       : oc_buf_printf(&path, "%s/works/%s/workspace", p->state, p->work)) < 0) {
			oc_nomem(&err);
			collect(all, err);
			return;
		}
		check_identity(path.data, json_object_get(p->clone, places[i]), "The Work's clone", "sandbox_workspace",
		               all);
	}
	/* An unsandboxed run may do with it what it likes; a sandboxed one finds what protects it from git. */
	for (size_t i = 0; p->confined && (part = oc_clone_part(i)); i++)
		check_part(path.data, part, all);
}

int oc_preflight_programs(const struct oc_plan_view *p, oc_error **err)
{
	oc_error *all = NULL;

	check_digest(p->guest, p->guest_digest, "guest", &all);
	if (p->provider)
		check_digest(p->provider, p->provider_digest, "provider", &all);
	if (!all)
		return 0;
	*err = all;
	return oc_error_code(all);
}

static int preflight(int run_dir, const struct oc_plan_view *p, const struct bounds *bounds, oc_error **err)
{
	oc_error *all = NULL;

	check_earlier(run_dir, p, &all);
	check_grants(p, &all);
	check_clone(p, &all);
	check_tools(p, &all);
	check_tmpdir(p, &all);
	check_hardlinks(p, bounds, &all);
	if (!all && oc_live_make(p->live, oc_kind_container(p->kind), &all) == 0 &&
	    oc_live_files(p->live, p->files, &all) == 0)
		return 0;
	*err = all;
	return oc_error_code(all);
}

int oc_preflight(int run_dir, const struct oc_plan_view *p, oc_error **err)
{
	const struct bounds bounds = { MAX_ENTRIES, 0 };

	return preflight(run_dir, p, &bounds, err);
}

bool oc_preflight_quick(int run_dir, const struct oc_plan_view *p)
{
	const struct bounds bounds = { QUICK_MAX, oc_mono_ns() + QUICK_NS };
	oc_error *err = NULL;
	int rc;

	/* What an earlier attempt left takes seconds to end. */
	if (oc_preflight_started(run_dir))
		return false;
	rc = preflight(run_dir, p, &bounds, &err);
	oc_error_free(err);
	return rc == 0;
}
