/* SPDX-License-Identifier: Apache-2.0 */
/* What a workspace provider has under way.  One operation is: wait for the Work's lock, look at its row, ask the provider,
 * check the answer, record it.  A process killed anywhere in it leaves a Work whose next operation goes on from there:
 * a clone that no record names was used by no run and is made anew, a save is done again, a removal too.
 *
 *   lock ─▶ begin() ─▶ provider ─▶ answered() ─▶ finish()
 *             └──▶ (create: the unrecorded clone goes first) ─┘
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/os.h"
#include "base/path.h"
#include "base/time.h"
#include "broker/workspace.h"
#include "provider/client.h"

/* A repository of some gigabytes on a slow disk takes minutes; what takes longer than this hangs. */
#define CALL_TIMEOUT_MS (60 * 60 * 1000)
#define RETRY_MS        50
#define ID_MASK         ((1ull << 53) - 1)

enum what { CREATE, SAVE, REMOVE };

struct oc_work_op {
	struct oc_work_op *next;
	oc_workspace *workspace;
	enum what what;
	bool final, sweeping; /* sweeping: the provider removes an unrecorded clone first */
	char id[OC_WORK_ID_SIZE];
	json_t *work;
	int lock;
	int64_t until; /* wait for the lock; < 0: without limit */
	struct oc_source *timer;
	oc_workspace_fn fn;
	void *userdata;
};

struct oc_workspace {
	oc_store *store;
	oc_context *ctx;
	struct oc_provider *provider;
	struct oc_work_op *ops;
};

static void op_free(struct oc_work_op *op)
{
	for (struct oc_work_op **p = &op->workspace->ops; *p; p = &(*p)->next)
		if (*p == op) {
			*p = op->next;
			break;
		}
	oc_source_free(op->timer);
	json_decref(op->work);
	oc_close(op->lock);
	free(op);
}

int oc_workspace_new(oc_store *store, const oc_workspace_options *options, oc_workspace **out, oc_error **err)
{
	oc_workspace_options o = OC_WORKSPACE_OPTIONS_INIT;
	oc_workspace *w;
	int rc;

	if (!store || !out)
		return oc_fail(err, OC_EINVAL, 0, "oc_workspace_new needs a store and somewhere to be returned");
	if (options && !oc_copy_sized(&o, sizeof(o), options))
		return oc_fail(err, OC_EVERSION, 0,
		               "oc_workspace_options has a member set that this library does not know");
	if (o.flags)
		return oc_fail(err, OC_EVERSION, 0, "oc_workspace_options.flags must be 0");
	w = calloc(1, sizeof(*w));
	if (!w)
		return oc_nomem(err);
	w->store = store;
	w->ctx = store->ctx;
	rc = oc_provider_new(w->ctx, o.provider ? o.provider : "git", o.provider_dir, o.pass_env, &w->provider, err);
	if (rc < 0)
		free(w);
	else
		*out = w;
	return rc;
}

void oc_workspace_free(oc_workspace *workspace)
{
	if (!workspace)
		return;
	/* Ends the connection first: outstanding calls are dropped with it, without a callback. */
	oc_provider_free(workspace->provider);
	while (workspace->ops)
		op_free(workspace->ops);
	free(workspace);
}

/* Answer: the lock is free before the callback, which may go on with the same Work. */
static void finish(struct oc_work_op *op, const json_t *result, const oc_error *failure)
{
	oc_cleanup(oc_freep) char *text = result ? json_dumps(result, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	oc_workspace_fn fn = op->fn;
	void *userdata = op->userdata;
	oc_error *err = NULL;

	if (!failure && !text)
		oc_nomem(&err);
	op_free(op);
	fn(failure || err ? NULL : text, failure ? failure : err, userdata);
	oc_error_free(err);
}

static void finish_work(struct oc_work_op *op)
{
	oc_cleanup(oc_json_decrefp) json_t *work = NULL;
	oc_error *err = NULL;

	if (oc_store_work(op->workspace->store, op->id, &work, &err) == 0)
		(void)oc_work_whole(op->workspace->store, work, &err);
	finish(op, err ? NULL : work, err);
	oc_error_free(err);
}

static bool is_made(const struct oc_work_op *op)
{
	return json_is_object(json_object_get(op->work, "root"));
}

static bool is_finishing(const struct oc_work_op *op)
{
	return !strcmp(oc_json_text(op->work, "state"), "finishing");
}

static bool is_final(const struct oc_work_op *op)
{
	return is_finishing(op) || json_is_true(json_object_get(op->work, "final"));
}

/* 1: the workspace is there, 0: it isn't; what can't be told counts as there. */
static bool is_there(const struct oc_work_op *op, struct oc_os_id *id)
{
	oc_cleanup(oc_freep) char *path = oc_store_work_path(op->workspace->store, op->id, OC_WORKSPACE);

	return !path || oc_os_identify(AT_FDCWD, path, id) != -ENOENT;
}

static json_t *path_json(const struct oc_work_op *op, const char *name)
{
	oc_cleanup(oc_freep) char *path = oc_store_work_path(op->workspace->store, op->id, name);

	return path ? json_string(path) : NULL;
}

/* Take these members of the row over into the parameters. */
static bool take(json_t *params, const json_t *work, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_t *value = json_object_get(work, names[i]);

		if (!oc_json_set(params, names[i], value ? json_incref(value) : json_null()))
			return false;
	}
	return true;
}

