/* SPDX-License-Identifier: Apache-2.0 */
/* Each attempt returns 0 when it succeeded, else its errno; that is the agent's exit status. */
#include "guest_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int outcome(long result)
{
	return result < 0 ? errno : 0;
}

static int try_socket(int family, int type, int protocol)
{
	return outcome(socket(family, type, protocol));
}

static int own_namespaces(int more)
{
	return unshare(CLONE_NEWUSER | more); /* for the control: gives the capabilities that the attempt needs */
}

static int clone_user(void)
{
	long pid = syscall(__NR_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		_exit(0);
	return outcome(pid);
}

static int terminal(unsigned long request)
{
	int pt = posix_openpt(O_RDWR | O_NOCTTY), tty;
	char name[64], c = 'x';

	if (pt < 0 || grantpt(pt) || unlockpt(pt) || ptsname_r(pt, name, sizeof(name)))
		return 240;
	setsid();
	tty = open(name, O_RDWR);
	if (tty < 0 || (ioctl(tty, TIOCSCTTY, 0) < 0 && errno != EPERM))
		return 241;
	return outcome(syscall(__NR_ioctl, tty, request, &c));
}

static int set_id(mode_t mode)
{
	int fd = open("file", O_RDWR | O_CREAT, 0644);

	return fd < 0 ? 240 : outcome(fchmod(fd, mode));
}

static int make_set_id(void)
{
	unlink("made");
	return outcome(open("made", O_RDWR | O_CREAT | O_EXCL, 04755));
}

static int openat2_file(void)
{
	struct {
		uint64_t flags, mode, resolve;
	} how = { O_RDONLY, 0, 0 };

	return outcome(syscall(437, AT_FDCWD, "/", &how, sizeof(how)));
}

static int shared_memory(void)
{
	int id = shmget(IPC_PRIVATE, 4096, 0600);

	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	return outcome(id);
}

static int message_queue(void)
{
	mqd_t q = mq_open("/oc-test", O_CREAT | O_RDWR, 0600, NULL);
	int result = outcome(q);

	if (q >= 0)
		mq_unlink("/oc-test");
	return result;
}

static int trace_child(void)
{
	pid_t pid = fork();
	int result;

	if (!pid)
		pause();
	result = outcome(ptrace(PTRACE_SEIZE, pid, 0, 0));
	kill(pid, SIGKILL);
	return result;
}

static int open_of_parent(const char *what, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)getppid(), what);
	return outcome(open(path, flags));
}

static int fd_of_parent(void)
{
	int pidfd = (int)syscall(434, getppid(), 0);

	for (int fd = 0; pidfd >= 0 && fd < 16; fd++)
		if (syscall(438, pidfd, fd, 0) >= 0)
			return 0;
	return pidfd < 0 ? 240 : errno;
}

static int memory_of_parent(void)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { (void *)0x400000, 1 };

	process_vm_readv(getppid(), &here, 1, &there, 1, 0);
	return errno == EFAULT ? 0 : errno;
}

static int limit_parent(void)
{
	struct rlimit limit = { 1, 1 };

	return outcome(syscall(__NR_prlimit64, getppid(), RLIMIT_CORE, &limit, NULL));
}

static int connect_to(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0)
		return errno;
	/* "@name" is abstract. */
	memcpy(a.sun_path + (*path == '@'), path + (*path == '@'), strlen(path) - (*path == '@'));
	return outcome(
	        connect(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))));
}

