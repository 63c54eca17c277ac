/* SPDX-License-Identifier: Apache-2.0 */
/* Works: a clone, its branch, the runs in it and what was saved of them.  A row is a JSON object here:
 *
 *   {"id","scope","binding","key","own","checkout","branch","base","author":{"name","email"}|null,
 *    "baseline","origin","root":{"dev","ino"}|null,"git":{"dev","ino"}|null,
 *    "state":"open|finishing|finished","created","finished","save":{…}|null,"saved","final"}
 *
 * root is null until the clone is made.  works/<id>/work.json holds the same, so that a store that was lost loses no
 * Work: what is recorded of a step is written after the step, the file before the row. */
#ifndef OC_STORE_WORKS_H
#define OC_STORE_WORKS_H

#include "store/store.h"

#define OC_WORKS_DIR  "works"
#define OC_WORK_LOCK  "lock"
#define OC_WORK_FILE  "work.json"
#define OC_WORKSPACE  "workspace"
#define OC_WORK_HOME  "home"
#define OC_QUARANTINE "quarantine"

/* An id for a new Work of this name: a beginning that can be read, and a digest of all of it. */
int oc_work_id(oc_store *store, const char *scope, const char *binding, const char *key, char id[OC_WORK_ID_SIZE],
               oc_error **err);
/* NULL, or what is wrong with a key. */
const char *oc_work_key_wrong(const char *key);

/* The Work that has this id; OC_ENOTFOUND. */
int oc_store_work(oc_store *store, const char *id, json_t **out, oc_error **err);
/* The Work that a person means: an id, the key of one that is not finished, SCOPE/BINDING/KEY; else the newest finished
 * one.  OC_EINVAL when several have the key. */
int oc_store_work_find(oc_store *store, const char *name, json_t **out, oc_error **err);
/* Of a binding, not finished; *out NULL when there is none. */
int oc_store_work_open(oc_store *store, const char *scope, const char *binding, const char *key, json_t **out,
                       oc_error **err);
int oc_store_works(oc_store *store, uint32_t limit, bool finished, json_t **out, oc_error **err);
/* Record a Work that has no row: OC_EEXISTS when its name was taken meanwhile. */
int oc_store_work_add(oc_store *store, const json_t *work, oc_error **err);
/* The clone is there: what the provider said of it, into the file and then the row. */
int oc_store_work_made(oc_store *store, json_t *work, const json_t *reply, oc_error **err);
/* A save: recorded for the Work, and for each of its runs that had none. */
int oc_store_work_saved(oc_store *store, const char *id, bool last, const json_t *result, oc_error **err);
/* open: a further turn begins, so what was saved finally is not final any more. */
int oc_store_work_state(oc_store *store, const char *id, const char *state, oc_error **err);
/* Ids of its runs that are over and whose commits are not saved, oldest first. */
int oc_store_work_unsaved(oc_store *store, const char *id, json_t **runs, oc_error **err);
/* A run of it that is not over and may have something alive: its id into run ("" when none), its state. */
int oc_store_work_live(oc_store *store, const char *id, char run[OC_RUN_ID_SIZE], char state[16], oc_error **err);
/* What hosts keep with it: {"NAME":value…}. */
int oc_store_work_data(oc_store *store, const char *id, json_t **out, oc_error **err);
/* One of these values, checked and as it is stored; its name; and put, by a caller that is in a transaction. */
int oc_store_work_value(const char *json, char **out, oc_error **err);
int oc_store_work_name_check(const char *name, oc_error **err);
int oc_store_work_put(oc_store *store, const char *work, const char *name, const char *value, oc_error **err);
/* All its runs: [{"id","state","created","save"}…], newest first. */
int oc_store_work_runs(oc_store *store, const char *id, json_t **out, oc_error **err);
/* May a person attach to it by a run of this kind?  0 when none of its runs was confined, or in containers only and this is one;
 * else attach_sandboxed: their agent is one that is not trusted. */
int oc_store_work_attach(oc_store *store, const char *id, const char *kind, oc_error **err);
/* Rows for the Works that only their files know. */
int oc_store_works_restore(oc_store *store, oc_error **err);

/* works/<id>, made 0700 when `make`; a descriptor. */
int oc_store_work_dir(oc_store *store, const char *id, bool make, oc_error **err);
char *oc_store_work_path(const oc_store *store, const char *id, const char *name); /* new; NULL: no memory */

#endif
