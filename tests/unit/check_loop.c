/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "base/fd.h"
#include "base/os.h"
#include "base/time.h"
#include "loop/loop.h"
#include "suite.h"

struct state {
	struct oc_loop *loop;
	struct oc_source *a, *b;
	int pair[2], calls, order;
	unsigned events;
	siginfo_t info;
};

static struct oc_loop *new_loop(void)
{
	struct oc_loop *loop = NULL;

	ck_assert_int_eq(oc_loop_new(&loop, NULL), 0);
	return loop;
}

static void setup(struct state *s)
{
	*s = (struct state){ .loop = new_loop() };
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s->pair), 0);
}

static void teardown(struct state *s)
{
	oc_loop_free(s->loop);
	oc_close(s->pair[0]);
	oc_close(s->pair[1]);
}

static void note(int fd, unsigned events, void *userdata)
{
	struct state *s = userdata;

	(void)fd;
	s->calls++;
	s->events = events;
}

START_TEST(test_io)
{
	struct state s;
	struct pollfd pfd;

	setup(&s);
	ck_assert_int_eq(oc_loop_add_fd(s.loop, s.pair[0], OC_READ, note, &s, &s.a, NULL), 0);
	ck_assert_int_eq(oc_loop_dispatch(s.loop, NULL), 0);
	pfd = (struct pollfd){ .fd = oc_loop_fd(s.loop), .events = POLLIN };
	ck_assert_int_eq(poll(&pfd, 1, 0), 0);
	ck_assert_int_eq(oc_send(s.pair[1], "x", 1), 1);
	ck_assert_int_eq(poll(&pfd, 1, 1000), 1);
	/* Level-triggered: again, until it is read. */
	ck_assert_int_eq(oc_loop_dispatch(s.loop, NULL), 1);
	ck_assert_int_eq(oc_loop_dispatch(s.loop, NULL), 1);
	ck_assert_uint_eq(s.events, OC_READ);
	oc_source_set_events(s.a, OC_WRITE);
	ck_assert_int_eq(oc_loop_dispatch(s.loop, NULL), 1);
	ck_assert_uint_eq(s.events, OC_WRITE);
	oc_source_set_events(s.a, 0);
	ck_assert_int_eq(oc_loop_dispatch(s.loop, NULL), 0);
	s.pair[1] = oc_close(s.pair[1]);
	ck_assert_int_eq(oc_loop_wait(s.loop, 1000, NULL), 1);
	ck_assert_uint_eq(s.events, OC_HANGUP);
	oc_source_free(s.a);
	ck_assert_int_eq(oc_loop_dispatch(s.loop, NULL), 0);
	teardown(&s);
}
END_TEST

START_TEST(test_refuses_what_cannot_be_watched)
{
	struct oc_loop *loop = new_loop();
	struct oc_source *source = (struct oc_source *)&loop;
	oc_error *err = NULL;
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(oc_loop_add_fd(loop, fd, OC_READ, note, NULL, &source, &err), OC_EIO);
	ck_assert_int_ne(oc_error_errno(err), 0);
	ck_assert_ptr_eq(source, (struct oc_source *)&loop);
	oc_error_free(err);
	ck_assert_int_eq(oc_loop_add_fd(loop, -1, OC_READ, note, NULL, &source, NULL), OC_EIO);
	ck_assert_int_eq(oc_loop_add_child(loop, -1, NULL, NULL, &source, NULL), OC_EIO);
	oc_close(fd);
	oc_loop_free(loop);
	oc_loop_free(NULL);
	oc_source_free(NULL);
}
END_TEST

static void free_both(int fd, unsigned events, void *userdata)
{
	struct state *s = userdata;

	note(fd, events, s);
	oc_source_free(s->a);
	oc_source_free(s->b);
	oc_source_free(s->a);
}

START_TEST(test_free_self_and_the_other_in_a_callback)
{
	struct state s;

	setup(&s);
	ck_assert_int_eq(oc_loop_add_fd(s.loop, s.pair[0], OC_WRITE, free_both, &s, &s.a, NULL), 0);
	ck_assert_int_eq(oc_loop_add_fd(s.loop, s.pair[1], OC_WRITE, free_both, &s, &s.b, NULL), 0);
	/* Both are in one batch; whichever comes first, the other is not called any more. */
	ck_assert_int_eq(oc_loop_dispatch(s.loop, NULL), 1);
	ck_assert_int_eq(s.calls, 1);
	ck_assert_int_eq(oc_loop_dispatch(s.loop, NULL), 0);
	teardown(&s);
}
END_TEST

static void free_loop(int fd, unsigned events, void *userdata)
{
	struct state *s = userdata;

	note(fd, events, s);
	oc_loop_free(s->loop);
	oc_source_free(s->a);
}

