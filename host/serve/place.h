/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon keeps in the state directory, where no sandbox reaches it:
 *
 *   serve.lock    byte 0 locked: a daemon is there; byte N: whoever starts the queue's row N.  Locks of the open file
 *                 (F_OFD_SETLK), so that one is handed to a child by its descriptor and can be looked at without being taken
 *   serve.token   the operator's, new with each daemon
 *   serve.sock    where it listens */
#ifndef HOST_SERVE_PLACE_H
#define HOST_SERVE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

#include "host.h"

#define SERVE_TOKEN 65 /* 64 hex digits and the NUL */

/* The file of locks, opened anew: -1 where it can't be (with `make`), or isn't there. */
int place_lock_file(struct host *h, bool make);
/* Take the lock of a byte: false, and errno, when somebody has it. */
bool place_lock(int fd, long long byte);
/* Is it somebody's?  1, 0, or -1 when that can't be told. */
int place_locked(int fd, long long byte);
/* The socket's address; false after saying that the path is too long for one. */
bool place_address(struct host *h, const char *what, struct sockaddr_un *out);
/* Of the running daemon; false: it can't be read. */
bool place_token_read(struct host *h, char out[SERVE_TOKEN]);
/* A new one, in place of what was there; false after saying why. */
bool place_token_make(struct host *h, char out[SERVE_TOKEN]);
/* What a daemon that ends takes with it. */
void place_leave(struct host *h);

/* Kill points for tests: with -Dfaults=true a host whose OPEN_CONDUIT_FAULT names the point ends there. */
#ifdef OC_FAULTS
void serve_fault(const char *point);
#else
#define serve_fault(point) ((void)0)
#endif

#endif
