/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of stream sockets, each end's bytes copied to the other: one process and one epoll descriptor for all of them.
 * What one end can't take yet is kept, at most a buffer for each direction, and only then; meanwhile its other end is
 * not read.  An end of input is passed on as such, so a connection may be half closed.  A pair that fails is closed at
 * both ends. */
#ifndef RELAY_PUMP_H
#define RELAY_PUMP_H

#include <stdbool.h>
#include <stddef.h>

#include "address.h"

#define RELAY_BUFFER 65536
#define RELAY_PAIRS  1024 /* more wait in the listener's queue */

struct relay;

/* listener (non-blocking) and target are borrowed; a listener below 0 is none.  NULL: errno says why. */
struct relay *relay_new(int listener, const struct relay_address *target);
/* Two connected, non-blocking sockets, taken; also when it fails. */
bool relay_join(struct relay *r, int a, int b);
/* Wait (milliseconds, -1: for ever) and do what can be done.  The number of events, or -1. */
int relay_step(struct relay *r, int timeout_ms);
size_t relay_pairs(const struct relay *r);
void relay_free(struct relay *r);

#endif
