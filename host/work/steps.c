/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "serve/link.h"
#include "tokens.h"
#include "work.h"

#define SETTLE_TRIES 5
#define SETTLE_MS    200
#define SAVE_WAIT_MS 1000
#define END_WAIT_MS  15000              /* the guard of the run that just ended is leaving */
#define STALE_MS     (10 * 60 * 1000LL) /* nobody is between making a Work and running in it for so long */

struct waiting {
	bool done;
	json_t *json, *error;
};

static void answered(const char *json, const oc_error *err, void *userdata)
{
	struct waiting *w = userdata;

	w->done = true;
	if (err)
		w->error = host_error_json(err);
	else
		w->json = json_loads(json, JSON_ALLOW_NUL, NULL);
}

static int begin(struct host *h, enum work_step step, const char *id, long long wait_ms, struct waiting *w,
                 oc_error **err)
{
	oc_workspace_options o = OC_WORKSPACE_OPTIONS_INIT;
	/* What the operator's own git configuration needs to be found; nothing of git's variables, which point elsewhere. */
	static const char *const pass[] = { "XDG_CONFIG_HOME", NULL };
	const char *dirs[2];

	if (!h->workspace) {
		host_provider_dirs(dirs);
		o.provider_dir = dirs[0];
		o.pass_env = pass;
		if (oc_workspace_new(h->store, &o, &h->workspace, err) < 0)
			return -1;
	}
	switch (step) {
	case WORK_CREATE:
		return oc_workspace_create(h->workspace, id, wait_ms, answered, w, err);
	case WORK_REMOVE:
		return oc_workspace_remove(h->workspace, id, wait_ms, answered, w, err);
	default:
		return oc_workspace_save(h->workspace, id, step == WORK_SAVE_FINAL ? OC_SAVE_FINAL : 0, wait_ms,
		                         answered, w, err);
	}
}

json_t *work_step(struct host *h, enum work_step step, const char *id, long long wait_ms, json_t **error)
{
	struct waiting w = { 0 };
	oc_error *err = NULL;
	int rc = begin(h, step, id, wait_ms, &w, &err);

	while (rc >= 0 && !w.done)
		rc = oc_context_wait(h->ctx, -1, &err);
	if (rc < 0 && !w.error)
		w.error = host_error_json(err);
	oc_error_free(err);
	*error = w.error;
	return w.json;
}

static bool has_reason(const json_t *error, const char *reason)
{
	const char *is = host_string(error, "reason");

	return is && !strcmp(is, reason);
}

static json_t *failed(struct host *h, const char *what, json_t *error)
{
	host_report_json(h, what, error);
	json_decref(error);
	return NULL;
}

json_t *work_find(struct host *h, const char *name)
{
	oc_error *err = NULL;
	char *text = NULL;

	if (oc_work_get(h->store, name, &text, &err) >= 0)
		return host_parse(h, "the record of the Work", text);
	host_report(h, "no such Work", err);
	oc_error_free(err);
	return NULL;
}

/* The lock is somebody's; or nobody's, and a run's end is not settled yet, which recovery does. */
static json_t *create_busy(struct host *h, const char *id, bool wait, json_t *error)
{
	json_t *work = NULL;

	if (wait) {
		const char *message = host_string(error, "message");

		out_printf(&h->err, "open-conduit: waiting: %s\n", message ? message : "the Work is busy");
		out_flush(&h->err);
	}
	for (int i = 0; !work && has_reason(error, "work_busy") && i < SETTLE_TRIES; i++) {
		if (i)
			poll(NULL, 0, SETTLE_MS);
		json_decref(host_recover(h));
		json_decref(error);
		work = work_step(h, WORK_CREATE, id, wait ? -1 : 0, &error);
		if (!wait)
			break;
	}
	return work ? work : failed(h, "not run", error);
}

static json_t *create(struct host *h, const char *id, bool wait)
{
	json_t *error = NULL, *work = work_step(h, WORK_CREATE, id, 0, &error);

	if (work)
		return work;
	return has_reason(error, "work_busy") ? create_busy(h, id, wait, error) : failed(h, "not run", error);
}

json_t *work_ready(struct host *h, const char *id, bool wait)
{
	json_t *work = create(h, id, wait), *error = NULL, *save;

	/* A run whose host was killed before it saved: its commits are its own, not the next one's. */
	if (!work || !json_array_size(json_object_get(work, "unsaved")))
		return work;
	save = work_step(h, WORK_SAVE, id, SAVE_WAIT_MS, &error);
	if (save) {
		out_put(&h->err, "open-conduit: an earlier run of this Work was not saved yet; it is now\n");
		work_tell_save(h, work, save, true);
	} else if (has_reason(error, "work_busy")) {
		json_decref(error); /* somebody else is at it */
	} else {
		json_decref(work);
		return failed(h, "not run: an earlier run of this Work can't be saved", error);
	}
	json_decref(save);
	return work;
}

/* What the record of the run says of its save; NULL: nothing yet. */
static json_t *recorded(struct host *h, const char *run)
{
	oc_error *err = NULL;
	char *text = NULL;
	json_t *record, *save;

	if (oc_store_run(h->store, run, &text, &err) < 0) {
		oc_error_free(err);
		return NULL;
	}
	record = host_parse(h, "the record", text);
	save = json_object_get(record, "save");
	save = json_is_object(save) ? json_incref(save) : NULL;
	json_decref(record);
	return save;
}

