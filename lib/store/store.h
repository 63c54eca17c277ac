/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of oc_store: SQLite, and the files of runs/<id>. */
#ifndef OC_STORE_STORE_H
#define OC_STORE_STORE_H

#include <openconduit/store.h>

#include "base/json.h"
#include "loop/context.h"
#include "plan/plan.h"

struct sqlite3;
struct oc_store {
	oc_context *ctx;
	struct sqlite3 *db;
	int state_fd;                  /* the state directory */
	char *dir;                     /* its real path */
	struct sqlite3_stmt *kept[16]; /* prepared for oc_sql_run(), and idle; see there */
	unsigned next_kept;
	int durable; /* what "synchronous" was set to: 1 FULL, 0 NORMAL, -1 not yet */
};

/* Pin: plan.json written once (link), the row beside it.  OC_EEXISTS when another digest is there.
 * head: {"kind","work","binding","command":["sh",…]} for lists. */
int oc_store_pin(oc_store *store, const char *run, const char *text, const char *digest, const json_t *head,
                 oc_error **err);
/* The pinned text, checked against its digest (a damaged file is pin_mismatch).  *text new. */
int oc_store_pinned(oc_store *store, const char *run, char **text, char digest[], oc_error **err);
/* Numbered from 1; the pin's run may have several. */
int oc_store_attempt(oc_store *store, const char *run, int64_t *number, oc_error **err);
/* One event of a run's history; data is taken (NULL: {}). */
int oc_store_event(oc_store *store, const char *run, const char *type, json_t *data, oc_error **err);
/* state: planned pinned launched held started proved running stopping exited failed run_lost unknown;
 * error may be NULL.  A transition is an event ("state") of the history too. */
int oc_store_state(oc_store *store, const char *run, const char *state, const oc_error *error, oc_error **err);
/* The same for a run on its way (launched held started proved running stopping), only ever forward: nothing happens
 * when it is there already or over.  Not durable by itself: on the disk with the next transaction that is. */
int oc_store_progress(oc_store *store, const char *run, const char *state, oc_error **err);
/* May its pin be launched?  OPEN: it is not over, its files decide; AGAIN: it ended for a reason that allows a further
 * attempt; OVER: never again; UNKNOWN: recovery could not tell, and nothing may run. */
enum oc_launch_state { OC_LAUNCH_OPEN, OC_LAUNCH_AGAIN, OC_LAUNCH_OVER, OC_LAUNCH_UNKNOWN };
int oc_store_barred(oc_store *store, const char *run, oc_error **err); /* unknown: refused, as was recorded of it */
int oc_store_launch_state(oc_store *store, const char *run, enum oc_launch_state *out, oc_error **err);
/* A further attempt begins (AGAIN, else OC_EEXISTS): durable, before anything of the last one is removed. */
int oc_store_relaunch(oc_store *store, const char *run, oc_error **err);
/* The end: exit.json and proved as they are on disk, copied into the row; idempotent. */
int oc_store_finish(oc_store *store, const char *run, oc_error **err);
/* A directory descriptor of runs/<id>, made 0700 when `make`. */
int oc_store_run_dir(oc_store *store, const char *run, bool make, oc_error **err);

bool oc_state_ended(const char *state); /* is it one that nothing comes after?  NULL is not */
/* The state in which its exit record leaves a run. */
const char *oc_state_of_exit(const json_t *record);

/* What `fill` reads of one run (an id, or a prefix of it) at one moment of the store; *out new, also where it fails. */
typedef int oc_store_fill(oc_store *store, const char *run, json_t *out, oc_error **err);
int oc_store_moment(oc_store *store, const char *id, oc_store_fill *fill, json_t **out, oc_error **err);

/* The one run that an id, or a prefix of it, names; OC_EINVAL when several do, OC_ENOTFOUND when none. */
int oc_store_resolve(oc_store *store, const char *prefix, char id[OC_RUN_ID_SIZE], oc_error **err);

/* For recovery.  Ids and states of the runs that are not over, oldest first: [{"id","state","pinned"}…], *list new. */
int oc_store_unfinished(oc_store *store, json_t **list, oc_error **err);
/* Those of these ids that the store has no row of. */
int oc_store_strangers(oc_store *store, const struct oc_strv *ids, struct oc_strv *out, oc_error **err);
/* Remove a row that was planned and never pinned; a pinned one is left alone (OC_EEXISTS). */
int oc_store_forget(oc_store *store, const char *run, oc_error **err);
/* Remove the directory of a run that has no row: 0; 1: it has one by now, and nothing was removed. */
int oc_store_remove_orphan(oc_store *store, const char *run, oc_error **err);
/* The lock under which runs are settled; a descriptor to close.  Waits (bounded): OC_ETIME. */
int oc_store_recovery_lock(oc_store *store, oc_error **err);

/* Verdicts of provider checks.  key: canonical identity (provider, engine, versions, boot).  Green lasts
 * 24 h, red until a check is green.  *found false: none, or too old. */
int oc_store_verdict(oc_store *store, const char *provider, const char *key, bool *found, bool *ok, char **checks,
                     oc_error **err);
int oc_store_verdict_put(oc_store *store, const char *provider, const char *key, bool ok, const char *checks,
                         oc_error **err);

/* The line to paste that shows what is known of a run; returns out. */
const char *oc_store_show_run(char out[80], const char *run);

#endif
