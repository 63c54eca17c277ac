/* SPDX-License-Identifier: Apache-2.0 */
/** @file toolcall.h One call of a run's toolbelt, on its way to an answer.
 *
 * Each is recorded before oc_run_ops.call hears of it, and its answer before the agent gets it.  A call that comes again,
 * to this host or to the next, is answered from that record; one that a host recorded and never answered is answered
 * `outcome_unknown`, and never acted on again. */
#ifndef OPENCONDUIT_TOOLCALL_H
#define OPENCONDUIT_TOOLCALL_H

#include <stdint.h>

#include <openconduit/error.h>

OC_BEGIN_DECLS

typedef struct oc_toolcall oc_toolcall;

OC_API const char *oc_toolcall_name(const oc_toolcall *call);      /**< Of the tool, one of the request's; borrowed. */
OC_API const char *oc_toolcall_arguments(const oc_toolcall *call); /**< A JSON object that fits its schema; borrowed. */
OC_API int64_t oc_toolcall_number(const oc_toolcall *call);        /**< In its run's attempt, from 1. */
/** Tell who waits how far it is; progress only ever grows.  @param total 0: unknown.  @param message NULL: none. */
OC_API OC_WARN_UNUSED int oc_toolcall_progress(oc_toolcall *call, int64_t progress, int64_t total, const char *message,
                                               oc_error **err);
/** Answer it.  @param call *taken*, also on failure.  @param json a JSON object, 1 MiB at most: the tool's result; one with an
 * array "content" is MCP's own CallToolResult and goes as it is.  Recorded even where the run is over by now. */
OC_API OC_WARN_UNUSED int oc_toolcall_reply(oc_toolcall *call, const char *json, oc_error **err);
/** Answer it with an error that the agent reads.  @param call *taken*, also on failure.  @param fix NULL: none. */
OC_API OC_WARN_UNUSED int oc_toolcall_fail(oc_toolcall *call, const char *reason, const char *message, const char *fix,
                                           oc_error **err);

OC_END_DECLS
#endif
