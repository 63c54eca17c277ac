/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as an operator writes them, and what they are on this machine. */
#ifndef OC_POLICY_PATHS_H
#define OC_POLICY_PATHS_H

#include "base/buf.h"
#include "policy/seen.h"

#define OC_POLICY_PATH_MAX 4096 /* with NUL */

/* The grammar: "/x", "~/x", "{workspace}" or "{run}", alone or with "/x" after it; literal, clean, no globs.
 * NULL, or why not (static); then *fix is what to write instead where that is known (new), else NULL. */
const char *oc_policy_path_check(const char *path, char **fix);
/* Placeholders put in.  New; NULL: no memory or longer than OC_POLICY_PATH_MAX.  path has passed the check. */
char *oc_policy_path_expand(const char *path, const char *home, const char *workspace, const char *run_dir);

/* Follow an absolute path component by component.  real: new, without links, with what is missing appended as it
 * stands.  links (may be NULL) gets where each link was found.  -ELOOP, -ENAMETOOLONG, -ENOMEM or 0.  A part that
 * we may not look into counts as missing: the run is the same user and can't either. */
int oc_policy_walk(const char *path, char **real, bool *missing, struct oc_strv *links);
/* The same by what was seen before. */
int oc_policy_walk_seen(struct oc_seen *seen, const char *path, char **real, bool *missing, struct oc_strv *links);

#endif
