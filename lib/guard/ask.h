/* SPDX-License-Identifier: Apache-2.0 */
/* One question to a run's guard by a process that has nothing else to do: ten seconds at most, over a connection of its own, and
 * never by launching one. */
#ifndef OC_GUARD_ASK_H
#define OC_GUARD_ASK_H

#include "base/json.h"

/* params: borrowed.  *result: new.  OC_ENOTFOUND: there is no guard to ask; pin_mismatch: what listens there is another process. */
int oc_guard_ask(int run_dir, const char *run, const char *method, const json_t *params, json_t **result,
                 oc_error **err);
/* Can its guard hold tokens?  OC_EREFUSED with run_over: it is over or gone; OC_EVERSION: it is of a build that knew none. */
int oc_guard_holds_tokens(int run_dir, const char *run, oc_error **err);
/* The socket of a guard that is gone goes; one whose guard lives, with tokens that are not over, stays with it. */
int oc_guard_drop_socket(int run_dir, oc_error **err);

#endif
