/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/attempt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/time.h"
#include "guard/guard.h"
#include "guard/instruct.h"
#include "guard/messages.h"
#include "guard/preflight.h"
#include "guard/record.h"

#define HELLO_MS      60000
#define ENGINE_MS     300000 /* the same in an engine, which makes one run's things after the other's */
#define TURN_MS       660000 /* before that, of a launch command that says that it waits; its own limit is ten minutes */
#define READY_MS      30000
#define LAST_WORDS_MS 1000
#define RETRY_MS      50

static void close_attempt(struct oc_guard *g)
{
	oc_session_close(&g->session);
	oc_probes_close(g);
	oc_launch_read_log(&g->launch);
	oc_launch_close(&g->launch);
}

static void give_up(struct oc_guard *g, oc_error *error)
{
	oc_machine_fail(g, "unavailable", error);
	oc_ending_begin(g, false);
}

/* What fails here before the command runs is this machine's doing, not the command's: it may be tried again. */
static oc_error *unavailable(const struct oc_guard *g, oc_error *error)
{
	oc_error *told = NULL;
	bool full = oc_error_errno(error) == ENOSPC || oc_error_errno(error) == EDQUOT;

	if (oc_error_reason(error))
		return error;
	oc_refuse(&told, "sandbox_unavailable", g->run,
	          full ? "Make room on the disk of the state directory" : "open-conduit doctor", "%s",
	          oc_error_message(error));
	oc_error_free(error);
	return told;
}

static void again(struct oc_guard *g)
{
	/* Nothing of the last attempt may be alive when the next one starts. */
	oc_reap_kill(g);
	oc_reap(g);
	if (g->ending)
		return;
	if (g->launch.pid > 0 || (waitid(P_ALL, 0, &(siginfo_t){ 0 }, WEXITED | WNOHANG | WNOWAIT) == 0)) {
		oc_machine_phase(g, RETRY_MS, again);
		return;
	}
	oc_attempt_begin(g);
}

/* Nothing has been proved and nothing ran: another attempt with the same plan is allowed, so many times. */
static void attempt_failed(struct oc_guard *g, const char *why)
{
	oc_error *err = NULL;

	close_attempt(g);
	if (g->attempts <= g->hello_retries) {
		oc_machine_phase(g, RETRY_MS, again);
		return;
	}
	oc_launch_explain(g->launch.text, g->launch.text_len, why, &err);
	give_up(g, err);
}

static int hello_ms(const struct oc_guard *g)
{
	return g->cleanup ? ENGINE_MS : HELLO_MS;
}

static void hello_late(struct oc_guard *g)
{
	char why[64];

	snprintf(why, sizeof(why), "the guest did not say hello within %d s", hello_ms(g) / 1000);
	attempt_failed(g, why);
}

static void turn_late(struct oc_guard *g)
{
	attempt_failed(g, "the launch command waits, and has no end of it");
}

/* A launch command that waits is given time for it, once; when it goes on, the time that it would have had without. */
static void said(void *userdata)
{
	struct oc_guard *g = userdata;
	bool waits = oc_launch_waits(&g->launch);

	if (g->state != OC_GUARD_STARTING || g->session.hello || g->ending || g->launch.exited || waits == g->waits ||
	    (waits && g->waited))
		return;
	g->waits = waits;
	g->waited = true;
	oc_machine_phase(g, waits ? TURN_MS : hello_ms(g), waits ? turn_late : hello_late);
	oc_server_state(g);
}

static void ready_late(struct oc_guard *g)
{
	oc_error *err = NULL;

	oc_refuse(&err, "sandbox_unavailable", "P13", "open-conduit doctor",
	          "The guest did not finish its probes within 30 s");
	give_up(g, err);
}

static int start(struct oc_guard *g, oc_error **err)
{
	struct oc_plan_view plan;
	int rc = oc_plan_view_load(g->run_dir, g->digest, &plan, err);

	if (rc < 0)
		return rc;
	rc = oc_preflight_programs(&plan, err);
	rc = rc < 0 ? rc : oc_launch_fork(&g->launch, &plan, g->umask, err);
	if (rc >= 0) {
		oc_fault("guard:before-started");
		rc = oc_record_started(g, err);
		oc_fault("guard:after-started");
	}
	rc = rc < 0 ? rc : oc_session_open(g, oc_steal_fd(g->launch.channel), err);
	rc = rc < 0 ? rc : oc_launch_watch_log(&g->launch, g->loop, said, g, err);
	rc = rc < 0 ? rc : oc_belt_begin(g, plan.toolbelt, err);
	rc = rc < 0 ? rc : oc_instruct(g, &plan, err);
	rc = rc < 0 ? rc : oc_launch_open_gate(&g->launch, err);
	oc_plan_view_free(&plan);
	return rc;
}