static json_t *create_params(const struct oc_work_op *op)
{
	static const char *const names[] = { "checkout", "branch", "base", "author" };
	oc_cleanup(oc_json_decrefp) json_t *p = json_object();

	return take(p, op->work, names, OC_COUNT(names)) && oc_json_set(p, "dir", path_json(op, OC_WORKSPACE))
	               ? oc_steal(p)
	               : NULL;
}

static json_t *save_params(const struct oc_work_op *op)
{
	static const char *const names[] = { "checkout", "root", "git", "branch", "baseline" };
	oc_cleanup(oc_json_decrefp) json_t *p = json_object();

	return take(p, op->work, names, OC_COUNT(names)) && oc_json_set(p, "dir", path_json(op, OC_WORKSPACE)) &&
	                       oc_json_set(p, "quarantine", path_json(op, OC_QUARANTINE)) &&
	                       oc_json_set_string(p, "work", op->id) && oc_json_set(p, "final", json_boolean(op->final))
	               ? oc_steal(p)
	               : NULL;
}

static json_t *remove_params(const struct oc_work_op *op, const struct oc_os_id *found)
{
	oc_cleanup(oc_json_decrefp) json_t *p = json_object();
	json_t *root = json_object_get(op->work, "root");

	/* A clone without a record has the numbers that it has: no run was ever in it. */
	root = found ? json_pack("{s:I, s:I}", "dev", (json_int_t)(found->dev & ID_MASK), "ino",
	                         (json_int_t)(found->ino & ID_MASK))
	             : json_incref(root);
	return oc_json_set(p, "root", root) && oc_json_set(p, "dir", path_json(op, OC_WORKSPACE)) ? oc_steal(p) : NULL;
}

static void answered(const json_t *reply, const oc_error *failure, void *userdata);

static int ask(struct oc_work_op *op, const char *method, json_t *params, oc_error **err)
{
	if (!params)
		return oc_nomem(err);
	return oc_provider_call(op->workspace->provider, method, params, CALL_TIMEOUT_MS, answered, op, err);
}

/* A run of the Work that may have something alive is no ground to stand on. */
static int check_live(const struct oc_work_op *op, oc_error **err)
{
	char run[OC_RUN_ID_SIZE], state[16], fix[80];
	int rc = oc_store_work_live(op->workspace->store, op->id, run, state, err);

	if (rc < 0 || !*run || (op->what == SAVE && !op->final))
		return rc;
	/* We hold the lock, so no guard of it lives: only what recovery could not tell, or has not looked at, is left. */
	return oc_refuse(err, "work_busy", op->id, oc_store_show_run(fix, run),
	                 "what became of run %s of this Work is not settled (%s), so nothing is done to its workspace",
	                 run, state);
}

