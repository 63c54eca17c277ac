/* SPDX-License-Identifier: Apache-2.0 */
/* srt's relay: any text as an address (a first byte of 0 or 1), else a schedule of what its two ends do.  What arrives is
 * what was sent, in order, all of it where neither end went away; and once nothing happens the relay is at rest. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "pump.h"

#define STEPS_MAX 4096
#define TEXT_MAX  512

struct end {
	int fd;
	size_t sent, got; /* of its own bytes, and of the other end's */
	bool shut, gone, ended;
};

/* What each end sends, with no short period; once around and a longest message more, so that each is a stretch of it. */
#define PERIOD  ((size_t)251 * 256)
#define MESSAGE ((size_t)16384)

static const unsigned char *bytes_at(size_t which, size_t at)
{
	static unsigned char all[2][PERIOD + MESSAGE];
	static bool made;

	for (size_t i = 0; !made && i < sizeof(all[0]); i++)
		for (size_t k = 0; k < 2; k++)
			all[k][i] = (unsigned char)(i * 7 + i / 251 + k);
	made = true;
	return all[which] + at % PERIOD;
}

static void settle(struct relay *r)
{
	int steps = 0;

	while (relay_step(r, 0) > 0)
		FUZZ_CHECK(++steps < STEPS_MAX);
}

static void send_some(struct end *e, size_t which, size_t len)
{
	ssize_t n = e->shut || e->gone ? 0 : send(e->fd, bytes_at(which, e->sent), len, MSG_NOSIGNAL | MSG_DONTWAIT);

	e->sent += n > 0 ? (size_t)n : 0;
}

static bool take_some(struct end *e, const struct end *from, size_t other, size_t len)
{
	static unsigned char bytes[MESSAGE];
	ssize_t n = e->gone ? -1 : recv(e->fd, bytes, len, MSG_DONTWAIT);

	FUZZ_CHECK(n <= 0 || memcmp(bytes, bytes_at(other, e->got), (size_t)n) == 0);
	e->got += n > 0 ? (size_t)n : 0;
	FUZZ_CHECK(e->got <= from->sent);
	e->ended = e->ended || n == 0;
	return n > 0;
}

static void act(struct end *ends, uint8_t op, uint8_t much)
{
	size_t which = op & 1;
	struct end *e = &ends[which];

	switch (op >> 1 & 7) {
	case 0:
	case 1:
		send_some(e, which, much * 64u + 1);
		break;
	case 2:
	case 3:
		(void)take_some(e, &ends[!which], !which, much * 64u + 1);
		break;
	case 4:
		e->shut = !e->gone;
		if (e->shut)
			(void)shutdown(e->fd, SHUT_WR);
		break;
	case 5:
		if (much == 255 && !e->gone) {
			e->gone = true;
			close(e->fd);
		}
		break;
	default:
		break;
	}
}

static void finish(struct relay *r, struct end *ends)
{
	bool whole = !ends[0].gone && !ends[1].gone, more;

	for (int i = 0; i < 2; i++)
		if (!ends[i].gone)
			(void)shutdown(ends[i].fd, SHUT_WR);
	do {
		settle(r);
		more = take_some(&ends[0], &ends[1], 1, MESSAGE);
		more |= take_some(&ends[1], &ends[0], 0, MESSAGE);
	} while (more);
	FUZZ_CHECK(!whole || (ends[0].got == ends[1].sent && ends[1].got == ends[0].sent));
	FUZZ_CHECK(!whole || (ends[0].ended && ends[1].ended && relay_pairs(r) == 0));
	for (int i = 0; i < 2; i++)
		if (!ends[i].gone)
			close(ends[i].fd);
	settle(r);
	FUZZ_CHECK(relay_pairs(r) == 0);
}

static void play(const uint8_t *data, size_t size)
{
	struct relay *r = relay_new(-1, NULL);
	struct end ends[2] = { 0 };
	int a[2], b[2];

	if (!r || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, a) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, b) < 0)
		abort();
	FUZZ_CHECK(relay_join(r, a[1], b[1]));
	ends[0].fd = a[0];
	ends[1].fd = b[0];
	for (size_t i = 0; i + 1 < size; i += 2) {
		act(ends, data[i], data[i + 1]);
		if (data[i] & 16)
			settle(r);
	}
	finish(r, ends);
	relay_free(r);
}

static void parse(const uint8_t *data, size_t size, bool listens)
{
	struct relay_address a;
	char text[TEXT_MAX + 1];

	size = size < TEXT_MAX ? size : TEXT_MAX;
	memcpy(text, data, size);
	text[size] = 0;
	if (listens ? relay_parse_listen(text, &a) : relay_parse_connect(text, &a))
		return;
	FUZZ_CHECK(a.len && a.len <= sizeof(a.at) && a.backlog >= 0 && a.backlog <= 65535);
	if (a.at.any.sa_family == AF_UNIX)
		FUZZ_CHECK(a.at.local.sun_path[0] == '/' &&
		           memchr(a.at.local.sun_path, 0, sizeof(a.at.local.sun_path)));
	else
		FUZZ_CHECK(a.at.in.sin_port);
	if (!listens && a.at.any.sa_family == AF_INET)
		FUZZ_CHECK(a.at.in.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] < 2)
		parse(data + 1, size - 1, data[0]);
	else
		play(data, size);
	return 0;
}
