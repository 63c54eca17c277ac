/* SPDX-License-Identifier: Apache-2.0 */
/* What the guest takes from an agent, each shown taken inside and there outside. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_agent.h"
#include "guest_driver.h"
#include "suite.h"

#define CONFINED (OC_GUEST_CONFINED | OC_GUEST_LANDLOCK)

START_TEST(test_no_landlock)
{
	struct world w;
	struct drive d;

	world_init(&w);
	drive_start(&d, &w, DRIVE_NO_LANDLOCK);
	drive_orders(&d, CONFINED, AGENT(&w, "exit", "0"));
	drive_send(&d, OC_FRAME_PREPARE, NULL, 0);
	ck_assert_int_eq(drive_until(&d, OC_FRAME_READY, OC_FRAME_FAILED), OC_FRAME_FAILED);
	ck_assert_uint_eq(d.failed_errno, ENOSYS);
	ck_assert_str_eq(d.failed, "landlock");
	drive_end(&d);
	/* Not asked for, not needed, and said so. */
	drive_start(&d, &w, DRIVE_NO_LANDLOCK);
	drive_orders(&d, OC_GUEST_CONFINED, AGENT(&w, "exit", "0"));
	drive_run(&d);
	ck_assert(drive_fact(&d, "landlock=off\n"));
	ck_assert(drive_fact(&d, "seccomp_filters=2\n"));
	drive_end(&d);
	world_free(&w);
}
END_TEST

/* The attempt with nothing in its way: the ordinary user, whose parent can be traced. */
static unsigned bare(struct world *w, const char *name, const char *arg)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		pid_t inner;

		world_drop(w);
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		if (chdir(w->ws))
			_exit(241);
		inner = fork();
		if (!inner)
			_exit(guest_agent(4,
			                  (char *[]){ (char *)"", (char *)"agent", (char *)name, (char *)arg, NULL }));
		while (waitpid(inner, &status, 0) < 0 && errno == EINTR)
			;
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 242);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 1000;
}

struct attempt {
	const char *name;
	uint32_t options; /* beyond CONFINED */
	unsigned inside, outside;
};

static const struct attempt attempts[] = {
	{ "unshare_user", 0, EPERM, 0 },
	{ "clone_user", 0, EPERM, 0 },
	{ "clone3", 0, ENOSYS, EINVAL },
	{ "setns", 0, EPERM, EBADF },
	{ "mount", 0, EPERM, 0 },
	{ "fsopen", 0, EPERM, 0 },
	{ "chroot", 0, EPERM, 0 },
	{ "unix", 0, EPERM, 0 },
	{ "unix", OC_GUEST_UNIX, 0, 0 },
	{ "packet", 0, EAFNOSUPPORT, 0 },
	{ "audit", 0, EPERM, 0 },
	{ "route", 0, 0, 0 },
	{ "inet", 0, 0, 0 },
	{ "pair", 0, 0, 0 },
	{ "dgram_pair", 0, EPERM, 0 },
	{ "dgram_pair", OC_GUEST_UNIX, 0, 0 },
	{ "io_uring", 0, ENOSYS, EFAULT },
	{ "keyctl", 0, EPERM, 0 },
	{ "add_key", 0, EPERM, 0 },
	{ "tiocsti", 0, EPERM, 0 },
	{ "tiocsti_high", 0, EPERM, 0 },
	{ "setuid", 0, EPERM, 0 },
	{ "setgid", 0, EPERM, 0 },
	{ "make_setuid", 0, EPERM, 0 },
	{ "chmod", 0, 0, 0 },
	{ "openat2", 0, ENOSYS, 0 },
	{ "shm", OC_GUEST_DENY_IPC, EPERM, 0 },
	{ "shm", 0, 0, 0 },
	{ "mq", OC_GUEST_DENY_IPC, EPERM, 0 },
	{ "trace_child", 0, 0, 0 },
	{ "trace_child", OC_GUEST_DENY_TRACE, EPERM, 0 },
	{ "trace_parent", 0, EPERM, 0 },
	{ "mem_parent", 0, EACCES, 0 },
	{ "fds_parent", 0, EACCES, 0 },
	{ "environ_parent", 0, EACCES, 0 },
	{ "getfd_parent", 0, EPERM, 0 },
	{ "readv_parent", 0, EPERM, 0 },
	{ "limit_parent", 0, EPERM, 0 },
	{ "signal_parent", 0, EPERM, 0 },
};

