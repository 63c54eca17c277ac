/* SPDX-License-Identifier: Apache-2.0 */
/* open-conduit-gateway SOCKET: the only way out of a container run.  SOCKET is its lifeline: it connects there, reads its
 * policy once (policy.h), says `ready` when it listens, then what happened, a line each (HACKING.md, Gateway), and is gone
 * when the other end is.  Before `ready` there is no listener; what is wrong is one line `error …`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>

#include "harden.h"
#include "proxy.h"

/* Descriptors that are no connection's: standard ones, control, epoll, listeners, pipes, refusals. */
#define DESCRIPTORS_OWN   (8 + GW_LISTEN_MAX + 2 * GW_PIPES_MAX + 2 * GW_REFUSED_MAX)
#define DESCRIPTORS_LEAST (DESCRIPTORS_OWN + 64)
#define CONNECTIONS_MAX   32768
#define BACKLOG           1024

static int fail(int control, const char *what)
{
	char line[GW_ERROR_SIZE + 16];
	int n = snprintf(line, sizeof(line), "error %s\n", what);

	if (control >= 0)
		(void)send(control, line, (size_t)n, MSG_NOSIGNAL);
	fprintf(stderr, "open-conduit-gateway: %s\n", what);
	return 1;
}

static int fail_errno(int control, const char *what)
{
	char text[128];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));
	return fail(control, text);
}

static int open_control(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(un.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(un.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&un, sizeof(un)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* 0: policy is read; else the exit status. */
static int read_policy(int control, struct gw_policy *policy)
{
	enum gw_reading reading = GW_READING_MORE;
	char err[GW_ERROR_SIZE], *text = malloc(GW_POLICY_BYTES + 1);
	size_t len = 0;
	ssize_t n = 1;

	if (!text)
		return fail(control, "out of memory");
	while (reading == GW_READING_MORE) {
		n = read(control, text + len, GW_POLICY_BYTES + 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
		reading = gw_policy_read(text, len, policy, err);
	}
	free(text);
	if (reading == GW_READING_DONE)
		return 0;
	return reading == GW_READING_WRONG ? fail(control, err)
	                                   : fail(control, "policy: the control connection ended before go");
}

static int open_listener(const struct gw_endpoint *at)
{
	const int yes = 1;
	int fd = socket(at->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	/* Accepted connections inherit what the listener has. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
	    (at->at.any.sa_family == AF_INET || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes)) == 0) &&
	    setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &yes, sizeof(yes)) == 0 &&
	    bind(fd, &at->at.any, at->len) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	close(fd);
	return -1;
}

/* How many connections the descriptors are enough for; 0: too few, errno. */
static size_t connections(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	if (limit.rlim_cur < DESCRIPTORS_LEAST) {
		errno = EMFILE;
		return 0;
	}
	return OC_MIN((size_t)(limit.rlim_cur - DESCRIPTORS_OWN) / 2, (size_t)CONNECTIONS_MAX);
}

static int serve(int control, struct gw_policy *policy, size_t n_max)
{
	static const char ready[] = "ready\n";
	struct gw_events events; /* its ring is written before it is read, and so need not be there before */
	int listeners[GW_LISTEN_MAX], err;
	struct gw_proxy proxy;

	events.fd = control;
	events.from = events.len = 0;
	events.lost = 0;
	for (size_t i = 0; i < policy->n_listen; i++)
		if ((listeners[i] = open_listener(&policy->listen[i])) < 0)
			return fail_errno(control, "listen");
	if (!gw_proxy_start(&proxy, policy, &events, listeners, n_max))
		return fail_errno(control, "epoll");
	if (!gw_harden_filter())
		return fail_errno(control, "seccomp");
	if (send(control, ready, sizeof(ready) - 1, MSG_NOSIGNAL) != sizeof(ready) - 1)
		return 0;
	err = gw_proxy_run(&proxy);
	gw_proxy_stop(&proxy); /* what was under way is told: the run's record has its bytes */
	errno = err;
	return err ? fail_errno(control, "epoll") : 0;
}

int main(int argc, char **argv)
{
	struct gw_policy policy;
	const char *why;
	size_t n_max;
	int control, status;

	if (argc == 2 && !strcmp(argv[1], "--version"))
		return puts("open-conduit-gateway " OC_VERSION) < 0;
	if (argc != 2 || argv[1][0] != '/') {
		fputs("usage: open-conduit-gateway /SOCKET | --version\nIt is started by the provider of containers.\n",
		      stderr);
		return 2;
	}
	control = open_control(argv[1]);
	if (control < 0)
		return fail_errno(-1, "control");
	if ((why = gw_harden_refuse()))
		return fail(control, why);
	if (!gw_harden_start())
		return fail_errno(control, "prctl");
	n_max = connections();
	if (n_max == 0)
		return fail_errno(control, "nofile");
	status = read_policy(control, &policy);
	if (status)
		return status;
	if (!gw_policy_add_own(&policy))
		return fail_errno(control, "interfaces");
	return serve(control, &policy, n_max);
}