/* Made by the provider, seen by ourselves: the numbers that guards go by are never hearsay. */
static int check_numbers(const struct oc_work_op *op, const json_t *reply, oc_error **err)
{
	static const struct {
		const char *member, *path;
	} parts[] = { { "root", OC_WORKSPACE }, { "git", OC_WORKSPACE "/.git" } };

	for (size_t i = 0; i < OC_COUNT(parts); i++) {
		oc_cleanup(oc_freep) char *path = oc_store_work_path(op->workspace->store, op->id, parts[i].path);
		const json_t *numbers = json_object_get(reply, parts[i].member);
		struct oc_os_id id;

		if (!path)
			return oc_nomem(err);
		if (oc_os_identify(AT_FDCWD, path, &id) < 0 || !S_ISDIR(id.mode) || id.uid != geteuid() ||
		    (uint64_t)oc_json_integer(numbers, "dev", -1) != (id.dev & ID_MASK) ||
		    (uint64_t)oc_json_integer(numbers, "ino", -1) != (id.ino & ID_MASK))
			return oc_refuse(err, "provider_failed", path, "open-conduit doctor",
			                 "provider %s says that it made %s, and that is not what is there",
			                 oc_provider_name(op->workspace->provider), path);
	}
	return 0;
}

static int begin_create(struct oc_work_op *op, bool *done, oc_error **err)
{
	struct oc_os_id found;
	int rc = check_live(op, err), dir;

	if (rc < 0)
		return rc;
	*done = is_made(op);
	if (*done && !is_there(op, &found)) {
		char fix[80];

		snprintf(fix, sizeof(fix), "open-conduit work finish %s", op->id);
		return oc_refuse(
		        err, "sandbox_workspace", op->id, fix,
		        "the workspace of this Work is gone: somebody removed it; finish the Work and begin anew");
	}
	/* A further turn of a Work that was saved finally, or on its way to its end: it goes on. */
	if (*done)
		return is_final(op) ? oc_store_work_state(op->workspace->store, op->id, "open", err) : 0;
	dir = oc_store_work_dir(op->workspace->store, op->id, true, err);
	if (dir < 0)
		return dir;
	oc_close(dir);
	op->sweeping = is_there(op, &found);
	return op->sweeping ? ask(op, "remove", remove_params(op, &found), err)
	                    : ask(op, "create", create_params(op), err);
}

/* There is nothing to save from.  Said as what it is: then the Work can be finished. */
static int save_nothing(struct oc_work_op *op, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *result = NULL;
	int rc;

	/* We removed it, after a save that is on record. */
	if (is_finishing(op)) {
		finish(op, json_object_get(op->work, "save"), NULL);
		return 0;
	}
	if (is_made(op))
		result = json_pack("{s:n, s:[], s:s, s:[], s:[{s:s, s:s}], s:[]}", "tip", "saved", "outcome",
		                   "unchanged", "leftover", "lost", "what", "the workspace", "why",
		                   "its directory is gone: what was in it was not saved by us", "notes");
	else
		result = json_pack("{s:n, s:[], s:s, s:[], s:[], s:[s]}", "tip", "saved", "outcome", "unchanged",
		                   "leftover", "lost", "notes", "the clone was never made");
	rc = result ? oc_store_work_saved(op->workspace->store, op->id, op->final, result, err) : oc_nomem(err);
	if (rc == 0)
		finish(op, result, NULL);
	return rc;
}

static int begin_save(struct oc_work_op *op, oc_error **err)
{
	struct oc_os_id found;
	int rc = check_live(op, err);

	if (rc < 0)
		return rc;
	return is_made(op) && is_there(op, &found) ? ask(op, "save", save_params(op), err) : save_nothing(op, err);
}

/* What no save is recorded of stays, whoever asks. */
static int check_saved(const struct oc_work_op *op, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *unsaved = NULL;
	char fix[80];
	int rc = oc_store_work_unsaved(op->workspace->store, op->id, &unsaved, err);

	if (rc < 0)
		return rc;
	if (!json_array_size(unsaved) && is_final(op))
		return 0;
	snprintf(fix, sizeof(fix), "open-conduit work finish %s", op->id);
	return oc_refuse(err, "workspace_conflict", op->id, fix,
	                 "the workspace of this Work holds what was not finally saved, so it stays");
}

static int begin_remove(struct oc_work_op *op, oc_error **err)
{
	struct oc_os_id found;
	bool there = is_there(op, &found);
	int rc = check_live(op, err);

	if (rc == 0)
		rc = check_saved(op, err);
	if (rc == 0 && !is_finishing(op))
		rc = oc_store_work_state(op->workspace->store, op->id, "finishing", err);
	oc_fault("work:removing");
	if (rc < 0)
		return rc;
	op->sweeping = !is_made(op);
	if (there)
		return ask(op, "remove", remove_params(op, op->sweeping ? &found : NULL), err);
	answered(NULL, NULL, op);
	return 0;
}

