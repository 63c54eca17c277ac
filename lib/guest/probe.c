/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/probe.h"

#include "guest/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
	uint8_t kind;
	uint8_t args; /* at least */
	oc_probe_fn *fn;
} kinds[] = {
	{ OC_PROBE_NO_ROUTE, 2, oc_probe_no_route },
	{ OC_PROBE_NO_TCP, 2, NULL },
	{ OC_PROBE_NO_NAME, 1, NULL },
	{ OC_PROBE_PROXY, 3, NULL },
	{ OC_PROBE_UNREADABLE, 1, oc_probe_unreadable },
	{ OC_PROBE_READABLE, 1, oc_probe_readable },
	{ OC_PROBE_UNWRITABLE, 1, oc_probe_unwritable },
	{ OC_PROBE_WRITABLE, 1, oc_probe_writable },
	{ OC_PROBE_MOUNT_ROOT, 1, oc_probe_mount_root },
	{ OC_PROBE_NO_SOCKET, 1, oc_probe_no_socket },
	{ OC_PROBE_SOCKET, 1, oc_probe_socket },
	{ OC_PROBE_STDIO, 0, oc_probe_stdio },
	{ OC_PROBE_ENVIRONMENT, 0, oc_probe_environment },
	{ OC_PROBE_SAME, 3, oc_probe_same },
	{ OC_PROBE_NAMESPACES, 1, oc_probe_namespaces },
	{ OC_PROBE_PRIVILEGES, 2, oc_probe_privileges },
	{ OC_PROBE_NO_WRITE_FIFO, 1, oc_probe_no_write_fifo },
	{ OC_PROBE_TRACE, 0, oc_probe_trace },
	{ OC_PROBE_CONTAINER, 5, oc_probe_container },
};

void oc_probe_say(char *detail, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(detail, OC_DETAIL_MAX, fmt, ap);
	va_end(ap);
}

void oc_probe_say_errno(char *detail, const char *what, int err)
{
	char name[16];

	oc_probe_say(detail, "%.300s: %s", what, oc_errno_name(err, name, sizeof(name)));
}

void oc_probe_finish(struct oc_probe_run *run, const struct oc_probe *p, bool ok, uint64_t since, const char *detail)
{
	if (!ok)
		run->failures++;
	oc_report_result(run->report, p->id, ok, oc_now_ns() - since, detail);
	/* A link that is full waits for the guest to read: nothing is lost, nothing grows. */
	if (oc_link_pending(run->report) > OC_LINK_HIGH)
		oc_link_drain(run->report, -1);
}

bool oc_probe_is_net(uint8_t kind)
{
	return kind == OC_PROBE_NO_TCP || kind == OC_PROBE_NO_NAME || kind == OC_PROBE_PROXY;
}

static void run_one(struct oc_probe_run *run, const struct oc_probe *p)
{
	char detail[OC_DETAIL_MAX] = "";
	uint64_t since = oc_now_ns();

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].kind != p->kind)
			continue;
		if (p->args.n < kinds[i].args) {
			oc_probe_finish(run, p, false, since, "the probe lacks arguments");
			return;
		}
		if (kinds[i].fn) {
			bool ok = kinds[i].fn(run, p, detail);

			oc_probe_finish(run, p, ok, since, detail);
		}
		return;
	}
	oc_probe_finish(run, p, false, since, "this guest has no such probe");
}

static void run_kind(struct oc_probe_run *run, bool stdio)
{
	for (size_t i = 0; i < run->orders->n_probes; i++)
		if ((run->orders->probes[i].kind == OC_PROBE_STDIO) == stdio)
			run_one(run, &run->orders->probes[i]);
}

void oc_probes_run(struct oc_probe_run *run)
{
	struct oc_probe_net *net;

	/* Before the others open descriptors of their own. */
	run_kind(run, true);
	net = oc_probe_net_start(run);
	run_kind(run, false);
	oc_probe_net_finish(net);
}
