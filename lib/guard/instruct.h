/* SPDX-License-Identifier: Apache-2.0 */
/* The plan as frames. */
#ifndef OC_GUARD_INSTRUCT_H
#define OC_GUARD_INSTRUCT_H

#include "guard/plan_view.h"
#include "guard/values.h"

struct oc_guard;
/* Queue everything from HELLO to PREPARE.  The values are in one part of the queue, which is wiped when it is sent. */
int oc_instruct(struct oc_guard *g, const struct oc_plan_view *plan, oc_error **err);
/* Queue one probe; arguments up to a NULL. */
int oc_instruct_probe(struct oc_guard *g, const char *id, int kind, const char *const *args);

#endif
