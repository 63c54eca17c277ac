/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery: what became of every run that is not over.  The kernel's lock on runs/<id>/lock decides whether a guard
 * lives, the files it fsynced decide what had happened; a host's memory decides nothing.  Where the two can't tell,
 * the run is "unknown" and stays so until they can.  Each step may be the last before a SIGKILL: it is either
 * whole or is found again by the next recovery. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/os.h"
#include "base/path.h"
#include "base/utf8.h"
#include "guard/protocol.h"
#include "guard/recover.h"
#include "plan/plan.h"

#define INFO_MAX 65536
#define RUNS_MAX 1000000
#define PATIENCE 20000

/* The line to paste: a command on the run's directory, or what is known of the run. */
static char *fix_line(const struct oc_found *f, const char *command)
{
	struct oc_buf b;
	oc_cleanup(oc_freep) char *runs = oc_path_join(f->store->dir, "runs");
	oc_cleanup(oc_freep) char *dir = runs ? oc_path_join(runs, f->run) : NULL;
	int rc;

	oc_buf_init(&b, 65536);
	if (!command)
		rc = oc_buf_printf(&b, "open-conduit runs get %s", f->run);
	else
		rc = !dir || oc_buf_printf(&b, "%s ", command) < 0 || oc_shell_quote(&b, dir) < 0 ? OC_ENOMEM : 0;
	if (rc == 0)
		return oc_buf_steal(&b);
	oc_buf_free(&b);
	return NULL;
}

/* Not run_lost, which may be tried again: what can't be told must block a retry. */
void oc_found_unknown(struct oc_found *f, const char *what, int errnum, const char *command)
{
	oc_cleanup(oc_freep) char *fix = fix_line(f, command);

	snprintf(f->detail, sizeof(f->detail), "%s%s%s", what, errnum ? ": " : "",
	         errnum ? strerrordesc_np(errnum) : "");
	if (!f->error)
		oc_refuse(&f->error, "pin_mismatch", f->run, fix,
		          "what became of run %s can't be told, so it is not retried: %s", f->run, f->detail);
}

/* 1: there; 0: not; negative: can't tell. */
static int there(struct oc_found *f, const char *name)
{
	struct stat st;

	if (fstatat(f->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISREG(st.st_mode) && st.st_uid == geteuid())
			return 1;
		oc_found_unknown(f, "a record of its guard is not a plain file of ours", 0, "ls -la");
		return -1;
	}
	if (errno == ENOENT)
		return 0;
	oc_found_unknown(f, "its directory can't be read", errno, "ls -ld");
	return -1;
}

static int look(struct oc_found *f, const char *name, bool *is)
{
	int rc = there(f, name);

	*is = rc > 0;
	return rc < 0 ? rc : 0;
}

