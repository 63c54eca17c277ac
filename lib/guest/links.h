/* SPDX-License-Identifier: Apache-2.0 */
/* Links of the host's, made again in the empty directory that hides their own. */
#ifndef OC_GUEST_LINKS_H
#define OC_GUEST_LINKS_H

#include "guest/orders.h"
#include "guest/report.h"

/* Before the hardening, which lets nothing be made there.  How many are there now is told as a fact. */
void oc_links_make(const struct oc_orders *o, struct oc_link *report);

#endif
