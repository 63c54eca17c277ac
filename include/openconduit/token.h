/* SPDX-License-Identifier: Apache-2.0 */
/** @file token.h Credentials that are made for one run, and end with it ("revokes the token when the run ends").
 *
 * A value is in memory only: of the process that made it and of the run's guard, which holds it until somebody who revoked
 * it says so, also after the run's end.  The store has everything but the value.
 *
 *     oc_token_begin ─▶ (a service makes it) ─▶ oc_token_deposit ─▶ oc_toolcall_reply_token ─▶ the agent's git
 *     the run ends   ─▶ oc_token_list, oc_token_take ─▶ (the service revokes it) ─▶ oc_token_end
 *
 * Every function here waits for the disk, and those that ask the guard for it too, ten seconds at most: they are for a
 * process that has nothing else to do. */
#ifndef OPENCONDUIT_TOKEN_H
#define OPENCONDUIT_TOKEN_H

#include <openconduit/store.h>
#include <openconduit/toolcall.h>

OC_BEGIN_DECLS

#define OC_TOKEN_ID_SIZE   33    /**< bytes of an id with its NUL: [a-z0-9]{16,32} */
#define OC_TOKEN_ID_MIN    16    /**< characters of one */
#define OC_TOKEN_VALUE_MIN 8     /**< bytes of a value; what is shorter can't be kept out of an output */
#define OC_TOKEN_VALUE_MAX 16384 /**< bytes of a value, all printable ASCII */
#define OC_TOKENS_MAX      64    /**< of one run that are not over and have not expired; OC_ELIMIT */

/** A token is about to be made: on the disk before its service is asked, so that one whose maker is killed is known.
 * @param run the whole id.  @param about what for and by whom, a JSON object of at most 4 KiB without secrets; copied.
 * @param lives_ms how long one can live that nobody heard of, a year at most.  @param id receives its id.
 * @return OC_EREFUSED, reason "run_over": the run is over or has no guard; OC_EVERSION: its guard can't hold any. */
OC_API OC_WARN_UNUSED int oc_token_begin(oc_store *store, const char *run, const char *about, int64_t lives_ms,
                                         char id[OC_TOKEN_ID_SIZE], oc_error **err);
/** Give it to the run's guard, then record that it was made.  From here on the run's recorded output has "[secret token]"
 * in its place.
 * @param value of len bytes; copied.  @param expires_ms by the wall clock, in milliseconds.
 * @return 1: the guard has it; 0: the run is over, so nobody has it but the caller, who revokes it and says so with
 * oc_token_end().  Negative: it can't be told whether the guard has it, and the caller does the same. */
OC_API OC_WARN_UNUSED int oc_token_deposit(oc_store *store, const char *run, const char *id, const char *value,
                                           size_t len, int64_t expires_ms, oc_error **err);
/** Those of a run; run NULL: of all runs those that are not over yet, whose run is.  Oldest first, 10,000 at most.
 * @param json *new* text (free()): [{"run","id","state","about","created","expires","ended","detail"}…]; times as everywhere
 * in the store's lists ("2026-01-31T23:59:59.999Z"), "expires" of one that is asked for: when it has at the latest; state:
 * "asked", "made", and over: "revoked", "expired", "never" (the service made none). */
OC_API OC_WARN_UNUSED int oc_token_list(oc_store *store, const char *run, char **json, oc_error **err);
/** Its value, from the guard of a run that is ending or over (OC_EINVAL before).
 * @param value receives at most OC_TOKEN_VALUE_MAX bytes, no NUL; the caller wipes it.
 * @return OC_ENOTFOUND: no guard has it. */
OC_API OC_WARN_UNUSED int oc_token_take(oc_store *store, const char *run, const char *id, char *value, size_t *len,
                                        oc_error **err);
/** It is over, or could not be ended: recorded, and then the guard forgets it.  One that is over stays as it is.
 * @param state "revoked", "expired", "never"; or "made", which changes nothing but the detail.
 * @param detail words for a person, UTF-8 of at most 4 KiB, or NULL: none, also of what was there.
 * @return negative also where it was recorded and its guard did not answer: it may be called again. */
OC_API OC_WARN_UNUSED int oc_token_end(oc_store *store, const char *run, const char *id, const char *state,
                                       const char *detail, oc_error **err);

/** Answer a call with a token that the run's guard has: what is recorded and what is sent name it, the guard puts its value in.
 * Where the guard hasn't got it any more the agent is told so.
 * @param call *taken*, also on failure.  @param json a JSON object, as for oc_toolcall_reply() but neither one with an array
 * "content" nor one with a member "password", which is what the guard adds.  @param id of the token. */
OC_API OC_WARN_UNUSED int oc_toolcall_reply_token(oc_toolcall *call, const char *json, const char *id, oc_error **err);

OC_END_DECLS
#endif
