/* SPDX-License-Identifier: Apache-2.0 */
/* Looking a receipt over: each digest is computed again, and what is said twice has to be the same twice.  Pure: it reads
 * nothing but the text, and the text may be anything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/receipt.h"

#define FOUND_MAX 32

struct look {
	json_t *receipt;
	json_t *run, *plan, *policy, *save, *proved, *exit, *attempts, *calls, *events;
	const char *id, *kind, *state, *plan_digest, *digest;
	int64_t created_ms;
	bool over;
	struct oc_fold fold;
	oc_error *chain; /* what doesn't hold */
	size_t found;
	int rc; /* no memory */
};

static void OC_PRINTF(3, 4) broken(struct look *l, const char *subject, const char *fmt, ...)
{
	char fix[80] = "open-conduit runs list";
	oc_error *one = NULL;
	va_list ap;

	if (l->found++ >= FOUND_MAX)
		return;
	if (oc_run_id_valid(l->id))
		snprintf(fix, sizeof(fix), "open-conduit runs get --receipt %.32s", l->id);
	va_start(ap, fmt);
	oc_error_make(&one, OC_EREFUSED, 0, "receipt_broken", subject, fix, fmt, ap);
	va_end(ap);
	oc_error_append(&l->chain, one);
}

static int unpack(struct look *l, const json_t *object, const char *path, const struct oc_json_key *keys, size_t n)
{
	oc_error *why = NULL;

	if (oc_json_unpack(object, path, "receipt_broken", keys, n, &why) >= 0)
		return 0;
	l->found++;
	oc_error_append(&l->chain, why);
	return -1;
}

static int unpack_run(struct look *l)
{
	const struct oc_json_key keys[] = {
		{ "id", OC_JSON_STRING, true, &l->id },
		{ "kind", OC_JSON_STRING, true, &l->kind },
		{ "state", OC_JSON_STRING, true, &l->state },
		{ "over", OC_JSON_BOOL, true, &l->over },
		{ "created_ms", OC_JSON_INT, true, &l->created_ms },
		{ "command", OC_JSON_STRINGS, true, NULL },
		{ "work", OC_JSON_STRING | OC_JSON_NULL_OK, false, NULL },
		{ "binding", OC_JSON_STRING | OC_JSON_NULL_OK, false, NULL },
		{ "error", OC_JSON_OBJECT | OC_JSON_NULL_OK, false, NULL },
		{ "ended_ms", OC_JSON_INT | OC_JSON_NULL_OK, false, NULL },
	};

	return unpack(l, l->run, "run", keys, OC_COUNT(keys));
}

static int unpack_all(struct look *l)
{
	int64_t version = 0;
	const struct oc_json_key keys[] = {
		{ "version", OC_JSON_INT, true, &version },
		{ "run", OC_JSON_OBJECT, true, &l->run },
		{ "policy", OC_JSON_STRING | OC_JSON_NULL_OK, false, NULL },
		{ "plan", OC_JSON_OBJECT, true, &l->plan },
		{ "plan_digest", OC_JSON_STRING, true, &l->plan_digest },
		{ "attempts", OC_JSON_ARRAY, true, &l->attempts },
		{ "calls", OC_JSON_ARRAY, true, &l->calls },
		{ "save", OC_JSON_OBJECT | OC_JSON_NULL_OK, false, &l->save },
		{ "proved", OC_JSON_OBJECT | OC_JSON_NULL_OK, false, &l->proved },
		{ "exit", OC_JSON_OBJECT | OC_JSON_NULL_OK, false, &l->exit },
		{ "events", OC_JSON_ARRAY, true, &l->events },
		{ "digest", OC_JSON_STRING, true, &l->digest },
	};

	if (unpack(l, l->receipt, "", keys, OC_COUNT(keys)) < 0 || unpack_run(l) < 0)
		return -1;
	if (version == 1 && oc_run_id_valid(l->id))
		return 0;
	broken(l, version == 1 ? "run.id" : "version",
	       version == 1 ? "that is no run's id" : "this is no receipt of a version that is known here");
	return -1;
}