/* The rest of the Work's directory is ours, but for a home, which an agent wrote: by descriptors, without links. */
static int remove_rest(struct oc_work_op *op, oc_error **err)
{
	oc_store *store = op->workspace->store;
	oc_cleanup(oc_closep) int works =
	        openat(store->state_fd, OC_WORKS_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = works < 0 ? -errno : oc_remove_tree(works, op->id);

	if (rc < 0 && rc != -ENOENT)
		return oc_fail(err, OC_EIO, -rc, "the directory of Work %s can't be removed", op->id);
	return oc_store_work_state(store, op->id, "finished", err);
}

static int created(struct oc_work_op *op, const json_t *reply, oc_error **err)
{
	int rc;

	if (op->sweeping) {
		op->sweeping = false;
		rc = oc_workspace_check_removed(oc_provider_name(op->workspace->provider), reply, err);
		return rc < 0 ? rc : ask(op, "create", create_params(op), err);
	}
	oc_fault("work:created");
	rc = oc_workspace_check_created(oc_provider_name(op->workspace->provider), op->work, reply, err);
	if (rc == 0)
		rc = check_numbers(op, reply, err);
	if (rc == 0)
		rc = oc_store_work_made(op->workspace->store, op->work, reply, err);
	oc_fault("work:recorded");
	if (rc == 0)
		finish_work(op);
	return rc;
}

static int saved(struct oc_work_op *op, const json_t *reply, oc_error **err)
{
	int rc;

	oc_fault("work:saved");
	rc = oc_workspace_check_saved(oc_provider_name(op->workspace->provider), op->work, reply, err);
	/* What could not be saved keeps the workspace: then it is a save like any other. */
	if (rc == 0)
		rc = oc_store_work_saved(op->workspace->store, op->id,
		                         op->final && !json_array_size(json_object_get(reply, "lost")), reply, err);
	oc_fault("work:save-recorded");
	if (rc == 0)
		finish(op, reply, NULL);
	return rc;
}

static int removed(struct oc_work_op *op, const json_t *reply, oc_error **err)
{
	int rc = reply ? oc_workspace_check_removed(oc_provider_name(op->workspace->provider), reply, err) : 0;

	oc_fault("work:removed");
	if (rc == 0)
		rc = remove_rest(op, err);
	oc_fault("work:finished");
	if (rc == 0)
		finish_work(op);
	return rc;
}

static void answered(const json_t *reply, const oc_error *failure, void *userdata)
{
	struct oc_work_op *op = userdata;
	oc_error *err = NULL;
	int rc = 0;

	if (failure) {
		finish(op, NULL, failure);
		return;
	}
	switch (op->what) {
	case CREATE:
		rc = created(op, reply, &err);
		break;
	case SAVE:
		rc = saved(op, reply, &err);
		break;
	case REMOVE:
		rc = removed(op, reply, &err);
		break;
	}
	if (rc < 0)
		finish(op, NULL, err);
	oc_error_free(err);
}

static int load(struct oc_work_op *op, oc_error **err)
{
	int rc;

	json_decref(op->work);
	op->work = NULL;
	rc = oc_store_work(op->workspace->store, op->id, &op->work, err);
	if (rc == 0 && !strcmp(oc_json_text(op->work, "state"), "finished"))
		rc = oc_refuse(err, "workspace_conflict", op->id, "open-conduit work list", "this Work is finished");
	return rc;
}

/* The lock is ours. */
static void begin(struct oc_work_op *op)
{
	oc_error *err = NULL;
	bool done = false;
	int rc;

	oc_fault("work:locked");
	rc = load(op, &err);
	if (rc == 0 && op->what == CREATE)
		rc = begin_create(op, &done, &err);
	else if (rc == 0)
		rc = op->what == SAVE ? begin_save(op, &err) : begin_remove(op, &err);
	if (rc < 0)
		finish(op, NULL, err);
	else if (done)
		finish_work(op);
	oc_error_free(err);
}

static int busy(const struct oc_work_op *op, oc_error **err)
{
	char run[OC_RUN_ID_SIZE] = "", state[16], fix[80];

	(void)oc_store_work_live(op->workspace->store, op->id, run, state, NULL);
	return oc_refuse(err, "work_busy", op->id, *run ? oc_store_show_run(fix, run) : "open-conduit work list",
	                 *run ? "this Work is busy: run %s is in its workspace"
	                      : "this Work is busy: another process is making, "
	                        "saving or removing its workspace%s",
	                 run);
}

static int open_lock(struct oc_work_op *op, oc_error **err)
{
	int dir = oc_store_work_dir(op->workspace->store, op->id, true, err);

	if (dir < 0)
		return dir;
	op->lock = openat(dir, OC_WORK_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	oc_close(dir);
	return op->lock < 0 ? oc_fail(err, OC_EIO, errno, "the lock of Work %s can't be opened", op->id) : 0;
}

/* 1: ours, 0: somebody else's.  Opened once: who waited for a lock that went with its Work gets that one, and begin()
 * tells that the Work is finished. */
static int take_lock(struct oc_work_op *op, oc_error **err)
{
	int rc = op->lock < 0 ? open_lock(op, err) : 0;

	if (rc < 0)
		return rc;
	if (flock(op->lock, LOCK_EX | LOCK_NB) == 0)
		return 1;
	return errno == EWOULDBLOCK || errno == EINTR
	               ? 0
	               : oc_fail(err, OC_EIO, errno, "the lock of Work %s can't be taken", op->id);
}

static void try_lock(void *userdata)
{
	struct oc_work_op *op = userdata;
	oc_error *err = NULL;
	int rc = take_lock(op, &err);

	if (rc > 0) {
		begin(op);
		return;
	}
	if (rc == 0 && (op->until < 0 || oc_mono_ms() < op->until)) {
		oc_source_set_timer(op->timer, RETRY_MS);
		return;
	}
	if (rc == 0)
		busy(op, &err);
	finish(op, NULL, err);
	oc_error_free(err);
}

static int start(oc_workspace *workspace, enum what what, const char *work, int64_t wait_ms, oc_workspace_fn fn,
                 void *userdata, struct oc_work_op **out, oc_error **err)
{
	struct oc_work_op *op;
	int rc;

	if (!workspace || !work || !fn)
		return oc_fail(err, OC_EINVAL, 0, "a workspace's operation needs a workspace, a Work and a callback");
	rc = oc_context_check(workspace->ctx, err);
	if (rc < 0)
		return rc;
	if (!oc_work_id_valid(work))
		return oc_error_makef(err, OC_EINVAL, 0, NULL, work, "open-conduit work list",
		                      "this is no id of a Work");
	op = calloc(1, sizeof(*op));
	if (!op)
		return oc_nomem(err);
	op->workspace = workspace;
	op->what = what;
	op->lock = -1;
	op->until = wait_ms < 0 ? -1 : oc_mono_ms() + wait_ms;
	op->fn = fn;
	op->userdata = userdata;
	memcpy(op->id, work, strlen(work) + 1);
	op->next = workspace->ops;
	workspace->ops = op;
	rc = load(op, err);
	if (rc == 0)
		rc = oc_loop_add_timer(workspace->ctx->loop, 0, try_lock, op, &op->timer, err);
	if (rc < 0)
		op_free(op);
	else
		*out = op;
	return rc;
}

int oc_workspace_create(oc_workspace *workspace, const char *work, int64_t wait_ms, oc_workspace_fn fn, void *userdata,
                        oc_error **err)
{
	struct oc_work_op *op;

	return start(workspace, CREATE, work, wait_ms, fn, userdata, &op, err);
}

int oc_workspace_save(oc_workspace *workspace, const char *work, uint32_t flags, int64_t wait_ms, oc_workspace_fn fn,
                      void *userdata, oc_error **err)
{
	struct oc_work_op *op = NULL;
	int rc;

	if (flags & ~(uint32_t)OC_SAVE_FINAL)
		return oc_fail(err, OC_EVERSION, 0, "oc_workspace_save: a flag that this library does not know");
	rc = start(workspace, SAVE, work, wait_ms, fn, userdata, &op, err);
	if (rc >= 0 && op)
		op->final = flags & OC_SAVE_FINAL;
	return rc;
}

int oc_workspace_remove(oc_workspace *workspace, const char *work, int64_t wait_ms, oc_workspace_fn fn, void *userdata,
                        oc_error **err)
{
	struct oc_work_op *op;

	return start(workspace, REMOVE, work, wait_ms, fn, userdata, &op, err);
}
