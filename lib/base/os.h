/* SPDX-License-Identifier: Apache-2.0 */
/* All that depends on the operating system, behind one header.  os_linux.c is the one
 * implementation; another system fails at `meson setup`. */
#ifndef OC_BASE_OS_H
#define OC_BASE_OS_H

#include <sys/types.h>

#include "base/buf.h"

#define OC_OS_NAME "linux"

/* This boot, so that a recorded pid can be told from one of another boot. */
#define OC_BOOT_SIZE 37
int oc_os_boot_id(char out[OC_BOOT_SIZE]);

/* A process's start time in clock ticks since boot: with pid and boot id, an identity.
 * -ESRCH when there is no such process (a zombie counts as none). */
int oc_os_start_time(pid_t pid, uint64_t *ticks);
/* Group and session of a process, from the same source. */
int oc_os_process(pid_t pid, uint64_t *ticks, pid_t *ppid, pid_t *pgrp, pid_t *session);
/* Does /proc/<pid>/environ hold exactly the string "NAME=VALUE"?  1, 0 or -errno. */
int oc_os_environ_has(pid_t pid, const char *entry);
/* Every pid in /proc; stops at the first non-zero answer of fn and returns it. */
int oc_os_each_process(int (*fn)(pid_t pid, void *userdata), void *userdata);

int oc_os_pidfd_open(pid_t pid);
int oc_os_pidfd_signal(int pidfd, int sig);
int oc_os_close_from(int first); /* close every descriptor >= first */
int oc_os_set_subreaper(void);
int oc_os_fresh_keyring(void); /* a new, empty session keyring */
int oc_os_peer_uid(int socket, uid_t *uid, pid_t *pid);

struct oc_os_id { /* what a path is, whatever it is called */
	uint64_t dev, ino;
	mode_t mode;
	uid_t uid;
	nlink_t nlink;
	bool mount_root; /* statx says so */
};
int oc_os_identify(int dirfd, const char *path, struct oc_os_id *out); /* last component not followed */

/* Path sockets of this network namespace that listen, or take datagrams from anybody (as /dev/log
 * does), from the kernel's own list: absolute names as they were bound (by then perhaps removed, or in another mount namespace).  0 or -errno. */
int oc_os_listening_sockets(struct oc_strv *paths);

#endif