/* false: it differs, and was said. */
static bool same_digest(struct look *l, const json_t *value, const char *said, const char *subject, const char *what)
{
	char digest[OC_DIGEST_SIZE] = "";
	int rc = oc_chain_digest(value, digest, NULL);

	if (rc == OC_ENOMEM)
		l->rc = rc;
	if (rc == 0 && said && strcmp(digest, said) == 0)
		return true;
	if (rc != OC_ENOMEM)
		broken(l, subject, "%s is %s, and %s is recorded", what, rc == 0 ? digest : "not to be digested",
		       said ? said : "no digest");
	return false;
}

/* A member that is null and one that isn't there are the same. */
static bool equal(const json_t *a, const json_t *b)
{
	bool none_a = !a || json_is_null(a), none_b = !b || json_is_null(b);

	return none_a || none_b ? none_a && none_b : json_equal(a, b);
}

static void check_whole(struct look *l)
{
	char digest[OC_DIGEST_SIZE];
	int rc = oc_receipt_digest(l->receipt, digest, NULL);

	if (rc < 0)
		l->rc = rc;
	else if (strcmp(digest, l->digest) != 0)
		broken(l, "digest", "the receipt is %s, and says that it is %s: something in it was changed", digest,
		       l->digest);
}

static void check_plan(struct look *l)
{
	static const char *const members[] = { "kind", "work", "binding" };
	const json_t *argv = json_object_get(json_object_get(l->plan, "command"), "argv");
	const char *run = oc_json_text(l->plan, "run");
	char subject[32];

	same_digest(l, l->plan, l->plan_digest, "plan", "the plan");
	if (!run || strcmp(run, l->id) != 0)
		broken(l, "plan.run", "the plan is of another run");
	for (size_t i = 0; i < OC_COUNT(members); i++) {
		snprintf(subject, sizeof(subject), "run.%s", members[i]);
		if (!equal(json_object_get(l->run, members[i]), json_object_get(l->plan, members[i])))
			broken(l, subject, "the plan says otherwise");
	}
	if (!equal(json_object_get(l->run, "command"), argv))
		broken(l, "run.command", "the plan has another command");
	if (!equal(json_object_get(l->receipt, "policy"), json_object_get(json_object_get(l->plan, "policy"), "text")))
		broken(l, "policy", "the plan was made of another policy");
}

static bool event_shape(struct look *l, const json_t *event, size_t i)
{
	int64_t seq = 0;
	const struct oc_json_key keys[] = {
		{ "seq", OC_JSON_INT, true, &seq },
		{ "at_ms", OC_JSON_INT, true, NULL },
		{ "type", OC_JSON_STRING, true, NULL },
		{ "data", OC_JSON_OBJECT, true, NULL },
		{ "chain", OC_JSON_STRING | OC_JSON_NULL_OK, false, NULL },
	};
	char path[40];

	snprintf(path, sizeof(path), "events[%zu]", i);
	if (unpack(l, event, path, keys, OC_COUNT(keys)) < 0)
		return false;
	if (seq == (int64_t)i + 1)
		return true;
	broken(l, path, "it has number %lld: %s", (long long)seq,
	       seq > (int64_t)i + 1 ? "one before it is gone" : "one was put in before it, or moved");
	return false;
}

/* One link; false: the rest can't be told from here on. */
static bool link_holds(struct look *l, const json_t *event, size_t i, char before[OC_DIGEST_SIZE], bool *begun)
{
	const char *said = oc_json_text(event, "chain");
	char value[OC_DIGEST_SIZE], path[40];
	int rc;

	snprintf(path, sizeof(path), "events[%zu]", i);
	if (!said && !*begun)
		return true;
	*begun = true;
	rc = oc_chain_next(before, event, value, NULL);
	if (rc == OC_ENOMEM)
		l->rc = rc;
	if (rc == 0 && said && strcmp(said, value) == 0) {
		memcpy(before, value, sizeof(value));
		return true;
	}
	broken(l, path, "the chain breaks here: this event or one before it was changed, removed, put in or moved");
	return false;
}

static void check_chain(struct look *l)
{
	char before[OC_DIGEST_SIZE];
	const json_t *event;
	bool begun = false;
	size_t i;

	if (oc_chain_begin(l->id, l->created_ms, before, NULL) < 0) {
		l->rc = OC_ENOMEM;
		return;
	}
	if (!json_array_size(l->events))
		broken(l, "events", "there are none: a run's history begins with its pin");
	json_array_foreach(l->events, i, event)
	{
		if (!event_shape(l, event, i) || !link_holds(l, event, i, before, &begun))
			return;
	}
}

