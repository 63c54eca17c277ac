/* SPDX-License-Identifier: Apache-2.0 */
/** @file workspace.h Works: a clone of its own for what an operator follows, and the way its commits go back.
 *
 * "A clone is a repository of its own … and commits on its branch are saved back to your checkout when the workspace
 * is removed."  A Work has a name (scope, binding, key), one clone, one branch, and its runs one after the other: whoever
 * works on it holds its lock, a guard for the life of its run, a host while it makes, saves or removes. */
#ifndef OPENCONDUIT_WORKSPACE_H
#define OPENCONDUIT_WORKSPACE_H

#include <openconduit/store.h>

OC_BEGIN_DECLS

/** What a new Work is made of; strings are copied. */
typedef struct oc_work_options {
	size_t size;                            /**< sizeof(oc_work_options) */
	const char *scope, *binding;            /**< whose it is, or both NULL */
	const char *key;                        /**< what the operator calls it; NULL: it is its one run's own */
	const char *checkout;                   /**< absolute: the repository it is cloned from and saved to */
	const char *branch;                     /**< NULL: open-conduit/<id> */
	const char *base;                       /**< a commit or ref to begin with; NULL: the checkout's HEAD */
	const char *author_name, *author_email; /**< of its commits; both NULL: the checkout's */
	uint32_t flags;                         /**< must be 0 */
} oc_work_options;
#define OC_WORK_OPTIONS_INIT                                                                                           \
	{                                                                                                              \
		sizeof(oc_work_options), 0, 0, 0, 0, 0, 0, 0, 0, 0                                                     \
	}

/** The Work of this name that is not finished, else a new one, recorded before anything is made of it.
 * One that is there keeps its branch; another checkout than its own is `workspace_conflict`.
 * @param json *new* text (free()): the Work, as oc_work_get(). */
OC_API OC_WARN_UNUSED int oc_work_open(oc_store *store, const oc_work_options *options, char **json, oc_error **err);
/** One Work.
 * @param name its id, its key, or SCOPE/BINDING/KEY; the newest finished one where no other has the key.
 * @param json *new* text (free()): {"id","scope","binding","key","own","checkout","branch","base","author","baseline",
 * "origin","root","git","workspace","state","created","finished","save","saved","final","unsaved":[run…],"data":{…},
 * "runs":[…]}.
 * @return OC_ENOTFOUND; OC_EINVAL when several Works have the key. */
OC_API OC_WARN_UNUSED int oc_work_get(oc_store *store, const char *name, char **json, oc_error **err);
/** All Works, newest first, without their runs.  @param finished also those that are finished.
 * @param limit 0: all.  @param json *new* text (free()). */
OC_API OC_WARN_UNUSED int oc_work_list(oc_store *store, uint32_t limit, int finished, char **json, oc_error **err);

/** Keep a small value of the host's own with a Work: member "data" of oc_work_get().  On the disk when it returns.
 * @param work its id.  @param name 1 to 64 of [a-z0-9-]; 32 names at most.
 * @param json at most 64 KiB of JSON text; copied.  NULL: forget it. */
OC_API OC_WARN_UNUSED int oc_work_set(oc_store *store, const char *work, const char *name, const char *json,
                                      oc_error **err);
/** Queue a message for a Work's agent; whoever runs the Work gives it.  On the disk when it returns.
 * @param text at most 64 KiB of UTF-8; copied.  OC_ELIMIT when 256 wait already.
 * @return the message's number in its Work, from 1. */
OC_API OC_WARN_UNUSED int64_t oc_work_send(oc_store *store, const char *work, const char *text, oc_error **err);
/** The same, and keep a value with the Work as oc_work_set() does: both, or neither.  So a sender that is killed can know what
 * it has sent.  @param name,json as there; name NULL: nothing is kept. */
OC_API OC_WARN_UNUSED int64_t oc_work_send_set(oc_store *store, const char *work, const char *text, const char *name,
                                               const char *json, oc_error **err);
/** The messages that are not known to be delivered, oldest first.
 * @param json *new* text (free()): [{"number","created","text","state":"waiting|given","run","mark"}…] */
