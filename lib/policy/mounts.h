/* SPDX-License-Identifier: Apache-2.0 */
/* Is one path at, beneath or above another, whatever they are called?  By name, by device and inode of everything
 * above it, and by where the mounts put pieces of one file system (bind mounts). */
#ifndef OC_POLICY_MOUNTS_H
#define OC_POLICY_MOUNTS_H

#include "base/buf.h"
#include "base/error.h"
#include "policy/seen.h"

struct oc_mount {
	uint64_t dev;
	char *root, *point; /* which part of the file system, and where it is */
};
struct oc_mounts {
	struct oc_mount *v;
	size_t n, cap;
	struct oc_seen *seen; /* the files of the same moment */
};
int oc_mounts_load(struct oc_mounts *mounts, oc_error **err);
void oc_mounts_free(struct oc_mounts *mounts);

struct oc_place {
	char *path; /* real */
	bool exists, dir;
	uint64_t dev, ino;
	uint32_t mode, uid, gid;
	struct {
		uint64_t dev, ino;
	} * chain; /* itself and everything above it that exists */
	size_t n_chain;
	struct oc_mount
	        *spots; /* where its content is: point unused; the first is its own, the rest are mounts inside */
	size_t n_spots;
};
/* path is real and taken, also on failure. */
int oc_place_init(struct oc_place *place, const struct oc_mounts *mounts, char *path);
void oc_place_free(struct oc_place *place);
bool oc_place_within(const struct oc_place *inner, const struct oc_place *outer); /* at or beneath */
bool oc_place_overlap(const struct oc_place *a, const struct oc_place *b);
/* Other names under which the place, or a part of it, can be seen.  0 or OC_E…. */
int oc_place_aliases(const struct oc_place *place, const struct oc_mounts *mounts, struct oc_strv *out);

#endif
