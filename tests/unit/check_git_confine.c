/* SPDX-License-Identifier: Apache-2.0 */
/* What a confined step can't do, each tried without confinement first; and that what such a step says is taken as from
 * anybody. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"
#include "task.h"

static char *inside, *outside; /* directories; each has a file "there" */

/* No assertion in what a step does: the descriptor that Check tells them by is its reply's. */
static char *at(const char *dir, const char *name)
{
	char *path = format("%s/%s", dir, name);

	if (!path)
		abort();
	return path;
}

static int opens(const char *dir, const char *name, int flags)
{
	char *path = at(dir, name);
	int fd = open(path, flags | O_CLOEXEC, 0600);

	free(path);
	if (fd < 0)
		return -1;
	(void)close(fd);
	return 0;
}

static int pair(const char *from_dir, const char *from, const char *to_dir, const char *to,
                int (*call)(const char *, const char *))
{
	char *a = at(from_dir, from), *b = at(to_dir, to);
	int rc = call(a, b);

	free(a);
	free(b);
	return rc;
}

static int try_tcp(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}
static int try_udp(void)
{
	return socket(AF_INET6, SOCK_DGRAM, 0);
}
static int try_unix(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}
static int try_pair(void)
{
	int fds[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
}
static int try_exec(void)
{
	return access("/bin/true", X_OK) == 0 ? execl("/bin/true", "true", (char *)NULL) : -1;
}
static int try_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid < 0 ? -1 : 0;
}
static int try_signal(void)
{
	return kill(getppid(), 0);
}
static int try_trace(void)
{
	char from = 1, to = 0;
	struct iovec a = { &to, 1 }, b = { &from, 1 };

	return process_vm_readv(getpid(), &a, 1, &b, 1, 0) == 1 ? 0 : -1;
}
static int try_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
	               ? -1
	               : 0;
}
static int try_make_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mprotect(p, 4096, PROT_READ | PROT_EXEC);
}
static int try_keys(void)
{
	return (int)syscall(__NR_keyctl, 0, -3, 1, 0, 0);
}
static int try_limit(void)
{
	static const uint64_t same[2] = { 64, 64 };

	return (int)syscall(__NR_prlimit64, 0, 7, same, NULL);
}
static int try_read_outside(void)
{
	return opens(outside, "there", O_RDONLY);
}
static int try_list_outside(void)
{
	return opens(outside, ".", O_RDONLY | O_DIRECTORY);
}
static int try_write_outside(void)
{
	return opens(outside, "there", O_WRONLY);
}
static int try_make_outside(void)
{
	return opens(outside, "new", O_WRONLY | O_CREAT);
}
static int try_remove_outside(void)
{
	char *path = at(outside, "new");
	int rc = unlink(path);

	free(path);
	return rc;
}
static int try_move_out(void)
{
	return pair(inside, "moved", outside, "moved", rename);
}
static int try_link_in(void)
{
	return pair(outside, "there", inside, "linked", link);
}
static int try_mkfifo(void)
{
	char *path = at(inside, "fifo");
	int rc = mkfifo(path, 0600);

	free(path);
	return rc;
}
static int try_read_by_link(void)
{
	return opens(inside, "link", O_RDONLY);
}

static const struct {
	const char *name;
	int (*try)(void);
} denied[] = {
	{ "a TCP socket", try_tcp },
	{ "a UDP socket", try_udp },
	{ "a unix socket", try_unix },
	{ "a pair of sockets", try_pair },
	{ "another process", try_fork },
	{ "a signal to another", try_signal },
	{ "a tracer's calls", try_trace },
	{ "writable code", try_code },
	{ "memory made code", try_make_code },
	{ "keys", try_keys },
	{ "other limits", try_limit },
	{ "reading elsewhere", try_read_outside },
	{ "listing elsewhere", try_list_outside },
	{ "reading elsewhere by a link", try_read_by_link },
	{ "writing elsewhere", try_write_outside },
	{ "making a file elsewhere", try_make_outside },
	{ "removing a file elsewhere", try_remove_outside },
	{ "moving a file out", try_move_out },
	{ "a hard link to elsewhere", try_link_in },
	{ "a FIFO", try_mkfifo },
	{ "another program", try_exec }, /* last: without confinement the child is that program then */
};

