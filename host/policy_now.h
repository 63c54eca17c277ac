/* SPDX-License-Identifier: Apache-2.0 */
/* "A policy you change applies from the next run, never to one that is already running": what the config says by now of the
 * binding of a run that is alive, or that was its last, beside what the run has. */
#ifndef HOST_POLICY_NOW_H
#define HOST_POLICY_NOW_H

#include "host.h"

/* {"state":"same|changed|gone|unknown","kind","policy","differs":[{"field","removed","added"}|{"field","was","is"}…]}; new.
 * gone: the config has no such binding; unknown: it can't be read.  JSON null for a run that has no binding, or after which
 * its binding had another. */
json_t *policy_now(struct host *h, const json_t *run);
/* Write a change down in the history of a run that is alive, once for each: NOTE.  True: it was. */
bool policy_note(struct host *h, const json_t *run, const json_t *now);
/* As lines of "runs get". */
void policy_show(struct out *o, const json_t *now);

#endif
