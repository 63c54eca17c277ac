/* SPDX-License-Identifier: Apache-2.0 */
/* What each binding of a config would be granted on this machine, by the library's own answers. */
#ifndef HOST_CONFIG_GRANTED_H
#define HOST_CONFIG_GRANTED_H

#include "config/config.h"
#include "host.h"

/* Resolve every policy as a run would: grants that are missing, reach into what is protected, or lift nothing are
 * added to the report.  With `answers` (an array) each binding is described there:
 * {"binding","executor","kind","provider","operations","secrets","workspace","policy","answers"}. */
void config_granted(struct host *h, const struct config *config, struct report *report, json_t *answers);
void config_granted_print(struct host *h, const json_t *answers);

#endif