START_TEST(test_hardening)
{
	struct world w;
	unsigned got;

	world_init(&w);
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		const struct attempt *a = &attempts[i];

		got = drive_agent(&w, CONFINED | a->options, AGENT(&w, a->name));
		ck_assert_msg(got == a->inside, "%s inside: %u, not %u", a->name, got, a->inside);
		got = bare(&w, a->name, "");
		/* Where the kernel itself refuses, the attempt proves nothing: said, not hidden. */
		if (got != a->outside)
			fprintf(stderr, "# no control for %s: outside it gives %u here\n", a->name, got);
		else
			ck_assert_msg(a->inside == a->outside || got != a->inside, "%s has no control", a->name);
	}
	world_free(&w);
}
END_TEST

static int listen_at(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t skip = *path == '@';

	memcpy(a.sun_path + skip, path + skip, strlen(path) - skip);
	ck_assert_int_eq(
	        bind(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	return fd;
}

static void make_file(const struct world *w, const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "text", 4), 4);
	if (!geteuid())
		ck_assert_int_eq(fchown(fd, w->uid, w->uid), 0);
	close(fd);
}

/* Landlock: writes beneath the workspace and nowhere else; the outside is the same user's. */
START_TEST(test_files)
{
	struct world w;
	char beside[4200], fresh[4200], fifo[4200], inside[4200], name[64];
	int fd, reader;

	world_init(&w);
	snprintf(beside, sizeof(beside), "%s/file", w.beside);
	snprintf(fresh, sizeof(fresh), "%s/new", w.beside);
	snprintf(fifo, sizeof(fifo), "%s/fifo", w.beside);
	snprintf(inside, sizeof(inside), "%s/there", w.ws);
	make_file(&w, beside, 0644);
	make_file(&w, inside, 0644);
	ck_assert_int_eq(mkfifo(fifo, 0666), 0);
	if (!geteuid())
		ck_assert_int_eq(chown(fifo, w.uid, w.uid), 0);
	reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_ge(reader, 0);
	const struct {
		const char *what, *arg;
		unsigned inside, outside;
	} cases[] = {
		{ "read", beside, 0, 0 },     { "write", inside, 0, 0 },         { "write", beside, EACCES, 0 },
		{ "make", fresh, EACCES, 0 }, { "write", fifo, EACCES, 0 },      { "write", "/dev/null", 0, 0 },
		{ "link", beside, EXDEV, 0 }, { "truncate", beside, EACCES, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_msg(drive_agent(&w, CONFINED, AGENT(&w, cases[i].what, cases[i].arg)) == cases[i].inside,
		              "%s %s inside", cases[i].what, cases[i].arg);
		ck_assert_msg(bare(&w, cases[i].what, cases[i].arg) == cases[i].outside, "%s %s outside", cases[i].what,
		              cases[i].arg);
	}
	close(reader);
	snprintf(name, sizeof(name), "@oc-test-%d", (int)getpid());
	fd = listen_at(name);
	ck_assert_uint_eq(drive_agent(&w, CONFINED | OC_GUEST_UNIX, AGENT(&w, "connect", name)), EPERM);
	ck_assert_uint_eq(bare(&w, "connect", name), 0);
	close(fd);
	world_free(&w);
}
END_TEST

START_TEST(test_attack)
{
	struct world w;

	world_init(&w);
	ck_assert_uint_eq(drive_agent(&w, CONFINED, AGENT(&w, "attack")), 37);
	world_free(&w);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = { test_no_landlock, test_hardening, test_files, test_attack };

	if (argc > 1 && !strcmp(argv[1], "agent"))
		return guest_agent(argc, argv);
	return suite_run("guest_hardening", tests, sizeof(tests) / sizeof(tests[0]));
}
