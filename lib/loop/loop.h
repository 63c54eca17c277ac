/* SPDX-License-Identifier: Apache-2.0 */
/* One epoll descriptor holding descriptors, timers and children.  Level-triggered, one thread
 * at a time.  A source may be freed from inside any callback, its own included: it is marked
 * dead and released when dispatch unwinds.  Dispatch refuses to run inside itself. */
#ifndef OC_LOOP_LOOP_H
#define OC_LOOP_LOOP_H

#include <signal.h>
#include <sys/types.h>

#include "base/error.h"

struct oc_loop;
struct oc_source;

#define OC_READ  1u
#define OC_WRITE 2u
#define OC_HANGUP                                                                                                      \
	4u /* reported, never asked for, and again until the source is freed: also when no events are wanted */

typedef void (*oc_io_fn)(int fd, unsigned events, void *userdata);
typedef void (*oc_timer_fn)(void *userdata);
typedef void (*oc_child_fn)(const siginfo_t *info, void *userdata); /* info->si_pid 0: ECHILD, status unknown */

int oc_loop_new(struct oc_loop **out, oc_error **err);
void oc_loop_free(struct oc_loop *loop); /* frees its sources too; NULL allowed */
int oc_loop_fd(const struct oc_loop *loop);
int oc_loop_dispatch(struct oc_loop *loop, oc_error **err);             /* never blocks; the number of callbacks run */
int oc_loop_wait(struct oc_loop *loop, int timeout_ms, oc_error **err); /* poll, then dispatch; -1: no limit */

/* The loop does not own fd; free the source before closing it. */
int oc_loop_add_fd(struct oc_loop *loop, int fd, unsigned events, oc_io_fn fn, void *userdata, struct oc_source **out,
                   oc_error **err);
void oc_source_set_events(struct oc_source *source, unsigned events);
/* One-shot, CLOCK_MONOTONIC.  The source stays (unarmed) until freed; set again with set_timer. */
int oc_loop_add_timer(struct oc_loop *loop, int64_t ms, oc_timer_fn fn, void *userdata, struct oc_source **out,
                      oc_error **err);
void oc_source_set_timer(struct oc_source *source, int64_t ms); /* < 0: disarm */
/* Reaps exactly this child, by pidfd (taken: closed with the source). */
int oc_loop_add_child(struct oc_loop *loop, int pidfd, oc_child_fn fn, void *userdata, struct oc_source **out,
                      oc_error **err);
void oc_source_free(struct oc_source *source); /* NULL allowed */

#endif
