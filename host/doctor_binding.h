/* SPDX-License-Identifier: Apache-2.0 */
/* What a run of a binding needs, by one: nothing of its executor's work, but all that comes before it. */
#ifndef HOST_DOCTOR_BINDING_H
#define HOST_DOCTOR_BINDING_H

#include "host.h"

/* {"binding","kind","ok"}, new: `true` was run as the binding's command would be, with its policy, secrets, toolbelt
 * and needs, in a throw-away clone of its checkout.  What fails is said on stderr with its fix. */
json_t *doctor_binding(struct host *h, const char *name);

#endif
