/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of probe, each shown passing and failing; and the guest's own namespaces. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/probe.h"
#include "guest_agent.h"
#include "guest_driver.h"
#include "suite.h"

#define CONFINED (OC_GUEST_CONFINED | OC_GUEST_LANDLOCK)

static char *under(const char *dir, const char *name)
{
	char *path = NULL;

	ck_assert_int_gt(asprintf(&path, "%s/%s", dir, name), 0);
	return path;
}

static void make(const struct world *w, const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	if (!geteuid())
		ck_assert_int_eq(fchown(fd, w->uid, w->uid), 0);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

START_TEST(test_files)
{
	struct world w;
	struct drive d;
	char *secret, *file, *inside, *hidden, *deep, dev[32], ino[32];
	struct stat st;

	world_init(&w);
	secret = under(w.beside, "secret");
	file = under(w.beside, "file");
	inside = under(w.ws, "inside");
	hidden = under(w.dir, "hidden");
	deep = under(w.beside, "file/deeper");
	make(&w, secret, 0);
	make(&w, file, 0644);
	make(&w, inside, 0644);
	ck_assert_int_eq(mkdir(hidden, 0), 0);

	PASSES(CONFINED, OC_PROBE_UNREADABLE, secret);
	SAID("EACCES");
	PASSES(CONFINED, OC_PROBE_UNREADABLE, hidden);
	PASSES(CONFINED, OC_PROBE_UNREADABLE, "/nonexistent");
	PASSES(CONFINED, OC_PROBE_UNREADABLE, "/dev/null");
	FAILS(CONFINED, OC_PROBE_UNREADABLE, file);
	FAILS(CONFINED, OC_PROBE_UNREADABLE, w.beside);
	SAID("lists '");

	PASSES(CONFINED, OC_PROBE_READABLE, file);
	PASSES(CONFINED, OC_PROBE_READABLE, w.ws);
	FAILS(CONFINED, OC_PROBE_READABLE, secret);
	FAILS(CONFINED, OC_PROBE_READABLE, "/nonexistent");

	PASSES(CONFINED, OC_PROBE_UNWRITABLE, file);
	PASSES(CONFINED, OC_PROBE_UNWRITABLE, w.beside);
	PASSES(CONFINED, OC_PROBE_UNWRITABLE, deep);
	FAILS(0, OC_PROBE_UNWRITABLE, file);
	FAILS(0, OC_PROBE_UNWRITABLE, w.beside);
	FAILS(CONFINED, OC_PROBE_UNWRITABLE, inside);
	FAILS(CONFINED, OC_PROBE_UNWRITABLE, w.ws);
	free(deep);
	deep = under(w.ws, "no/such");
	FAILS(CONFINED, OC_PROBE_UNWRITABLE, deep);

	PASSES(CONFINED, OC_PROBE_WRITABLE, inside);
	PASSES(CONFINED, OC_PROBE_WRITABLE, w.ws);
	FAILS(CONFINED, OC_PROBE_WRITABLE, file);
	FAILS(CONFINED, OC_PROBE_WRITABLE, w.beside);
	FAILS(CONFINED, OC_PROBE_WRITABLE, "/nonexistent");

	PASSES(CONFINED, OC_PROBE_MOUNT_ROOT, "/proc");
	FAILS(CONFINED, OC_PROBE_MOUNT_ROOT, w.ws);
	FAILS(CONFINED, OC_PROBE_MOUNT_ROOT, "/nonexistent");

	ck_assert_int_eq(stat(w.ws, &st), 0);
	snprintf(dev, sizeof(dev), "%llu", (unsigned long long)st.st_dev);
	snprintf(ino, sizeof(ino), "%llu", (unsigned long long)st.st_ino);
	PASSES(CONFINED, OC_PROBE_SAME, w.ws, dev, ino);
	FAILS(CONFINED, OC_PROBE_SAME, w.beside, dev, ino);
	FAILS(CONFINED, OC_PROBE_SAME, w.ws, dev, "x");

	/* Nothing was left behind by any of them. */
	ck_assert_int_eq(unlink(inside), 0);
	ck_assert_int_eq(rmdir(w.ws), 0);
	ck_assert_int_eq(chmod(hidden, 0700), 0);
	free(secret);
	free(file);
	free(inside);
	free(hidden);
	free(deep);
	world_free(&w);
}
END_TEST

/* What other probes call visible may be listed in a directory that is otherwise empty. */
START_TEST(test_listed)
{
	struct world w;
	struct drive d;
	char *a, *b, *below;

	world_init(&w);
	a = under(w.beside, "a");
	b = under(w.beside, "b");
	below = under(w.beside, "a/x");
	ck_assert_int_eq(mkdir(a, 0755), 0);
	make(&w, below, 0644);
	for (int both = 0; both < 2; both++) {
		drive_start(&d, &w, 0);
		drive_orders(&d, CONFINED, (const char *[]){ "/bin/true", NULL });
		drive_probe(&d, OC_PROBE_UNREADABLE, "P6", (const char *[]){ w.beside, NULL });
		drive_probe(&d, OC_PROBE_READABLE, "P7", (const char *[]){ below, NULL });
		if (both)
			make(&w, b, 0644);
		drive_send(&d, OC_FRAME_PREPARE, NULL, 0);
		ck_assert_int_eq(drive_until(&d, OC_FRAME_READY, 0), OC_FRAME_READY);
		ck_assert_uint_eq(d.failures, both);
		drive_end(&d);
	}
	free(a);
	free(b);
	free(below);
	world_free(&w);
}
END_TEST

START_TEST(test_fifo)
{
	struct world w;
	struct drive d;
	char *fifo;
	int reader;

	world_init(&w);
	fifo = under(w.beside, "fifo");
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	if (!geteuid())
		ck_assert_int_eq(chown(fifo, w.uid, w.uid), 0);
	PASSES(CONFINED, OC_PROBE_NO_WRITE_FIFO, fifo);
	FAILS(0, OC_PROBE_NO_WRITE_FIFO, fifo); /* nobody reads: the right is there all the same */
	reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	FAILS(0, OC_PROBE_NO_WRITE_FIFO, fifo);
	PASSES(CONFINED, OC_PROBE_NO_WRITE_FIFO, fifo);
	close(reader);
	free(fifo);
	world_free(&w);
}
END_TEST

static int listen_unix(const struct world *w, const char *path, int type)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	if (type != SOCK_DGRAM)
		ck_assert_int_eq(listen(fd, 8), 0);
	if (!geteuid())
		ck_assert_int_eq(chown(path, w->uid, w->uid), 0);
	return fd;
}

