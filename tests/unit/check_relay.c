/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pump.h"
#include "suite.h"

START_TEST(test_addresses_of_srt)
{
	struct relay_address a;

	ck_assert_ptr_null(relay_parse_listen("UNIX-LISTEN:/h/t/claude-http-1.sock,fork,reuseaddr", &a));
	ck_assert_str_eq(a.at.local.sun_path, "/h/t/claude-http-1.sock");
	ck_assert_ptr_null(relay_parse_listen("TCP6-LISTEN:3128,ipv6only=0,fork,reuseaddr,backlog=4096", &a));
	ck_assert_int_eq(a.at.any.sa_family, AF_INET6);
	ck_assert_int_eq(ntohs(a.at.in6.sin6_port), 3128);
	ck_assert_int_eq(a.backlog, 4096);
	ck_assert_ptr_null(relay_parse_listen("TCP4-LISTEN:1080,fork,reuseaddr,backlog=4096", &a));
	ck_assert_int_eq(a.at.any.sa_family, AF_INET);
	ck_assert_ptr_null(relay_parse_connect("UNIX-CONNECT:/h/t/claude-http-1.sock", &a));
	ck_assert_int_eq(a.at.any.sa_family, AF_UNIX);
	ck_assert_ptr_null(relay_parse_connect("TCP:localhost:41,keepalive,keepidle=10,keepintvl=5,keepcnt=3", &a));
	ck_assert_uint_eq(a.at.in.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	ck_assert(a.keepalive && a.keepidle == 10 && a.keepintvl == 5 && a.keepcnt == 3);
}
END_TEST

START_TEST(test_other_addresses)
{
	static const char *const wrong[] = { "",
		                             "EXEC:sh",
		                             "UNIX-LISTEN:",
		                             "UNIX-LISTEN:relative",
		                             "UNIX-LISTEN:/x,fork,mode=777",
		                             "UNIX-LISTEN:/x,ipv6only=0",
		                             "UNIX-LISTEN:/x,",
		                             "TCP4-LISTEN:0",
		                             "TCP4-LISTEN:65536",
		                             "TCP4-LISTEN:99999999999999999999",
		                             "TCP4-LISTEN:80x",
		                             "TCP4-LISTEN:080",
		                             "TCP4-LISTEN:80,ipv6only=0",
		                             "TCP4-LISTEN:80,backlog=",
		                             "TCP4-LISTEN:80,bind=1.2.3.4",
		                             "TCP:localhost:80",
		                             "TCP:example.com:80",
		                             "TCP:localhost:80,fork",
		                             "TCP:localhost:80,bind=0",
		                             "TCP:localhost:",
		                             "UNIX-CONNECT:/x,keepalive",
		                             "UNIX-CONNECT:/x,backlog=4" };
	struct relay_address a;
	char longest[256] = "UNIX-LISTEN:/";

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(relay_parse_listen(wrong[i], &a) &&
		                      (relay_parse_connect(wrong[i], &a) || !strcmp(wrong[i], "TCP:localhost:80")),
		              "%s", wrong[i]);
	memset(longest + strlen(longest), 'a', 107);
	ck_assert_ptr_nonnull(relay_parse_listen(longest, &a));
	longest[strlen("UNIX-LISTEN:") + 107] = 0;
	ck_assert_ptr_null(relay_parse_listen(longest, &a));
}
END_TEST

static void pair_of(int fd[2])
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
}

struct joined {
	struct relay *r;
	int a, b; /* the far ends */
};

static struct joined join(void)
{
	struct joined j = { .r = relay_new(-1, NULL) };
	int a[2], b[2];

	ck_assert_ptr_nonnull(j.r);
	pair_of(a);
	pair_of(b);
	ck_assert(relay_join(j.r, a[1], b[1]));
	j.a = a[0];
	j.b = b[0];
	return j;
}

/* Until nothing happens; that it comes to rest is what is checked. */
static void settle(struct relay *r)
{
	for (int i = 0; relay_step(r, 0) > 0; i++)
		ck_assert_int_lt(i, 1000);
}

/* As much as goes: what the relay keeps is one buffer, not what the sender has. */
static size_t fill(struct joined *j)
{
	static char block[RELAY_BUFFER];
	size_t sent = 0;
	ssize_t n;

	do {
		n = send(j->a, block, sizeof(block), MSG_NOSIGNAL);
		sent += n > 0 ? (size_t)n : 0;
		settle(j->r);
	} while (n > 0);
	return sent;
}

static size_t drain(struct joined *j)
{
	static char block[RELAY_BUFFER];
	size_t got = 0;
	ssize_t n;

	while ((n = recv(j->b, block, sizeof(block), 0)) > 0) {
		got += (size_t)n;
		settle(j->r);
	}
	return got;
}

START_TEST(test_reader_that_waits)
{
	struct joined j = join();
	size_t sent = fill(&j);

	ck_assert_uint_gt(sent, RELAY_BUFFER);
	ck_assert_uint_eq(drain(&j), sent);
	ck_assert_uint_eq(relay_pairs(j.r), 1);
	close(j.a);
	close(j.b);
	settle(j.r);
	ck_assert_uint_eq(relay_pairs(j.r), 0);
	relay_free(j.r);
}
END_TEST