/* The lock is the one thing that can't be stale. */
static int take_lock(struct oc_found *f)
{
	f->lock = openat(f->dir, OC_GUARD_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (f->lock < 0) {
		oc_found_unknown(f, "its lock can't be opened", errno, "ls -ld");
		return -1;
	}
	if (flock(f->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK) {
		oc_found_unknown(f, "its lock can't be taken", errno, "ls -ld");
		return -1;
	}
	f->lock = oc_close(f->lock);
	f->held = true;
	return 0;
}

/* guard.json against the pin and this boot.  Missing: the guard has only begun, or never was. */
static int read_info(struct oc_found *f)
{
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	oc_cleanup(oc_buf_free) struct oc_buf b = { 0 };
	const char *boot, *digest;
	char now[OC_BOOT_SIZE];
	int rc;

	oc_buf_init(&b, INFO_MAX);
	rc = oc_read_file(f->dir, OC_GUARD_INFO, INFO_MAX - 1, &b);
	if (rc == -ENOENT)
		return 0;
	if (rc < 0 || oc_json_parse(b.data ? b.data : "", b.len, INFO_MAX, OC_GUARD_INFO, &json, NULL) < 0 ||
	    !json_is_object(json)) {
		oc_found_unknown(f, "guard.json can't be read", rc < 0 ? -rc : 0, "ls -la");
		return -1;
	}
	f->informed = true;
	boot = oc_json_text(json, "boot");
	digest = oc_json_text(json, "digest");
	if (!boot || !digest || oc_os_boot_id(now) < 0) {
		oc_found_unknown(f, "guard.json names no boot or digest", 0, "ls -la");
		return -1;
	}
	f->other_boot = strcmp(boot, now) != 0;
	f->other_digest = f->pinned && strcmp(digest, f->digest) != 0;
	f->alive = oc_guard_alive(f->dir, OC_GUARD_INFO, &f->guard, NULL);
	return 0;
}

int oc_found_plan(const struct oc_found *f, json_t **plan, oc_error **err)
{
	if (!f->plan)
		return oc_fail(err, OC_ENOTFOUND, 0, "there is no pin of run %s", f->run);
	return oc_json_parse(f->plan, strlen(f->plan), OC_JSON_MAX, OC_GUARD_PLAN, plan, err);
}

bool oc_found_differs(const oc_error *error)
{
	const char *reason = oc_error_reason(error);

	return reason && strcmp(reason, "pin_mismatch") == 0;
}

const char *oc_found_settle(struct oc_found *f)
{
	oc_error *ignored = NULL;

	if (!f->error)
		oc_found_unknown(f, "its records contradict each other", 0, NULL);
	if (oc_store_state(f->store, f->run, "unknown", f->error, &ignored) < 0)
		oc_error_free(ignored);
	return f->mismatch ? "pin_mismatch" : "unknown";
}

const char *oc_found_mismatch(struct oc_found *f, const char *what)
{
	oc_cleanup(oc_freep) char *fix = fix_line(f, NULL);
	oc_error *was = oc_steal(f->error);
	const char *told = oc_error_fix(was), *subject = oc_error_subject(was);

	f->mismatch = true;
	snprintf(f->detail, sizeof(f->detail), "%s", what);
	oc_refuse(&f->error, "pin_mismatch", subject ? subject : f->run, told ? told : fix,
	          "%s: the run is not adopted, and nothing is ended that is not provably ours", what);
	oc_error_free(was);
	return oc_found_settle(f);
}

static const char *launchable(struct oc_found *f)
{
	oc_error *error = NULL;

	if (oc_found_clean(f) < 0 || oc_found_rewind(f) < 0)
		return oc_found_settle(f);
	snprintf(f->detail, sizeof(f->detail), "%s",
	         f->started ? "the sandbox was not proved, so the command never ran; leftovers were removed"
	                    : "nothing was started");
	if (oc_store_state(f->store, f->run, "pinned", NULL, &error) < 0) {
		oc_found_unknown(f, error ? oc_error_message(error) : "the store can't be written", 0, NULL);
		oc_error_free(error);
		return "unknown";
	}
	return "launchable";
}

const char *oc_found_finished(struct oc_found *f)
{
	oc_error *error = NULL;

	if (oc_found_clean(f) < 0)
		return oc_found_settle(f);
	if (oc_store_finish(f->store, f->run, &error) == 0) {
		snprintf(f->detail, sizeof(f->detail), "its exit record was there");
		return "finished";
	}
	if (oc_found_differs(error)) {
		f->error = error;
		return oc_found_mismatch(f, oc_error_message(error));
	}
	oc_found_unknown(f, error ? oc_error_message(error) : "its exit record can't be read", 0, "ls -la");
	oc_error_free(error);
	return oc_found_settle(f);
}

static const char *lost(struct oc_found *f)
{
	oc_cleanup(oc_freep) char *fix = fix_line(f, NULL);
	oc_error *reason = NULL, *error = NULL;
	int rc;

	if (oc_found_clean(f) < 0)
		return oc_found_settle(f);
	snprintf(f->detail, sizeof(f->detail), "%s",
	         f->other_boot ? "the machine was started anew while it ran"
	                       : "its guard is gone without an exit record");
	oc_refuse(&reason, "run_lost", f->run, fix, "%s: how the command ended is not known", f->detail);
	rc = oc_store_state(f->store, f->run, "run_lost", reason, &error);
	oc_error_free(reason);
	if (rc == 0)
		return "run_lost";
	oc_found_unknown(f, error ? oc_error_message(error) : "the store can't be written", 0, NULL);
	oc_error_free(error);
	return "unknown";
}

static const char *forget(struct oc_found *f)
{
	oc_error *error = NULL;

	if (oc_store_forget(f->store, f->run, &error) < 0) {
		oc_found_unknown(f, error ? oc_error_message(error) : "it can't be forgotten", 0, NULL);
		oc_error_free(error);
		return oc_found_settle(f);
	}
	snprintf(f->detail, sizeof(f->detail), "it was planned and never pinned");
	return "forgotten";
}

/* The table of contract.md, "Recovery". */
static const char *judge(struct oc_found *f)
{
	if (f->held)
		return oc_found_living(f);
	if (f->alive == OC_ALIVE_YES) {
		if (f->other_digest || f->other_boot)
			return oc_found_mismatch(f, f->other_digest
			                                    ? "its guard holds another plan than the one pinned"
			                                    : "its guard's record names another boot of the machine");
		oc_found_unknown(f, "its guard lives without holding its lock", 0, NULL);
		return oc_found_settle(f);
	}
	if (f->alive == OC_ALIVE_UNKNOWN) {
		oc_found_unknown(f, "whether its guard lives can't be told", 0, "ls -ld");
		return oc_found_settle(f);
	}
	/* Nothing of another boot is alive, so there is nothing to sweep; another plan's records are not this run's. */
	if (f->other_digest)
		return oc_found_mismatch(f, "the records in its directory are of another plan than the one pinned");
	if (f->ended)
		return oc_found_finished(f);
	if (f->proved && !f->started) {
		oc_found_unknown(f, "it has a proof and no start", 0, "ls -la");
		return oc_found_settle(f);
	}
	if (!f->pinned && !f->started && !f->proved)
		return forget(f);
	if (!f->pinned) {
		oc_found_unknown(f, "it was started and there is no pin of it", 0, "ls -la");
		return oc_found_settle(f);
	}
	return f->proved ? lost(f) : launchable(f);
}

static const char *classify(struct oc_found *f)
{
	f->dir = oc_store_run_dir(f->store, f->run, false, &f->error);
	if (f->dir == OC_ENOTFOUND && !f->pinned)
		return forget(f);
	if (f->dir < 0)
		return oc_found_settle(f);
	if (f->pinned && oc_store_pinned(f->store, f->run, &f->plan, f->digest, &f->error) < 0)
		return oc_found_differs(f->error) ? oc_found_mismatch(f, oc_error_message(f->error))
		                                  : oc_found_settle(f);
	if (take_lock(f) < 0 || read_info(f) < 0 || look(f, OC_GUARD_STARTED, &f->started) < 0 ||
	    look(f, OC_GUARD_PROVED, &f->proved) < 0 || look(f, OC_GUARD_EXIT, &f->ended) < 0)
		return oc_found_settle(f);
	return judge(f);
}

static int report(const struct oc_found *f, const char *outcome, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *row = json_object();

	if (!oc_json_set_string(row, "id", f->run) || !oc_json_set_string(row, "outcome", outcome) ||
	    !oc_json_set_string(row, "detail", f->detail) || !oc_json_append(f->walk->out, json_incref(row)))
		return oc_nomem(err);
	return 0;
}

static int settle(struct oc_walk *walk, const char *run, const char *state, bool pinned, oc_error **err)
{
	struct oc_found f = { .walk = walk,
		              .store = walk->store,
		              .run = run,
		              .state = state,
		              .dir = -1,
		              .lock = -1,
		              .pinned = pinned,
		              .alive = OC_ALIVE_NO };
	const char *outcome = classify(&f);
	int rc;

	if (!f.detail[0] && f.error)
		snprintf(f.detail, sizeof(f.detail), "%s", oc_error_message(f.error));
	rc = report(&f, outcome, err);
	oc_error_free(f.error);
	free(f.plan);
	oc_close(f.dir >= 0 ? f.dir : -1);
	oc_close(f.lock);
	return rc;
}

/* A directory without a row: a crash between the pin's file and its row, or a store that was lost.  What was
 * started is put back into the store from its own pin; what was not is nothing. */
static int restore(oc_store *store, const char *run, int dir, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *head = json_object();
	oc_cleanup(oc_buf_free) struct oc_buf b = { 0 };
	oc_plan *plan = NULL;
	int rc;

	oc_buf_init(&b, OC_JSON_MAX + 1);
	rc = oc_read_file(dir, OC_GUARD_PLAN, OC_JSON_MAX, &b);
	if (rc == 0)
		rc = oc_plan_load(b.data ? b.data : "", b.len, &plan, err);
	else
		rc = oc_fail(err, OC_EIO, rc > -4096 ? -rc : 0, "the plan of run %s can't be read", run);
	if (rc == 0 && strcmp(oc_plan_run(plan), run) != 0)
		rc = oc_fail(err, OC_EPROTO, 0, "the plan in the directory of run %s is of another run", run);
	if (rc == 0 && (!oc_json_set_string(head, "kind", oc_plan_kind(plan)) ||
	                !oc_json_set_string(head, "work", oc_json_text(plan->json, "work")) ||
	                !oc_json_set_string(head, "binding", oc_json_text(plan->json, "binding")) ||
	                !oc_json_set(head, "command",
	                             json_deep_copy(json_object_get(json_object_get(plan->json, "command"), "argv")))))
		rc = oc_nomem(err);
	if (rc == 0)
		rc = oc_store_pin(store, run, plan->text, plan->digest, head, err);
	oc_plan_free(plan);
	return rc;
}

static int orphan(struct oc_walk *walk, const char *run, oc_error **err)
{
	struct oc_found f = {
		.walk = walk, .store = walk->store, .run = run, .dir = -1, .lock = -1, .alive = OC_ALIVE_NO
	};
	const char *outcome = "unknown";
	bool known = true, info = false;
	int rc;

	f.dir = oc_store_run_dir(f.store, run, false, &f.error);
	if (f.dir >= 0 && take_lock(&f) == 0 && look(&f, OC_GUARD_INFO, &info) == 0 &&
	    look(&f, OC_GUARD_STARTED, &f.started) == 0 && look(&f, OC_GUARD_PROVED, &f.proved) == 0 &&
	    look(&f, OC_GUARD_EXIT, &f.ended) == 0)
		known = false;
	if (!known && !f.held && !info && !f.started && !f.proved && !f.ended) {
		rc = oc_store_remove_orphan(f.store, run, &f.error);
		if (rc > 0) { /* pinned while we looked */
			oc_close(f.dir);
			oc_close(f.lock);
			return 0;
		}
		outcome = rc < 0 ? "unknown" : "forgotten";
		snprintf(f.detail, sizeof(f.detail), rc < 0 ? "its directory can't be removed" : "it was never pinned");
	} else if (!known) {
		oc_close(f.lock);
		f.lock = -1;
		if (restore(f.store, run, f.dir, &f.error) == 0) {
			oc_close(f.dir);
			oc_error_free(f.error);
			return settle(walk, run, NULL, true, err);
		}
		snprintf(f.detail, sizeof(f.detail), "%s",
		         f.error ? oc_error_message(f.error) : "it can't be restored");
	}
	rc = report(&f, outcome, err);
	oc_error_free(f.error);
	oc_close(f.dir >= 0 ? f.dir : -1);
	oc_close(f.lock);
	return rc;
}

static int is_known(oc_store *store, const char *run, oc_error **err)
{
	char id[OC_RUN_ID_SIZE];
	oc_error *error = NULL;
	int rc = oc_store_resolve(store, run, id, &error);

	if (rc == OC_EINVAL || rc == OC_ENOTFOUND || (rc == 0 && strcmp(id, run) != 0)) {
		oc_error_free(error);
		return 0;
	}
	if (rc < 0 && err)
		*err = error;
	else
		oc_error_free(error);
	return rc < 0 ? rc : 1;
}

static int list_runs(int runs, struct oc_strv *names, oc_error **err)
{
	DIR *list = runs < 0 ? NULL : fdopendir(fcntl(runs, F_DUPFD_CLOEXEC, 3));
	struct dirent *entry;
	int rc = list ? 0 : oc_fail(err, OC_EIO, errno, "the directory of the runs can't be listed");

	while (rc == 0 && (entry = readdir(list)))
		if (oc_run_id_valid(entry->d_name) && oc_strv_add(names, entry->d_name) < 0)
			rc = oc_nomem(err);
	if (list)
		closedir(list);
	return rc;
}

/* Nearly all are known, so they are asked about at once; the few that are not, once more when it is their turn. */
static int orphans(struct oc_walk *walk, oc_error **err)
{
	oc_store *store = walk->store;
	oc_cleanup(oc_closep) int runs =
	        openat(store->state_fd, "runs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct oc_strv names, strangers;
	int rc;

	oc_strv_init(&names, RUNS_MAX);
	oc_strv_init(&strangers, RUNS_MAX);
	rc = list_runs(runs, &names, err);
	if (rc == 0)
		rc = oc_store_strangers(store, &names, &strangers, err);
	for (size_t i = 0; rc == 0 && i < strangers.n; i++) {
		rc = is_known(store, strangers.v[i], err);
		rc = rc == 0 ? orphan(walk, strangers.v[i], err) : OC_MIN(rc, 0);
	}
	oc_strv_free(&names);
	oc_strv_free(&strangers);
	return rc;
}

static int walk_all(struct oc_walk *walk, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *list = NULL;
	const json_t *row;
	size_t i;
	/* Rows first: what the orphans bring back has been settled already. */
	int rc = oc_store_unfinished(walk->store, &list, err);

	json_array_foreach(list, i, row)
	{
		if (rc == 0)
			rc = settle(walk, oc_json_text(row, "id"), oc_json_text(row, "state"),
			            json_is_true(json_object_get(row, "pinned")), err);
	}
	return rc < 0 ? rc : orphans(walk, err);
}

int oc_store_recover(oc_store *store, char **json, oc_error **err)
{
	oc_cleanup(oc_closep) int lock = -1;
	oc_cleanup(oc_json_decrefp) json_t *out = NULL;
	struct oc_walk walk = { .store = store, .patience_ms = PATIENCE };
	int rc;

	if (!store || !json)
		return oc_fail(err, OC_EINVAL, 0, "oc_store_recover: store and json must not be NULL");
	rc = oc_context_check(store->ctx, err);
	if (rc < 0)
		return rc;
	lock = oc_store_recovery_lock(store, err);
	if (lock < 0)
		return lock;
	out = walk.out = json_array();
	rc = out ? walk_all(&walk, err) : oc_nomem(err);
	if (rc < 0)
		return rc;
	*json = json_dumps(out, JSON_COMPACT);
	return *json ? 0 : oc_nomem(err);
}
