/* SPDX-License-Identifier: Apache-2.0 */
/* What guard and host have in common: names of files, journal reading, limits.  Formats: HACKING.md. */
#ifndef OC_GUARD_PROTOCOL_H
#define OC_GUARD_PROTOCOL_H

#include "base/json.h"

#define OC_GUARD_SOCKET     "guard.sock"
#define OC_GUARD_INFO       "guard.json"
#define OC_GUARD_LOCK       "lock"
#define OC_GUARD_PLAN       "plan.json"
#define OC_GUARD_STARTED    "started"
#define OC_GUARD_PROVED     "proved"
#define OC_GUARD_EXIT       "exit.json"
#define OC_GUARD_JOURNAL    "journal"
#define OC_GUARD_ENV_MARK   "OPEN_CONDUIT_RUN"    /* in the environment of everything a guard starts on the host */
#define OC_GUARD_ENV_PIN    "OPEN_CONDUIT_DIGEST" /* and the digest of its plan */
#define OC_JOURNAL_SEGMENT  (4u << 20)
#define OC_JOURNAL_SEGMENTS 16u
#define OC_STDIN_CHUNK      32768u
/* Versions of what is spoken over the socket: guard.json has those of its guard, "protocol":[first,last]; a guard that says nothing
 * speaks the first.  Host and guard speak the last that both know. */
#define OC_GUARD_PROTOCOL_FIRST 1
#define OC_GUARD_PROTOCOL_LAST  2
#define OC_GUARD_PROTOCOL_TOKENS                                                                                       \
	2 /* the first in which a guard holds tokens; nothing of the first version means anything else in it */
#define OC_TOKEN_LIVES_MAX (366LL * 24 * 3600 * 1000)

/* Read records at *position from runs/<id>/journal (a directory descriptor of runs/<id>).  Calls fn for each;
 * stream 0 means `len` bytes are gone.  At most `budget` payload bytes.  1: there may be more; 0: at the end
 * for now; negative: oc_code.  Opens without following links; checks every length. */
typedef void (*oc_journal_fn)(int stream, uint64_t next, const void *data, size_t len, void *userdata);
int oc_journal_read(int run_dir, uint64_t *position, size_t budget, oc_journal_fn fn, void *userdata, oc_error **err);

/* guard.json / started of a run, judged: is that very process alive (pid, start time, boot)? */
enum oc_alive { OC_ALIVE_NO, OC_ALIVE_YES, OC_ALIVE_UNKNOWN };
enum oc_alive oc_guard_alive(int run_dir, const char *file, pid_t *pid, oc_error **err);
/* Of token.h: what may be one's id, and its value. */
bool oc_token_id_valid(const char *id);
bool oc_token_value_valid(const char *value, size_t len);
/* Has it a version of the protocol in common with this build?  pin_mismatch, with both and what to do. */
int oc_guard_speaks(int run_dir, const char *run, oc_error **err);
/* End what a dead guard left on this host: processes of its recorded group and session that started after it
 * and carry OC_GUARD_ENV_MARK=run, nothing else.  Waits (bounded) until they are gone; the number killed. */
int oc_guard_sweep(int run_dir, const char *run, oc_error **err);
/* launch.cleanup of a plan, where it has one: what the launch command left in an engine.  Blocks, for 90 s at most.  Refused with the
 * provider's words; sandbox_unavailable where it can't be told what is there, else container_running. */
int oc_guard_cleanup(const json_t *plan, const char *digest, oc_error **err);
/* launch.inspect of a plan, where it has one: is what a live run has in an engine what was pinned?  Blocks, for `ms` at most.
 * pin_mismatch with what differs; sandbox_unavailable where it can't be told. */
int oc_guard_inspect(const json_t *plan, const char *digest, int ms, oc_error **err);

#endif
