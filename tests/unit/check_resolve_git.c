/* SPDX-License-Identifier: Apache-2.0 */
/* What a grant may not reach: the operator's tools, and what git obeys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "suite.h"
#include "world.h"

START_TEST(tools)
{
	struct world w;
	json_t *r, *list;
	oc_error *err = NULL;
	char *path;

	world_make(&w);
	world_file(&w, "{root}/opt/srt/cli.js", "x");
	world_file(&w, "~/src/bin/tool", "x");
	world_file(&w, "~/.bashrc", "x");
	world_dir(&w, "~/.config/app");
	world_dir(&w, "~/bin");
	world_link(&w, "{workspace}/node", "{root}/opt/srt/cli.js");
	r = world_granted(&w, "{\"write\":[\"{workspace}\",\"~/.config/app\"]}");
	list = json_array();
	path = world_path(&w, "{root}/opt/srt/cli.js");
	json_array_append_new(list, json_string(path));
	ck_assert_int_eq(oc_resolved_tools(r, list, &err), 0);
	free(path);
	path = world_path(&w, "{workspace}/node");
	json_array_append_new(list, json_string(path));
	ck_assert_int_eq(oc_resolved_tools(r, list, &err), OC_EREFUSED);
	ck_assert_str_eq(oc_error_reason(err), "sandbox_denied");
	ck_assert_ptr_nonnull(strstr(oc_error_message(err), path));
	ck_assert_ptr_null(oc_error_next(err));
	oc_error_free(err);
	free(path);
	json_decref(list);
	json_decref(r);

	path = world_path(&w, "~/src/bin/tool");
	ck_assert_int_eq(oc_strv_add(&w.tools, path), 0);
	world_refused(&w, "{\"write\":[\"~/src\"]}", "sandbox_denied", "~/src/bin/tool");
	world_refused(&w, "{\"write\":[\"~/src/bin/tool\"]}", "sandbox_denied", "~/src/bin/tool");
	world_refused(&w, "{\"write\":[\"~/.bashrc\"]}", "sandbox_denied", "~/.bashrc");
	world_refused(&w, "{\"write\":[\"~/bin\"]}", "sandbox_denied", "~/bin");
	/* none of its start-up files exists, and the run could make them all */
	world_refused(&w, "{\"write\":[\"~/.config\"]}", "sandbox_denied", "~/.config/autostart");
	r = world_granted(&w, "{\"write\":[\"{workspace}\"]}");
	ck_assert_str_eq(json_string_value(json_array_get(json_object_get(r, "tools"), 0)), path);
	json_decref(r);
	ck_assert_int_eq(chmod(path, 0602), 0);
	world_refused(&w, "{}", "sandbox_denied", "chmod go-w");
	ck_assert_int_eq(chmod(path, 0600), 0);
	json_decref(world_granted(&w, "{}"));
	free(path);
	path = world_path(&w, "~/src");
	ck_assert_int_eq(chmod(path, 0777), 0);
	world_refused(&w, "{}", "sandbox_denied", "~/src");
	ck_assert_int_eq(chmod(path, 0700), 0);
	free(path);
	path = world_path(&w, "~/.bashrc");
	ck_assert_int_eq(chmod(path, 0666), 0);
	world_refused(&w, "{}", "sandbox_denied", "~/.bashrc");
	free(path);
	world_end(&w);
}
END_TEST

