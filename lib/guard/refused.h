/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OC_GUARD_REFUSED_H
#define OC_GUARD_REFUSED_H

#include "base/error.h"

/* A line `refused {"reason","subject","message","fix"}` in what a provider's command printed: its own words, put into *err.
 * false: there is none, or it is not in order. */
bool oc_refused_find(const char *text, size_t len, oc_error **err);

#endif
