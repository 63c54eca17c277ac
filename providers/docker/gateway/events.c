/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static bool queue(struct gw_events *e, const char *line, size_t len)
{
	size_t at = (e->from + e->len) % sizeof(e->ring), first = OC_MIN(len, sizeof(e->ring) - at);

	if (len > sizeof(e->ring) - e->len)
		return false;
	memcpy(e->ring + at, line, first);
	memcpy(e->ring, line + first, len - first);
	e->len += len;
	return true;
}

/* What was lost is told where it would have been. */
static bool queue_lost(struct gw_events *e)
{
	char line[32];
	int n;

	if (e->lost == 0)
		return true;
	n = snprintf(line, sizeof(line), "lost %llu\n", (unsigned long long)e->lost);
	if (!queue(e, line, (size_t)n))
		return false;
	e->lost = 0;
	return true;
}

void gw_event(struct gw_events *e, const char *fmt, ...)
{
	char line[GW_EVENT_MAX];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	n = OC_MIN(n, (int)sizeof(line) - 2);
	line[n++] = '\n';
	if (!queue_lost(e) || !queue(e, line, (size_t)n))
		e->lost++;
}

int gw_events_flush(struct gw_events *e)
{
	while (e->len > 0 || (e->lost > 0 && queue_lost(e))) {
		size_t first = OC_MIN(e->len, sizeof(e->ring) - e->from);
		ssize_t n = send(e->fd, e->ring + e->from, first, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 1 : -1;
		e->from = (e->from + (size_t)n) % sizeof(e->ring);
		e->len -= (size_t)n;
	}
	e->from = 0;
	return 0;
}
