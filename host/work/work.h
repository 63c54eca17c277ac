/* SPDX-License-Identifier: Apache-2.0 */
/* Works, as the commands use them: each step of the library waited for, and what became of it told. */
#ifndef HOST_WORK_WORK_H
#define HOST_WORK_WORK_H

#include "executor/executor.h"
#include "host.h"

enum work_step { WORK_CREATE, WORK_SAVE, WORK_SAVE_FINAL, WORK_REMOVE };

/* The Work of a binding by this key (NULL: one of its own), found or begun: new, or NULL after saying why. */
json_t *work_open_binding(struct host *h, const struct config_binding *b, const char *key, struct turn_input *input);
/* One step, waited for: what it gave (new), or NULL with *error (new) in the form of oc_error_json(). */
json_t *work_step(struct host *h, enum work_step step, const char *id, long long wait_ms, json_t **error);

/* Make the Work ready for a run: its clone made, what an earlier run left saved.  Waits for a busy one, and says so, if
 * `wait`.  The Work (new), or NULL after saying why. */
json_t *work_ready(struct host *h, const char *id, bool wait);
/* The home that the Work's runs in containers share, made if it isn't there (seed: what it starts with, or NULL): new.  NULL with
 * *busy: a run or another process has the Work, and `wait`; else after saying why. */
char *work_home(struct host *h, const json_t *work, const char *seed, bool wait, bool *busy);
/* After a run: its commits are saved.  What its record says of that (new), or NULL after saying why. */
json_t *work_save_run(struct host *h, const char *id, const char *run);
/* The final save, and with `remove` the Work is removed if nothing was lost.  What the save said (new), or NULL after
 * saying why. */
json_t *work_end(struct host *h, const char *id, bool remove);
/* What follows a run in a Work: save, or for one that is its run's own the end, told and put into the answer.  The status,
 * or EXIT_NOT_RUN where a run that went well could not be saved. */
int work_after(struct host *h, const json_t *work, const char *run, int status, json_t *answer);
/* What hosts left undone that were killed, or went away from a run they detached: quietly, but for what fails.  False: not all
 * of it could be done, or somebody is at it. */
bool work_settle(struct host *h);
int work_settle_command(struct host *h, int argc, char **argv);

/* Is this kind of run one that nothing confined?  NULL is not. */
bool work_plain(const char *kind);
/* One Work by what a person calls it; NULL after saying why. */
json_t *work_find(struct host *h, const char *name);
/* What a save did, on stderr: one line a ref.  `quiet`: nothing where nothing was saved. */
void work_tell_save(struct host *h, const json_t *work, const json_t *save, bool quiet);
/* The same lines on any stream; work may be NULL where it isn't known. */
void work_save_lines(struct out *o, const json_t *work, const json_t *save);
void work_show(struct host *h, const json_t *work);
void work_table(struct host *h, const json_t *works);

struct exec_args;
/* A run of the operator's own in the Work (taken into *work anew) by this broker; its commits are saved.  Request and args are completed: the Work, its workspace, what follows.  Waits for a busy Work if `wait`.  The exit status. */
int work_perform(struct host *h, oc_broker *broker, json_t **work, oc_request *request, struct exec_args *args,
                 bool wait);

int work_exec(struct host *h, int argc, char **argv);
int work_send(struct host *h, int argc, char **argv);
int work_attach(struct host *h, int argc, char **argv);

#endif
