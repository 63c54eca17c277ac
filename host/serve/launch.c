/* SPDX-License-Identifier: Apache-2.0 */
/* One queued run is started as its operator would: `open-conduit run --detach`, so that a crash of it, or of the daemon,
 * leaves nothing that a plain one would not.  What only the daemon gives it: the run's id in OPEN_CONDUIT_QUEUED, and on
 * descriptor 3 the lock of its row, which it holds for its life. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve.h"

struct words {
	char work[300], timeout[40], queued[80];
	const char *argv[12];
};

static void put_argv(struct words *w, const json_t *row, const json_t *request)
{
	const char *key = host_string(row, "key");
	long long timeout = json_integer_value(json_object_get(request, "timeout_ms"));
	size_t n = 0;

	w->argv[n++] = "open-conduit";
	w->argv[n++] = "run";
	w->argv[n++] = "--detach";
	w->argv[n++] = "--json";
	w->argv[n++] = "--no-wait";
	w->argv[n++] = "--input=@/proc/self/fd/0";
	if (key) {
		snprintf(w->work, sizeof(w->work), "--work=%s", key);
		w->argv[n++] = w->work;
	}
	if (timeout > 0) {
		snprintf(w->timeout, sizeof(w->timeout), "--timeout=%lldms", timeout);
		w->argv[n++] = w->timeout;
	}
	w->argv[n++] = "--";
	w->argv[n++] = host_string(row, "binding");
	w->argv[n] = NULL;
	snprintf(w->queued, sizeof(w->queued), "OPEN_CONDUIT_QUEUED=%s", host_string(row, "id"));
}

static json_t *request_of(struct serve *s, const char *run)
{
	oc_error *err = NULL;
	char *text = NULL;

	if (oc_queue_request(s->h->store, run, &text, &err) >= 0)
		return host_parse(s->h, "what a run was queued with", text);
	serve_say(s, "the queue can't be read", err);
	return NULL;
}

static bool take(struct serve *s, const struct serve_slot *slot)
{
	oc_error *err = NULL;
	int rc = oc_queue_move(s->h->store, slot->run, "queued", "starting", NULL, &err);

	if (rc < 0)
		serve_say(s, "the queue can't be written", err);
	serve_fault("serve:taken");
	return rc > 0;
}

bool serve_launch(struct serve *s, struct serve_slot *slot, const json_t *row)
{
	json_t *request = request_of(s, slot->run);
	const char *input = host_string(request, "input");
	struct words w = { { 0 } };
	const char *env[] = { w.queued, NULL };
	/* Locked before the row says that somebody starts it. */
	int lock = request ? place_lock_file(s->h, true) : -1;
	bool good = lock >= 0 && place_lock(lock, slot->number) && take(s, slot);

	if (good) {
		put_argv(&w, row, request);
		good = serve_spawn(s, &slot->child, w.argv, env, input ? input : "{}", lock);
		serve_fault("serve:spawned");
	}
	if (lock >= 0)
		close(lock);
	json_decref(request);
	return good;
}
