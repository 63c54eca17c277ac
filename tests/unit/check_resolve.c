/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy means on a machine, and what it may never mean. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "base/error.h"
#include "base/fd.h"
#include "suite.h"
#include "world.h"

START_TEST(shape)
{
	static const char *const lists[] = { "write",   "read",    "protected", "readonly",
		                             "network", "sockets", "hidden",    "tools" };
	struct world w;
	struct stat st;
	const json_t *e;
	json_t *r;

	world_make(&w);
	world_file(&w, "~/notes.txt", "x");
	r = world_granted(&w, "{\"write\":[\"{workspace}\",\"~/notes.txt\",\"{run}/x\",\"{workspace}\"]}");
	for (size_t i = 0; i < OC_COUNT(lists); i++)
		ck_assert_msg(json_is_array(json_object_get(r, lists[i])), "%s", lists[i]);
	ck_assert(json_is_null(json_object_get(r, "git")));
	ck_assert_str_eq(oc_json_text(r, "home"), w.home);
	ck_assert_str_eq(oc_json_text(r, "workspace"), w.workspace);
	ck_assert_str_eq(oc_json_text(r, "run_dir"), w.run);
	ck_assert_str_eq(oc_json_text(r, "unix_sockets"), "none");
	ck_assert_uint_eq(json_array_size(json_object_get(r, "write")), 3);
	ck_assert_uint_eq(json_array_size(json_object_get(r, "hidden")), 0);
	e = world_entry(r, "write", w.workspace);
	ck_assert_int_eq(stat(w.workspace, &st), 0);
	ck_assert_int_eq(oc_json_integer(e, "ino", -1), (int64_t)st.st_ino);
	ck_assert_int_eq(oc_json_integer(e, "dev", -1), (int64_t)st.st_dev);
	ck_assert_str_eq(oc_json_text(e, "rule"), "write[0]");
	ck_assert_str_eq(oc_json_text(e, "as"), "{workspace}");
	ck_assert(json_is_true(json_object_get(e, "dir")));
	ck_assert_ptr_nonnull(world_entry(r, "write", w.run));
	ck_assert(world_listed(&w, r, "protected", "{state}"));
	ck_assert(world_listed(&w, r, "protected", "~/.claude"));
	ck_assert(world_listed(&w, r, "protected", "~/.claude.json"));
	ck_assert(world_listed(&w, r, "protected", "~/.config/open-conduit"));
	ck_assert(world_listed(&w, r, "read", "~/.ssh"));
	ck_assert(json_is_false(json_object_get(world_entry(r, "protected", w.config), "exists")));
	ck_assert(world_write(&w, r, "{state}/live/r1/run/tmp/x"));
	ck_assert(!world_write(&w, r, "{state}/live/r1/x"));
	ck_assert(!world_read(&w, r, "{state}/live/r2/run/x"));
	json_decref(r);
	world_end(&w);
}
END_TEST

/* At, above, beneath; through a link; by another mount (see bind_mounts); what is next to it stays free. */
START_TEST(protected_state)
{
	struct world w;
	json_t *r;

	world_make(&w);
	world_dir(&w, "{state}/runs/x");
	world_dir(&w, "~/src");
	world_dir(&w, "~/.claude/plugins");
	world_dir(&w, "~/mine");
	world_link(&w, "~/way", "{state}/runs");
	world_link(&w, "~/up", "~/.local");
	world_refused(&w, "{\"write\":[\"{state}\"]}", "sandbox_denied", "{state}");
	world_refused(&w, "{\"write\":[\"{state}/runs/x\"]}", "sandbox_denied", "{state}");
	world_refused(&w, "{\"write\":[\"~/.local\"]}", "sandbox_denied", "{state}");
	world_refused(&w, "{\"write\":[\"{root}/home\"]}", "sandbox_denied", "{state}");
	world_refused(&w, "{\"write\":[\"/\"]}", "sandbox_denied", "{state}");
	world_refused(&w, "{\"write\":[\"~/way\"]}", "sandbox_denied", "{state}");
	world_refused(&w, "{\"write\":[\"~/way/x\"]}", "sandbox_denied", "{state}/runs/x");
	world_refused(&w, "{\"write\":[\"~/up\"]}", "sandbox_denied", "{state}");
	world_refused(&w, "{\"write\":[\"~/.claude/plugins\"]}", "sandbox_denied", "~/.claude");
	world_refused(&w, "{\"read\":{\"allow\":[\"{state}\"]}}", "sandbox_denied", "{state}");
	world_refused(&w, "{\"read\":{\"allow\":[\"~/way/x\"]}}", "sandbox_denied", "{state}");
	world_refused(&w, "{\"read\":{\"allow\":[\"~/.claude/plugins\"]}}", "sandbox_denied", "~/.claude");
	r = world_granted(&w, "{\"write\":[\"~/src\"],\"read\":{\"allow\":[\"~/.local\"]}}");
	ck_assert(!world_read(&w, r, "{state}/state.db"));
	ck_assert(world_read(&w, r, "~/.local/share/x"));
	json_decref(r);
	r = world_granted(&w, "{\"write\":[\"~/mine\"]}");
	json_decref(r);
	world_env(&w, "CLAUDE_CONFIG_DIR", "~/mine");
	world_refused(&w, "{\"write\":[\"~/mine\"]}", "sandbox_denied", "~/mine");
	world_end(&w);
}
END_TEST

