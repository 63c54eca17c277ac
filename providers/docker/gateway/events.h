/* SPDX-License-Identifier: Apache-2.0 */
/* What happened, a line each, to whoever holds the control socket.  A reader that doesn't keep up loses lines, and is told
 * how many; nothing ever waits for it. */
#ifndef GW_EVENTS_H
#define GW_EVENTS_H

#include "base/util.h"

#define GW_EVENTS_BYTES 65536
#define GW_EVENT_MAX    768

struct gw_events {
	int fd; /* non-blocking; borrowed */
	size_t from, len;
	uint64_t lost;
	char ring[GW_EVENTS_BYTES];
};

/* One line, without its end. */
void gw_event(struct gw_events *e, const char *fmt, ...) OC_PRINTF(2, 3);
/* 0: nothing is left; 1: something is, until the socket takes more; -1: there is no reader. */
int gw_events_flush(struct gw_events *e);

#endif
