/* SPDX-License-Identifier: Apache-2.0 */
/* What the checkout has already.  An object that is there is whole by itself only when a reference of the checkout leads to
 * it: what a gc left behind of something unreachable may lack its parts. */
#ifndef GIT_KNOWN_H
#define GIT_KNOWN_H

#include <git2/odb.h>
#include <git2/repository.h>

#include "checkout.h"
#include "oids.h"
#include "refs.h"
#include "util.h"

struct known {
	git_odb *odb;
	git_repository *repo; /* around odb: no configuration, no references */
	struct oids tips;     /* what references name, and tags' targets; value 1 */
	git_oid *tip;
	size_t ntips;
	struct oids shallow; /* commits whose parents the checkout doesn't have, and says so */
	struct oids reached; /* answers given before: 1 yes, 0 no */
	unsigned asked;
	bool all; /* reached has all there are */
};

/* refs and shallow (text of the checkout's file, may be empty) are only read here.  0 or -errno. */
int known_open(struct known *k, const struct checkout *from, const struct refs *refs, const struct text *shallow);
void known_close(struct known *k);
bool known_has(const struct known *k, const git_oid *id);
/* Whether this commit and all it needs is there for certain. */
bool known_reaches(struct known *k, const git_oid *commit);

#endif