START_TEST(test_sockets)
{
	static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM };
	const uint32_t all = CONFINED | OC_GUEST_UNIX;
	struct world w;
	struct drive d;
	char *path, *long_path, *dir;

	world_init(&w);
	path = under(w.dir, "s");
	for (int i = 0; i < 3; i++) {
		int fd = listen_unix(&w, path, types[i]);

		PASSES(CONFINED, OC_PROBE_NO_SOCKET, path);
		FAILS(all, OC_PROBE_NO_SOCKET, path);
		PASSES(all, OC_PROBE_SOCKET, path);
		FAILS(CONFINED, OC_PROBE_SOCKET, path);
		close(fd);
		PASSES(all, OC_PROBE_NO_SOCKET, path);
		SAID("ECONNREFUSED");
		FAILS(all, OC_PROBE_SOCKET, path);
		unlink(path);
	}
	PASSES(all, OC_PROBE_NO_SOCKET, path);
	SAID("ENOENT");

	/* Longer than an address holds: bound under a short name, then moved. */
	dir = under(w.dir,
	            "a-directory-of-a-name-that-is-much-longer-than-the-hundred-and-eight-bytes-which-an-address-has");
	ck_assert_int_eq(mkdir(dir, 0755), 0);
	long_path = under(dir, "socket");
	close(listen_unix(&w, path, SOCK_STREAM));
	unlink(path);
	int fd = listen_unix(&w, path, SOCK_STREAM);
	ck_assert_int_eq(rename(path, long_path), 0);
	FAILS(all, OC_PROBE_NO_SOCKET, long_path);
	PASSES(all, OC_PROBE_SOCKET, long_path);
	close(fd);
	PASSES(all, OC_PROBE_NO_SOCKET, long_path);
	free(path);
	free(dir);
	free(long_path);
	world_free(&w);
}
END_TEST

