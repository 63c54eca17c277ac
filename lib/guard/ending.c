/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run: what was written before the exit is read, everything that is left is killed and reaped, the private
 * directories go, the record is written, the host hears of it. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/time.h"
#include "guard/guard.h"
#include "guard/live.h"
#include "guard/preflight.h"
#include "guard/record.h"

#define DRAIN_IDLE_MS 1000
#define DRAIN_MS      5000
#define REAP_STEP_MS  5
#define REAP_MS       60000 /* of what was killed: a namespace of many processes, on a busy machine */
#define LINGER_MS     2000
#define TEARDOWN_MS   60000 /* of what the launch command made elsewhere: it may wait its turn there first */

/* What was made for the run and isn't ended is waited for, whoever is there or not. */
static void leave(struct oc_guard *g)
{
	g->over = !oc_tokens_held(g);
}

void oc_ending_forgot(struct oc_guard *g)
{
	if (g->state == OC_GUARD_EXITED && !g->phase && !oc_tokens_held(g))
		oc_machine_phase(g, 0, leave);
}

/* The run is over, whether we stay or not: its Work is free, and of it nothing is held but what is asked for yet. */
static void let_go(struct oc_guard *g)
{
	g->record_json = oc_record_exit_json(g);
	if (g->record_json)
		oc_redact_free(oc_steal(g->redact));
	g->work.fd = oc_close(g->work.fd);
	/* A host reads the record, which is on the disk. */
	if (!oc_tokens_held(g))
		(void)unlink(OC_GUARD_SOCKET);
}

static void write_record(struct oc_guard *g)
{
	oc_error *err = NULL;

	g->ended_ms = oc_wall_ms();
	oc_fault("guard:before-exit-record");
	/* It can only fail by a broken disk; the state is told to the host all the same. */
	if (oc_record_exit(g, &err) < 0)
		oc_error_free(err);
	oc_fault("guard:after-exit-record");
}

/* What a launch command made in an engine goes before what says what that was, also where it was an earlier guard's. */
static bool nothing_left(struct oc_guard *g)
{
	struct oc_plan_view plan;
	oc_error *err = NULL;
	int rc;

	if (!g->cleanup || g->launch.clean || !oc_preflight_started(g->run_dir))
		return true;
	rc = oc_plan_view_load(g->run_dir, g->digest, &plan, &err);
	if (rc >= 0) {
		rc = oc_guard_cleanup(plan.json, g->digest, &err);
		oc_plan_view_free(&plan);
	}
	if (rc < 0)
		g->outcome.left = oc_error_to_json(err);
	oc_error_free(err);
	return rc >= 0;
}

void oc_ending_clear(struct oc_guard *g)
{
	oc_cleanup(oc_freep) char *live = oc_steal(g->live);

	if (live && nothing_left(g))
		(void)oc_live_remove(live);
}

static void finish(struct oc_guard *g)
{
	oc_streams_drain(g);
	oc_streams_close(g);
	oc_launch_read_log(&g->launch);
	oc_launch_close(&g->launch);
	oc_journal_settle(&g->journal);
	oc_ending_clear(g);
	write_record(g);
	let_go(g);
	oc_machine_enter(g, OC_GUARD_EXITED);
	oc_server_output(&g->server);
	/* A host that has heard it hangs up, which ends the wait. */
	if (!oc_server_hosted(&g->server))
		leave(g);
	else
		oc_machine_phase(g, LINGER_MS, leave);
}

static bool childless(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

static void reap_step(struct oc_guard *g)
{
	oc_reap(g);
	if (childless() || oc_mono_ms() >= g->phase_until) {
		finish(g);
		return;
	}
	g->outcome.killed = OC_MAX(g->outcome.killed, oc_reap_kill(g));
	oc_machine_phase(g, REAP_STEP_MS, reap_step);
}

static void kill_now(struct oc_guard *g)
{
	g->phase_until = oc_mono_ms() + REAP_MS;
	oc_reap(g);
	g->outcome.killed = oc_reap_kill(g);
	reap_step(g);
}

static void teardown_step(struct oc_guard *g)
{
	oc_reap(g);
	if (g->launch.pid <= 0 || oc_mono_ms() >= g->phase_until)
		kill_now(g);
	else
		oc_machine_phase(g, g->phase_until - oc_mono_ms(), teardown_step);
}

static void kill_rest(struct oc_guard *g)
{
	/* Read first: what is in the pipes was written before the kill. */
	oc_streams_drain(g);
	oc_belt_end(g);
	oc_session_close(&g->session);
	oc_probes_close(g);
	if (!g->cleanup || g->launch.pid <= 0) {
		kill_now(g);
		return;
	}
	(void)kill(g->launch.pid, SIGTERM);
	g->phase_until = oc_mono_ms() + TEARDOWN_MS;
	teardown_step(g);
}

static void drain_step(struct oc_guard *g)
{
	if (!g->streams.read_since || oc_mono_ms() >= g->drain_until) {
		kill_rest(g);
		return;
	}
	g->streams.read_since = false;
	oc_machine_phase(g, OC_MIN((int64_t)DRAIN_IDLE_MS, g->drain_until - oc_mono_ms()), drain_step);
}

void oc_ending_output_closed(struct oc_guard *g)
{
	/* Not from in here: the source that found the end is still running. */
	if (g->ending && g->phase == drain_step && !oc_streams_output_open(&g->streams))
		oc_machine_phase(g, 0, kill_rest);
}

void oc_ending_reaped(struct oc_guard *g)
{
	if (g->ending && (g->phase == reap_step || g->phase == teardown_step))
		oc_machine_phase(g, 0, g->phase);
}

void oc_ending_begin(struct oc_guard *g, bool drain)
{
	if (g->ending)
		return;
	g->ending = true;
	oc_source_set_timer(g->timeout_timer, -1);
	oc_source_set_timer(g->unhosted_timer, -1);
	oc_values_free(oc_steal(g->values));
	oc_preflight_cancel(g);
	if (g->state != OC_GUARD_STOPPING)
		oc_machine_enter(g, OC_GUARD_STOPPING);
	oc_streams_close_input(g);
	g->drain_until = oc_mono_ms() + DRAIN_MS;
	g->streams.read_since = false;
	if (drain && oc_streams_output_open(&g->streams))
		oc_machine_phase(g, DRAIN_IDLE_MS, drain_step);
	else
		oc_machine_phase(g, 0, kill_rest);
}
