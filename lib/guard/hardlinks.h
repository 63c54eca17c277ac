/* SPDX-License-Identifier: Apache-2.0 */
/* Has a place that may be written hard links to files outside it?  Such a file would be written through them. */
#ifndef OC_GUARD_HARDLINKS_H
#define OC_GUARD_HARDLINKS_H

#include "base/error.h"

struct oc_hardlinks;
int oc_hardlinks_new(uint64_t max_entries, struct oc_hardlinks **out, oc_error **err);
void oc_hardlinks_free(struct oc_hardlinks *h);
/* Refuse what is not walked at this moment of the monotonic clock. */
void oc_hardlinks_until(struct oc_hardlinks *h, int64_t ns);
/* Count the links beneath a path (a directory, or one file).  Directories first, all of them before oc_hardlinks_judge().
 * What can't be looked at is a refusal, not an omission. */
int oc_hardlinks_scan(struct oc_hardlinks *h, const char *path, oc_error **err);
/* Every file with links that were not seen is one error of the chain (the first 20); 0 if there is none. */
int oc_hardlinks_judge(struct oc_hardlinks *h, oc_error **err);

#endif