static int listen_tcp(int type, char port[8])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, len), 0);
	if (type == SOCK_STREAM)
		ck_assert_int_eq(listen(fd, 8), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	snprintf(port, 8, "%u", ntohs(a.sin_port));
	return fd;
}

START_TEST(test_network)
{
	struct world w;
	struct drive d;
	char port[8];
	int fd;

	world_init(&w);
	fd = listen_tcp(SOCK_STREAM, port);
	FAILS(CONFINED, OC_PROBE_NO_TCP, "127.0.0.1", port);
	SAID("connected to 127.0.0.1");
	close(fd);
	PASSES(CONFINED, OC_PROBE_NO_TCP, "127.0.0.1", port);
	SAID("ECONNREFUSED");
	FAILS(CONFINED, OC_PROBE_NO_TCP, "localhost", "80"); /* not an address */
	FAILS(CONFINED, OC_PROBE_NO_TCP, "127.0.0.1", "65536");
	PASSES(CONFINED, OC_PROBE_NO_ROUTE, "127.0.0.1", "9");
	PASSES(CONFINED, OC_PROBE_NO_ROUTE, "::1", "9");
	FAILS(CONFINED, OC_PROBE_NO_ROUTE, "nonsense", "9");
	FAILS(CONFINED, OC_PROBE_NO_NAME, "localhost"); /* in /etc/hosts */
	world_free(&w);
}
END_TEST

/* In a network namespace of its own there is nothing but loopback, which is where a sandbox is. */
START_TEST(test_no_network)
{
	struct world w;
	struct drive d;
	char routed[] = "192.0.2.1";

	world_init(&w);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr = { inet_addr(routed) } };
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0) {
		FAILS(CONFINED, OC_PROBE_NO_ROUTE, routed, "9");
		SAID("a route from");
	} else {
		fprintf(stderr, "# this machine has no route to %s: the failing direction was not shown\n", routed);
	}
	close(fd);
	if (unshare(CLONE_NEWNET | (geteuid() ? CLONE_NEWUSER : 0)) < 0) {
		fprintf(stderr, "# skipped: no network namespace can be made here (%s)\n", strerror(errno));
		world_free(&w);
		return;
	}
	PASSES(CONFINED, OC_PROBE_NO_ROUTE, routed, "9");
	SAID("ENETUNREACH");
	PASSES(CONFINED, OC_PROBE_NO_ROUTE, "2001:db8::1", "9");
	PASSES(CONFINED, OC_PROBE_NO_TCP, routed, "80");
	PASSES(CONFINED, OC_PROBE_NO_NAME, "a.invalid");
	FAILS(CONFINED, OC_PROBE_NO_NAME, "localhost");
	world_free(&w);
}
END_TEST

/* A proxy that takes one request and answers with a status; the request is left in *request. */
static pid_t proxy(int fd, int status, const char *want)
{
	pid_t pid = fork();

	if (!pid) {
		char request[2048], answer[128];
		int c = accept(fd, NULL, NULL);
		ssize_t n = read(c, request, sizeof(request) - 1);

		if (n <= 0)
			_exit(1);
		request[n] = 0;
		if (strncmp(request, "CONNECT denied.invalid:443 HTTP/1.1\r\n", 37) || !strstr(request, want))
			status = 599;
		snprintf(answer, sizeof(answer), "HTTP/1.1 %d Whatever\r\nContent-Length: 0\r\n\r\n", status);
		(void)!write(c, answer, strlen(answer));
		_exit(0);
	}
	return pid;
}

