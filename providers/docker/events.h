/* SPDX-License-Identifier: Apache-2.0 */
/* What a gateway says, as lines of the run's record: runs/<id>/network. */
#ifndef DOCKER_EVENTS_H
#define DOCKER_EVENTS_H

#include <stdint.h>

#include "common/util.h"

#define EVENTS_MAX  (4u << 20) /* of the file: then lines are only counted */
#define EVENTS_LINE 1024

enum { EVENT_ALLOW, EVENT_DENY, EVENT_BAD, EVENT_FAIL, EVENT_SNI, EVENT_END, EVENT_LOST, EVENT_KINDS };

struct events {
	int fd;
	size_t size;
	uint64_t seen[EVENT_KINDS], lost, dropped, malformed; /* lost: by the gateway; dropped: not written here */
	char line[EVENTS_LINE];
	size_t len;
	bool overlong;
};
int events_open(const char *path, struct events *out, struct refusal *r);
void events_feed(struct events *e, const char *data, size_t len); /* any pieces of its lines */
void events_close(struct events *e);                              /* writes the summary */
/* {"event":"deny","n":…,…} of a line without its end, new; NULL: it is none. */
json_t *events_parse(const char *line, int *kind);

#endif
