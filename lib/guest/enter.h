/* SPDX-License-Identifier: Apache-2.0 */
/* `open-conduit-guest enter`: one run, from the first order to the agent's exit. */
#ifndef OC_GUEST_ENTER_H
#define OC_GUEST_ENTER_H

/* own: this process' environment.  channel: its descriptor.  The exit status of the guest, which means nothing to the guard:
 * 0 after an EXIT was delivered, 1 otherwise. */
int oc_guest_enter(char **own, int channel);
/* The channel that is given at a socket, as the one descriptor of one byte; or -errno. */
int oc_guest_meet(const char *path);

#endif
