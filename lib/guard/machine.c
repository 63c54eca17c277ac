/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/time.h"
#include "guard/attempt.h"
#include "guard/guard.h"
#include "guard/record.h"

#define UNHOSTED_HELD_MS 10000
#define GRACE_MAX_MS     3600000
#define AFTER_KILL_MS    2000

const char *oc_machine_state_name(enum oc_guard_state state)
{
	static const char *const names[] = { "checking", "held",    "refused",  "started",
		                             "proved",   "running", "stopping", "exited" };

	return names[state];
}

static bool set_raw(json_t *event, const char *key, const char *open, const struct oc_buf *text)
{
	struct oc_buf all;
	json_t *value = NULL;

	oc_buf_init(&all, OC_JSON_MAX);
	if (oc_buf_printf(&all, "%s", open) == 0 && (!text->len || oc_buf_add(&all, text->data, text->len) == 0) &&
	    oc_buf_puts(&all, "]") == 0)
		value = json_loads(all.data, 0, NULL);
	oc_buf_free(&all);
	return oc_json_set(event, key, value);
}

json_t *oc_machine_event(const struct oc_guard *g)
{
	json_t *event = json_object();
	bool ok = event && oc_json_set_string(event, "state", oc_machine_state_name(g->state));

	if (ok && g->state == OC_GUARD_HELD)
		ok = oc_json_set(event, "preflight_ns", json_integer((json_int_t)g->preflight.ns));
	if (ok && g->state == OC_GUARD_STARTING && g->waits)
		ok = oc_json_set(event, "waiting", json_true());
	if (ok && g->state == OC_GUARD_REFUSED)
		ok = oc_json_set(event, "error", json_incref(g->refusal));
	if (ok && g->state == OC_GUARD_PROVEN) {
		ok = oc_json_set(event, "facts", g->session.facts ? json_incref(g->session.facts) : json_object()) &&
		     oc_json_set(event, "ns", json_integer((json_int_t)g->session.total_ns)) &&
		     set_raw(event, "probes", "[", &g->session.results);
	}
	if (ok && g->state == OC_GUARD_EXITED)
		ok = oc_json_set(event, "record", oc_record_exit_json(g));
	if (!ok) {
		json_decref(event);
		return NULL;
	}
	return event;
}

void oc_machine_enter(struct oc_guard *g, enum oc_guard_state state)
{
	g->state = state;
	oc_server_state(g);
}

static void on_phase(void *userdata)
{
	struct oc_guard *g = userdata;
	void (*fn)(struct oc_guard *) = g->phase;

	g->phase = NULL;
	if (fn)
		fn(g);
}

void oc_machine_phase(struct oc_guard *g, int64_t ms, void (*fn)(struct oc_guard *g))
{
	g->phase = fn;
	oc_source_set_timer(g->phase_timer, fn ? ms : -1);
}

void oc_machine_fail(struct oc_guard *g, const char *state, oc_error *error)
{
	if (!g->outcome.state) {
		g->outcome.state =
		        g->outcome.stop_by ? (strcmp(g->outcome.stop_by, "timeout") ? "stopped" : "timeout") : state;
		/* A stop that was asked for is no failure of the sandbox. */
		if (!g->outcome.stop_by)
			g->outcome.error = oc_error_to_json(error);
	}
	oc_error_free(error);
}

/* Nothing ran, and nobody wants it to: no record, so that the pin may be used again. */
static void abandon(struct oc_guard *g)
{
	oc_preflight_cancel(g);
	g->over = true;
}

static void on_timeout(void *userdata)
{
	oc_machine_stop(userdata, "timeout", -1);
}

static void on_unhosted(void *userdata)
{
	struct oc_guard *g = userdata;

	if (oc_server_hosted(&g->server) || g->ending)
		return;
	if (g->state == OC_GUARD_CHECKING)
		oc_source_set_timer(g->unhosted_timer, UNHOSTED_HELD_MS);
	else if (g->state == OC_GUARD_HELD || g->state == OC_GUARD_REFUSED)
		abandon(g);
	else if (!g->keep)
		oc_machine_stop(g, "unhosted", -1);
}