START_TEST(missing_claude)
{
	struct world w;

	world_make(&w);
	world_dir(&w, "~/cfg");
	world_env(&w, "CLAUDE_CONFIG_DIR", "~/cfg/claude");
	world_refused(&w, "{\"write\":[\"~/cfg\"]}", "sandbox_denied", "~/cfg/claude");
	w.environ[0][strlen("CLAUDE_CONFIG_DIR=")] = 'x';
	world_refused(&w, "{}", "sandbox_denied", "CLAUDE_CONFIG_DIR");
	world_end(&w);
}
END_TEST

static void write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		suite_exit(77);
	close(fd);
}

static void bind_or_skip(const char *from, const char *to)
{
	if (mount(from, to, NULL, MS_BIND, NULL) != 0)
		suite_exit(77);
}

static int exit_of(int (*fn)(struct world *w), struct world *w)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
			suite_exit(77);
		write_to("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "%u %u 1", uid, uid);
		write_to("/proc/self/uid_map", map);
		snprintf(map, sizeof(map), "%u %u 1", gid, gid);
		write_to("/proc/self/gid_map", map);
		if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
			suite_exit(77);
		suite_exit(fn(w));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int refused_how(const struct world *w, const char *policy)
{
	json_t *resolved = NULL;
	oc_error *err = NULL;
	int rc = world_resolve(w, policy, &resolved, &err);
	bool denied = rc == OC_EREFUSED && strcmp(oc_error_reason(err), "sandbox_denied") == 0;

	if (rc < 0 && !denied)
		fprintf(stderr, "%s\n", oc_error_message(err));
	oc_error_free(err);
	json_decref(resolved);
	return rc == 0 ? 0 : denied ? 1 : 2;
}

/* Each mounted under another name: the state, a part of it, a directory above it, and a directory that holds such a
 * mount. */
static int in_mounts(struct world *w)
{
	char *state = world_path(w, "{state}"), *runs = world_path(w, "{state}/runs"),
	     *local = world_path(w, "~/.local");
	char *a = world_path(w, "~/a"), *b = world_path(w, "~/b"), *c = world_path(w, "~/c"),
	     *d = world_path(w, "~/d/in");
	char *note = world_path(w, "~/a/state.db"), *conf = world_path(w, "~/.config"),
	     *other = world_path(w, "{root}/conf");
	json_t *r;

	if (refused_how(w, "{\"write\":[\"~/a\",\"~/b\",\"~/c\",\"~/d\"]}") != 0)
		return 1;
	bind_or_skip(state, a);
	bind_or_skip(runs, b);
	bind_or_skip(local, c);
	bind_or_skip(runs, d);
	if (refused_how(w, "{\"write\":[\"~/a\"]}") != 1)
		return 2;
	if (refused_how(w, "{\"write\":[\"~/b\"]}") != 1)
		return 3;
	if (refused_how(w, "{\"write\":[\"~/c\"]}") != 1)
		return 4;
	if (refused_how(w, "{\"write\":[\"~/d\"]}") != 1)
		return 5;
	if (refused_how(w, "{\"write\":[\"~/c/lib\"]}") != 0)
		return 6;
	if (refused_how(w, "{\"read\":{\"allow\":[\"~/b\"]}}") != 1)
		return 7;
	/* the home's own directories under another name: start-up files that are missing in it could be made there */
	if (refused_how(w, "{\"write\":[\"{root}/conf\"]}") != 0)
		return 10;
	bind_or_skip(conf, other);
	if (refused_how(w, "{\"write\":[\"{root}/conf\"]}") != 1)
		return 11;
	r = world_granted(w, "{}");
	if (oc_resolved_read(r, note).allowed || oc_resolved_read(r, b).allowed || oc_resolved_read(r, d).allowed)
		return 8;
	return oc_resolved_read(r, c).allowed ? 0 : 9;
}

START_TEST(bind_mounts)
{
	struct world w;
	int rc;

	world_make(&w);
	world_dir(&w, "{state}/runs");
	world_dir(&w, "~/.local/lib");
	world_dir(&w, "~/a");
	world_dir(&w, "~/b");
	world_dir(&w, "~/c");
	world_dir(&w, "~/d/in");
	world_dir(&w, "~/.config");
	world_dir(&w, "{root}/conf");
	rc = exit_of(in_mounts, &w);
	if (rc == 77)
		puts("# SKIP bind_mounts: no user and mount namespace can be made here");
	else
		ck_assert_int_eq(rc, 0);
	world_end(&w);
}
END_TEST

START_TEST(grants)
{
	struct world w;
	json_t *r;
	char *real;

	world_make(&w);
	world_dir(&w, "~/data/real");
	world_link(&w, "~/ln", "~/data/real");
	world_link(&w, "~/dangling", "~/nowhere");
	world_link(&w, "~/loop", "~/loop");
	r = world_granted(&w, "{\"write\":[\"~/ln\"]}");
	real = world_path(&w, "~/data/real");
	ck_assert_str_eq(oc_json_text(world_entry(r, "write", real), "as"), "~/ln");
	free(real);
	json_decref(r);
	world_refused(&w, "{\"write\":[\"~/no such/dir\"]}", "sandbox_denied", "mkdir -p '");
	world_refused(&w, "{\"write\":[\"~/nodir\"]}", "sandbox_denied", "~/nodir");
	world_refused(&w, "{\"write\":[\"~/dangling\"]}", "sandbox_denied", "~/nowhere");
	world_refused(&w, "{\"write\":[\"~/loop\"]}", "sandbox_denied", "~/loop");
	world_refused(&w, "{\"read\":{\"allow\":[\"~/nodir\"]}}", "sandbox_denied", "mkdir -p");
	world_end(&w);
}
END_TEST

/* What lies in a write grant is a run's to choose: a link there must not steer the next run's grants. */
START_TEST(planted_links)
{
	struct world w;
	json_t *r;

	world_make(&w);
	world_dir(&w, "~/treasure/in");
	world_file(&w, "~/treasure/key", NULL);
	world_file(&w, "~/.ssh/id", NULL);
	world_link(&w, "{workspace}/out", "~/treasure");
	world_link(&w, "{workspace}/key", "~/.ssh/id");
	world_link(&w, "~/fine", "~/treasure");
	r = world_granted(&w, "{\"write\":[\"{workspace}/out\"]}");
	json_decref(r);
	r = world_granted(&w, "{\"write\":[\"{workspace}\",\"~/fine/in\"]}");
	json_decref(r);
	world_refused(&w, "{\"write\":[\"{workspace}\",\"{workspace}/out\"]}", "sandbox_denied", "{workspace}/out");
	world_refused(&w, "{\"write\":[\"{workspace}/out/in\",\"{workspace}\"]}", "sandbox_denied", "{workspace}/out");
	world_refused(&w, "{\"write\":[\"{workspace}\"],\"read\":{\"allow\":[\"{workspace}/key\"]}}", "sandbox_denied",
	              "{workspace}/key");
	world_refused(&w, "{\"write\":[\"{workspace}\"],\"read\":{\"deny\":[\"{workspace}/out\"]}}", "sandbox_denied",
	              "{workspace}/out");
	world_end(&w);
}
END_TEST

START_TEST(reading)
{
	struct world w;
	json_t *r;

	world_make(&w);
	world_file(&w, "~/.ssh/id", NULL);
	world_dir(&w, "~/data/out");
	world_dir(&w, "~/.azure");
	world_refused(&w, "{\"write\":[\"~/.azure\"]}", "sandbox_config", "\"read\": {\"allow\": [");
	world_refused(&w, "{\"write\":[\"~/data/out\"],\"read\":{\"deny\":[\"~/data\"]}}", "sandbox_config", "~/data");
	world_refused(&w, "{\"write\":[\"~/data\"],\"read\":{\"deny\":[\"~/data\"]}}", "sandbox_config", "~/data");
	r = world_granted(&w, "{\"write\":[\"~/.azure\"],\"read\":{\"allow\":[\"~/.azure\"]}}");
	ck_assert(world_write(&w, r, "~/.azure/x"));
	ck_assert(!world_read(&w, r, "~/.ssh/id"));
	json_decref(r);
	world_refused(&w, "{\"read\":{\"deny\":[\"{workspace}\"]}}", "sandbox_config", "{workspace}");
	world_refused(&w, "{\"read\":{\"deny\":[\"{root}\"]}}", "sandbox_config", "{workspace}");
	r = world_granted(&w, "{\"read\":{\"deny\":[\"/\"],\"allow\":[\"{workspace}\",\"/usr\"]}}");
	ck_assert(world_read(&w, r, "{workspace}/x"));
	ck_assert(!world_read(&w, r, "/etc/passwd"));
	json_decref(r);
	world_refused(&w, "{\"read\":{\"deny\":[\"{run}/x\"]}}", "sandbox_config", "{run}");
	/* absent, where something could appear */
	world_refused(&w, "{\"write\":[\"{workspace}\"],\"read\":{\"deny\":[\"{workspace}/.env\"]}}", "sandbox_denied",
	              "{workspace}/.env");
	r = world_granted(&w, "{\"read\":{\"deny\":[\"{workspace}/.env\",\"~/.newtool/creds\"]}}");
	ck_assert(!world_read(&w, r, "~/.newtool/creds"));
	json_decref(r);
	world_refused(&w, "{\"read\":{\"deny\":[\"~/x[12]\"]}}", "sandbox_config", "/x[12]");
	world_file(&w, "~/x[12]/k", NULL);
	r = world_granted(&w, "{\"read\":{\"deny\":[\"~/x[12]\"]}}");
	ck_assert(!world_read(&w, r, "~/x[12]/k"));
	ck_assert(world_read(&w, r, "~/x1/k"));
	json_decref(r);
	world_end(&w);
}
END_TEST

START_TEST(dotfiles)
{
	struct world w;
	json_t *r;

	world_make(&w);
	world_file(&w, "~/dotfiles/ssh/id", NULL);
	world_file(&w, "~/dotfiles/aws", NULL);
	world_file(&w, "~/dotfiles/vimrc", NULL);
	world_dir(&w, "~/.aws");
	world_link(&w, "~/.ssh", "~/dotfiles/ssh");
	world_link(&w, "~/.aws/credentials", "~/dotfiles/aws");
	world_link(&w, "~/.aws/circle", "~/.aws/circle");
	world_link(&w, "~/.aws/gone", "~/later");
	r = world_granted(&w, "{\"write\":[\"~/dotfiles\"]}");
	ck_assert(world_listed(&w, r, "read", "~/.ssh"));
	ck_assert(world_listed(&w, r, "read", "~/dotfiles/ssh"));
	ck_assert(world_listed(&w, r, "read", "~/dotfiles/aws"));
	ck_assert(!world_read(&w, r, "~/dotfiles/ssh/id"));
	ck_assert(!world_read(&w, r, "~/dotfiles/aws"));
	ck_assert(!world_write(&w, r, "~/dotfiles/aws"));
	ck_assert(!world_read(&w, r, "~/later"));
	ck_assert(world_write(&w, r, "~/dotfiles/vimrc"));
	json_decref(r);
	r = world_granted(&w, "{\"read\":{\"allow\":[\"~/.aws\"]}}");
	ck_assert(world_read(&w, r, "~/dotfiles/aws"));
	ck_assert(!world_read(&w, r, "~/dotfiles/ssh/id"));
	json_decref(r);
	r = world_granted(&w, "{\"read\":{\"allow\":[\"~/.aws/credentials\"]}}");
	ck_assert(world_read(&w, r, "~/dotfiles/aws"));
	ck_assert(!world_read(&w, r, "~/.aws/config"));
	json_decref(r);
	/* The target is the grant itself: one of them would have to give way. */
	world_refused(&w, "{\"write\":[\"~/dotfiles/ssh\"]}", "sandbox_denied", "~/dotfiles/ssh");
	world_link(&w, "~/.azure", "{workspace}");
	world_refused(&w, "{\"write\":[\"{workspace}\"]}", "sandbox_denied", "/.azure");
	world_refused(&w, "{}", "sandbox_denied", "{workspace}");
	world_end(&w);
}
END_TEST

static int listen_at(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_uint_lt(strlen(path), sizeof(a.sun_path));
	memcpy(a.sun_path, path, strlen(path) + 1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	return fd;
}

static bool socket_ok(const struct world *w, const json_t *r, const char *name)
{
	char *path = world_path(w, name);
	bool ok = oc_resolved_socket(r, path).allowed;

	free(path);
	return ok;
}

/* All tests run beneath /tmp or $TMPDIR; what is beneath /tmp is hidden with it. */
START_TEST(sockets)
{
	struct world w;
	char *path;
	json_t *r;
	bool tmp;
	int fd, in_ws;

	world_make(&w);
	tmp = strncmp(w.root, "/tmp/", 5) == 0;
	world_dir(&w, "~/agent");
	path = world_path(&w, "~/agent/s");
	fd = listen_at(path);
	free(path);
	r = world_granted(&w, "{\"write\":[\"{workspace}\"],\"sockets\":[\"{toolbelt}\"]}");
	ck_assert_uint_eq(json_array_size(json_object_get(r, "hidden")), 0);
	ck_assert(!socket_ok(&w, r, "~/agent/s"));
	ck_assert(socket_ok(&w, r, "{toolbelt}"));
	ck_assert(json_is_null(json_object_get(json_array_get(json_object_get(r, "sockets"), 0), "path")));
	json_decref(r);
	r = world_granted(&w, "{\"write\":[\"{workspace}\"],\"unix_sockets\":\"all\"}");
	ck_assert_ptr_nonnull(world_entry(r, "hidden", "/tmp"));
	ck_assert_ptr_nonnull(world_entry(r, "hidden", "/run"));
	ck_assert(!world_read(&w, r, "/run/user/1/bus"));
	ck_assert(!world_read(&w, r, "/tmp/tmux-1/default"));
	ck_assert(!socket_ok(&w, r, "/run/docker.sock"));
	ck_assert(!socket_ok(&w, r, "~/agent/s"));
	ck_assert(tmp || world_listed(&w, r, "hidden", "~/agent"));
	ck_assert(world_write(&w, r, "{workspace}/x"));
	ck_assert(socket_ok(&w, r, "{workspace}/own.sock"));
	ck_assert(socket_ok(&w, r, "{state}/live/r1/run/s"));
	ck_assert(!socket_ok(&w, r, "{state}/live/r2/run/s"));
	json_decref(r);
	r = world_granted(&w, "{\"sockets\":[\"~/agent/s\"],\"unix_sockets\":\"all\"}");
	ck_assert(socket_ok(&w, r, "~/agent/s"));
	json_decref(r);
	world_refused(&w, "{\"sockets\":[\"~/agent\"],\"unix_sockets\":\"all\"}", "sandbox_config", "~/agent");
	world_refused(&w, "{\"sockets\":[\"~/agent/gone\"],\"unix_sockets\":\"all\"}", "sandbox_denied",
	              "~/agent/gone");
	world_refused(&w, "{\"write\":[\"/tmp\"],\"unix_sockets\":\"all\"}", "sandbox_denied", "/tmp");
	/* One that listens inside a grant is hidden by nothing: stop it or name it. */
	path = world_path(&w, "{workspace}/dev.sock");
	in_ws = listen_at(path);
	free(path);
	world_refused(&w, "{\"write\":[\"{workspace}\"],\"unix_sockets\":\"all\"}", "sandbox_denied",
	              "{workspace}/dev.sock");
	r = world_granted(
	        &w, "{\"write\":[\"{workspace}\"],\"sockets\":[\"{workspace}/dev.sock\"],\"unix_sockets\":\"all\"}");
	ck_assert(socket_ok(&w, r, "{workspace}/dev.sock"));
	json_decref(r);
	close(in_ws);
	close(fd);
	world_end(&w);
}
END_TEST

START_TEST(odd_names)
{
	static const char odd[] = "od\xff"
	                          "d";
	struct world w;
	char *path;

	world_make(&w);
	ck_assert_int_gt(asprintf(&path, "%s/%s", w.root, odd), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	world_link(&w, "~/in", path);
	world_refused(&w, "{\"write\":[\"~/in\"]}", "sandbox_denied", "UTF-8");
	free(w.workspace);
	w.workspace = path;
	world_refused(&w, "{}", "sandbox_denied", "UTF-8");
	free(w.workspace);
	w.workspace = NULL;
	path = world_path(&w, "{root}/a [b]* \"c\"\n{d}");
	ck_assert_int_eq(mkdir(path, 0700), 0);
	w.workspace = path;
	json_decref(world_granted(&w, "{\"write\":[\"{workspace}\"]}"));
	world_end(&w);
}
END_TEST

START_TEST(own_workspace)
{
	struct world w;
	json_t *r;

	world_make(&w);
	free(w.workspace);
	w.workspace = world_path(&w, "{state}/works/k/workspace");
	world_dir(&w, "{state}/works/k/workspace/sub");
	world_dir(&w, "{state}/runs/x");
	/* Only for a run of that very Work: another's, or none, is protected state like the rest. */
	world_refused(&w, "{\"write\":[\"{workspace}\"]}", "sandbox_denied", "{state}");
	w.work = "l";
	world_refused(&w, "{\"write\":[\"{workspace}\"]}", "sandbox_denied", "{state}");
	w.work = "k";
	r = world_granted(&w, "{\"write\":[\"{workspace}\"]}");
	ck_assert(world_write(&w, r, "{state}/works/k/workspace/x"));
	ck_assert(!world_read(&w, r, "{state}/works/k/home"));
	ck_assert(!world_read(&w, r, "{state}/works/l/workspace/x"));
	json_decref(r);
	free(w.workspace);
	w.workspace = world_path(&w, "{state}/runs/x");
	world_refused(&w, "{}", "sandbox_denied", "{state}/runs/x");
	world_refused(&w, "{\"write\":[\"{workspace}\"]}", "sandbox_denied", "{state}/runs/x");
	free(w.workspace);
	w.workspace = world_path(&w, "{root}/gone");
	world_refused(&w, "{}", "sandbox_denied", "mkdir -p");
	world_end(&w);
}
END_TEST

/* Planning changes nothing and leaves nothing open. */
START_TEST(clean)
{
	struct world w;
	struct stat before, after;
	int fds;

	world_make(&w);
	world_clone(&w);
	w.git = OC_GIT_CLONE;
	ck_assert_int_eq(stat(w.workspace, &before), 0);
	fds = suite_count_fds();
	json_decref(world_granted(&w, "{\"write\":[\"{workspace}\"],\"unix_sockets\":\"all\"}"));
	world_refused(&w, "{\"write\":[\"/\"]}", "sandbox_denied", "{state}");
	ck_assert_int_eq(suite_count_fds(), fds);
	ck_assert_int_eq(stat(w.workspace, &after), 0);
	ck_assert_int_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	ck_assert_int_ne(access(w.run, F_OK), 0);
	world_end(&w);
}
END_TEST

struct sweep {
	struct world w;
	struct oc_resolve_input in;
};

static int resolve_quietly(void *userdata)
{
	const struct sweep *s = userdata;
	json_t *r = NULL;
	oc_error *e = NULL;
	int rc = oc_resolve(&s->in, &r, &e);

	json_decref(r);
	oc_error_free(e);
	return rc;
}

START_TEST(out_of_memory)
{
	static const char text[] = "{\"write\":[\"{workspace}\"],\"read\":{\"deny\":[\"~/x\"],\"allow\":[\"~/.ssh\"]},"
	                           "\"network\":{\"allow\":[\"a.example\"]},\"unix_sockets\":\"all\"}";
	struct sweep s;
	oc_policy *p = NULL;

	world_make(&s.w);
	world_clone(&s.w);
	world_dir(&s.w, "~/.ssh");
	world_file(&s.w, "~/dot/k", NULL);
	world_dir(&s.w, "~/.aws");
	world_link(&s.w, "~/.aws/k", "~/dot/k");
	ck_assert_int_eq(oc_policy_parse("sandbox", text, strlen(text), &p, NULL), 0);
	s.in = (struct oc_resolve_input){ .policy = p,
		                          .home = s.w.home,
		                          .workspace = s.w.workspace,
		                          .run_dir = s.w.run,
		                          .state_dir = s.w.state,
		                          .config_dir = s.w.config,
		                          .environ = s.w.environ,
		                          .git = OC_GIT_CLONE,
		                          .tools = &s.w.tools };
	ck_assert_int_gt(alloc_fail_each(resolve_quietly, &s, 0), 100);
	oc_policy_free(p);
	world_end(&s.w);
}
END_TEST

SUITE_MAIN("resolve", shape, protected_state, missing_claude, bind_mounts, grants, planted_links, reading, dotfiles,
           sockets, odd_names, own_workspace, clean, out_of_memory)
