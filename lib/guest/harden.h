/* SPDX-License-Identifier: Apache-2.0 */
/* What a process does to itself so that it, and all that it starts, can do less. */
#ifndef OC_GUEST_HARDEN_H
#define OC_GUEST_HARDEN_H

#include "guest/link.h"
#include "guest/orders.h"

/* The lines of /proc/self/status that tell how confined a process is. */
struct oc_status {
	bool valid;
	int no_new_privs, seccomp, filters; /* filters: -1 where the kernel doesn't tell */
	uint64_t caps;                      /* inheritable, permitted, effective and ambient, all in one */
};
void oc_status_read(struct oc_status *s);

/* Every capability out of every set that can be emptied: 0 or -errno. */
int oc_drop_capabilities(void);
/* All of what the options ask for, reported as facts: 0, or -errno with *stage.  Nothing is skipped. */
int oc_harden(const struct oc_orders *o, struct oc_link *report, const char **stage);
/* Facts that hold hardened or not: namespaces, uid. */
void oc_report_self(const struct oc_orders *o, struct oc_link *report);

#endif
