/* SPDX-License-Identifier: Apache-2.0 */
/** @file store.h What was planned, pinned, run and found: "every run's history records the exact
 * policy it ran under". */
#ifndef OPENCONDUIT_STORE_H
#define OPENCONDUIT_STORE_H

#include <openconduit/context.h>

OC_BEGIN_DECLS

typedef struct oc_store oc_store;

/** Open (and make or migrate) the state directory's store.  The directory must be ours and mode
 * 0700.  Unreadable or damaged is an error, never "empty"; a newer schema is OC_EVERSION.
 * @param out *new*; oc_store_free(). */
OC_API OC_WARN_UNUSED int oc_store_open(oc_context *ctx, oc_store **out, oc_error **err);
OC_API void oc_store_free(oc_store *store); /**< NULL allowed. */

/** Runs, newest first.
 * @param limit 0: 100.
 * @param json *new* text (free()): [{"id","kind","state","reason","created","command"…}, …] */
OC_API OC_WARN_UNUSED int oc_store_runs(oc_store *store, uint32_t limit, char **json, oc_error **err);
/** One run whole: state, policy as written, plan, digest, attempts, calls, tokens (as oc_token_list()), probes, events, exit;
 * and what it asked its gateway for: "network": {"hosts":
 * [{"host","port","allowed","denied","failed","up","down","why"}…],"lost"}, counts and bytes; null where its provider
 * doesn't report it.
 * @param id the id, or a prefix of it that names one run only (OC_EINVAL otherwise; OC_ENOTFOUND).
 * @param json *new* text (free()). */
OC_API OC_WARN_UNUSED int oc_store_run(oc_store *store, const char *id, char **json, oc_error **err);
/** A receipt of a run: one JSON that binds what is recorded of it.  The same text each time until something more is
 * recorded; of a run that isn't over it says so.
 * @param id as above.  @param json *new* text (free()), RFC 8785 canonical, 64 MiB at most (OC_ELIMIT). */
OC_API OC_WARN_UNUSED int oc_store_receipt(oc_store *store, const char *id, char **json, oc_error **err);
/** Does a receipt hold?  Computes each digest again and compares its parts; needs nothing but the text, which may be
 * anything.  Whoever makes a whole receipt anew makes one that holds: its digest has to be kept elsewhere.
 * @param json *new* text: {"version","run","kind","state","over","events","unchained","digest"}.
 * @return OC_EREFUSED with the reason receipt_broken and, for each part that doesn't hold, an error with it as subject. */
OC_API OC_WARN_UNUSED int oc_receipt_verify(const char *text, size_t len, char **json, oc_error **err);
/** Put a word of the host's own into a run's history: an event "note:TYPE".  On the disk with the next record that
 * has to be there.
 * @param id the whole id.  @param type 1 to 32 of [a-z0-9-].  @param json an object, at most 64 KiB of text; copied. */
OC_API OC_WARN_UNUSED int oc_store_note(oc_store *store, const char *id, const char *type, const char *json,
                                        oc_error **err);
/** A part of the run's output from the journal on disk, also while it runs.
 * @param offset 0, or what the last call returned; moved past what was read.
 * @param fn called for each piece: stream 1 or 2; or 0, data NULL: `len` bytes are gone.
 * @return 1: there may be more, 0: at the end for now, or negative. */
OC_API OC_WARN_UNUSED int oc_store_output(oc_store *store, const char *id, uint64_t *offset,
                                          void (*fn)(int stream, uint64_t offset, const void *data, size_t len,
                                                     void *userdata),
                                          void *userdata, oc_error **err);
/** Walk every unfinished run under the recovery lock and settle what can be settled; adopts and
 * kills nothing that is alive and ours to adopt.  Safe to repeat.
 * @param json *new* text: [{"id","outcome","detail"}…], outcome one of "forgotten", "launchable",
 * "alive", "finished", "run_lost", "pin_mismatch", "unknown". */
OC_API OC_WARN_UNUSED int oc_store_recover(oc_store *store, char **json, oc_error **err);

OC_END_DECLS
#endif
