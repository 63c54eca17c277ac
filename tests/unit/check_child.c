/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "base/buf.h"
#include "base/fd.h"
#include "loop/child.h"
#include "loop/loop.h"
#include "suite.h"

static char *const no_env[] = { NULL };

/* Run a shell script with descriptor 1 as a pipe; what it printed, and its status. */
static int shell(const char *script, struct oc_spawn *spawn, struct oc_buf *out)
{
	char *argv[] = { (char *)"/bin/sh", (char *)"-c", (char *)script, NULL };
	int pipes[2], fds[8], pidfd = -1, status = -1;
	pid_t pid = 0;
	ssize_t n;
	char block[4096];

	ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
	ck_assert_uint_le(spawn->n_fds, OC_COUNT(fds));
	fds[0] = -1;
	fds[1] = pipes[1];
	fds[2] = 2;
	for (size_t i = 3; i < spawn->n_fds; i++)
		fds[i] = spawn->fds[i];
	spawn->argv = argv;
	spawn->envp = spawn->envp ? spawn->envp : no_env;
	spawn->fds = fds;
	spawn->n_fds = OC_MAX(spawn->n_fds, (size_t)3);
	ck_assert_int_eq(oc_child_spawn(spawn, &pid, &pidfd, NULL), 0);
	close(pipes[1]);
	oc_buf_init(out, 100000);
	while ((n = read(pipes[0], block, sizeof(block))) > 0)
		ck_assert_int_eq(oc_buf_add(out, block, (size_t)n), 0);
	close(pipes[0]);
	ck_assert_int_eq(fcntl(pidfd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(pidfd);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void prints(const char *script, struct oc_spawn spawn, const char *want)
{
	struct oc_buf out;
	int before = suite_count_fds();

	ck_assert_int_eq(shell(script, &spawn, &out), 0);
	ck_assert_str_eq(out.data ? out.data : "", want);
	oc_buf_free(&out);
	ck_assert_int_eq(suite_count_fds(), before);
}

START_TEST(test_runs)
{
	char *const env[] = { (char *)"A=b", NULL };

	if (!suite_has_pidfd("a child"))
		return;
	prints("echo $A; pwd", (struct oc_spawn){ .envp = env, .cwd = "/" }, "b\n/\n");
	prints("echo $0", (struct oc_spawn){ .path = "/bin/sh" }, "/bin/sh\n");
}
END_TEST

START_TEST(test_only_named_descriptors)
{
	int low = open("/dev/zero", O_RDONLY), high = fcntl(low, F_DUPFD, 300);

	if (!suite_has_pidfd("a child"))
		return;
	/* Neither has O_CLOEXEC: an embedder's leak must not become ours. */
	prints("cd /proc/self/fd; for f in *; do [ -e /proc/$$/fd/$f ] && printf '%s ' $f; done; readlink "
	       "/proc/$$/fd/0",
	       (struct oc_spawn){ 0 }, "0 1 2 /dev/null\n");
	close(low);
	close(high);
}
END_TEST

START_TEST(test_descriptors_swapped)
{
	int a = oc_memfd("a", "A", 1), b = oc_memfd("b", "B", 1);
	int fds[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };
	char script[64];

	if (!suite_has_pidfd("a child"))
		return;
	/* The child's a is our b, and its b our a: dup2 one after the other would lose one. */
	ck_assert_int_ge(OC_MIN(a, b), 3);
	ck_assert_int_lt(OC_MAX(a, b), 8);
	fds[a] = b;
	fds[b] = a;
	snprintf(script, sizeof(script), "cat <&%d; cat <&%d", a, b);
	prints(script, (struct oc_spawn){ .fds = fds, .n_fds = 8 }, "BA");
	close(a);
	close(b);
}
END_TEST

START_TEST(test_default_signals)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t block;

	if (!suite_has_pidfd("a child"))
		return;
	ck_assert_int_eq(sigaction(SIGPIPE, &ignore, NULL), 0);
	ck_assert_int_eq(sigaction(SIGTERM, &ignore, NULL), 0);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigprocmask(SIG_BLOCK, &block, NULL);
	prints("grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f2", (struct oc_spawn){ 0 },
	       "0000000000000000\n0000000000000000\n");
	sigprocmask(SIG_UNBLOCK, &block, NULL);
}
END_TEST

static void ids(struct oc_spawn spawn, bool leader, bool session)
{
	struct oc_buf out;
	int pid, pgrp, sid;

	ck_assert_int_eq(shell("cut -d' ' -f1,5,6 /proc/$$/stat", &spawn, &out), 0);
	ck_assert_int_eq(sscanf(out.data, "%d %d %d", &pid, &pgrp, &sid), 3);
	ck_assert_msg((pgrp == pid) == leader, "%s", out.data);
	ck_assert_msg((sid == pid) == session, "%s", out.data);
	oc_buf_free(&out);
}

START_TEST(test_group_and_session)
{
	if (!suite_has_pidfd("a child"))
		return;
	ids((struct oc_spawn){ 0 }, false, false);
	ids((struct oc_spawn){ .new_group = true }, true, false);
	ids((struct oc_spawn){ .new_session = true }, true, true);
	ids((struct oc_spawn){ .new_session = true, .new_group = true }, true, true);
}
END_TEST

static void refused(struct oc_spawn spawn, int code)
{
	char *argv[] = { (char *)"x", NULL };
	int before = suite_count_fds(), pidfd = 77;
	oc_error *err = NULL;
	pid_t pid = 77;

	spawn.argv = argv;
	spawn.envp = spawn.envp ? spawn.envp : no_env;
	ck_assert_int_eq(oc_child_spawn(&spawn, &pid, &pidfd, &err), code);
	ck_assert_int_eq(oc_error_code(err), code);
	ck_assert_int_eq(pid, 77);
	ck_assert_int_eq(pidfd, 77);
	oc_error_free(err);
	ck_assert_int_eq(suite_count_fds(), before);
	/* Nothing is left to be reaped. */
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}

START_TEST(test_refuses)
{
	if (!suite_has_pidfd("a child"))
		return;
	refused((struct oc_spawn){ .path = "/none" }, OC_ENOTFOUND);
	refused((struct oc_spawn){ .path = "/bin/sh", .cwd = "/none" }, OC_ENOTFOUND);
	refused((struct oc_spawn){ .path = "/etc/passwd" }, OC_EIO);
	refused((struct oc_spawn){ .path = "sh" }, OC_EINVAL);
	refused((struct oc_spawn){ 0 }, OC_EINVAL);
	refused((struct oc_spawn){ .path = "/bin/sh", .fds = (int[]){ 900 }, .n_fds = 1 }, OC_EIO);
	refused((struct oc_spawn){ .path = "/bin/sh", .n_fds = 1000 }, OC_EINVAL);
}
END_TEST

static void on_end(const siginfo_t *info, void *userdata)
{
	*(int *)userdata = info->si_pid ? info->si_status : -1;
}

START_TEST(test_gone_at_once_with_sigchld_ignored)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	char *argv[] = { (char *)"/bin/true", NULL };
	struct oc_spawn spawn = { .argv = argv, .envp = no_env };
	struct oc_source *source;
	struct oc_loop *loop;

	if (!suite_has_pidfd("a child"))
		return;
	ck_assert_int_eq(sigaction(SIGCHLD, &ignore, &before), 0);
	ck_assert_int_eq(oc_loop_new(&loop, NULL), 0);
	for (int i = 0; i < 50; i++) {
		int pidfd, status = -2;
		pid_t pid;

		ck_assert_int_eq(oc_child_spawn(&spawn, &pid, &pidfd, NULL), 0);
		ck_assert_int_eq(oc_loop_add_child(loop, pidfd, on_end, &status, &source, NULL), 0);
		while (status == -2)
			ck_assert_int_ge(oc_loop_wait(loop, 5000, NULL), 0);
		ck_assert_int_eq(status, -1);
		oc_source_free(source);
	}
	oc_loop_free(loop);
	ck_assert_int_eq(sigaction(SIGCHLD, &before, NULL), 0);
}
END_TEST

SUITE_MAIN("child", test_runs, test_only_named_descriptors, test_descriptors_swapped, test_default_signals,
           test_group_and_session, test_refuses, test_gone_at_once_with_sigchld_ignored)