START_TEST(test_free_loop_in_a_callback)
{
	struct state s;
	int before = suite_count_fds();

	setup(&s);
	ck_assert_int_eq(oc_loop_add_fd(s.loop, s.pair[0], OC_WRITE, free_loop, &s, &s.a, NULL), 0);
	ck_assert_int_eq(oc_loop_add_fd(s.loop, s.pair[1], OC_WRITE, free_loop, &s, &s.b, NULL), 0);
	ck_assert_int_eq(oc_loop_wait(s.loop, 0, NULL), 1);
	s.loop = NULL;
	teardown(&s);
	ck_assert_int_eq(suite_count_fds(), before);
}
END_TEST

static void dispatch_again(int fd, unsigned events, void *userdata)
{
	struct state *s = userdata;
	oc_error *err = NULL;

	note(fd, events, s);
	s->order = oc_loop_dispatch(s->loop, &err);
	oc_error_free(err);
	if (s->order == OC_EINVAL)
		s->order = oc_loop_wait(s->loop, -1, NULL);
}

START_TEST(test_refuses_to_run_inside_itself)
{
	struct state s;

	setup(&s);
	ck_assert_int_eq(oc_loop_add_fd(s.loop, s.pair[0], OC_WRITE, dispatch_again, &s, &s.a, NULL), 0);
	ck_assert_int_eq(oc_loop_dispatch(s.loop, NULL), 1);
	ck_assert_int_eq(s.order, OC_EINVAL);
	teardown(&s);
}
END_TEST

static struct state *timers;

static void tick_a(void *userdata)
{
	(void)userdata;
	timers->calls++;
	timers->order = timers->order * 10 + 1;
}

static void tick_b(void *userdata)
{
	struct state *s = userdata;

	s->calls++;
	s->order = s->order * 10 + 2;
}

START_TEST(test_timers)
{
	struct state s = { .loop = new_loop() };
	int64_t start = oc_mono_ms();

	timers = &s;
	ck_assert_int_eq(oc_loop_add_timer(s.loop, 60, tick_a, &s, &s.a, NULL), 0);
	ck_assert_int_eq(oc_loop_add_timer(s.loop, 20, tick_b, &s, &s.b, NULL), 0);
	ck_assert_int_eq(oc_loop_wait(s.loop, 0, NULL), 0);
	while (s.calls < 2)
		ck_assert_int_ge(oc_loop_wait(s.loop, 5000, NULL), 0);
	ck_assert_int_eq(s.order, 21);
	ck_assert_int_ge(oc_mono_ms() - start, 60);
	/* One shot; set again; then disarmed. */
	ck_assert_int_eq(oc_loop_wait(s.loop, 50, NULL), 0);
	oc_source_set_timer(s.a, 0);
	ck_assert_int_eq(oc_loop_wait(s.loop, 5000, NULL), 1);
	oc_source_set_timer(s.a, 10);
	oc_source_set_timer(s.a, -1);
	oc_source_set_timer(s.b, INT64_MAX);
	ck_assert_int_eq(oc_loop_wait(s.loop, 50, NULL), 0);
	oc_source_set_timer(s.a, 1);
	oc_source_free(s.a);
	ck_assert_int_eq(oc_loop_wait(s.loop, 50, NULL), 0);
	ck_assert_int_eq(s.calls, 3);
	oc_loop_free(s.loop);
}
END_TEST

static void again_at_once(void *userdata)
{
	struct state *s = userdata;

	s->calls++;
	oc_source_set_timer(s->a, 0);
}

START_TEST(test_timer_does_not_spin)
{
	struct state s = { .loop = new_loop() };

	ck_assert_int_eq(oc_loop_add_timer(s.loop, 0, again_at_once, &s, &s.a, NULL), 0);
	ck_assert_int_eq(oc_loop_wait(s.loop, 5000, NULL), 1);
	ck_assert_int_eq(oc_loop_wait(s.loop, 5000, NULL), 1);
	ck_assert_int_eq(s.calls, 2);
	oc_loop_free(s.loop);
}
END_TEST

static void free_timers(void *userdata)
{
	struct state *s = userdata;

	s->calls++;
	oc_source_free(s->a);
	oc_source_free(s->b);
}

START_TEST(test_free_timers_in_a_callback)
{
	struct state s = { .loop = new_loop() };

	ck_assert_int_eq(oc_loop_add_timer(s.loop, 0, free_timers, &s, &s.a, NULL), 0);
	ck_assert_int_eq(oc_loop_add_timer(s.loop, 0, free_timers, &s, &s.b, NULL), 0);
	usleep(1000);
	ck_assert_int_eq(oc_loop_wait(s.loop, 5000, NULL), 1);
	ck_assert_int_eq(oc_loop_wait(s.loop, 10, NULL), 0);
	oc_loop_free(s.loop);
}
END_TEST

static void on_alarm(int sig)
{
	(void)sig;
}