static void check_pin(struct look *l)
{
	const char *digest = oc_json_text(l->fold.pinned, "digest");
	char path[40];

	if (l->fold.wrong) {
		snprintf(path, sizeof(path), "events[%zu]", l->fold.at);
		broken(l, path, "%s", l->fold.wrong);
	}
	if (l->fold.pinned && (!digest || strcmp(digest, l->plan_digest) != 0))
		broken(l, "plan_digest", "another plan was pinned, says the history");
}

static void check_state(struct look *l)
{
	const json_t *state = l->fold.state;

	if (strcmp(l->state, oc_json_text(state, "state") ? oc_json_text(state, "state") : "pinned") != 0)
		broken(l, "run.state", "the history says otherwise");
	if (!equal(json_object_get(l->run, "error"), json_object_get(state, "error")))
		broken(l, "run.error", "the history says otherwise");
	/* Before there was a chain, a state had no time of the end with it. */
	if (json_object_get(state, "ended_ms") &&
	    !equal(json_object_get(l->run, "ended_ms"), json_object_get(state, "ended_ms")))
		broken(l, "run.ended_ms", "the history says otherwise");
	if (oc_state_ended(l->state) != l->over)
		broken(l, "run.over", "that is not so in state %s", l->state);
}

/* A record and the digest of it in the history; old: it may have none there. */
static void check_record(struct look *l, const json_t *record, const char *name)
{
	const json_t *said = json_object_get(l->fold.ended, name);
	bool none = !record || json_is_null(record);

	if (!l->fold.ended && l->fold.unchained)
		return;
	if (none && (!said || json_is_null(said)))
		return;
	if (none || !said || json_is_null(said))
		broken(l, name, none ? "it is gone: the history has its digest" : "the history knows nothing of it");
	else
		same_digest(l, record, oc_json_text(l->fold.ended, name), name, "it");
}

static void check_exit(struct look *l)
{
	const char *run = oc_json_text(l->exit, "run"), *digest = oc_json_text(l->exit, "digest");

	check_record(l, l->exit, "exit");
	if (!l->exit)
		return;
	if (!run || strcmp(run, l->id) != 0)
		broken(l, "exit.run", "the exit record is of another run");
	if (!digest || strcmp(digest, l->plan_digest) != 0)
		broken(l, "exit.digest", "the exit record is of another plan");
	if (l->over && strcmp(l->state, oc_state_of_exit(l->exit)) != 0)
		broken(l, "exit.state", "a run that ended so is not %s", l->state);
}

/* How many there are of each id: {"P6":12…}; NULL: no memory. */
static json_t *tally(const json_t *probes)
{
	oc_cleanup(oc_json_decrefp) json_t *counts = json_object();
	const json_t *one;
	size_t i;

	if (!counts)
		return NULL;
	json_array_foreach(probes, i, one)
	{
		const char *id = oc_json_text(one, "id");

		if (!oc_json_set(counts, id ? id : "", json_integer(oc_json_integer(counts, id ? id : "", 0) + 1)))
			return NULL;
	}
	return oc_steal(counts);
}

static void check_held(struct look *l, const json_t *made)
{
	const json_t *one;
	char path[40];
	size_t i;

	json_array_foreach(made, i, one)
	{
		snprintf(path, sizeof(path), "proved.probes[%zu]", i);
		if (!json_is_true(json_object_get(one, "ok")))
			broken(l, path, "a probe that failed proves nothing");
	}
}

/* Each probe of the plan was made and held.  The guard adds its own, so there may be more. */
static void check_probes(struct look *l, const json_t *planned, const json_t *made)
{
	oc_cleanup(oc_json_decrefp) json_t *wanted = tally(planned), *there = tally(made);
	const char *id;
	json_t *n;

	check_held(l, made);
	if (!wanted || !there)
		l->rc = OC_ENOMEM;
	json_object_foreach(wanted, id, n) if (oc_json_integer(there, id, 0) < json_integer_value(n))
	        broken(l, "proved.probes", "the plan has %lld of %s, the proof %lld", (long long)json_integer_value(n),
	               id, (long long)oc_json_integer(there, id, 0));
}