/* An end of a datagram pair, pointed at someone else's socket. */
static int reconnect_pair(void)
{
	int pair[2];

	return outcome(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
}

enum { UNKNOWN = 250 };

static int attempt_spaces(const char *name)
{
	if (!strcmp(name, "unshare_user"))
		return outcome(unshare(CLONE_NEWUSER));
	if (!strcmp(name, "clone_user"))
		return clone_user();
	if (!strcmp(name, "clone3"))
		return outcome(syscall(__NR_clone3, NULL, 0));
	if (!strcmp(name, "setns"))
		return outcome(setns(-1, 0));
	if (!strcmp(name, "mount"))
		return own_namespaces(CLONE_NEWNS), outcome(mount("none", "/tmp", "tmpfs", 0, NULL));
	if (!strcmp(name, "fsopen"))
		return own_namespaces(CLONE_NEWNS), outcome(syscall(430, "tmpfs", 0));
	if (!strcmp(name, "chroot"))
		return own_namespaces(0), outcome(chroot("/"));
	if (!strcmp(name, "unix"))
		return try_socket(AF_UNIX, SOCK_STREAM, 0);
	if (!strcmp(name, "vsock"))
		return try_socket(40, SOCK_STREAM, 0);
	if (!strcmp(name, "packet"))
		return own_namespaces(CLONE_NEWNET), try_socket(17, SOCK_RAW, 0);
	if (!strcmp(name, "audit"))
		return try_socket(AF_NETLINK, SOCK_RAW, 9);
	if (!strcmp(name, "route"))
		return try_socket(AF_NETLINK, SOCK_RAW, 0);
	if (!strcmp(name, "inet"))
		return try_socket(AF_INET, SOCK_STREAM, 0);
	if (!strcmp(name, "pair")) {
		int pair[2];

		return outcome(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	}
	if (!strcmp(name, "dgram_pair"))
		return reconnect_pair();
	return UNKNOWN;
}

static int attempt_calls(const char *name)
{
	if (!strcmp(name, "io_uring"))
		return outcome(syscall(425, 1, NULL));
	if (!strcmp(name, "keyctl"))
		return outcome(syscall(__NR_keyctl, 0 /* GET_KEYRING_ID */, -3, 0));
	if (!strcmp(name, "add_key"))
		return outcome(syscall(__NR_add_key, "user", "oc-test", "x", 1, -2 /* process keyring */));
	if (!strcmp(name, "tiocsti"))
		return terminal(0x5412);
	if (!strcmp(name, "tiocsti_high"))
		return terminal(0x100005412ul);
	if (!strcmp(name, "shm"))
		return shared_memory();
	if (!strcmp(name, "mq"))
		return message_queue();
	return UNKNOWN;
}

static int attempt_parent(const char *name)
{
	if (!strcmp(name, "trace_child"))
		return trace_child();
	if (!strcmp(name, "trace_parent"))
		return outcome(ptrace(PTRACE_SEIZE, getppid(), 0, 0));
	if (!strcmp(name, "mem_parent"))
		return open_of_parent("mem", O_RDWR);
	if (!strcmp(name, "fds_parent"))
		return open_of_parent("fd", O_RDONLY | O_DIRECTORY);
	if (!strcmp(name, "environ_parent"))
		return open_of_parent("environ", O_RDONLY);
	if (!strcmp(name, "getfd_parent"))
		return fd_of_parent();
	if (!strcmp(name, "readv_parent"))
		return memory_of_parent();
	if (!strcmp(name, "limit_parent"))
		return limit_parent();
	if (!strcmp(name, "signal_parent"))
		return outcome(kill(getppid(), 0));
	return UNKNOWN;
}

static int attempt_files(const char *name, const char *arg)
{
	if (!strcmp(name, "setuid"))
		return set_id(04755);
	if (!strcmp(name, "setgid"))
		return set_id(02755);
	if (!strcmp(name, "make_setuid"))
		return make_set_id();
	if (!strcmp(name, "chmod"))
		return set_id(0755);
	if (!strcmp(name, "openat2"))
		return openat2_file();
	if (!strcmp(name, "connect"))
		return connect_to(arg);
	if (!strcmp(name, "write"))
		return outcome(open(arg, O_WRONLY | O_NONBLOCK));
	if (!strcmp(name, "make"))
		return outcome(open(arg, O_WRONLY | O_CREAT | O_EXCL, 0600));
	if (!strcmp(name, "truncate"))
		return outcome(truncate(arg, 0));
	if (!strcmp(name, "link"))
		return outcome(link(arg, "linked"));
	if (!strcmp(name, "read"))
		return outcome(open(arg, O_RDONLY));
	return UNKNOWN;
}

static int attempt(const char *name, const char *arg)
{
	int result = attempt_spaces(name);

	if (result == UNKNOWN)
		result = attempt_calls(name);
	if (result == UNKNOWN)
		result = attempt_parent(name);
	return result == UNKNOWN ? attempt_files(name, arg) : result;
}

/* A child that ignores SIGTERM, one in a session of its own, and a daemon of two forks; all hold stdout open. */
static void leave_children(void)
{
	signal(SIGTERM, SIG_IGN);
	for (int i = 0; i < 3; i++) {
		if (fork())
			continue;
		if (i >= 1)
			setsid();
		if (i == 2 && fork())
			_exit(0);
		for (;;)
			pause();
	}
}

/* A process that is always another one. */
static void chain_of_forks(void)
{
	if (fork())
		return;
	setsid();
	for (;;)
		if (fork())
			_exit(0);
}

static volatile sig_atomic_t asked;

static void on_term(int sig)
{
	(void)sig;
	asked = 1;
}

static int show(int argc, char **argv)
{
	extern char **environ;
	char cwd[4096];

	for (int i = 3; i < argc; i++)
		if (write(1, argv[i], strlen(argv[i]) + 1) < 0)
			return 1;
	printf("cwd=%s", getcwd(cwd, sizeof(cwd)));
	putchar(0);
	for (char **e = environ; *e; e++)
		printf("%s%c", *e, 0);
	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("fd=%d%c", fd, 0);
	return 0;
}

int guest_agent(int argc, char **argv)
{
	const char *name = argc > 2 ? argv[2] : "", *arg = argc > 3 ? argv[3] : "";

	if (!strcmp(name, "exit"))
		return atoi(arg);
	if (!strcmp(name, "die")) {
		signal(atoi(arg), SIG_DFL); /* a sanitizer handles some */
		kill(getpid(), atoi(arg));
		return 240;
	}
	if (!strcmp(name, "show"))
		return show(argc, argv);
	if (!strcmp(name, "children") || !strcmp(name, "children_exit")) {
		leave_children();
		(void)!write(1, "x", 1);
		if (!strcmp(name, "children_exit"))
			return 5;
		for (;;)
			pause();
	}
	if (!strcmp(name, "wait"))
		for (;;)
			pause();
	if (!strcmp(name, "chain")) {
		chain_of_forks();
		(void)!write(1, "x", 1);
		return 6;
	}
	if (!strcmp(name, "trap")) {
		signal(SIGTERM, on_term);
		(void)!write(1, "x", 1);
		while (!asked)
			usleep(1000);
		return 9;
	}
	if (!strcmp(name, "attack")) {
		/* Whatever it does to its parent, its exit is told. */
		kill(getppid(), SIGKILL);
		kill(getppid(), SIGSTOP);
		kill(getppid(), SIGTERM);
		ptrace(PTRACE_ATTACH, getppid(), 0, 0);
		return 37;
	}
	return attempt(name, arg);
}