START_TEST(test_a_signal_ends_the_wait)
{
	struct oc_loop *loop = new_loop();
	struct sigaction sa = { .sa_handler = on_alarm };
	int64_t start = oc_mono_ms();

	ck_assert_int_eq(sigaction(SIGALRM, &sa, NULL), 0);
	ualarm(50000, 0);
	ck_assert_int_eq(oc_loop_wait(loop, 20000, NULL), 0);
	ck_assert_int_lt(oc_mono_ms() - start, 10000);
	oc_loop_free(loop);
}
END_TEST

static void ended(const siginfo_t *info, void *userdata)
{
	struct state *s = userdata;

	s->calls++;
	s->info = *info;
	oc_source_free(s->a);
}

static pid_t child_that_exits(int status, int *pidfd)
{
	pid_t pid = fork();

	if (pid == 0) {
		usleep(30000);
		_exit(status);
	}
	*pidfd = oc_os_pidfd_open(pid);
	ck_assert_int_ge(*pidfd, 0);
	return pid;
}

START_TEST(test_child)
{
	struct state s;
	int before, pidfd, other_fd;
	pid_t pid, other;

	if (!suite_has_pidfd("a child that ends"))
		return;
	s = (struct state){ .loop = new_loop() };
	before = suite_count_fds();
	pid = child_that_exits(7, &pidfd);
	other = child_that_exits(3, &other_fd);
	ck_assert_int_eq(oc_loop_add_child(s.loop, pidfd, ended, &s, &s.a, NULL), 0);
	while (!s.calls)
		ck_assert_int_ge(oc_loop_wait(s.loop, 5000, NULL), 0);
	ck_assert_int_eq(s.info.si_pid, pid);
	ck_assert_int_eq(s.info.si_code, CLD_EXITED);
	ck_assert_int_eq(s.info.si_status, 7);
	/* Another's child is another's to reap. */
	ck_assert_int_eq(waitpid(other, NULL, 0), other);
	oc_close(other_fd);
	ck_assert_int_eq(suite_count_fds(), before);
	oc_loop_free(s.loop);
}
END_TEST

START_TEST(test_child_with_sigchld_ignored)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	struct state s;
	int pidfd;

	if (!suite_has_pidfd("a child that ends"))
		return;
	s = (struct state){ .loop = new_loop() };
	ck_assert_int_eq(sigaction(SIGCHLD, &ignore, &before), 0);
	child_that_exits(7, &pidfd);
	ck_assert_int_eq(oc_loop_add_child(s.loop, pidfd, ended, &s, &s.a, NULL), 0);
	while (!s.calls)
		ck_assert_int_ge(oc_loop_wait(s.loop, 5000, NULL), 0);
	ck_assert_int_eq(s.info.si_pid, 0);
	ck_assert_int_eq(oc_loop_wait(s.loop, 20, NULL), 0);
	oc_loop_free(s.loop);
	ck_assert_int_eq(sigaction(SIGCHLD, &before, NULL), 0);
}
END_TEST

START_TEST(test_frees_all_descriptors)
{
	int before = suite_count_fds(), pidfd;
	struct state s;

	if (!suite_has_pidfd("a child"))
		return;
	setup(&s);
	child_that_exits(0, &pidfd);
	ck_assert_int_eq(oc_loop_add_fd(s.loop, s.pair[0], OC_READ, note, &s, &s.a, NULL), 0);
	ck_assert_int_eq(oc_loop_add_timer(s.loop, 5, tick_b, &s, &s.b, NULL), 0);
	ck_assert_int_eq(oc_loop_add_child(s.loop, pidfd, ended, &s, &s.a, NULL), 0);
	teardown(&s);
	ck_assert_int_eq(suite_count_fds(), before);
	wait(NULL);
}
END_TEST

static int make_one(void *userdata)
{
	struct oc_loop *loop = NULL;
	struct oc_source *source;
	oc_error *err = NULL;
	int rc = oc_loop_new(&loop, &err);

	if (rc == 0)
		rc = oc_loop_add_fd(loop, *(int *)userdata, OC_READ, note, NULL, &source, &err);
	if (rc == 0)
		rc = oc_loop_add_timer(loop, 1, tick_a, NULL, &source, &err);
	oc_loop_free(loop);
	oc_error_free(err);
	return rc;
}

START_TEST(test_no_memory)
{
	struct state s;
	int before = suite_count_fds();

	setup(&s);
	ck_assert_int_eq(alloc_fail_each(make_one, &s.pair[0], 0), 3);
	teardown(&s);
	ck_assert_int_eq(suite_count_fds(), before);
}
END_TEST

SUITE_MAIN("loop", test_io, test_refuses_what_cannot_be_watched, test_free_self_and_the_other_in_a_callback,
           test_free_loop_in_a_callback, test_refuses_to_run_inside_itself, test_timers, test_timer_does_not_spin,
           test_free_timers_in_a_callback, test_a_signal_ends_the_wait, test_child, test_child_with_sigchld_ignored,
           test_frees_all_descriptors, test_no_memory)
