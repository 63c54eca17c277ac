/* SPDX-License-Identifier: Apache-2.0 */
/* What the plan holds of a run's toolbelt: what it offers, where in the sandbox it is, and how the command learns of it. */
#ifndef OC_PLAN_TOOLBELT_H
#define OC_PLAN_TOOLBELT_H

#include "plan/plan.h"

#define OC_TOOLBELT_FILE     "mcp.json"              /* of {run}: the MCP configuration, as clients read it */
#define OC_TOOLBELT_VARIABLE "OPEN_CONDUIT_TOOLBELT" /* the address that `open-conduit-guest mcp` takes */

/* {"at","belt"} of the request, checked; *out new, NULL where the request has none. */
int oc_plan_toolbelt(const struct oc_plan_input *in, json_t **out, oc_error **err);
/* Where it listens: a socket in {run} for a run without a sandbox; else a port of the loopback that is the run's own, which
 * needs no unix socket.  New, or NULL: no memory. */
char *oc_plan_toolbelt_at(const struct oc_plan_input *in);
/* The text of OC_TOOLBELT_FILE; new, or NULL: no memory. */
char *oc_plan_toolbelt_file(const struct oc_plan_input *in, const char *at);
/* A stored plan's member. */
int oc_plan_toolbelt_check(const json_t *toolbelt, oc_error **err);

#endif