START_TEST(test_proxy)
{
	static const int statuses[] = { 403, 200, 407, 502 };
	struct world w;
	struct drive d;
	char port[8], url[128];
	const char *args[] = { "HTTP_PROXY", "denied.invalid", "443", NULL };
	const char *env[] = { url, NULL };
	int fd;

	world_init(&w);
	fd = listen_tcp(SOCK_STREAM, port);
	snprintf(url, sizeof(url), "HTTP_PROXY=http://me:p%%40ss@localhost:%s/", port);
	for (int i = 0; i < 4; i++) {
		/* base64 of "me:p@ss" */
		pid_t pid = proxy(fd, statuses[i], "Proxy-Authorization: Basic bWU6cEBzcw==\r\n");

		ck_assert_msg(drive_judge(&w, &d, CONFINED, OC_PROBE_PROXY, args, env) == (i == 0), "%s",
		              d.last_detail);
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	}
	snprintf(url, sizeof(url), "HTTP_PROXY=http://127.0.0.1:%s", port);
	pid_t pid = proxy(fd, 403, "Host: denied.invalid:443\r\n\r\n");
	ck_assert_msg(drive_judge(&w, &d, CONFINED, OC_PROBE_PROXY, args, env), "%s", d.last_detail);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	close(fd);
	ck_assert(!drive_judge(&w, &d, CONFINED, OC_PROBE_PROXY, args, env));
	SAID("ECONNREFUSED");
	ck_assert(!drive_judge(&w, &d, CONFINED, OC_PROBE_PROXY, args, NULL));
	SAID("not set");
	snprintf(url, sizeof(url), "HTTP_PROXY=nonsense");
	ck_assert(!drive_judge(&w, &d, CONFINED, OC_PROBE_PROXY, args, env));
	world_free(&w);
}
END_TEST

START_TEST(test_process)
{
	struct world w;
	struct drive d;
	char same[64], other[64];
	const char *env[] = { "A=1", "B=", NULL };
	struct stat st;

	world_init(&w);
	ck_assert(drive_judge(&w, &d, CONFINED, OC_PROBE_ENVIRONMENT, (const char *[]){ "A", "B", NULL }, env));
	ck_assert(!drive_judge(&w, &d, CONFINED, OC_PROBE_ENVIRONMENT, (const char *[]){ "A", NULL }, env));
	SAID("B is set");
	ck_assert(!drive_judge(&w, &d, CONFINED, OC_PROBE_ENVIRONMENT, (const char *[]){ "A", "B", "C", NULL }, env));
	SAID("C is not set");
	ck_assert(drive_judge(&w, &d, CONFINED, OC_PROBE_ENVIRONMENT, NULL, NULL));

	ck_assert_int_eq(stat("/proc/self/ns/pid", &st), 0);
	snprintf(same, sizeof(same), "pid=%llu", (unsigned long long)st.st_ino);
	snprintf(other, sizeof(other), "mnt=%llu", (unsigned long long)st.st_ino);
	PASSES(CONFINED, OC_PROBE_NAMESPACES, other);
	FAILS(CONFINED, OC_PROBE_NAMESPACES, other, same);
	SAID("the pid namespace is the guard's own");
	FAILS(CONFINED, OC_PROBE_NAMESPACES, "nonsense=1");

	PASSES(CONFINED, OC_PROBE_PRIVILEGES, "after", "1");
	FAILS(CONFINED, OC_PROBE_PRIVILEGES, "after", "2");  /* there is only ours */
	FAILS(CONFINED, OC_PROBE_PRIVILEGES, "before", "0"); /* the launcher did nothing */
	FAILS(0, OC_PROBE_PRIVILEGES, "after", "1");
	FAILS(CONFINED, OC_PROBE_PRIVILEGES, "later", "1");

	PASSES(CONFINED, OC_PROBE_STDIO, NULL);
	PASSES(CONFINED, OC_PROBE_TRACE, NULL);
	FAILS(CONFINED, 99, "x");
	FAILS(CONFINED, OC_PROBE_UNREADABLE, NULL); /* without its path */
	world_free(&w);
}
END_TEST

/* Without Landlock's domain or a namespace another process of the same user is open. */
START_TEST(test_trace_fails)
{
	struct world w;
	struct drive d;
	pid_t pid;

	world_init(&w);
	pid = fork();
	if (!pid) {
		world_drop(&w);
		execl(w.self, w.self, "agent", "wait", NULL);
		_exit(1);
	}
	usleep(200000);
	if (access("/proc/sys/kernel/yama/ptrace_scope", F_OK) == 0)
		fprintf(stderr, "# Yama is here: the failing direction was not shown\n");
	else
		FAILS(OC_GUEST_CONFINED, OC_PROBE_TRACE, NULL);
	PASSES(CONFINED, OC_PROBE_TRACE, NULL);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	world_free(&w);
}
END_TEST

