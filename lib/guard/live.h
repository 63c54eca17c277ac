/* SPDX-License-Identifier: Apache-2.0 */
/* live/<id>: the private directories of a run. */
#ifndef OC_GUARD_LIVE_H
#define OC_GUARD_LIVE_H

#include "base/json.h"

int oc_live_make(const char *live, bool container, oc_error **err); /* afresh: what is there goes first */
/* The plan's files in {run}: before anything of the run was ever started there. */
int oc_live_files(const char *live, const json_t *files, oc_error **err);
int oc_live_remove(const char *live); /* 0 or -errno */

#endif
