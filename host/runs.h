/* SPDX-License-Identifier: Apache-2.0 */
/* The commands about runs that are, or were. */
#ifndef HOST_RUNS_H
#define HOST_RUNS_H

#include "host.h"

/* One run's record, by id or the beginning of it; NULL after saying why. */
json_t *runs_find(struct host *h, const char *id);
/* exited, failed or run_lost: nothing changes any more. */
bool runs_over(const json_t *run);
bool runs_state_over(const char *state); /* NULL is not */
/* "process sandbox", "UNSANDBOXED"; what isn't known is said to be unknown. */
const char *runs_kind(const json_t *run);
/* One line: "exited 0", "signal 9", "failed: sandbox_denied". */
void runs_state(const json_t *run, char *out, size_t size);
void runs_show(struct host *h, const json_t *run); /* the whole record as text */

/* A policy as written, line by line. */
void runs_show_text(struct out *o, const char *text);
int runs_receipt(struct host *h, const char *id); /* print one; an exit status */
/* Rows of the queue that are no runs yet (new); the one that an id, or the beginning of it, names, or NULL. */
json_t *runs_queue(struct host *h);
json_t *runs_queued(struct host *h, const char *id);
void runs_queue_lines(struct host *h, const json_t *rows);
void runs_queue_show(struct host *h, const json_t *row);
int runs_queue_stop(struct host *h, const json_t *row);

int runs_logs(struct host *h, int argc, char **argv);
int runs_stop(struct host *h, int argc, char **argv);

#endif
