/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces of the guest's own, where the provider can't make them private enough. */
#ifndef OC_GUEST_NEST_H
#define OC_GUEST_NEST_H

/* 0 in the process that is pid 1 of new user, mount, pid, IPC, UTS and cgroup namespaces, with a fresh /proc
 * and no way to a further user namespace; -errno (with *stage) in whichever process failed: it can still
 * report on the channel.  The calling process itself does not return otherwise: it waits, holding nothing
 * but the child, and ends with it. */
int oc_nest(int keep_fd, const char **stage);

#endif
