/* SPDX-License-Identifier: Apache-2.0 */
/* Where the container's and the gateway's first process meet the launch command: a socket in a folder of the run. */
#ifndef DOCKER_CHANNEL_H
#define DOCKER_CHANNEL_H

#include <sys/types.h>

#include "common/util.h"

/* Listens on <live>/<folder>/sock, for this user alone.  The folder is made where it isn't there.  A descriptor, or -1. */
int channel_listen(const char *live, const char *folder, struct refusal *r);
/* A connection of that process; any other's is closed.  -1 with errno EAGAIN: none is there. */
int channel_accept(int listener, pid_t pid);
/* What one that connected and is gone has said, as one line of printable text; empty: nothing.  For a message only: whose it is
 * can't be told any more. */
void channel_last_words(int listener, char *out, size_t size);
/* One message with a descriptor.  0, or -1 with errno. */
int channel_send(int socket, int fd);
/* Closes the listener and takes its name away. */
void channel_close(const char *live, const char *folder, int *listener);

#endif
