/* SPDX-License-Identifier: Apache-2.0 */
/** @file queue.h Runs that wait to be started, and those that go on without a host.
 *
 * A queue is rows of the store: any process adds one, one that starts runs takes them up.  Each step is on the disk when
 * its function returns, and is taken by one process only. */
#ifndef OPENCONDUIT_QUEUE_H
#define OPENCONDUIT_QUEUE_H

#include <openconduit/store.h>

OC_BEGIN_DECLS

#define OC_QUEUE_MAX 1000 /**< that wait; and so many of the newest that were refused are kept */

/** Queue a run that is to be started by and by.
 * @param run its id, chosen by the caller: [a-z0-9]{8,32}.  @param binding what it is a run of.
 * @param key of its Work, or NULL.  @param request what the host needs to start it, JSON, at most 2 MiB; copied.
 * @return 1: it is queued; 0: it was already, by this id; `queue_full`. */
OC_API OC_WARN_UNUSED int oc_queue_add(oc_store *store, const char *run, const char *binding, const char *key,
                                       const char *request, oc_error **err);
/** Move one on: "queued", "starting", "started", "refused".
 * @param to NULL: it is no more in the queue.  @param error JSON kept with it, or NULL.
 * @return 1: moved; 0: it was not in the state `from`. */
OC_API OC_WARN_UNUSED int oc_queue_move(oc_store *store, const char *run, const char *from, const char *to,
                                        const char *error, oc_error **err);
/** All of them, oldest first.
 * @param json *new* text (free()): [{"number","id","binding","key","state","created","error","run":state|null}…]; run: what
 * the store has of it by now. */
OC_API OC_WARN_UNUSED int oc_queue_list(oc_store *store, char **json, oc_error **err);
/** What it was queued with.  @param json *new* text (free()).  OC_ENOTFOUND. */
OC_API OC_WARN_UNUSED int oc_queue_request(oc_store *store, const char *run, char **json, oc_error **err);

/** The runs whose command is there and that go on without a host, oldest first.
 * @param json *new* text (free()): [{"id","binding","work","created","left"}…]; left: its host said that it went, by a note
 * "left" (oc_store_note()), or one adopted it. */
OC_API OC_WARN_UNUSED int oc_store_kept(oc_store *store, char **json, oc_error **err);
/** Has another process written to the store?  A number that is another one then. */
OC_API OC_WARN_UNUSED int oc_store_changes(oc_store *store, int64_t *number, oc_error **err);

OC_END_DECLS
#endif
