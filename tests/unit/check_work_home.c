/* SPDX-License-Identifier: Apache-2.0 */
/* A Work's home and the seed it starts with: copied whole or not at all, nothing of the machine comes along, and what is hostile in
 * it or changes meanwhile is refused. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "broker/seed.h"
#include "workspace_world.h"

static char seed[400], dir_of[500], home[600];
static const char *work;

static const char *in(const char *dir, const char *name)
{
	static char paths[4][1200];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
	const char *path = in(seed, name);

	say(seed, name, text);
	ck_assert_int_eq(chmod(path, mode), 0);
}

static void directory(const char *name)
{
	ck_assert_int_eq(mkdir(in(seed, name), 0755), 0);
}

static void linked(const char *name, const char *target)
{
	ck_assert_int_eq(symlink(target, in(seed, name)), 0);
}

static void begin(void)
{
	snprintf(seed, sizeof(seed), "%s/seed", f.dir);
	ck_assert_int_eq(mkdir(seed, 0755), 0);
	work = made("1");
	snprintf(dir_of, sizeof(dir_of), "%s/works/%s", f.state, work);
	snprintf(home, sizeof(home), "%s/home", dir_of);
}

static bool there(const char *name)
{
	struct stat st;

	return lstat(in(home, name), &st) == 0;
}

static void holds(const char *name, const char *text, mode_t mode)
{
	char found[200] = "";
	struct stat st;
	FILE *file = fopen(in(home, name), "r");

	ck_assert_msg(file != NULL, "%s is there", name);
	ck_assert_ptr_nonnull(fgets(found, sizeof(found), file));
	ck_assert_int_eq(fstat(fileno(file), &st), 0);
	(void)fclose(file);
	ck_assert_str_eq(found, text);
	ck_assert_uint_eq(st.st_mode & 07777, mode);
}

static void make(int rc)
{
	oc_error *err = NULL;
	int got = oc_work_home(store, work, seed, &err);

	ck_assert_msg(got == rc, "%d: %s", got, err ? oc_error_message(err) : "");
	oc_error_free(err);
}

/* Refused with these words, and nothing of it stays. */
static void refused_of(const char *of, const char *reason, const char *words)
{
	oc_error *err = NULL;
	struct stat st;
	int rc = oc_work_home(store, work, of, &err);

	ck_assert_msg(rc < 0, "refused: %s", words);
	ck_assert_msg(strstr(oc_error_message(err), words) != NULL, "%s: %s", words, oc_error_message(err));
	if (reason) {
		ck_assert_ptr_nonnull(oc_error_reason(err));
		ck_assert_str_eq(oc_error_reason(err), reason);
		ck_assert_ptr_nonnull(oc_error_subject(err));
		ck_assert_ptr_nonnull(oc_error_fix(err));
	}
	oc_error_free(err);
	ck_assert_int_lt(lstat(home, &st), 0);
	ck_assert_int_lt(lstat(in(dir_of, "home.new"), &st), 0);
}

static void refused(const char *name, const char *words)
{
	refused_of(seed, "sandbox_config", words);
	ck_assert_int_eq(oc_remove_tree(AT_FDCWD, in(seed, name)), 0);
}

PROVIDED(copied)
{
	char target[100];
	ssize_t n;

	begin();
	put("settings.json", "{}", 0644);
	put("tool", "#!", 06755);
	directory("a");
	directory("a/b");
	put("a/b/deep", "deep", 0600);
	linked("a/b/up", "../../settings.json");
	linked("a/here", "./b//deep");
	linked("nowhere", "a/none");
	put(".credentials.json", "secret", 0600);
	put("a/.credentials.json", "secret", 0600);
	directory("a/b/.credentials.json");
	put("a/b/.credentials.json/x", "secret", 0600);
	directory("l");
	linked("l/.credentials.json", "/etc/passwd");
	put(".CREDENTIALS.JSON", "kept", 0600);
	make(1);
	holds("settings.json", "{}", 0600);
	holds("tool", "#!", 0700);
	holds("a/b/deep", "deep", 0600);
	holds("a/b/up", "{}", 0600);
	holds("a/here", "deep", 0600);
	holds(".CREDENTIALS.JSON", "kept", 0600);
	n = readlink(in(home, "nowhere"), target, sizeof(target) - 1);
	ck_assert_int_eq(n, 6);
	ck_assert(!there(".credentials.json") && !there("a/.credentials.json") && !there("a/b/.credentials.json") &&
	          there("l") && !there("l/.credentials.json"));
	/* It is the agent's by now. */
	put("settings.json", "changed", 0644);
	ck_assert_int_eq(unlink(in(home, "tool")), 0);
	make(0);
	holds("settings.json", "{}", 0600);
	ck_assert(!there("tool"));
}

