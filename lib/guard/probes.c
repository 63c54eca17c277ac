/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/probes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/os.h"
#include "guard/guard.h"
#include "guard/instruct.h"

static int listen_on(struct oc_listeners *l, const struct sockaddr *address, socklen_t len)
{
	const void *raw = address->sa_family == AF_INET
	                          ? (const void *)&((const struct sockaddr_in *)address)->sin_addr
	                          : (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr;
	int fd;

	if (l->n == OC_LISTENERS || !inet_ntop(address->sa_family, raw, l->address[l->n], sizeof(l->address[0])))
		return 0;
	fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return 0;
	if (bind(fd, address, len) < 0 || listen(fd, 8) < 0) {
		oc_close(fd);
		return 0;
	}
	l->fd[l->n++] = fd;
	return 1;
}

/* Loopback of both families is in the list of interfaces' addresses, where there is one. */
static void listen_everywhere(struct oc_listeners *l)
{
	struct ifaddrs *all, *a;

	l->n = 0;
	if (getifaddrs(&all) < 0)
		return;
	for (a = all; a; a = a->ifa_next) {
		struct sockaddr_storage address = { 0 };

		if (!a->ifa_addr || !(a->ifa_flags & IFF_UP))
			continue;
		if (a->ifa_addr->sa_family == AF_INET) {
			memcpy(&address, a->ifa_addr, sizeof(struct sockaddr_in));
			((struct sockaddr_in *)&address)->sin_port = 0;
			listen_on(l, (struct sockaddr *)&address, sizeof(struct sockaddr_in));
		} else if (a->ifa_addr->sa_family == AF_INET6 &&
		           !IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)a->ifa_addr)->sin6_addr)) {
			memcpy(&address, a->ifa_addr, sizeof(struct sockaddr_in6));
			((struct sockaddr_in6 *)&address)->sin6_port = 0;
			listen_on(l, (struct sockaddr *)&address, sizeof(struct sockaddr_in6));
		}
	}
	freeifaddrs(all);
}

static int port_of(int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return 0;
	return ntohs(address.ss_family == AF_INET ? ((struct sockaddr_in *)&address)->sin_port
	                                          : ((struct sockaddr_in6 *)&address)->sin6_port);
}

static int network(struct oc_guard *g)
{
	struct oc_listeners *l = &g->listeners;
	unsigned i;
	int rc = 0;

	listen_everywhere(l);
	/* Without a single listener nothing would be proved. */
	if (!l->n)
		return OC_EFAILED;
	for (i = 0; rc >= 0 && i < l->n; i++) {
		char port[8];
		const char *args[] = { l->address[i], port, NULL };

		snprintf(port, sizeof(port), "%d", port_of(l->fd[i]));
		rc = oc_instruct_probe(g, "P1", OC_PROBE_NO_ROUTE, args);
		rc = rc < 0 ? rc : oc_instruct_probe(g, "P3", OC_PROBE_NO_TCP, args);
	}
	return rc;
}

static int namespaces(struct oc_guard *g, const struct oc_plan_view *plan)
{
	static const char *const sandbox[] = { "pid", "mnt", "net", "user", NULL };
	static const char *const container[] = { "pid", "mnt", "net", "ipc", "uts", "cgroup", NULL };
	const char *const *kinds = oc_kind_container(plan->kind) ? container : sandbox;
	char text[OC_COUNT(container)][48], path[32];
	const char *args[OC_COUNT(container) + 1] = { NULL };
	struct stat st;
	unsigned i;

	for (i = 0; kinds[i]; i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i]);
		if (stat(path, &st) < 0)
			return OC_EFAILED;
		snprintf(text[i], sizeof(text[i]), "%s=%ju", kinds[i], (uintmax_t)st.st_ino);
		args[i] = text[i];
	}
	return oc_instruct_probe(g, "P15", OC_PROBE_NAMESPACES, args);
}

static int same(struct oc_guard *g, const char *path)
{
	char dev[24], ino[24];
	const char *args[] = { path, dev, ino, NULL };
	struct oc_os_id id;

	if (oc_os_identify(AT_FDCWD, path, &id) < 0)
		return OC_EFAILED;
	snprintf(dev, sizeof(dev), "%" PRIu64, id.dev);
	snprintf(ino, sizeof(ino), "%" PRIu64, id.ino);
	return oc_instruct_probe(g, "P14", OC_PROBE_SAME, args);
}

int oc_probes_own(struct oc_guard *g, const struct oc_plan_view *plan)
{
	char path[4096];
	int rc = network(g);

	rc = rc < 0 ? rc : namespaces(g, plan);
	if (snprintf(path, sizeof(path), "%s/run", plan->live) >= (int)sizeof(path))
		return OC_ELIMIT;
	rc = rc < 0 ? rc : same(g, path);
	if (snprintf(path, sizeof(path), "%s/run/tmp", plan->live) >= (int)sizeof(path))
		return OC_ELIMIT;
	return rc < 0 ? rc : same(g, path);
}

int oc_probes_judge(struct oc_guard *g)
{
	struct oc_listeners *l = &g->listeners;
	char detail[128] = "";
	unsigned i, arrived = 0, n = l->n;

	for (i = 0; i < n; i++) {
		int fd = accept4(l->fd[i], NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0) {
			snprintf(detail, sizeof(detail), "a connection arrived at the guard's listener on %s",
			         l->address[i]);
			arrived++;
		}
		oc_close(fd);
	}
	if (!arrived)
		snprintf(detail, sizeof(detail), "nothing arrived at the guard's %u listeners", n);
	oc_probes_close(g);
	return oc_session_result(&g->session, "P3", !arrived, detail, 0);
}

void oc_probes_close(struct oc_guard *g)
{
	while (g->listeners.n)
		oc_close(g->listeners.fd[--g->listeners.n]);
}