/* The guest closes what it was left, so the failing direction is shown on the probe itself. */
START_TEST(test_stdio)
{
	struct oc_link link = { .fd = open("/dev/null", O_RDONLY | O_CLOEXEC) };
	struct oc_probe_run run = { .report = &link };
	char detail[OC_DETAIL_MAX] = "";
	int extra, first = link.fd;

	/* Check's own descriptors are in this process. */
	for (int fd = 3; fd < 256; fd++)
		if (fd != link.fd)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	pid_t pid = fork();
	if (!pid) {
		setsid();
		for (int fd = 3; fd < 256; fd++)
			if (fd != link.fd)
				close(fd);
		if (!oc_probe_stdio(&run, NULL, detail))
			_exit(1);
		extra = dup(0);
		if (oc_probe_stdio(&run, NULL, detail) || !strstr(detail, "is open"))
			_exit(2);
		close(extra);
		extra = posix_openpt(O_RDWR | O_NOCTTY);
		if (extra < 0 || grantpt(extra) || unlockpt(extra))
			_exit(3);
		link.fd = extra;                     /* stands for the one that may be open */
		close(open(ptsname(extra), O_RDWR)); /* becomes the controlling terminal */
		close(first);
		if (oc_probe_stdio(&run, NULL, detail) || !strstr(detail, "terminal"))
			_exit(4);
		_exit(0);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* What the provider promises of its own filter is judged before ours is there. */
START_TEST(test_before)
{
	struct world w;
	struct drive d;

	world_init(&w);
	for (int wanted = 1; wanted <= 2; wanted++) {
		drive_start(&d, &w, DRIVE_NO_LANDLOCK); /* that filter stands for the provider's */
		drive_orders(&d, OC_GUEST_CONFINED, (const char *[]){ "/bin/true", NULL });
		drive_probe(&d, OC_PROBE_PRIVILEGES, "P15",
		            (const char *[]){ "before", wanted == 1 ? "1" : "2", NULL });
		drive_probe(&d, OC_PROBE_PRIVILEGES, "P15", (const char *[]){ "after", "2", NULL });
		drive_send(&d, OC_FRAME_PREPARE, NULL, 0);
		ck_assert_int_eq(drive_until(&d, OC_FRAME_READY, 0), OC_FRAME_READY);
		ck_assert_uint_eq(d.failures, wanted - 1);
		drive_end(&d);
	}
	world_free(&w);
}
END_TEST

/* A write that lands in the sandbox's own tmpfs is no write on the host; one in a part of a host's tmpfs is. */
START_TEST(test_own_tmpfs)
{
	struct world w;
	struct drive d;
	char *sub, *file;

	world_init(&w);
	if (geteuid() || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		fprintf(stderr, "# skipped: mounts for this test need root\n");
		world_free(&w);
		return;
	}
	ck_assert_int_eq(mount("tmpfs", w.beside, "tmpfs", 0, "mode=0777"), 0);
	sub = under(w.beside, "sub");
	file = under(w.beside, "file");
	make(&w, file, 0644);
	ck_assert_int_eq(mkdir(sub, 0777), 0);
	ck_assert_int_eq(chown(sub, w.uid, w.uid), 0);
	PASSES(0, OC_PROBE_UNWRITABLE, w.beside);
	SAID("tmpfs of the sandbox's own");
	PASSES(0, OC_PROBE_UNWRITABLE, file);
	ck_assert_int_eq(mount(sub, w.ws, NULL, MS_BIND, NULL), 0);
	FAILS(0, OC_PROBE_UNWRITABLE, w.ws);
	umount(w.ws);
	umount(w.beside);
	free(sub);
	free(file);
	world_free(&w);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = { test_files,       test_listed,     test_fifo,   test_sockets,
		                       test_network,     test_no_network, test_proxy,  test_process,
		                       test_trace_fails, test_stdio,      test_before, test_own_tmpfs };

	if (argc > 1 && !strcmp(argv[1], "agent"))
		return guest_agent(argc, argv);
	return suite_run("guest_probes", tests, sizeof(tests) / sizeof(tests[0]));
}