PROVIDED(empty)
{
	struct stat st;

	begin();
	ck_assert_int_eq(mkdir(in(dir_of, "home.new"), 0700), 0);
	say(in(dir_of, "home.new"), "half", "of a copy that was killed");
	OK(oc_work_home(store, work, NULL, &err) - 1);
	ck_assert_int_eq(stat(home, &st), 0);
	ck_assert(S_ISDIR(st.st_mode) && (st.st_mode & 07777) == 0700 && !there("half"));
	ck_assert_int_lt(lstat(in(dir_of, "home.new"), &st), 0);
}

PROVIDED(hostile)
{
	static const char *const out[] = {
		"/etc/passwd", "..", "../x", "./../x", "d/../../x", "d/..", "//x", "d/../d/x"
	};
	char deep[400] = "d", *end;

	begin();
	put("good", "good", 0600);
	for (size_t i = 0; i < OC_COUNT(out); i++) {
		linked("link", out[i]);
		refused("link", out[i]);
	}
	directory("d");
	linked("d/link", "../../x");
	refused("d/link", "../../x");
	ck_assert_int_eq(mkfifo(in(seed, "pipe"), 0600), 0);
	refused("pipe", "neither");
	put("open", "x", 0666);
	refused("open", "others");
	ck_assert_int_eq(chmod(in(seed, "d"), 0777), 0);
	refused("d", "others");
	ck_assert_int_eq(chmod(seed, 01777), 0);
	refused_of(seed, "sandbox_config", "others");
	ck_assert_int_eq(chmod(seed, 0755), 0);
	for (unsigned i = 0; i <= OC_SEED_DEPTH; i++) {
		directory(deep);
		end = deep + strlen(deep);
		memcpy(end, "/d", 3);
	}
	refused("d", "32 directories");
	make(1); /* the control: all else was in order */
}

