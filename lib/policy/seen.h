/* SPDX-License-Identifier: Apache-2.0 */
/* What was looked at while one policy is resolved: the same few directories lie above nearly every path, and a resolved
 * policy describes one moment, so each is asked about once. */
#ifndef OC_POLICY_SEEN_H
#define OC_POLICY_SEEN_H

#include <sys/stat.h>

struct oc_seen;
struct oc_seen *oc_seen_new(void); /* NULL: no memory */
void oc_seen_free(struct oc_seen *seen);
/* lstat(path, st), also in its errors.  seen may be NULL. */
int oc_seen_lstat(struct oc_seen *seen, const char *path, struct stat *st);

#endif
