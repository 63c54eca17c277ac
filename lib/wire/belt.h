/* SPDX-License-Identifier: Apache-2.0 */
/* The tools that a run is offered: {"instructions":text?,"tools":[…]}.
 * A tool: "name", "description", "inputSchema" (wire/schema.h); "title", "outputSchema", "annotations" and "_meta" are shown
 * to clients as they are; "requires" (["sampling"]) is not: capabilities without which a client of revision 2026-07-28 is
 * told that it lacks them; "hidden" (true) is not either: such a tool is in no list, and may be called by who knows of it. */
#ifndef OC_WIRE_BELT_H
#define OC_WIRE_BELT_H

#include "base/json.h"

#define OC_MCP_TOOLS 128
#define OC_MCP_BELT  (256u << 10) /* bytes of all of it, as canonical JSON */

/* For plan time: names, schemas, bounds, duplicates.  Every violation is chained, reason sandbox_config, with the path
 * after "toolbelt" as subject. */
int oc_mcp_belt_check(const json_t *belt, oc_error **err);

#endif