PROVIDED(large)
{
	char name[32];
	int fd;

	begin();
	put("big", "x", 0600);
	ck_assert_int_eq(truncate(in(seed, "big"), (off_t)OC_SEED_BYTES + 1), 0);
	refused("big", "256 MiB");
	for (unsigned i = 0; i < OC_SEED_ENTRIES; i++) {
		snprintf(name, sizeof(name), "%u", i);
		fd = open(in(seed, name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		ck_assert_int_ge(fd, 0);
		close(fd);
	}
	directory("more");
	refused("more", "20000");
	make(1);
	ck_assert(there("0") && there("19999"));
}

PROVIDED(places)
{
	char path[700];
	oc_error *err = NULL;

	begin();
	refused_of(f.state, "sandbox_config", "Open Conduit's state");
	refused_of(f.dir, "sandbox_config", "Open Conduit's state"); /* holds it */
	snprintf(path, sizeof(path), "%s/works/%s", f.state, work);
	refused_of(path, "sandbox_config", "Open Conduit's state");
	snprintf(path, sizeof(path), "%s/none", seed);
	refused_of(path, "sandbox_config", "can't be opened");
	refused_of("relative", NULL, "absolute");
	refused_of("/a/../b", NULL, "absolute");
	ck_assert_int_eq(oc_work_home(store, "no-such-work", NULL, &err), OC_ENOTFOUND);
	oc_error_free(err);
	ck_assert_int_eq(oc_work_home(NULL, work, NULL, NULL), OC_EINVAL);
	say(dir_of, "home", "a file");
	err = NULL;
	ck_assert_int_eq(oc_work_home(store, work, NULL, &err), OC_EREFUSED);
	ck_assert_str_eq(oc_error_reason(err), "sandbox_workspace");
	oc_error_free(err);
	say(dir_of, "home", NULL);
	make(1);
}

PROVIDED(busy)
{
	int fd;

	begin();
	fd = open(in(dir_of, "lock"), O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	refused_of(seed, "work_busy", "has the Work");
	close(fd);
	make(1);
	fd = open(in(dir_of, "lock"), O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	make(0); /* nothing is to be made: nobody is in the way */
	close(fd);
}

/* What can't be written leaves nothing: here by the limit on the size of files, in a process of its own. */
PROVIDED(full)
{
	char text[5000];
	int status;
	pid_t pid;

	begin();
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	put("some", text, 0600);
	pid = fork();
	if (pid == 0) {
		struct rlimit limit = { 1000, 1000 };
		oc_error *err = NULL;
		int rc = setrlimit(RLIMIT_FSIZE, &limit) < 0 || signal(SIGXFSZ, SIG_IGN) == SIG_ERR ? 1 : 0;
		int dir = open(dir_of, O_RDONLY | O_DIRECTORY | O_CLOEXEC), state = open(f.state, O_PATH | O_CLOEXEC);

		rc = rc ? rc : mkdirat(dir, "try", 0700) < 0;
		dir = openat(dir, "try", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		rc = rc ? rc : oc_seed_copy(seed, dir, state, &err) == OC_EIO && oc_error_errno(err) == EFBIG ? 0 : 2;
		suite_exit(rc);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	make(1);
}

/* The directory d is a link to somewhere else every other moment. */
static pid_t swapping(void)
{
	char d[600], other[600];
	pid_t pid;

	snprintf(d, sizeof(d), "%s/d", seed);
	snprintf(other, sizeof(other), "%s/other", f.dir);
	ck_assert_int_eq(symlink(in(f.dir, "canary"), other), 0);
	pid = fork();
	while (pid == 0) {
		if (renameat2(AT_FDCWD, d, AT_FDCWD, other, RENAME_EXCHANGE) < 0)
			suite_exit(1);
	}
	return pid;
}

static bool reads_canary(const char *path)
{
	char text[16] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is = fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && !strcmp(text, "canary");

	if (fd >= 0)
		close(fd);
	return is;
}

PROVIDED(swapped)
{
	unsigned whole = 0, refusals = 0, seen = 0, leaked = 0;
	int state, dir;
	pid_t pid;

	begin();
	directory("d");
	put("d/file", "mine", 0600);
	ck_assert_int_eq(mkdir(in(f.dir, "canary"), 0755), 0);
	say(in(f.dir, "canary"), "file", "canary");
	state = open(f.state, O_PATH | O_CLOEXEC);
	dir = open(f.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid = swapping();
	for (unsigned i = 0; i < 2000; i++) {
		int into, rc;

		ck_assert_int_eq(mkdirat(dir, "copy", 0700), 0);
		into = openat(dir, "copy", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		rc = oc_seed_copy(seed, into, state, NULL);
		seen += reads_canary(in(seed, "d/file")); /* the control: who goes by paths is led astray */
		leaked += reads_canary(in(f.dir, "copy/d/file"));
		whole += rc == 0;
		refusals += rc < 0;
		close(into);
		ck_assert_int_eq(oc_remove_tree(dir, "copy"), 0);
	}
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	close(state);
	close(dir);
	ck_assert_uint_eq(leaked, 0);
	ck_assert_msg(whole && refusals && seen, "%u copied, %u refused, %u seen", whole, refusals, seen);
}

/* Killed at any moment, it is whole or not there, and the next attempt makes it. */
PROVIDED(killed)
{
	unsigned whole = 0, absent = 0;
	int64_t begun, needed;
	struct stat st;

	begin();
	for (unsigned i = 0; i < 400; i++) {
		char name[32];

		snprintf(name, sizeof(name), "f%u", i);
		put(name, name, 0600);
	}
	begun = oc_mono_ms();
	make(1);
	needed = oc_mono_ms() - begun + 2;
	ck_assert_int_eq(oc_remove_tree(AT_FDCWD, home), 0);
	for (unsigned i = 0; i < 16 || (!whole && i < 40); i++) {
		pid_t pid = fork();

		if (pid == 0) {
			oc_store *own = NULL;
			bool open = oc_store_open(fixture_context(f.state), &own, NULL) >= 0;

			suite_exit(open && oc_work_home(own, work, seed, NULL) == 1 ? 0 : 1);
		}
		usleep((useconds_t)(needed * 1000 * i / 10));
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
		whole += lstat(home, &st) == 0;
		absent += lstat(home, &st) != 0;
		make(lstat(home, &st) == 0 ? 0 : 1);
		holds("f0", "f0", 0600);
		holds("f399", "f399", 0600);
		ck_assert_int_eq(oc_remove_tree(AT_FDCWD, home), 0);
	}
	ck_assert_msg(whole && absent, "%u whole, %u absent", whole, absent);
}

/* Whatever the agent made of it goes with the Work. */
PROVIDED(removed)
{
	struct stat st;

	begin();
	make(1);
	ck_assert_int_eq(mkdir(in(home, "closed"), 0700), 0);
	say(in(home, "closed"), "x", "x");
	ck_assert_int_eq(chmod(in(home, "closed"), 0), 0);
	ck_assert_int_eq(symlink(seed, in(home, "link")), 0);
	put("stays", "stays", 0600);
	good(FINAL, work);
	ck_assert_int_eq(stat(home, &st), 0);
	good(REMOVE, work);
	ck_assert_int_lt(lstat(dir_of, &st), 0);
	ck_assert_int_eq(lstat(in(seed, "stays"), &st), 0);
}

SUITE_MAIN("work_home", copied, empty, hostile, large, places, busy, full, swapped, killed, removed)