static void check_proof(struct look *l)
{
	const json_t *planned = json_object_get(l->plan, "probes");
	const char *end = oc_json_text(l->exit, "state");

	check_record(l, l->proved, "proved");
	if (l->proved)
		check_probes(l, planned, json_object_get(l->proved, "probes"));
	else if (strcmp(l->state, "exited") == 0 && json_array_size(planned) && end && strcmp(end, "exited") == 0)
		broken(l, "proved", "its command ran, and nothing says that the sandbox was proved before");
}

static void check_lists(struct look *l)
{
	const json_t *one;
	char key[48], path[40];
	size_t i;

	if (!equal(l->attempts, l->fold.attempts))
		broken(l, "attempts", "the history has other ones");
	if (json_array_size(l->calls) != json_object_size(l->fold.calls))
		broken(l, "calls", "the history has %zu, and here are %zu", json_object_size(l->fold.calls),
		       json_array_size(l->calls));
	json_array_foreach(l->calls, i, one)
	{
		oc_fold_call(one, key);
		snprintf(path, sizeof(path), "calls[%zu]", i);
		if (!json_is_object(one) || !equal(one, json_object_get(l->fold.calls, key)))
			broken(l, path, "the history says otherwise");
	}
}

static void check_save(struct look *l)
{
	const json_t *saved = l->fold.saved;

	if (!l->save && !saved)
		return;
	if (!l->save || !saved) {
		broken(l, "save", saved ? "it is gone: the history has its digest" : "the history knows nothing of it");
		return;
	}
	if (!equal(json_object_get(l->save, "at_ms"), json_object_get(saved, "at_ms")) ||
	    !equal(json_object_get(l->save, "final"), json_object_get(saved, "final")) ||
	    json_object_size(l->save) != 3)
		broken(l, "save", "the history says otherwise");
	same_digest(l, json_object_get(l->save, "result"), oc_json_text(saved, "result"), "save.result", "it");
}

static void check_all(struct look *l)
{
	check_whole(l);
	check_plan(l);
	check_chain(l);
	if (oc_fold(l->events, &l->fold, NULL) < 0) {
		l->rc = OC_ENOMEM;
		return;
	}
	check_pin(l);
	if (l->fold.wrong) /* what the events come to can't be told */
		return;
	check_state(l);
	check_exit(l);
	check_proof(l);
	if (l->fold.unchained) /* what was recorded then has no events to compare it with */
		return;
	check_lists(l);
	check_save(l);
}

/* What kept the text from being read at all is a reason as any other. */
static int unreadable(oc_error **err, oc_error *why_taken, int rc)
{
	if (rc == OC_ENOMEM)
		rc = oc_nomem(err);
	else
		rc = oc_refuse(err, "receipt_broken", "receipt", "open-conduit runs get --receipt ID", "%s",
		               oc_error_message(why_taken));
	oc_error_free(why_taken);
	return rc;
}

static int told(struct look *l, char **json, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *out = NULL;

	if (l->rc < 0)
		return oc_nomem(err);
	if (l->found) {
		if (err)
			*err = oc_steal(l->chain);
		return OC_EREFUSED;
	}
	out = json_pack("{s:i, s:s, s:s, s:s, s:b, s:I, s:I, s:s}", "version", 1, "run", l->id, "kind", l->kind,
	                "state", l->state, "over", l->over, "events", (json_int_t)l->fold.events, "unchained",
	                (json_int_t)l->fold.unchained, "digest", l->digest);
	*json = out ? json_dumps(out, JSON_COMPACT) : NULL;
	return *json ? 0 : oc_nomem(err);
}

int oc_receipt_verify(const char *text, size_t len, char **json, oc_error **err)
{
	struct look l = { 0 };
	oc_error *why = NULL;
	int rc;

	if (!text || !json)
		return oc_fail(err, OC_EINVAL, 0, "oc_receipt_verify: text and json must not be NULL");
	rc = oc_json_parse(text, len, OC_RECEIPT_MAX, "the receipt", &l.receipt, &why);
	if (rc < 0)
		return unreadable(err, why, rc);
	if (unpack_all(&l) == 0)
		check_all(&l);
	rc = told(&l, json, err);
	oc_error_free(l.chain);
	oc_fold_free(&l.fold);
	json_decref(l.receipt);
	return rc;
}