START_TEST(git_readonly)
{
	struct world w;
	char *text = NULL;
	json_t *r;

	world_make(&w);
	world_repository(&w, "{workspace}/.git");
	world_dir(&w, "{workspace}/sub/deep");
	r = world_granted(&w, "{\"write\":[\"{workspace}\"]}");
	ck_assert(world_listed(&w, r, "readonly", "{workspace}/.git"));
	ck_assert(!world_write(&w, r, "{workspace}/.git/hooks/x"));
	ck_assert(world_write(&w, r, "{workspace}/.gitignore"));
	json_decref(r);
	r = world_granted(&w, "{\"write\":[\"{workspace}/sub/deep\"]}");
	ck_assert_uint_eq(json_array_size(json_object_get(r, "readonly")), 0);
	json_decref(r);
	r = world_granted(&w, "{\"write\":[\"{workspace}/sub/deep\",\"{workspace}\"]}");
	ck_assert_uint_eq(json_array_size(json_object_get(r, "readonly")), 1);
	json_decref(r);
	world_refused(&w, "{\"write\":[\"{workspace}/.git\"]}", "sandbox_denied", "{workspace}/.git");
	world_refused(&w, "{\"write\":[\"{workspace}/.git/objects\"]}", "sandbox_denied", "{workspace}/.git");
	/* a worktree: .git file, gitdir, common directory, each where a grant reaches it */
	world_repository(&w, "~/main/.git");
	world_file(&w, "~/main/.git/worktrees/wt/HEAD", "x");
	world_file(&w, "~/main/.git/worktrees/wt/commondir", "../..\n");
	ck_assert_int_gt(asprintf(&text, "gitdir: %s/main/.git/worktrees/wt\n", w.home), 0);
	world_file(&w, "~/wt/.git", text);
	free(text);
	r = world_granted(&w, "{\"write\":[\"~/wt\"]}");
	ck_assert(world_listed(&w, r, "readonly", "~/wt/.git"));
	ck_assert_uint_eq(json_array_size(json_object_get(r, "readonly")), 1);
	json_decref(r);
	r = world_granted(&w, "{\"write\":[\"~/wt\",\"~/main\"]}");
	ck_assert(world_listed(&w, r, "readonly", "~/main/.git"));
	ck_assert(world_listed(&w, r, "readonly", "~/main/.git/worktrees/wt"));
	ck_assert(!world_write(&w, r, "~/main/.git/config"));
	json_decref(r);
	/* the common directory elsewhere, itself granted */
	world_dir(&w, "~/sep");
	world_repository(&w, "~/store");
	world_file(&w, "~/sep/.git", "gitdir: ../store\n");
	world_refused(&w, "{\"write\":[\"~/sep\",\"~/store\"]}", "sandbox_denied", "~/store");
	world_link(&w, "~/odd/.git", "~/store");
	world_refused(&w, "{\"write\":[\"~/odd\"]}", "sandbox_denied", "~/odd/.git");
	world_file(&w, "~/junk/.git", "hello");
	world_refused(&w, "{\"write\":[\"~/junk\"]}", "sandbox_denied", "~/junk/.git");
	world_end(&w);
}
END_TEST

START_TEST(git_clone)
{
	static const char *const parts[] = { "config",    "hooks",           "info",
		                             "commondir", "config.worktree", "objects/info/alternates" };
	struct world w;
	struct stat st;
	char name[256], *path;
	json_t *r;

	world_make(&w);
	w.git = OC_GIT_CLONE;
	world_refused(&w, "{\"write\":[\"{workspace}\"]}", "sandbox_workspace", "{workspace}/.git");
	world_clone(&w);
	r = world_granted(&w, "{\"write\":[\"{workspace}\"]}");
	path = world_path(&w, "{workspace}/.git");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_str_eq(oc_json_text(json_object_get(r, "git"), "path"), path);
	ck_assert_str_eq(oc_json_text(json_object_get(r, "git"), "mode"), "clone");
	ck_assert_int_eq(oc_json_integer(json_object_get(r, "git"), "ino", -1), (int64_t)st.st_ino);
	free(path);
	ck_assert_uint_eq(json_array_size(json_object_get(r, "readonly")), 6);
	ck_assert(world_write(&w, r, "{workspace}/.git/index"));
	for (size_t i = 0; i < OC_COUNT(parts); i++) {
		char aside[300];
		char *from, *to;

		snprintf(name, sizeof(name), "{workspace}/.git/%s", parts[i]);
		ck_assert(world_listed(&w, r, "readonly", name));
		ck_assert(!world_write(&w, r, name));
		/* missing, and a link to the same thing: both refused, by name */
		snprintf(aside, sizeof(aside), "{root}/aside%zu", i);
		from = world_path(&w, name);
		to = world_path(&w, aside);
		ck_assert_int_eq(rename(from, to), 0);
		world_refused(&w, "{\"write\":[\"{workspace}\"]}", "sandbox_workspace", name);
		ck_assert_int_eq(symlink(to, from), 0);
		world_refused(&w, "{\"write\":[\"{workspace}\"]}", "sandbox_workspace", name);
		ck_assert_int_eq(unlink(from), 0);
		ck_assert_int_eq(rename(to, from), 0);
		free(from);
		free(to);
	}
	json_decref(r);
	world_file(&w, "{workspace}/.git/commondir", "/elsewhere");
	world_refused(&w, "{\"write\":[\"{workspace}\"]}", "sandbox_workspace", "{workspace}/.git/commondir");
	world_file(&w, "{workspace}/.git/commondir", "../.git\n");
	world_file(&w, "{workspace}/.git/objects/info/alternates", "/x\n");
	world_refused(&w, "{\"write\":[\"{workspace}\"]}", "sandbox_workspace",
	              "{workspace}/.git/objects/info/alternates");
	world_end(&w);
}
END_TEST

SUITE_MAIN("resolve_git", tools, git_readonly, git_clone)