OC_API OC_WARN_UNUSED int oc_work_messages(oc_store *store, const char *work, char **json, oc_error **err);
/** Move a message on.  "given" names the run that gets it and a mark by which its delivery will be known; "waiting" puts
 * one back that did not arrive; "delivered" is the end.  On the disk when it returns.
 * @param from,to "waiting", "given" or "delivered".  @param run,mark for "given", else NULL.
 * @return 1: moved; 0: it was not in the state `from`. */
OC_API OC_WARN_UNUSED int oc_work_message(oc_store *store, const char *work, int64_t number, const char *from,
                                          const char *to, const char *run, const char *mark, oc_error **err);

/** Make the home that a Work's runs in containers share, where it isn't made yet: works/<id>/home, which the runs of no other
 * Work have.  It is removed with the Work.  Takes as long as the copy does; whole on the disk when it returns.
 * @param work its id; its clone was made.  @param seed absolute: a directory that is copied into it, without any
 * .credentials.json; NULL: it is empty.  Ignored when the home is there: it is the agent's by then.
 * @return 1: made; 0: it was there; `sandbox_config` for what can't be copied, `work_busy` while somebody has the Work. */
OC_API OC_WARN_UNUSED int oc_work_home(oc_store *store, const char *work, const char *seed, oc_error **err);

typedef struct oc_workspace oc_workspace; /**< The provider that makes, saves and removes the clones. */

typedef struct oc_workspace_options {
	size_t size;                 /**< sizeof(oc_workspace_options) */
	const char *provider;        /**< NULL: "git".  Copied, as all here. */
	const char *provider_dir;    /**< looked in before libexec_dir/providers; NULL: none */
	const char *const *pass_env; /**< names the provider gets from the environment; NULL-terminated, or NULL */
	uint32_t flags;              /**< must be 0 */
} oc_workspace_options;
#define OC_WORKSPACE_OPTIONS_INIT                                                                                      \
	{                                                                                                              \
		sizeof(oc_workspace_options), 0, 0, 0, 0                                                               \
	}

/** It keeps the store, which must outlive it.  @param options NULL: defaults.
 * @param out *new*; oc_workspace_free(). */
OC_API OC_WARN_UNUSED int oc_workspace_new(oc_store *store, const oc_workspace_options *options, oc_workspace **out,
                                           oc_error **err);
OC_API void oc_workspace_free(oc_workspace *workspace); /**< NULL allowed; what is under way is dropped unanswered. */

/** json: what was done, borrowed; exactly one of json and err is set. */
typedef void (*oc_workspace_fn)(const char *json, const oc_error *err, void *userdata);

enum oc_save_flags {
	OC_SAVE_FINAL = 1, /**< also moves the branch, and commits what is uncommitted to a ref of its own */
};

/** Make the Work's clone where it isn't made yet.  json: the Work.
 * @param wait_ms how long to wait for the Work's lock; 0: `work_busy` at once; < 0: without limit. */
OC_API OC_WARN_UNUSED int oc_workspace_create(oc_workspace *workspace, const char *work, int64_t wait_ms,
                                              oc_workspace_fn fn, void *userdata, oc_error **err);
/** Save what the clone holds into the checkout and record it, also in each run that was not saved yet.
 * json: {"tip","saved":[{"ref","commit"}…],"outcome","leftover":[{"what","ref","commit"}…],"lost":[{"what","why"}…],
 * "notes"}.  @param flags enum oc_save_flags.  @param wait_ms as above. */
OC_API OC_WARN_UNUSED int oc_workspace_save(oc_workspace *workspace, const char *work, uint32_t flags, int64_t wait_ms,
                                            oc_workspace_fn fn, void *userdata, oc_error **err);
/** Remove the clone, and the Work is finished.  Only after a final save that lost nothing, with nothing run since:
 * `workspace_conflict` otherwise.  json: the Work. */
OC_API OC_WARN_UNUSED int oc_workspace_remove(oc_workspace *workspace, const char *work, int64_t wait_ms,
                                              oc_workspace_fn fn, void *userdata, oc_error **err);

OC_END_DECLS
#endif
