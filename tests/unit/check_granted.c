/* SPDX-License-Identifier: Apache-2.0 */
/* What a container has of this machine: what is granted, and nothing that leads further. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "suite.h"
#include "world.h"

#define IMAGE "\"image\":\"a/b@sha256:0123456789012345678901234567890123456789012345678901234567890123\""

static char *home;

static void make(struct world *w)
{
	world_make(w);
	w->kind = "container";
	w->agent_home = home = world_path(w, "{state}/live/r1/run/home");
}

static void end(struct world *w)
{
	free(home);
	world_end(w);
}

START_TEST(shape)
{
	struct world w;
	const json_t *e;
	struct stat st;
	json_t *r;

	make(&w);
	world_file(&w, "~/.gitconfig", "x");
	world_dir(&w, "~/proj");
	world_dir(&w, "~/proj/vendor");
	r = world_granted(&w, "{" IMAGE ",\"write\":[\"{workspace}\",\"~/proj\"],\"read\":[\"~/.gitconfig\","
	                      "\"~/proj/vendor\"],\"limits\":{\"cpus\":0.5},\"provider\":{\"context\":\"orb\"}}");
	ck_assert_str_eq(oc_json_text(r, "agent_home"), home);
	ck_assert_str_eq(oc_json_text(r, "context"), "orb");
	ck_assert_ptr_nonnull(strstr(oc_json_text(r, "image"), "a/b@sha256:"));
	ck_assert_int_eq(oc_json_integer(json_object_get(r, "limits"), "nano_cpus", 0), 500000000);
	ck_assert_int_eq(oc_json_integer(json_object_get(r, "limits"), "pids", 0), 4096);
	ck_assert(world_read(&w, r, "~/.gitconfig") && !world_write(&w, r, "~/.gitconfig"));
	ck_assert(world_write(&w, r, "~/proj/x") && world_write(&w, r, "{workspace}/x"));
	/* The narrower of the two decides. */
	ck_assert(world_read(&w, r, "~/proj/vendor/x") && !world_write(&w, r, "~/proj/vendor/x"));
	/* Nothing else. */
	ck_assert(!world_read(&w, r, "~/other") && !world_read(&w, r, "/etc/passwd") && !world_read(&w, r, "~"));
	ck_assert(world_write(&w, r, "{state}/live/r1/run/home/x"));
	e = world_entry(r, "read", oc_json_text(world_entry(r, "write", w.workspace), "path"));
	ck_assert_int_eq(stat(w.workspace, &st), 0);
	ck_assert_int_eq(oc_json_integer(e, "ino", -1), (int64_t)st.st_ino);
	ck_assert(oc_resolved_socket(r, "{toolbelt}").allowed);
	ck_assert(!oc_resolved_socket(r, "/run/docker.sock").allowed);
	json_decref(r);
	end(&w);
}
END_TEST

START_TEST(a_workspace_to_read)
{
	struct world w;
	json_t *r;

	make(&w);
	r = world_granted(&w, "{" IMAGE "}");
	ck_assert(world_read(&w, r, "{workspace}/x") && !world_write(&w, r, "{workspace}/x"));
	ck_assert_ptr_null(world_entry(r, "write", w.workspace));
	json_decref(r);
	end(&w);
}
END_TEST

/* At, above and beneath what is protected: a mount of it would carry it in, also to read. */
START_TEST(refused)
{
	struct world w;
	json_t *r;

	make(&w);
	world_dir(&w, "~/.claude");
	world_dir(&w, "~/run/user");
	world_dir(&w, "~/plain");
	world_file(&w, "~/.bashrc", "");
	world_refused(&w, "{" IMAGE ",\"read\":[\"/\"]}", "sandbox_denied", "{state}");
	world_refused(&w, "{" IMAGE ",\"read\":[\"~/.local\"]}", "sandbox_denied", "{state}");
	world_refused(&w, "{" IMAGE ",\"read\":[\"{state}\"]}", "sandbox_denied", "{state}");
	world_refused(&w, "{" IMAGE ",\"write\":[\"{state}/live\"]}", "sandbox_denied", "{state}");
	world_refused(&w, "{" IMAGE ",\"read\":[\"~/.claude\"]}", "sandbox_denied", "~/.claude");
	world_refused(&w, "{" IMAGE ",\"write\":[\"~/.bashrc\"]}", "sandbox_denied", "~/.bashrc");
	world_refused(&w, "{" IMAGE ",\"read\":[\"~/none\"]}", "sandbox_denied", "mkdir -p");
	world_refused(&w, "{" IMAGE ",\"read\":[\"~/plain\"],\"write\":[\"~/plain\"]}", "sandbox_config", "write[0]");
	r = world_granted(&w, "{" IMAGE ",\"read\":[\"~/run/user\"]}");
	json_decref(r);
	world_env(&w, "XDG_RUNTIME_DIR", "~/run/user");
	world_refused(&w, "{" IMAGE ",\"read\":[\"~/run\"]}", "sandbox_denied", "leads out");
	world_refused(&w, "{" IMAGE ",\"write\":[\"~/run/user\"]}", "sandbox_denied", "leads out");
	r = world_granted(&w, "{" IMAGE ",\"read\":[\"~/.bashrc\",\"~/plain\"]}"); /* the control */
	json_decref(r);
	end(&w);
}
END_TEST

/* The line that would allow it is one that a container's policy takes. */
START_TEST(explained)
{
	struct world w;
	json_t *r, *answer = NULL;
	oc_error *err = NULL;
	char *path;

	make(&w);
	world_file(&w, "~/notes", "x");
	r = world_granted(&w, "{" IMAGE "}");
	path = world_path(&w, "~/notes");
	ck_assert_int_eq(oc_resolved_explain(r, "read", path, &answer, &err), 0);
	ck_assert(json_is_false(json_object_get(answer, "allowed")));
	ck_assert_int_eq(strncmp(oc_json_text(answer, "allow_line"), "\"read\": [\"/", 11), 0);
	json_decref(answer);
	ck_assert_int_eq(oc_resolved_explain(r, "write", path, &answer, &err), 0);
	ck_assert_ptr_null(strstr(oc_json_text(answer, "allow_line"), "allow"));
	json_decref(answer);
	json_decref(r);
	free(path);
	end(&w);
}
END_TEST

/* A run could point it elsewhere for the next one. */
START_TEST(planted)
{
	struct world w;

	make(&w);
	world_dir(&w, "~/proj");
	world_dir(&w, "~/else");
	world_link(&w, "~/proj/way", "~/else");
	world_refused(&w, "{" IMAGE ",\"write\":[\"~/proj\"],\"read\":[\"~/proj/way\"]}", "sandbox_denied",
	              "write grant");
	end(&w);
}
END_TEST

SUITE_MAIN("granted", shape, a_workspace_to_read, refused, explained, planted)
