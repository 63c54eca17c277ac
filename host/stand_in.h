/* SPDX-License-Identifier: Apache-2.0 */
/* A directory that stands for the clone, which a Work's first run makes: for questions about a policy without one. */
#ifndef HOST_STAND_IN_H
#define HOST_STAND_IN_H

#include <jansson.h>

char *stand_in_make(void); /* new and empty, or NULL */
/* What the policy names beneath {workspace} is made in it as a directory: in the clone it may be there. */
void stand_in_fill(const char *dir, const json_t *normal);
void stand_in_fill_policy(const char *dir, const char *kind,
                          const char *policy); /* the same of its text; each may be NULL */
void stand_in_free(char *dir);                 /* and what is in it; NULL: nothing */

#endif
