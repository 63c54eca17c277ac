/* SPDX-License-Identifier: Apache-2.0 */
/* live/<id>: the private directories of a run. */
#ifndef OC_GUARD_LIVE_H
#define OC_GUARD_LIVE_H

#include "base/error.h"

int oc_live_make(const char *live, oc_error **err); /* afresh: what is there goes first */
int oc_live_remove(const char *live);               /* 0 or -errno */

#endif
