/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of every provider that may be asked for runs: srt's, and those of each Docker context and image of a binding. */
#ifndef HOST_DOCTOR_CHECKS_H
#define HOST_DOCTOR_CHECKS_H

#include "host.h"

/* Performed one after the other, new: [{"kind","name","context","image","bindings":[…],"ok","provider","checks","error"}…].
 * srt's are left out where the config's bindings are confined by containers alone.  *config_bad: it has errors, so its
 * bindings are not known. */
json_t *doctor_checks(struct host *h, bool *config_bad);

#endif
