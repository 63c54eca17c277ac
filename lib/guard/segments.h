/* SPDX-License-Identifier: Apache-2.0 */
/* What the journal's writer and reader share: segments and record heads. */
#ifndef OC_GUARD_SEGMENTS_H
#define OC_GUARD_SEGMENTS_H

#include "base/util.h"

#define OC_RECORD_HEADER 8u
#define OC_RECORD_BAD    UINT32_MAX
#define OC_SEGMENT_NAME  17

struct oc_segments {
	uint64_t start[64];
	unsigned n;
};
/* All segments, in order; 0 or -errno (-E2BIG: more than there can be). */
int oc_segments_list(int journal_dir, struct oc_segments *out);
int oc_segment_open(int journal_dir, uint64_t start, int flags); /* fd or -errno; never follows a link */
/* Payload length and stream of a record's head, or OC_RECORD_BAD. */
uint32_t oc_record_parse(const unsigned char *head, int *stream);

#endif
