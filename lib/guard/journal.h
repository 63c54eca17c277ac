/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the journal.  Nothing here ever stops the agent: what can't be written is counted, dropped, and becomes a
 * gap record as soon as there is room again. */
#ifndef OC_GUARD_JOURNAL_H
#define OC_GUARD_JOURNAL_H

#include "base/error.h"
#include "guard/segments.h"

struct oc_journal {
	int dir, fd; /* fd: the last segment, or -1 */
	struct oc_segments all;
	uint64_t payload[64];  /* of each segment */
	unsigned keep;         /* segments */
	uint64_t next, acked;  /* positions */
	uint64_t output, lost; /* payload bytes in all; of these, dropped or gone unacknowledged */
	uint64_t gap;          /* dropped, not yet said by a record */
};

/* Continues the journal that is there: a torn last record is cut off. */
int oc_journal_open(struct oc_journal *j, int run_dir, int64_t bytes, oc_error **err);
void oc_journal_close(struct oc_journal *j);
void oc_journal_write(struct oc_journal *j, int stream, const void *data, size_t len);
void oc_journal_ack(struct oc_journal *j, uint64_t next);
uint64_t oc_journal_first(const struct oc_journal *j);
/* Say the last gap if that is possible now, and bring the last segment to the disk. */
void oc_journal_settle(struct oc_journal *j);

#endif
