/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "events.h"
#include "suite.h"

static char *drain(int fd, struct gw_events *e, size_t *len)
{
	char *all = calloc(1, 1 << 22);
	ssize_t n;

	ck_assert_ptr_nonnull(all);
	for (*len = 0;; *len += (size_t)n) {
		n = recv(fd, all + *len, 65536, MSG_DONTWAIT);
		if (n > 0)
			continue;
		if (gw_events_flush(e) == 0 && (n = recv(fd, all + *len, 65536, MSG_DONTWAIT)) <= 0)
			break;
		n = n > 0 ? n : 0;
	}
	return all;
}

/* More than the queue and the socket hold: what comes out is whole lines in order, and the number of the others. */
START_TEST(losses)
{
	struct gw_events *e = calloc(1, sizeof(*e));
	unsigned long long told = 0, lost = 0, last = 0, n;
	int fd[2];
	size_t len;
	char *all;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
	e->fd = fd[0];
	for (n = 1; n <= 100000; n++) {
		gw_event(e, "allow %llu a-name-of-some-length.example.com 443 192.0.2.1", n);
		if (n % 100 == 0)
			(void)gw_events_flush(e);
	}
	ck_assert_int_eq(gw_events_flush(e), 1);
	all = drain(fd[1], e, &len);
	for (char *line = strtok(all, "\n"); line; line = strtok(NULL, "\n")) {
		if (sscanf(line, "lost %llu", &n) == 1) {
			lost += n;
			last += n;
			continue;
		}
		ck_assert_int_eq(sscanf(line, "allow %llu a-name-of-some-length.example.com 443 192.0.2.1", &n), 1);
		ck_assert_uint_eq(n, ++last);
		told++;
	}
	ck_assert_uint_eq(told + lost, 100000);
	ck_assert_uint_gt(told, 1000);
	ck_assert_uint_gt(lost, 1000);
	free(all);
	close(fd[1]);
	gw_event(e, "more");
	ck_assert_int_eq(gw_events_flush(e), -1);
	close(fd[0]);
	free(e);
}
END_TEST

/* One that is too long is cut, and is one line still. */
START_TEST(longest)
{
	struct gw_events *e = calloc(1, sizeof(*e));
	char longer[2000], got[GW_EVENT_MAX + 10];
	int fd[2];
	ssize_t n;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
	e->fd = fd[0];
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	gw_event(e, "%s", longer);
	ck_assert_int_eq(gw_events_flush(e), 0);
	n = recv(fd[1], got, sizeof(got), 0);
	ck_assert_int_eq(n, GW_EVENT_MAX - 1);
	ck_assert_int_eq(got[n - 1], '\n');
	close(fd[0]);
	close(fd[1]);
	free(e);
}
END_TEST

SUITE_MAIN("gateway_events", losses, longest)