json_t *work_save_run(struct host *h, const char *id, const char *run)
{
	json_t *error = NULL, *save = work_step(h, WORK_SAVE, id, SAVE_WAIT_MS, &error), *mine = recorded(h, run);

	/* Whoever took the Work over has saved what was there before. */
	while (!save && !mine && has_reason(error, "work_busy")) {
		json_decref(error);
		error = NULL;
		save = work_step(h, WORK_SAVE, id, SAVE_WAIT_MS, &error);
		mine = recorded(h, run);
	}
	if (!save && !mine)
		return failed(h, "the commits of this run are not saved yet", error);
	json_decref(error);
	if (!mine)
		return save;
	json_decref(save);
	return mine;
}

/* Finished by somebody else meanwhile: as good as by us. */
static json_t *end_of_finished(struct host *h, const char *id, json_t *error)
{
	oc_error *err = NULL;
	char *text = NULL;
	json_t *work = oc_work_get(h->store, id, &text, &err) < 0 ? NULL : host_parse(h, "the Work", text);
	const char *state = host_string(work, "state");
	json_t *save = state && !strcmp(state, "finished") ? json_incref(json_object_get(work, "save")) : NULL;

	json_decref(work);
	oc_error_free(err);
	if (!save)
		return failed(h, "the Work is not finished", error);
	json_decref(error);
	return save;
}

json_t *work_end(struct host *h, const char *id, bool remove)
{
	json_t *error = NULL, *save = work_step(h, WORK_SAVE_FINAL, id, END_WAIT_MS, &error), *work;

	if (!save)
		return end_of_finished(h, id, error);
	if (!remove)
		return save;
	/* Where something could not be saved this is refused, and the workspace stays. */
	work = work_step(h, WORK_REMOVE, id, SAVE_WAIT_MS, &error);
	if (!work && !has_reason(error, "workspace_conflict")) {
		json_decref(save);
		return failed(h, "everything is saved, but the workspace can't be removed", error);
	}
	json_decref(error);
	json_decref(work);
	return save;
}

int work_after(struct host *h, const json_t *work, const char *run, int status, json_t *answer)
{
	const char *id = host_string(work, "id");
	bool own = json_is_true(json_object_get(work, "own")), json = h->json;
	json_t *save;

	h->json = false; /* there is one answer, and this is a part of it */
	save = own ? work_end(h, id, true) : work_save_run(h, id, run);
	h->json = json;
	if (save)
		work_tell_save(h, work, save, true);
	json_object_set_new(answer, "save", save ? save : json_null());
	return save || status ? status : EXIT_NOT_RUN;
}

/* A run that was pinned and not launched for so long never will be. */
static bool has_live(const json_t *work, bool stale)
{
	static const char *const over[] = { "exited", "failed", "run_lost", "pinned", "planned" };
	const json_t *runs = json_object_get(work, "runs"), *run;
	size_t i, n = stale ? 5 : 3;

	json_array_foreach(runs, i, run)
	{
		const char *state = host_string(run, "state");
		bool live = state != NULL;

		for (size_t k = 0; live && k < n; k++)
			live = strcmp(state, over[k]) != 0;
		if (live)
			return true;
	}
	return false;
}

/* A Work of one run ends with it. */
static bool is_over(const json_t *work)
{
	bool ran = json_array_size(json_object_get(work, "runs")) > 0;
	bool stale = host_now_ms() - host_time_ms(json_object_get(work, "created")) > STALE_MS;

	return json_is_true(json_object_get(work, "own")) && !has_live(work, stale) && (ran || stale);
}

/* Saved as far as it can be, with nothing run since: only its operator can do something about the rest. */
static bool is_stuck(const json_t *work)
{
	return !json_array_size(json_object_get(work, "unsaved")) &&
	       json_array_size(json_object_get(json_object_get(work, "save"), "lost"));
}

static bool settle_one(struct host *h, const char *id)
{
	oc_error *err = NULL;
	char *text = NULL;
	json_t *work = oc_work_get(h->store, id, &text, &err) < 0 ? NULL : host_parse(h, "the Work", text);
	bool good, over = work && is_over(work) && !is_stuck(work),
	           finishing = work && !strcmp(host_string(work, "state"), "finishing");
	bool unsaved = json_array_size(json_object_get(work, "unsaved")) > 0;
	json_t *error = NULL, *save = NULL;

	if (unsaved || (over && !finishing))
		save = work_step(h, over ? WORK_SAVE_FINAL : WORK_SAVE, id, 0, &error);
	if (!error && (over || (finishing && !unsaved)))
		json_decref(work_step(h, WORK_REMOVE, id, 0, &error));
	/* Busy is whoever is at it now; they will say what there is to say. */
	if (error && !has_reason(error, "work_busy") && !has_reason(error, "workspace_conflict"))
		host_report_json(h, "a Work that was left can't be settled", error);
	good = work && (!error || has_reason(error, "workspace_conflict"));
	json_decref(error);
	json_decref(save);
	json_decref(work);
	oc_error_free(err);
	return good;
}

bool work_settle(struct host *h)
{
	bool json = h->json, good = tokens_revoke(h, NULL);
	oc_error *err = NULL;
	char *text = NULL;
	json_t *works, *work;
	size_t i;

	h->json = false; /* what is told here is no answer of this command */
	serve_release(h);
	if (oc_work_list(h->store, 0, 0, &text, &err) < 0) {
		host_report(h, "the Works can't be listed", err);
		oc_error_free(err);
		h->json = json;
		return false;
	}
	works = host_parse(h, "the list of Works", text);
	json_array_foreach(works, i, work)
	{
		const char *state = host_string(work, "state");

		if (json_is_true(json_object_get(work, "own")) || json_array_size(json_object_get(work, "unsaved")) ||
		    (state && !strcmp(state, "finishing")))
			good &= settle_one(h, host_string(work, "id"));
	}
	json_decref(works);
	h->json = json;
	return good;
}
