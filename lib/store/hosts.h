/* SPDX-License-Identifier: Apache-2.0 */
/* What a run asked its gateway for, by host and port, as the launch command of its provider recorded it in runs/<id>/network. */
#ifndef OC_STORE_HOSTS_H
#define OC_STORE_HOSTS_H

#include "store/store.h"

/* {"hosts": [{"host","port","allowed","denied","failed","up","down","why"}…], "lost": n}, in the order in which they were first
 * asked for, 1,000 at most; new.  up, down: bytes from and to the run; why: of the last that was refused or failed.  NULL: its provider reports none, or nothing was asked yet.  Lost: decisions that no line is there of. */
int oc_store_hosts(oc_store *store, const char *run, json_t **out, oc_error **err);

#endif
