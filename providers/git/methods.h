/* SPDX-License-Identifier: Apache-2.0 */
/* The methods of a workspace provider (HACKING.md, "Workspace provider").  Each gets parameters whose names and types are
 * checked already, and gives a new object or a refusal. */
#ifndef GIT_METHODS_H
#define GIT_METHODS_H

#include "util.h"

json_t *create_workspace(const json_t *params, struct refusal *r);
json_t *save_workspace(const json_t *params, struct refusal *r);
json_t *remove_workspace(const json_t *params, struct refusal *r);

#endif