static void make(const char *dir, const char *name)
{
	char *path = at(dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	free(path);
}

static void begin(void)
{
	char *link_path, *target;

	inside = suite_mkdir();
	outside = suite_mkdir();
	make(inside, "there");
	make(inside, "moved");
	make(outside, "there");
	link_path = at(inside, "link");
	target = at(outside, "there");
	ck_assert_int_eq(symlink(target, link_path), 0);
	free(link_path);
	free(target);
}

static void end(void)
{
	suite_rmdir(inside);
	suite_rmdir(outside);
}

/* A bit for each that could be done; a status of its own where confinement itself fails. */
static uint64_t what_works(bool confined)
{
	const struct confine_path paths[] = { { inside, CONFINE_WRITE } };
	int ends[2], status;
	uint64_t works = 0;
	pid_t pid;

	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct refusal r = { 0 };

		(void)close(ends[0]);
		(void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
		if (confined && confine(paths, 1, &r))
			_exit(7);
		for (unsigned char i = 0; i < COUNT(denied); i++) {
			/* "There" is written before a program takes this process's place. */
			if (denied[i].try == try_exec && !confined)
				(void)!write(ends[1], &i, 1);
			if (denied[i].try() >= 0)
				(void)!write(ends[1], &i, 1);
		}
		_exit(0);
	}
	(void)close(ends[1]);
	for (unsigned char i; read(ends[0], &i, 1) == 1;)
		works |= 1ull << i;
	(void)close(ends[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %x", status);
	return works;
}

START_TEST(test_denied)
{
	uint64_t free_works, confined_works;

	begin();
	free_works = what_works(false);
	end();
	begin();
	confined_works = what_works(true);
	for (size_t i = 0; i < COUNT(denied); i++) {
		ck_assert_msg(free_works & 1ull << i, "control: %s can't be done here at all", denied[i].name);
		ck_assert_msg(!(confined_works & 1ull << i), "%s can be done", denied[i].name);
	}
	end();
}
END_TEST

static int work_inside(void *arg, json_t **reply, struct refusal *r)
{
	char *path = at(inside, "made"), *to = at(inside, "renamed");

	(void)arg;
	(void)r;
	if (opens(inside, "there", O_RDWR) || opens(inside, "made", O_WRONLY | O_CREAT) || rename(path, to) ||
	    unlink(to) || mkdir(path, 0700) || rmdir(path))
		return refuse_errno(r, inside, "inside");
	/* Nothing of the parent's but the reply and the standard ones. */
	for (int fd = 4; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return refuse(r, "provider_failed", "descriptor", NULL, "descriptor %d is there", fd);
	*reply = json_pack("{s:i}", "answer", 42);
	return 0;
}

static int say_nothing(void *arg, json_t **reply, struct refusal *r)
{
	(void)arg;
	(void)reply;
	(void)r;
	_exit(0);
}

static int say_garbage(void *arg, json_t **reply, struct refusal *r)
{
	static const char *const texts[] = {
		"{\"reply\":[]}", "{\"reply\":{},", "{\"reply\":{\"a\":1,\"a\":2}}", "[]", "null", "{}"
	};
	const char *text = texts[(size_t)arg];

	(void)reply;
	(void)r;
	(void)!write(3, text, strlen(text));
	_exit(0);
}

static int say_much(void *arg, json_t **reply, struct refusal *r)
{
	static char block[1 << 16];

	(void)arg;
	(void)reply;
	(void)r;
	for (;;)
		if (write(3, block, sizeof(block)) < 0)
			_exit(0);
}

static int refuse_oddly(void *arg, json_t **reply, struct refusal *r)
{
	(void)reply;
	return refuse(r, arg ? "work_busy" : "sandbox_workspace", "\xff\n", "fix", "of \xc3\xa4 and \xc3 and \x1b[31m");
}

static int abort_it(void *arg, json_t **reply, struct refusal *r)
{
	(void)arg;
	(void)reply;
	(void)r;
	abort();
}

static int run(task_fn fn, void *arg, json_t **reply, struct refusal *r)
{
	const struct confine_path paths[] = { { inside, CONFINE_WRITE } };

	*r = (struct refusal){ 0 };
	return task_run("step", paths, 1, fn, arg, reply, r);
}

START_TEST(test_task)
{
	struct refusal r;
	json_t *reply = NULL;
	int fds = suite_count_fds();

	begin();
	ck_assert_msg(run(work_inside, NULL, &reply, &r) == 0, "%s", r.message);
	ck_assert_int_eq(json_integer_value(json_object_get(reply, "answer")), 42);
	json_decref(reply);
	ck_assert_int_eq(run(say_nothing, NULL, &reply, &r), -1);
	ck_assert_str_eq(r.reason, "provider_failed");
	refusal_clear(&r);
	for (size_t i = 0; i < 6; i++) {
		ck_assert_int_eq(run(say_garbage, (void *)i, &reply, &r), -1);
		ck_assert_str_eq(r.reason, "provider_failed");
		refusal_clear(&r);
	}
	ck_assert_int_eq(run(say_much, NULL, &reply, &r), -1);
	ck_assert_str_eq(r.reason, "provider_failed");
	refusal_clear(&r);
	ck_assert_int_eq(run(abort_it, NULL, &reply, &r), -1);
	ck_assert_ptr_nonnull(strstr(r.message, "signal 6"));
	refusal_clear(&r);
	/* A reason that is none of ours is not passed on; what is no UTF-8 is shown. */
	ck_assert_int_eq(run(refuse_oddly, NULL, &reply, &r), -1);
	ck_assert_str_eq(r.reason, "sandbox_workspace");
	ck_assert_str_eq(r.subject, "\\xff\\x0a");
	ck_assert_str_eq(r.message, "of \xc3\xa4 and \\xc3 and \\x1b[31m");
	refusal_clear(&r);
	ck_assert_int_eq(run(refuse_oddly, &r, &reply, &r), -1);
	ck_assert_str_eq(r.reason, "provider_failed");
	refusal_clear(&r);
	end();
	ck_assert_int_eq(suite_count_fds(), fds);
}
END_TEST

START_TEST(test_missing)
{
	const struct confine_path paths[] = { { "/nonexistent/path", CONFINE_READ } };
	struct refusal r = { 0 };
	json_t *reply = NULL;

	begin();
	ck_assert_int_eq(task_run("step", paths, 1, work_inside, NULL, &reply, &r), -1);
	ck_assert_str_eq(r.subject, "/nonexistent/path");
	refusal_clear(&r);
	end();
}
END_TEST

SUITE_MAIN("git_confine", test_denied, test_task, test_missing)
