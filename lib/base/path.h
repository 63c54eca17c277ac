/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OC_BASE_PATH_H
#define OC_BASE_PATH_H

#include "base/util.h"

/* Paths here are absolute and clean: no "." or "..", no empty component, no trailing slash. */
bool oc_path_clean(const char *path);
bool oc_path_within(const char *ancestor, const char *path); /* equal or beneath */
char *oc_path_join(const char *dir, const char *name);       /* new, or NULL: no memory */
char *oc_path_parent(const char *path);                      /* new; "/" for "/x" and "/" */
const char *oc_path_base(const char *path);                  /* borrowed */
/* realpath(3) of the longest existing prefix, with the missing rest appended as it stands.
 * *missing tells whether there was a rest.  A link that points nowhere is followed too: the result
 * is where it points.  0 or -errno. */
int oc_path_resolve(const char *path, char **out, bool *missing);

#endif
