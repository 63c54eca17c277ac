/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of every provider that may be asked for runs: srt's, and those of each Docker context and image of a binding. */
#ifndef HOST_DOCTOR_CHECKS_H
#define HOST_DOCTOR_CHECKS_H

#include "config/config.h"
#include "host.h"

/* Performed one after the other, new: [{"kind","name","context","image","bindings":[…],"ok","provider","checks","error"}…].
 * srt's are left out where the config's bindings are confined by containers alone.  *config_bad: it has errors, so its
 * bindings are not known. */
json_t *doctor_checks(struct host *h, bool *config_bad);

/* NULL: there is none, or (*config_bad) it has errors, which keep every binding of it from running anyhow. */
struct config *doctor_config(bool *config_bad);
/* The next of all bindings, from scope and at 0; NULL after the last. */
const struct config_binding *doctor_next(const struct config *config, size_t *scope, size_t *at);
/* doctor_github.c: what each connection that a binding acts through lets it do, asked of GitHub: [{"connection","repository",
 * "bindings","ok","checks","error"}…], new. */
json_t *doctor_github(struct host *h);

#endif