void oc_machine_hosted(struct oc_guard *g, bool hosted)
{
	bool held = g->state <= OC_GUARD_REFUSED;

	oc_belt_hosted(g, hosted);
	if (g->state == OC_GUARD_EXITED && !hosted)
		oc_machine_phase(g, 0, g->phase);
	else if (hosted || g->ending)
		oc_source_set_timer(g->unhosted_timer, -1);
	else
		oc_source_set_timer(g->unhosted_timer, held ? UNHOSTED_HELD_MS : g->unhosted_ms);
}

int oc_machine_begin(struct oc_guard *g, oc_error **err)
{
	int rc = oc_loop_add_timer(g->loop, -1, on_phase, g, &g->phase_timer, err);

	rc = rc < 0 ? rc : oc_loop_add_timer(g->loop, -1, on_timeout, g, &g->timeout_timer, err);
	rc = rc < 0 ? rc : oc_loop_add_timer(g->loop, UNHOSTED_HELD_MS, on_unhosted, g, &g->unhosted_timer, err);
	return rc < 0 ? rc : oc_work_begin(g, err);
}

void oc_machine_checked(struct oc_guard *g, oc_error *refusal)
{
	if (g->state != OC_GUARD_CHECKING || g->ending) {
		oc_error_free(refusal);
		return;
	}
	if (!refusal) {
		oc_machine_enter(g, OC_GUARD_HELD);
		oc_fault("guard:held");
		return;
	}
	g->refusal = oc_error_to_json(refusal);
	g->outcome.state = "refused";
	g->outcome.error = json_incref(g->refusal);
	oc_error_free(refusal);
	g->ended_ms = oc_wall_ms();
	/* Durable, because the host that started us may be gone when this is known. */
	(void)oc_record_exit(g, NULL);
	oc_machine_enter(g, OC_GUARD_REFUSED);
}

int oc_machine_release(struct oc_guard *g, struct oc_values *values, oc_error **err)
{
	int rc;

	if (g->state != OC_GUARD_HELD || g->ending) {
		oc_values_free(values);
		return oc_fail(err, OC_EINVAL, 0, "The run is %s: only a held one can be released",
		               oc_machine_state_name(g->state));
	}
	oc_redact_free(oc_steal(g->redact));
	rc = oc_redact_new(values, &g->redact, err);
	rc = rc < 0 ? rc : oc_record_reserve(g, err);
	if (rc < 0) {
		oc_values_free(values);
		return rc;
	}
	g->values = values;
	g->started_ms = oc_wall_ms();
	oc_attempt_begin(g);
	return 0;
}

static void stopped_hard(struct oc_guard *g)
{
	oc_machine_fail(g, "stopped", NULL);
	g->outcome.signal = SIGKILL;
	oc_ending_begin(g, false);
}

static void grace_over(struct oc_guard *g)
{
	g->outcome.stop_forced = true;
	oc_session_signal(g, SIGKILL);
	oc_machine_phase(g, AFTER_KILL_MS, stopped_hard);
}

void oc_machine_stop(struct oc_guard *g, const char *by, int64_t grace_ms)
{
	int64_t grace = OC_MIN(grace_ms < 0 ? g->grace_ms : grace_ms, (int64_t)GRACE_MAX_MS);

	if (g->ending || g->state == OC_GUARD_EXITED)
		return;
	if (g->state == OC_GUARD_REFUSED) {
		abandon(g);
		return;
	}
	if (!g->outcome.stop_by) {
		g->outcome.stop_by = by;
		g->outcome.stop_grace = grace;
	} else if (g->state == OC_GUARD_STOPPING) {
		/* Asked again: a shorter grace holds from now. */
		if (!g->outcome.stop_forced)
			oc_machine_phase(g, grace, grace_over);
		return;
	}
	oc_source_set_timer(g->timeout_timer, -1);
	if (g->state != OC_GUARD_RUNNING) {
		oc_machine_fail(g, "stopped", NULL);
		oc_ending_begin(g, false);
		return;
	}
	oc_machine_enter(g, OC_GUARD_STOPPING);
	oc_session_signal(g, SIGTERM);
	oc_machine_phase(g, grace, grace_over);
}
