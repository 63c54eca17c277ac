/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes 0 to places - 1 of the file are the places.  A waiting one holds the byte that the clock named when it came: who holds a lower
 * one came before, and a look at the whole range is one system call. */
#include "turn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>

#include "common/checks.h"

#define ENDS     ((off_t)1 << 32) /* the first ticket of what ends */
#define BEGINS   ((off_t)1 << 62) /* and of what begins: all that end are before it */
#define SAME     64               /* how many may come in one nanosecond */
#define COUNTED  16
#define PAUSE_MS 25 /* of the first; it grows by as much for each that is before */

static int lock(int fd, short type, off_t from)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &l);
}

/* How many bytes of from…to others hold, counted up to max.  The kernel names one, and not the first: both sides of it are asked. */
static int held(int fd, off_t from, off_t to, int max)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = to - from + 1 };
	int n = 1;

	if (from > to || max <= 0 || fcntl(fd, F_OFD_GETLK, &l) < 0 || l.l_type == F_UNLCK)
		return 0;
	n += held(fd, from, l.l_start - 1, max - n);
	return l.l_len > 0 ? n + held(fd, l.l_start + l.l_len, to, max - n) : n;
}

void turn_init(struct turn *t, int fd, const json_t *info)
{
	json_int_t cpus = json_integer_value(json_object_get(info, "NCPU"));

	*t = (struct turn){ .fd = fd,
		            .place = -1,
		            .places = cpus < 1             ? 1
		                      : cpus > TURN_PLACES ? TURN_PLACES
		                                           : (int)cpus };
}

int turn_queue(struct turn *t, bool ends)
{
	struct timespec now;
	off_t ticket;
	int i;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ticket = (ends ? ENDS : BEGINS) + (off_t)now.tv_sec * 1000000000 + now.tv_nsec;
	for (i = 0; i < SAME; i++) {
		if (lock(t->fd, F_WRLCK, ticket + i) == 0) {
			t->ticket = ticket + i;
			return 0;
		}
		if (errno != EAGAIN && errno != EACCES)
			return -1;
	}
	return -1;
}

int turn_before(const struct turn *t, int max)
{
	return t->ticket ? held(t->fd, ENDS, t->ticket - 1, max) : 0;
}

static bool stuck(struct turn *t)
{
	if (held(t->fd, 0, t->places - 1, t->places) == t->places) {
		t->free_since = 0;
		return false;
	}
	if (!t->free_since)
		t->free_since = now_ms();
	return now_ms() - t->free_since >= TURN_STUCK_MS;
}

static void leave_queue(struct turn *t)
{
	if (t->ticket)
		(void)lock(t->fd, F_UNLCK, t->ticket);
	t->ticket = 0;
	t->free_since = 0;
}

int turn_look(struct turn *t, int *pause_ms)
{
	int before = turn_before(t, COUNTED), i;

	*pause_ms = PAUSE_MS * (1 + before);
	if (before && !stuck(t))
		return 0;
	for (i = 0; i < t->places; i++) {
		if (lock(t->fd, F_WRLCK, i) == 0) {
			t->place = i;
			leave_queue(t);
			return 1;
		}
		if (errno != EAGAIN && errno != EACCES)
			return -1;
	}
	return 0;
}

void turn_hurry(struct turn *t, int at_most_ms)
{
	int64_t end = now_ms() + at_most_ms;
	int ms;

	leave_queue(t);
	if (t->place >= 0 || turn_queue(t, true) < 0)
		return;
	while (turn_look(t, &ms) == 0 && now_ms() < end)
		(void)poll(NULL, 0, ms);
	leave_queue(t);
}

void turn_leave(struct turn *t)
{
	leave_queue(t);
	if (t->place >= 0)
		(void)lock(t->fd, F_UNLCK, t->place);
	t->place = -1;
}
