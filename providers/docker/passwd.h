/* SPDX-License-Identifier: Apache-2.0 */
/* The passwd and group of a container: most images have no name for the operator's number, and many programs want one. */
#ifndef DOCKER_PASSWD_H
#define DOCKER_PASSWD_H

#include "common/util.h"

/* [{"name":"etc/passwd","text"},{"name":"etc/group","text"}], new; NULL: home can't be in such a file. */
json_t *passwd_files(unsigned uid, unsigned gid, const char *user, const char *group, const char *home,
                     struct refusal *r);
/* The same of who runs this. */
json_t *passwd_own(const char *home, struct refusal *r);

#endif
