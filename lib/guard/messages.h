/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch command printed, as a refusal with its fix. */
#ifndef OC_GUARD_MESSAGES_H
#define OC_GUARD_MESSAGES_H

#include "base/error.h"

/* Known texts get their fix, any other is quoted as it is, escaped.  `why` is what the guard itself saw. */
int oc_launch_explain(const char *log, size_t len, const char *why, oc_error **err);

#endif
