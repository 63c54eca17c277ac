/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of what a proxy is measured with, as quick as they can be made: Python's own speed would be measured otherwise.
 *
 *   bench_load serve PORT                            says `ready`, until its input ends
 *   bench_load bulk    PROXY TARGET BYTES STREAMS    MB/s of all together
 *   bench_load tunnels PROXY TARGET COUNT PARALLEL   tunnels a second: opened, one byte there and back, closed
 *   bench_load idle    PROXY TARGET COUNT            says `ready` with so many open, until its input ends
 *
 * PROXY is ADDRESS:PORT or - (none).  TARGET is ADDRESS:PORT; the last number of the address goes round for tunnels, as one
 * pair of addresses has ports for some thousands a minute only. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define BLOCK     (256 * 1024)
#define ADDRESSES 32

static char block[BLOCK];

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct sockaddr_in address(const char *text)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	char copy[64];
	char *colon;

	snprintf(copy, sizeof(copy), "%s", text);
	colon = strchr(copy, ':');
	if (!colon)
		die("an address");
	*colon = '\0';
	a.sin_port = htons((uint16_t)atoi(colon + 1));
	if (inet_pton(AF_INET, copy, &a.sin_addr) != 1)
		die("an address");
	return a;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void whole_read(int fd, char *to, size_t len)
{
	while (len > 0) {
		ssize_t n = recv(fd, to, len, 0);

		if (n <= 0)
			die("recv");
		to += n;
		len -= (size_t)n;
	}
}

/* A connection to the target's address, moved on by `turn`. */
static int reach(const char *proxy, const char *target, unsigned turn)
{
	struct sockaddr_in to = address(target), first;
	char text[64], head[256], ip[INET_ADDRSTRLEN];
	const int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), n;
	size_t got = 0;

	to.sin_addr.s_addr = htonl(ntohl(to.sin_addr.s_addr) + turn % ADDRESSES);
	first = strcmp(proxy, "-") == 0 ? to : address(proxy);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (fd < 0 || connect(fd, (const struct sockaddr *)&first, sizeof(first)) < 0)
		die("connect");
	if (strcmp(proxy, "-") == 0)
		return fd;
	inet_ntop(AF_INET, &to.sin_addr, ip, sizeof(ip));
	snprintf(text, sizeof(text), "%s:%u", ip, ntohs(to.sin_port));
	n = snprintf(head, sizeof(head), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", text, text);
	if (send(fd, head, (size_t)n, MSG_NOSIGNAL) != n)
		die("send");
	/* Nothing follows the head before we have spoken, so it can be read greedily. */
	while (got < 4 || memcmp(head + got - 4, "\r\n\r\n", 4) != 0) {
		ssize_t more = got < sizeof(head) ? recv(fd, head + got, sizeof(head) - got, 0) : -1;

		if (more <= 0)
			die("the proxy's answer");
		got += (size_t)more;
	}
	if (memcmp(head + 8, " 200", 4) != 0)
		die("the proxy refuses");
	return fd;
}

struct work {
	const char *proxy, *target;
	unsigned long long bytes;
	unsigned first, count, step;
};

static void *pull(void *arg)
{
	const struct work *w = arg;
	int fd = reach(w->proxy, w->target, 0);
	unsigned long long left = w->bytes;
	char ask[9] = "b", *to = malloc(BLOCK);

	memcpy(ask + 1, &left, sizeof(left));
	if (!to || send(fd, ask, sizeof(ask), MSG_NOSIGNAL) != sizeof(ask))
		die("send");
	while (left > 0) {
		ssize_t n = recv(fd, to, BLOCK, 0);

		if (n <= 0)
			die("recv");
		left -= (unsigned long long)n;
	}
	free(to);
	close(fd);
	return NULL;
}

static void *open_tunnels(void *arg)
{
	const struct work *w = arg;
	char byte;

	for (unsigned i = w->first; i < w->count; i += w->step) {
		int fd = reach(w->proxy, w->target, i);

		if (send(fd, "e", 1, MSG_NOSIGNAL) != 1)
			die("send");
		whole_read(fd, &byte, 1);
		close(fd);
	}
	return NULL;
}

static double all(void *(*what)(void *), struct work *w, unsigned n)
{
	pthread_t *threads = calloc(n, sizeof(*threads));
	struct work *each = calloc(n, sizeof(*each));
	double began = now();

	if (!threads || !each)
		die("calloc");
	for (unsigned i = 0; i < n; i++) {
		each[i] = *w;
		each[i].first = i;
		each[i].step = n;
		if (pthread_create(&threads[i], NULL, what, &each[i]))
			die("pthread_create");
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	free(each);
	return now() - began;
}

static void *give(void *arg)
{
	int fd = (int)(intptr_t)arg;
	unsigned long long left;

	whole_read(fd, (char *)&left, sizeof(left));
	while (left > 0) {
		ssize_t n = send(fd, block, left < BLOCK ? (size_t)left : BLOCK, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		left -= (unsigned long long)n;
	}
	close(fd);
	return NULL;
}

static void served(int epoll, int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, 0);
	pthread_t thread;

	if (n == 1 && byte == 'e') {
		(void)send(fd, &byte, 1, MSG_NOSIGNAL);
		return;
	}
	(void)epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
	if (n != 1 || byte != 'b' || pthread_create(&thread, NULL, give, (void *)(intptr_t)fd))
		close(fd);
	else
		pthread_detach(thread);
}

static void serve(const char *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int epoll = epoll_create1(EPOLL_CLOEXEC), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd },
	                   input = { .events = EPOLLIN | EPOLLHUP, .data.fd = 0 };
	const int one = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 4096) < 0 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev) < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &input) < 0)
		die("listen");
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct epoll_event got[64];
		int n = epoll_wait(epoll, got, 64, -1);

		for (int i = 0; i < n; i++) {
			if (got[i].data.fd == 0)
				return;
			if (got[i].data.fd != fd) {
				served(epoll, got[i].data.fd);
				continue;
			}
			ev.data.fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
			(void)setsockopt(ev.data.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			(void)epoll_ctl(epoll, EPOLL_CTL_ADD, ev.data.fd, &ev);
		}
	}
}

static void idle(const struct work *w)
{
	for (unsigned i = 0; i < w->count; i++)
		(void)reach(w->proxy, w->target, i);
	puts("ready");
	fflush(stdout);
	while (read(0, block, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	struct work w = { 0 };
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (argc == 3 && !strcmp(argv[1], "serve")) {
		serve(argv[2]);
		return 0;
	}
	if (argc < 5)
		return fputs("see the head of bench_load.c\n", stderr), 2;
	w.proxy = argv[2];
	w.target = argv[3];
	w.bytes = strtoull(argv[4], NULL, 10);
	w.count = (unsigned)w.bytes;
	if (!strcmp(argv[1], "idle"))
		idle(&w);
	else if (argc == 6 && !strcmp(argv[1], "bulk"))
		printf("%.1f\n", (double)w.bytes * atoi(argv[5]) / 1e6 / all(pull, &w, (unsigned)atoi(argv[5])));
	else if (argc == 6 && !strcmp(argv[1], "tunnels"))
		printf("%.1f\n", (double)w.count / all(open_tunnels, &w, (unsigned)atoi(argv[5])));
	return 0;
}