void oc_attempt_begin(struct oc_guard *g)
{
	oc_error *err = NULL;
	int rc;

	oc_session_init(&g->session);
	g->waits = g->waited = false;
	g->attempts++;
	rc = start(g, &err);
	if (rc < 0) {
		oc_launch_close(&g->launch);
		give_up(g, unavailable(g, err));
		return;
	}
	oc_fault("guard:after-spawn");
	if (g->state != OC_GUARD_STARTING)
		oc_machine_enter(g, OC_GUARD_STARTING);
	oc_machine_phase(g, hello_ms(g), hello_late);
	oc_session_flush(g);
}

void oc_attempt_hello(struct oc_guard *g)
{
	oc_fault("guard:hello");
	g->waits = false;
	/* No further attempt from here on: nobody needs the values again. */
	oc_values_free(oc_steal(g->values));
	oc_machine_phase(g, READY_MS, ready_late);
}

static void go(struct oc_guard *g)
{
	oc_error *err = NULL;
	int rc = oc_streams_open(g, &err);

	if (rc < 0) {
		give_up(g, unavailable(g, err));
		return;
	}
	oc_machine_phase(g, 0, NULL);
	oc_session_go(g, g->streams.agent);
	g->streams.agent[0] = g->streams.agent[1] = g->streams.agent[2] = -1;
	oc_fault("guard:after-go");
	oc_machine_enter(g, OC_GUARD_RUNNING);
	if (g->timeout_ms > 0)
		oc_source_set_timer(g->timeout_timer, g->timeout_ms);
	oc_fault("guard:running");
}

void oc_attempt_ready(struct oc_guard *g)
{
	oc_error *err = NULL;

	oc_fault("guard:ready");
	if (g->confined && oc_probes_judge(g) < 0)
		oc_refuse(&err, "sandbox_unavailable", "P3", NULL, "The results of the probes could not be kept");
	else if (g->session.failed)
		err = oc_steal(g->session.failed);
	else if (oc_record_proved(g, &err) == 0) {
		oc_fault("guard:after-proved");
		oc_machine_enter(g, OC_GUARD_PROVEN);
		go(g);
		return;
	} else {
		err = unavailable(g, err);
	}
	give_up(g, err);
}

void oc_attempt_exit(struct oc_guard *g, bool signaled, int value)
{
	oc_fault("guard:exit-frame");
	if (!g->outcome.state) {
		g->outcome.state = signaled ? "signaled" : "exited";
		if (g->outcome.stop_by)
			g->outcome.state = strcmp(g->outcome.stop_by, "timeout") ? "stopped" : "timeout";
	}
	g->outcome.status = signaled ? 0 : value;
	g->outcome.signal = signaled ? value : 0;
	oc_ending_begin(g, true);
}

void oc_attempt_broken(struct oc_guard *g, oc_error *error)
{
	if (g->ending || g->session.exited) {
		oc_error_free(error);
		return;
	}
	/* Not our guest at all, or one that was tampered with: neither gets better by trying again. */
	oc_machine_fail(g, g->session.go ? "run_lost" : "unavailable", error);
	oc_ending_begin(g, false);
}

void oc_attempt_refused(struct oc_guard *g, oc_error *error)
{
	if (g->ending || g->session.exited)
		oc_error_free(error);
	else
		give_up(g, error);
}

static void lost(struct oc_guard *g, const char *why)
{
	oc_error *err = NULL;

	oc_refuse(&err, "run_lost", g->run, "Start a new run",
	          "The run was lost: %s without telling how the command ended", why);
	oc_machine_fail(g, "run_lost", err);
	oc_ending_begin(g, false);
}

void oc_attempt_silent(struct oc_guard *g, const char *why)
{
	oc_error *err = NULL;

	if (g->ending || g->session.exited)
		return;
	if (!g->session.hello) {
		attempt_failed(g, why);
		return;
	}
	if (g->session.go) {
		lost(g, why);
		return;
	}
	oc_launch_read_log(&g->launch);
	oc_launch_explain(g->launch.text, g->launch.text_len, why, &err);
	give_up(g, err);
}

static void last_words_over(struct oc_guard *g)
{
	oc_attempt_silent(g, "the launch command ended");
}

void oc_attempt_launch_exited(struct oc_guard *g, const siginfo_t *info)
{
	(void)info;
	/* What it wrote before it ended is still in the channel; the end of the channel follows. */
	if (!g->ending && g->session.fd >= 0 && !g->session.exited)
		oc_machine_phase(g, LAST_WORDS_MS, last_words_over);
}
