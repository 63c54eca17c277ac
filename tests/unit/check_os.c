/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/os.h"
#include "base/path.h"
#include "suite.h"

START_TEST(test_boot_id)
{
	char a[OC_BOOT_SIZE], b[OC_BOOT_SIZE];

	ck_assert_int_eq(oc_os_boot_id(a), 0);
	ck_assert_int_eq(oc_os_boot_id(b), 0);
	ck_assert_str_eq(a, b);
	ck_assert_uint_eq(strlen(a), 36);
}
END_TEST

/* A child that waits until it is killed, under a name of its choice. */
static pid_t child_named(const char *name)
{
	int ready[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		setpgid(0, 0);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

START_TEST(test_process_by_any_name)
{
	static const char *const names[] = { "plain", ") S 1 1 1 (", "a) Z 1 (b", "x\n1 (y) Z", "((((", "))))" };

	for (size_t i = 0; i < OC_COUNT(names); i++) {
		pid_t pid = child_named(names[i]), ppid, pgrp, session;
		uint64_t ticks = 0, again = 1;

		ck_assert_msg(oc_os_process(pid, &ticks, &ppid, &pgrp, &session) == 0, "%s", names[i]);
		ck_assert_int_eq(ppid, getpid());
		ck_assert_int_eq(pgrp, pid);
		ck_assert_int_eq(session, getsid(0));
		ck_assert_uint_gt(ticks, 0);
		ck_assert_int_eq(oc_os_start_time(pid, &again), 0);
		ck_assert_uint_eq(ticks, again);
		kill(pid, SIGKILL);
		/* A zombie is no process. */
		ck_assert_int_eq(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
		ck_assert_int_eq(oc_os_start_time(pid, &again), -ESRCH);
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
		ck_assert_int_eq(oc_os_start_time(pid, &again), -ESRCH);
	}
}
END_TEST

START_TEST(test_environ_has)
{
	char *const argv[] = { (char *)"sleep", (char *)"100", NULL };
	char *const envp[] = { (char *)"A=1", (char *)"RUN=abc", (char *)"EMPTY=", (char *)"RUN2=abcd", NULL };
	uint64_t ticks;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execve("/bin/sleep", argv, envp);
		_exit(1);
	}
	for (int i = 0; i < 500 && oc_os_environ_has(pid, "A=1") != 1; i++)
		usleep(10000);
	ck_assert_int_eq(oc_os_environ_has(pid, "A=1"), 1);
	ck_assert_int_eq(oc_os_environ_has(pid, "RUN=abc"), 1);
	ck_assert_int_eq(oc_os_environ_has(pid, "EMPTY="), 1);
	ck_assert_int_eq(oc_os_environ_has(pid, "RUN2=abcd"), 1);
	ck_assert_int_eq(oc_os_environ_has(pid, "RUN=ab"), 0);
	ck_assert_int_eq(oc_os_environ_has(pid, "RUN=abcd"), 0);
	ck_assert_int_eq(oc_os_environ_has(pid, "UN=abc"), 0);
	ck_assert_int_eq(oc_os_environ_has(pid, "EMPTY"), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ck_assert_int_eq(oc_os_start_time(pid, &ticks), -ESRCH);
	ck_assert_int_eq(oc_os_environ_has(pid, "A=1"), -ESRCH);
}
END_TEST

static int find_self(pid_t pid, void *userdata)
{
	++*(int *)userdata;
	return pid == getpid() ? 42 : 0;
}

static int count_one(pid_t pid, void *userdata)
{
	*(int *)userdata += pid == getpid();
	return 0;
}

START_TEST(test_each_process)
{
	int n = 0;

	ck_assert_int_eq(oc_os_each_process(find_self, &n), 42);
	ck_assert_int_gt(n, 0);
	n = 0;
	ck_assert_int_eq(oc_os_each_process(count_one, &n), 0);
	ck_assert_int_eq(n, 1);
}
END_TEST

START_TEST(test_pidfd)
{
	int fd, status;
	pid_t pid;

	if (!suite_has_pidfd("signals by pidfd"))
		return;
	pid = child_named("x");
	fd = oc_os_pidfd_open(pid);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert_int_eq(oc_os_pidfd_signal(fd, 0), 0);
	ck_assert_int_eq(oc_os_pidfd_signal(fd, SIGUSR1), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WTERMSIG(status), SIGUSR1);
	ck_assert_int_eq(oc_os_pidfd_signal(fd, 0), -ESRCH);
	oc_close(fd);
	ck_assert_int_eq(oc_os_pidfd_open(pid), -ESRCH);
}
END_TEST

START_TEST(test_close_from)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int a = open("/dev/null", O_RDONLY | O_CLOEXEC), b = fcntl(a, F_DUPFD_CLOEXEC, 200);

		_exit(oc_os_close_from(a + 1) == 0 && fcntl(a, F_GETFD) >= 0 && fcntl(b, F_GETFD) < 0 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(test_peer)
{
	int pair[2];
	uid_t uid = 12345;
	pid_t pid = 0;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(oc_os_peer_uid(pair[0], &uid, &pid), 0);
	ck_assert_uint_eq(uid, geteuid());
	ck_assert_int_eq(pid, getpid());
	oc_close(pair[0]);
	oc_close(pair[1]);
	ck_assert_int_lt(oc_os_peer_uid(open("/dev/null", O_RDONLY | O_CLOEXEC), &uid, &pid), 0);
}
END_TEST

START_TEST(test_identify)
{
	char *dir = suite_mkdir(), *path = oc_path_join(dir, "l");
	struct oc_os_id id, other;
	struct stat st;
	int fd = oc_open_dir(dir);

	ck_assert_int_eq(symlink("/", path), 0);
	ck_assert_int_eq(oc_os_identify(AT_FDCWD, path, &id), 0);
	ck_assert(S_ISLNK(id.mode));
	ck_assert_int_eq(oc_os_identify(fd, "", &id), 0);
	ck_assert_int_eq(oc_os_identify(AT_FDCWD, dir, &other), 0);
	ck_assert_mem_eq(&id.ino, &other.ino, sizeof(id.ino));
	ck_assert_int_eq(stat(dir, &st), 0);
	ck_assert_uint_eq(id.dev, st.st_dev);
	ck_assert_uint_eq(id.ino, st.st_ino);
	ck_assert_uint_eq(id.uid, geteuid());
	ck_assert(!id.mount_root);
	ck_assert_int_eq(oc_os_identify(AT_FDCWD, "/proc", &id), 0);
	ck_assert(id.mount_root);
	ck_assert_int_eq(oc_os_identify(fd, "none", &id), -ENOENT);
	oc_close(fd);
	free(path);
	suite_rmdir(dir);
}
END_TEST

static int bind_type(int type, const char *path, size_t len, bool do_listen)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	ck_assert_uint_le(len, sizeof(addr.sun_path));
	memcpy(addr.sun_path, path, len);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
	                 0);
	if (do_listen)
		ck_assert_int_eq(listen(fd, 1), 0);
	return fd;
}

static int bind_at(const char *path, size_t len, bool do_listen)
{
	return bind_type(SOCK_STREAM, path, len, do_listen);
}

START_TEST(test_listening_sockets)
{
	char *dir = suite_mkdir(), *plain = oc_path_join(dir, "s"), *quiet = oc_path_join(dir, "quiet"),
	     *log = oc_path_join(dir, "log"), *odd;
	struct oc_strv paths;
	char abstract[64];
	int fds[5], before = suite_count_fds();

	/* A name that would be a second line of /proc/net/unix. */
	ck_assert_int_gt(asprintf(&odd, "%s/x\n0: 2 0 10000 1 1 1 /forged", dir), 0);
	*strrchr(odd, '/') = '\0';
	ck_assert_int_eq(mkdir(odd, 0700), 0);
	odd[strlen(odd)] = '/';
	snprintf(abstract, sizeof(abstract), "%c/oc-test-%d", '\0', getpid());
	fds[0] = bind_at(plain, strlen(plain) + 1, true);
	fds[1] = bind_at(quiet, strlen(quiet) + 1, false);
	fds[2] = bind_at(abstract, 1 + strlen(abstract + 1), true);
	fds[3] = bind_at(odd, strlen(odd), true);
	/* Nobody listens at a datagram socket, and everybody may send to it. */
	fds[4] = bind_type(SOCK_DGRAM, log, strlen(log) + 1, false);
	oc_strv_init(&paths, 10000);
	ck_assert_int_eq(oc_os_listening_sockets(&paths), 0);
	ck_assert(oc_strv_has(&paths, plain));
	ck_assert(!oc_strv_has(&paths, quiet));
	ck_assert(oc_strv_has(&paths, log));
	ck_assert(!oc_strv_has(&paths, abstract + 1));
	if (oc_strv_has(&paths, odd))
		ck_assert(!oc_strv_has(&paths, "/forged"));
	else
		fprintf(stderr, "no unix_diag in this kernel: names with line ends are not told apart\n");
	oc_strv_free(&paths);
	oc_strv_init(&paths, 0);
	ck_assert_int_eq(oc_os_listening_sockets(&paths), -EFBIG);
	oc_strv_free(&paths);
	for (int i = 0; i < 5; i++)
		oc_close(fds[i]);
	ck_assert_int_eq(suite_count_fds(), before);
	free(plain);
	free(quiet);
	free(log);
	free(odd);
	suite_rmdir(dir);
}
END_TEST

SUITE_MAIN("os", test_boot_id, test_process_by_any_name, test_environ_has, test_each_process, test_pidfd,
           test_close_from, test_peer, test_identify, test_listening_sockets)