START_TEST(test_half_close)
{
	struct joined j = join();
	char buf[8];

	ck_assert_int_eq(send(j.a, "ask", 3, MSG_NOSIGNAL), 3);
	ck_assert_int_eq(shutdown(j.a, SHUT_WR), 0);
	settle(j.r);
	ck_assert_int_eq(recv(j.b, buf, sizeof(buf), 0), 3);
	ck_assert_int_eq(recv(j.b, buf, sizeof(buf), 0), 0);
	ck_assert_int_eq(send(j.b, "told", 4, MSG_NOSIGNAL), 4);
	close(j.b);
	settle(j.r);
	ck_assert_int_eq(recv(j.a, buf, sizeof(buf), 0), 4);
	ck_assert_int_eq(recv(j.a, buf, sizeof(buf), 0), 0);
	ck_assert_uint_eq(relay_pairs(j.r), 0);
	close(j.a);
	relay_free(j.r);
}
END_TEST

START_TEST(test_sender_gone_with_bytes_held)
{
	struct joined j = join();
	size_t sent = fill(&j);

	close(j.a);
	settle(j.r);
	ck_assert_uint_eq(drain(&j), sent);
	ck_assert_uint_eq(relay_pairs(j.r), 0);
	close(j.b);
	relay_free(j.r);
}
END_TEST

START_TEST(test_reader_gone_with_bytes_held)
{
	struct joined j = join();
	char c;

	(void)fill(&j);
	close(j.b);
	settle(j.r);
	ck_assert_uint_eq(relay_pairs(j.r), 0);
	ck_assert(recv(j.a, &c, 1, 0) <= 0);
	close(j.a);
	relay_free(j.r);
}
END_TEST

/* Until it has that many pairs. */
static void until(struct relay *r, size_t pairs)
{
	for (int i = 0; relay_pairs(r) != pairs && i < 300; i++)
		ck_assert_int_ge(relay_step(r, 100), 0);
	ck_assert_uint_eq(relay_pairs(r), pairs);
	settle(r);
}

static int listen_at(struct relay_address *at, int backlog)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	ck_assert_ptr_null(relay_parse_connect("TCP:localhost:1,keepalive", at));
	at->at.in.sin_port = 0;
	ck_assert_int_eq(bind(fd, &at->at.any, at->len), 0);
	ck_assert_int_eq(getsockname(fd, &at->at.any, &at->len), 0);
	ck_assert_int_eq(listen(fd, backlog), 0);
	return fd;
}

static int client(const struct relay_address *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(connect(fd, &at->at.any, at->len), 0);
	return fd;
}

/* Both ends of each are this process's own: three descriptors a connection. */
static bool enough_descriptors(int connections)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > (rlim_t)connections * 3 + 64)
		return true;
	fprintf(stderr, "skip - more connections than the relay takes: the limit of descriptors is too low here\n");
	return false;
}

START_TEST(test_more_than_it_takes)
{
	enum { MORE = RELAY_PAIRS + 8 };
	struct relay_address at, to;
	int listener, target, *fds;
	struct relay *r;

	if (!enough_descriptors(MORE))
		return;
	listener = listen_at(&at, 4096);
	target = listen_at(&to, 4096);
	fds = calloc(MORE, sizeof(*fds));
	r = relay_new(listener, &to);
	ck_assert_ptr_nonnull(r);
	ck_assert_ptr_nonnull(fds);
	for (int i = 0; i < MORE; i++)
		fds[i] = client(&at);
	until(r, RELAY_PAIRS);
	for (int i = 0; i < MORE - 1; i++)
		close(fds[i]);
	for (int i = 0; i < MORE - 1; i++) {
		int fd = accept(target, NULL, NULL);

		if (fd >= 0)
			close(fd);
		settle(r);
	}
	until(r, 1);
	ck_assert_int_eq(send(fds[MORE - 1], "x", 1, MSG_NOSIGNAL), 1);
	settle(r);
	close(fds[MORE - 1]);
	relay_free(r);
	close(listener);
	close(target);
	free(fds);
}
END_TEST

START_TEST(test_nobody_at_the_target)
{
	struct relay_address at, to;
	int listener = listen_at(&at, 8), target = listen_at(&to, 8), fd;
	struct relay *r = relay_new(listener, &to);
	char c;

	ck_assert_ptr_nonnull(r);
	close(target);
	fd = client(&at);
	while (relay_step(r, 1000) <= 0)
		;
	until(r, 0);
	ck_assert(recv(fd, &c, 1, 0) <= 0);
	close(fd);
	relay_free(r);
	close(listener);
}
END_TEST

SUITE_MAIN("relay", test_addresses_of_srt, test_other_addresses, test_reader_that_waits, test_half_close,
           test_sender_gone_with_bytes_held, test_reader_gone_with_bytes_held, test_more_than_it_takes,
           test_nobody_at_the_target)
