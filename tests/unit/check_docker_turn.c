/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is at an engine: how many at once, in which order, and what becomes of those who die or stop. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/checks.h"
#include "suite.h"
#include "turn.h"

#define MANY 40

struct one {
	int fd;
	struct turn turn;
};

static char *dir, path[600];

static void begin(void)
{
	dir = suite_mkdir();
	(void)snprintf(path, sizeof(path), "%s/lock", dir);
}

static struct one come(int processors)
{
	json_t *info = json_pack("{s:i}", "NCPU", processors);
	struct one o = { .fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) };

	ck_assert_int_ge(o.fd, 0);
	turn_init(&o.turn, o.fd, info);
	json_decref(info);
	return o;
}

static struct one queued(int processors)
{
	struct one o = come(processors);

	ck_assert_int_eq(turn_queue(&o.turn, false), 0);
	return o;
}

static int look(struct one *o)
{
	int ms = 0, rc = turn_look(&o->turn, &ms);

	ck_assert(rc == 1 || (ms > 0 && ms <= 1000));
	return rc;
}

START_TEST(test_how_many)
{
	static const struct {
		int processors, places;
	} cases[] = { { 1, 1 }, { 2, 2 }, { 0, 1 }, { -3, 1 }, { 100000, TURN_PLACES } };
	struct one a, b, c;
	size_t i;

	begin();
	for (i = 0; i < COUNT(cases); i++) {
		a = come(cases[i].processors);
		ck_assert_int_eq(a.turn.places, cases[i].places);
		close(a.fd);
	}
	turn_init(&a.turn, 0, NULL);
	ck_assert_int_eq(a.turn.places, 1);
	a = queued(2);
	b = queued(2);
	c = queued(2);
	ck_assert_int_eq(look(&a), 1);
	ck_assert_int_eq(look(&b), 1);
	ck_assert_int_eq(look(&c), 0);
	turn_leave(&b.turn);
	ck_assert_int_eq(look(&c), 1);
	/* Nobody is taken for another by what flock() is used for. */
	ck_assert_int_eq(lseek(a.fd, 0, SEEK_END), 0);
	close(a.fd);
	close(b.fd);
	close(c.fd);
	suite_rmdir(dir);
}
END_TEST

START_TEST(test_order)
{
	struct one v[MANY];
	int i, k;

	begin();
	for (i = 0; i < MANY; i++)
		v[i] = queued(1);
	ck_assert_int_eq(turn_before(&v[MANY - 1].turn, 1000), MANY - 1);
	ck_assert_int_eq(turn_before(&v[MANY - 1].turn, 7), 7);
	ck_assert_int_eq(turn_before(&v[0].turn, 1000), 0);
	for (i = 0; i < MANY; i++) {
		/* The last one asks first. */
		for (k = MANY - 1; k > i; k--)
			ck_assert_msg(look(&v[k]) == 0, "%d goes before %d", k, i);
		ck_assert_int_eq(look(&v[i]), 1);
		for (k = i + 1; k < MANY; k++)
			ck_assert_int_eq(look(&v[k]), 0);
		turn_leave(&v[i].turn);
	}
	for (i = 0; i < MANY; i++)
		close(v[i].fd);
	suite_rmdir(dir);
}
END_TEST

/* A process that takes its place (or only queues) and sleeps. */
static pid_t other(bool place)
{
	int ready[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct one o = queued(1);

		byte = (char)(place ? look(&o) : 1);
		if (write(ready[1], &byte, 1) == 1)
			(void)pause();
		_exit(1);
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	ck_assert_int_eq(byte, 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

START_TEST(test_killed)
{
	pid_t holder, waiting;
	struct one a;

	begin();
	holder = other(true);
	waiting = other(false);
	a = queued(1);
	ck_assert_int_eq(turn_before(&a.turn, 9), 1);
	ck_assert_int_eq(look(&a), 0);
	end(waiting);
	ck_assert_int_eq(turn_before(&a.turn, 9), 0);
	ck_assert_int_eq(look(&a), 0);
	end(holder);
	ck_assert_int_eq(look(&a), 1);
	close(a.fd);
	suite_rmdir(dir);
}
END_TEST

/* One that is first and doesn't look is stopped, say: the next one waits a while for it, and no longer. */
START_TEST(test_stuck)
{
	struct one first, holder, next;
	int64_t since;

	begin();
	holder = queued(1);
	ck_assert_int_eq(look(&holder), 1);
	first = queued(1);
	next = queued(1);
	ck_assert_int_eq(look(&next), 0);
	turn_leave(&holder.turn);
	since = now_ms();
	while (look(&next) == 0)
		(void)usleep(50000);
	ck_assert_int_ge(now_ms() - since, TURN_STUCK_MS);
	ck_assert_int_eq(look(&first), 0);
	turn_leave(&next.turn);
	ck_assert_int_eq(look(&first), 1);
	close(first.fd);
	close(holder.fd);
	close(next.fd);
	suite_rmdir(dir);
}
END_TEST

/* What ends goes before what begins, in its own order, and waits for neither for long. */
START_TEST(test_hurry)
{
	struct one holder, first, ends, after;
	int64_t since;

	begin();
	holder = queued(1);
	ck_assert_int_eq(look(&holder), 1);
	first = queued(1);
	ends = come(1);
	after = come(1);
	ck_assert_int_eq(turn_queue(&ends.turn, true), 0);
	ck_assert_int_eq(turn_queue(&after.turn, true), 0);
	ck_assert_int_eq(turn_before(&first.turn, 9), 2);
	turn_leave(&holder.turn);
	ck_assert_int_eq(look(&first), 0);
	ck_assert_int_eq(look(&after), 0);
	ck_assert_int_eq(look(&ends), 1);
	turn_leave(&ends.turn);
	turn_leave(&after.turn);
	/* One that waited and is to end goes on as what ends, and one that has a place keeps it. */
	turn_hurry(&first.turn, 1000);
	ck_assert_int_eq(first.turn.place, 0);
	turn_hurry(&first.turn, 1000);
	ck_assert_int_eq(first.turn.place, 0);
	ck_assert_int_eq(first.turn.ticket, 0);
	since = now_ms();
	turn_hurry(&ends.turn, 700);
	ck_assert_int_ge(now_ms() - since, 700);
	ck_assert_int_eq(ends.turn.place, -1);
	ck_assert_int_eq(ends.turn.ticket, 0);
	/* Its end is no other one's. */
	turn_leave(&ends.turn);
	ck_assert_int_eq(turn_queue(&after.turn, false), 0);
	ck_assert_int_eq(look(&after), 0);
	turn_leave(&first.turn);
	ck_assert_int_eq(look(&after), 1);
	close(holder.fd);
	close(first.fd);
	close(ends.fd);
	close(after.fd);
	suite_rmdir(dir);
}
END_TEST

START_TEST(test_broken)
{
	struct one a = { 0 };
	int ms;

	turn_init(&a.turn, -1, NULL);
	ck_assert_int_lt(turn_queue(&a.turn, false), 0);
	ck_assert_int_lt(turn_look(&a.turn, &ms), 0);
	turn_hurry(&a.turn, 1000);
	ck_assert_int_eq(a.turn.place, -1);
	turn_leave(&a.turn);
}
END_TEST

SUITE_MAIN("docker_turn", test_how_many, test_order, test_killed, test_stuck, test_hurry, test_broken)
