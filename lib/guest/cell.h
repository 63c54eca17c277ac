/* SPDX-License-Identifier: Apache-2.0 */
/* The child that hardens itself, proves it, waits for go and becomes the agent. */
#ifndef OC_GUEST_CELL_H
#define OC_GUEST_CELL_H

#include "guest/harden.h"
#include "guest/orders.h"

#include <sys/types.h>

/* Start it.  *fd: the guest's end of the socket over which it tells FACT, RESULT, READY or FAILED, takes GO
 * with three descriptors, and which ends when it has become the agent.  Its pid, or -errno. */
pid_t oc_cell_start(const struct oc_orders *o, char **own, const struct oc_status *before, int *fd);

#endif
