/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a check's own run, live/check<random>: its plan lies in it, locked for as long as the check lives, so that the
 * next one knows what a killed one left, and removes it. */
#ifndef DOCKER_LEFTOVER_H
#define DOCKER_LEFTOVER_H

#include "common/util.h"
#include "networks.h"

#define LEFTOVER_PREFIX "check"
#define LEFTOVER_NAME   (sizeof(LEFTOVER_PREFIX) - 1 + NETWORKS_ATTEMPT)

/* Made, with a new name.  The lock: a descriptor, or -1.  *dir: new. */
int leftover_begin(const char *live_dir, char name[LEFTOVER_NAME], char **dir, struct refusal *r);
/* On the disk before anything is made by it. */
int leftover_keep(int lock, const char *spec, struct refusal *r);
/* Removed, and first what the engine has of it.  The lock is taken.  spec NULL: nothing was made. */
int leftover_end(int lock, const char *dir, const char *spec, struct refusal *r);
/* What dead checks left: all of it removed, or refused. */
int leftover_sweep(const char *live_dir, struct refusal *r);

#endif
