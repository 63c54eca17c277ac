/* SPDX-License-Identifier: Apache-2.0 */
/* What the host protects, whatever a policy says: the lists. */
#ifndef OC_POLICY_PROTECT_H
#define OC_POLICY_PROTECT_H

#include "base/util.h"

/* The i-th entry for this operating system, "~/…"; NULL after the last. */
const char *oc_protect_deny(size_t i);    /* credentials that no process sandbox reads by default */
const char *oc_protect_startup(size_t i); /* what the operator's programs run or obey when they start */

/* Where engines, buses and runtimes have their sockets, beside what the environment names: directories, "~/…" or
 * absolute. */
const char *oc_protect_socket_dir(size_t i);

#endif
