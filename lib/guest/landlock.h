/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock by its system calls: writes only where the plan says, and nothing of other processes. */
#ifndef OC_GUEST_LANDLOCK_H
#define OC_GUEST_LANDLOCK_H

/* The kernel's version of it, 0 where there is none. */
int oc_landlock_abi(void);
/* Writes only beneath paths (NULL-terminated; each must exist) and where every program writes: /dev/shm,
 * and files that exist in /dev and /proc.  0, or -errno with *what naming the step or path. */
int oc_landlock_apply(int abi, char *const *paths, const char **what);

#endif
