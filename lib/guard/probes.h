/* SPDX-License-Identifier: Apache-2.0 */
/* What only the guard can ask, because it is about the guard's own side of the wall. */
#ifndef OC_GUARD_PROBES_H
#define OC_GUARD_PROBES_H

#include "guard/plan_view.h"

struct oc_guard;
#define OC_LISTENERS 32

struct oc_listeners {
	int fd[OC_LISTENERS];
	char address[OC_LISTENERS][48];
	unsigned n;
};
/* Queue them: listeners on each address of this machine (P1: no route to it, P3: no connection), namespaces (P15), and the
 * directories that the guard made (P14). */
int oc_probes_own(struct oc_guard *g, const struct oc_plan_view *plan);
/* After the guest's report: did anything arrive?  Adds the guard's own result P3; closes the listeners. */
int oc_probes_judge(struct oc_guard *g);
void oc_probes_close(struct oc_guard *g);

#endif
