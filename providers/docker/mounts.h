/* SPDX-License-Identifier: Apache-2.0 */
/* What of this machine is in a container: the grants, each at its own path, and what is ours. */
#ifndef DOCKER_MOUNTS_H
#define DOCKER_MOUNTS_H

#include "common/util.h"

#define MOUNTS_OURS  "/.open-conduit" /* the guest, and the folder with the channel's socket */
#define MOUNTS_GUEST MOUNTS_OURS "/guest"
#define MOUNTS_SOCK  MOUNTS_OURS "/channel/sock"

struct mounts {
	json_t *list; /* HostConfig.Mounts, by target */
	json_t *sources; /* [{"path","dev","ino"}]: what has to be there still when it is mounted; dev and ino -1 are not known */
};
void mounts_clear(struct mounts *m);

/* volumes: Config.Volumes of the image; socket: the engine's own, which no grant may reach, or NULL; memory: the limit, 0 for none. */
struct mounts_input {
	const json_t *resolved, *volumes;
	const char *guest, *live, *socket;
	json_int_t memory;
};
int mounts_plan(const struct mounts_input *in, struct mounts *out, struct refusal *r);

/* A mount request of a read-only folder or file. */
json_t *mounts_read_only(const char *source, const char *target);

/* The sources are what was planned: sandbox_denied names the one that isn't. */
int mounts_verify(const json_t *sources, struct refusal *r);

#endif
