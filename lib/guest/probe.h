/* SPDX-License-Identifier: Apache-2.0 */
/* The probes: each looks whether the sandbox is what the plan says, and leaves nothing behind. */
#ifndef OC_GUEST_PROBE_H
#define OC_GUEST_PROBE_H

#include "guest/harden.h"
#include "guest/orders.h"
#include "guest/report.h"

struct oc_probe_run {
	const struct oc_orders *orders;
	char *const *env;               /* the agent's */
	const struct oc_status *before; /* as the provider's launch left the guest */
	struct oc_link *report;         /* its descriptor is the one above 2 that may be open */
	uint32_t failures;
};

/* All of orders->probes, one result each, in the order in which they finish. */
void oc_probes_run(struct oc_probe_run *run);

/* Of the parts: judge one, write what was seen into detail (OC_DETAIL_MAX). */
typedef bool oc_probe_fn(struct oc_probe_run *run, const struct oc_probe *p, char *detail);
/* A tmpfs that was made for this sandbox. */
bool oc_probe_own_tmpfs(const char *path);

oc_probe_fn oc_probe_unreadable, oc_probe_readable, oc_probe_unwritable, oc_probe_writable, oc_probe_mount_root,
        oc_probe_same, oc_probe_no_write_fifo;
oc_probe_fn oc_probe_stdio, oc_probe_environment, oc_probe_namespaces, oc_probe_privileges, oc_probe_trace,
        oc_probe_container;
oc_probe_fn oc_probe_no_route, oc_probe_no_socket, oc_probe_socket;

void oc_probe_say(char *detail, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "path: EACCES" */
void oc_probe_say_errno(char *detail, const char *what, int err);
void oc_probe_finish(struct oc_probe_run *run, const struct oc_probe *p, bool ok, uint64_t since, const char *detail);

/* Those that need an answer: all are started, the others run, then all are finished by one deadline. */
struct oc_probe_net;
struct oc_probe_net *oc_probe_net_start(struct oc_probe_run *run);
void oc_probe_net_finish(struct oc_probe_net *net);
bool oc_probe_is_net(uint8_t kind);

#endif
