/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery's table, a row a case, with real processes and locks. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/os.h"
#include "guard/protocol.h"
#include "plan_fixture.h"
#include "store/store.h"
#include "suite.h"

#define RUN "recoverme1"

static struct fixture f;
static oc_store *store;
static char digest[OC_DIGEST_SIZE];

static void begin(void)
{
	oc_plan *plan;
	char path[600];

	fixture_open(&f);
	OK(oc_store_open(f.ctx, &store, &err));
	plan = fixture_plan_none(&f, RUN);
	OK(oc_plan_pin(plan, store, &err));
	snprintf(digest, sizeof(digest), "%s", oc_plan_digest(plan));
	oc_plan_free(plan);
	snprintf(path, sizeof(path), "%s/live/" RUN, f.state);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/live/" RUN "/left", f.state);
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void end(void)
{
	oc_store_free(store);
	fixture_close(&f);
}

static bool there(const char *name)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", f.state, name);
	return access(path, F_OK) == 0;
}

static void put(const char *name, const char *text)
{
	char path[600];
	int fd;

	snprintf(path, sizeof(path), "%s/runs/" RUN "/%s", f.state, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(oc_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void put_process(const char *name, pid_t pid, const char *boot, const char *plan)
{
	char text[512], now[OC_BOOT_SIZE];
	uint64_t start = 1;

	ck_assert_int_eq(oc_os_boot_id(now), 0);
	oc_os_start_time(pid, &start);
	snprintf(
	        text, sizeof(text),
	        "{\"at\":\"x\",\"pid\":%d,\"start\":%llu,\"boot\":\"%s\",\"digest\":\"%s\",\"pgrp\":%d,\"session\":%d}",
	        (int)pid, (unsigned long long)start, boot ? boot : now, plan ? plan : digest, (int)pid, (int)pid);
	put(name, text);
}

static void put_exit(const char *plan)
{
	char text[512];

	snprintf(text, sizeof(text),
	         "{\"version\":1,\"run\":\"" RUN
	         "\",\"digest\":\"%s\",\"state\":\"exited\",\"status\":3,\"error\":null}",
	         plan ? plan : digest);
	put("exit.json", text);
}

/* A process of its own session that may carry the run's mark, and may hold its lock. */
static pid_t spawn(bool marked, bool locked)
{
	char path[600], mark[] = OC_GUARD_ENV_MARK "=" RUN, other[] = "A=B";
	char *argv[] = { (char *)"sleep", (char *)"600", NULL }, *envp[] = { marked ? mark : other, NULL };
	int ready[2];
	char byte;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/runs/" RUN "/lock", f.state);
	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (locked && flock(open(path, O_RDWR | O_CREAT, 0600), LOCK_EX) < 0)
			suite_exit(1);
		setsid();
		fcntl(ready[1], F_SETFD, FD_CLOEXEC);
		execve("/bin/sleep", argv, envp);
		suite_exit(2);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 0); /* closed by the exec */
	close(ready[0]);
	return pid;
}

static bool alive(pid_t pid)
{
	int status;

	return waitpid(pid, &status, WNOHANG) == 0;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static pid_t gone(void)
{
	pid_t pid = fork();

	if (pid == 0)
		suite_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

/* The outcome of our run, or "(none)" when it isn't listed. */
static const char *recover(void)
{
	static char outcome[64];
	char *text = NULL;
	json_t *list, *row;
	size_t i;

	OK(oc_store_recover(store, &text, &err));
	list = json_loads(text, 0, NULL);
	ck_assert_ptr_nonnull(list);
	snprintf(outcome, sizeof(outcome), "(none)");
	json_array_foreach(list, i, row)
	{
		if (strcmp(oc_json_text(row, "id"), RUN) == 0)
			snprintf(outcome, sizeof(outcome), "%s", oc_json_text(row, "outcome"));
	}
	json_decref(list);
	free(text);
	return outcome;
}

static const char *state(void)
{
	static char out[64];
	char *text = NULL;
	json_t *json;

	OK(oc_store_run(store, RUN, &text, &err));
	json = json_loads(text, 0, NULL);
	snprintf(out, sizeof(out), "%s%s%s", oc_json_text(json, "state"), oc_json_text(json, "reason") ? " " : "",
	         oc_json_text(json, "reason") ? oc_json_text(json, "reason") : "");
	json_decref(json);
	free(text);
	return out;
}

START_TEST(test_nothing_ran)
{
	int i;

	begin();
	OK(oc_store_state(store, RUN, "held", NULL, &err));
	put_process("guard.json", gone(), NULL, NULL);
	for (i = 0; i < 3; i++) { /* safe to repeat */
		ck_assert_str_eq(recover(), "launchable");
		ck_assert_str_eq(state(), "pinned");
	}
	ck_assert(!there("runs/" RUN "/guard.json"));
	end();
}
END_TEST

START_TEST(test_started)
{
	pid_t ours, other;

	if (!suite_has_pidfd("to end what a guard left"))
		return;
	begin();
	OK(oc_store_state(store, RUN, "started", NULL, &err));
	ours = spawn(true, false);
	other = spawn(false, false); /* of that session by number, but not of the run */
	put_process("started", ours, NULL, NULL);
	ck_assert_str_eq(recover(), "launchable");
	ck_assert(!alive(ours));
	ck_assert(alive(other));
	ck_assert(!there("live/" RUN));
	ck_assert(!there("runs/" RUN "/started"));
	ck_assert_str_eq(state(), "pinned");
	ck_assert_str_eq(recover(), "launchable");
	stop(other);
	end();
}
END_TEST

START_TEST(test_alive)
{
	pid_t guard;

	begin();
	OK(oc_store_state(store, RUN, "running", NULL, &err));
	guard = spawn(true, true);
	put_process("guard.json", guard, NULL, NULL);
	put_process("started", guard, NULL, NULL);
	put("proved", "{}");
	ck_assert_str_eq(recover(), "alive");
	ck_assert(alive(guard));
	ck_assert(there("live/" RUN));
	ck_assert_str_eq(state(), "running");
	stop(guard);
	end();
}
END_TEST

START_TEST(test_lost)
{
	pid_t left;

	if (!suite_has_pidfd("to end what a guard left"))
		return;
	begin();
	OK(oc_store_state(store, RUN, "running", NULL, &err));
	left = spawn(true, false);
	put_process("guard.json", gone(), NULL, NULL);
	put_process("started", left, NULL, NULL);
	put("proved", "{}");
	ck_assert_str_eq(recover(), "run_lost");
	ck_assert(!alive(left));
	ck_assert(!there("live/" RUN));
	ck_assert_str_eq(state(), "run_lost run_lost");
	ck_assert_str_eq(recover(), "(none)"); /* it is over */
	end();
}
END_TEST

START_TEST(test_finished)
{
	begin();
	OK(oc_store_state(store, RUN, "running", NULL, &err));
	put_process("guard.json", gone(), NULL, NULL);
	put("proved", "{}");
	put_process("started", gone(), NULL, NULL);
	put_exit(NULL);
	ck_assert_str_eq(recover(), "finished");
	ck_assert_str_eq(state(), "exited");
	ck_assert(!there("live/" RUN));
	ck_assert_str_eq(recover(), "(none)");
	end();
}
END_TEST

START_TEST(test_mismatch)
{
	static const char other_boot[] = "00000000-0000-0000-0000-000000000000";
	pid_t guard;

	/* Alive, but of another plan, or by the record of another boot: left alone. */
	begin();
	guard = spawn(true, true);
	put_process("guard.json", guard, NULL, FIXTURE_DIGEST);
	ck_assert_str_eq(recover(), "pin_mismatch");
	ck_assert_str_eq(state(), "unknown pin_mismatch");
	put_process("guard.json", guard, other_boot, NULL);
	ck_assert_str_eq(recover(), "pin_mismatch");
	ck_assert(alive(guard));
	ck_assert(there("live/" RUN));
	put_process("guard.json", guard, NULL, NULL); /* the control: as it should be, it is adopted */
	ck_assert_str_eq(recover(), "alive");
	ck_assert_str_eq(state(), "launched"); /* and no longer unknown */
	stop(guard);
	end();
	/* An exit record of another plan. */
	begin();
	put_process("started", gone(), NULL, NULL);
	put("proved", "{}");
	put_exit(FIXTURE_DIGEST);
	ck_assert_str_eq(recover(), "pin_mismatch");
	end();
	/* The plan itself is not what was pinned. */
	begin();
	put("plan.json", "{}");
	ck_assert_str_eq(recover(), "pin_mismatch");
	ck_assert(there("live/" RUN));
	end();
}
END_TEST

START_TEST(test_reboot)
{
	static const char other_boot[] = "00000000-0000-0000-0000-000000000000";
	pid_t bystander;

	begin();
	bystander = spawn(true, false); /* its pid is in the record, of a boot that is over: not ours */
	put_process("guard.json", bystander, other_boot, NULL);
	put_process("started", bystander, other_boot, NULL);
	put("proved", "{}");
	ck_assert_str_eq(recover(), "run_lost");
	ck_assert(alive(bystander));
	stop(bystander);
	end();
}
END_TEST

START_TEST(test_unknown)
{
	static const char *const damage[] = { "", "{", "[]", "{\"pid\":1}" };
	pid_t guard;
	size_t i;

	for (i = 0; i < OC_COUNT(damage); i++) {
		begin();
		put("guard.json", damage[i]);
		put("proved", "{}");
		put_process("started", gone(), NULL, NULL);
		ck_assert_str_eq(recover(), "unknown");
		ck_assert_str_eq(state(), "unknown pin_mismatch");
		ck_assert(there("live/" RUN));
		put_process("guard.json", gone(), NULL, NULL); /* brought back, it is settled */
		ck_assert_str_eq(recover(), "run_lost");
		end();
	}
	begin();
	put("started", "{"); /* who may be swept is not known */
	put("proved", "{}");
	ck_assert_str_eq(recover(), "unknown");
	ck_assert(there("live/" RUN));
	end();
	begin();
	put("proved", "{}");
	put_process("started", gone(), NULL, NULL);
	put("exit.json", "{\"run\":");
	ck_assert_str_eq(recover(), "unknown");
	end();
	begin(); /* the lock is held and nobody says by whom: a guard that begins */
	guard = spawn(true, true);
	ck_assert_str_eq(recover(), "unknown");
	ck_assert_str_eq(state(), "pinned"); /* said, not recorded */
	ck_assert(alive(guard));
	stop(guard);
	ck_assert_str_eq(recover(), "launchable");
	end();
}
END_TEST

/* What a crash left before the row, and what a lost database had known. */
START_TEST(test_orphans)
{
	char path[600], aside[600];

	begin();
	oc_store_free(store);
	snprintf(path, sizeof(path), "%s/damaged", f.state);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/state.db", f.state);
	snprintf(aside, sizeof(aside), "%s/damaged/state.db", f.state);
	ck_assert_int_eq(rename(path, aside), 0);
	snprintf(path, sizeof(path), "%s/store.lock", f.state);
	ck_assert_int_eq(unlink(path), 0);
	put_process("started", gone(), NULL, NULL);
	put("proved", "{}");
	put_exit(NULL);
	OK(oc_store_open(f.ctx, &store, &err));
	ck_assert_str_eq(recover(), "finished"); /* found again by its own pin */
	ck_assert_str_eq(state(), "exited");
	end();
	begin();
	oc_store_free(store);
	snprintf(path, sizeof(path), "%s/state.db", f.state);
	ck_assert_int_eq(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/store.lock", f.state);
	ck_assert_int_eq(unlink(path), 0);
	OK(oc_store_open(f.ctx, &store, &err));
	ck_assert_str_eq(recover(), "forgotten");
	ck_assert(!there("runs/" RUN));
	end();
}
END_TEST

/* Another host starts, and with it a recovery, while this one pins: what is half made is not an orphan. */
START_TEST(test_pinned_meanwhile)
{
	enum { RUNS = 40 };
	char run[16], path[64];
	int status, i;
	pid_t other;

	begin();
	other = fork();
	if (!other) {
		oc_context *ctx = fixture_context(f.state);
		oc_store *own = NULL;

		while (oc_store_open(ctx, &own, NULL) == 0) {
			char *text = NULL;

			/* Another's lock is no failure. */
			if (oc_store_recover(own, &text, NULL) == 0)
				free(text);
			oc_store_free(own);
			if (there("stop"))
				suite_exit(0);
		}
		suite_exit(1);
	}
	for (i = 0; i < RUNS; i++) {
		oc_plan *plan;

		snprintf(run, sizeof(run), "meanwhile%02d", i);
		plan = fixture_plan_none(&f, run);
		OK(oc_plan_pin(plan, store, &err));
		oc_plan_free(plan);
		snprintf(path, sizeof(path), "runs/%s/plan.json", run);
		ck_assert_msg(there(path), "%s is gone", path);
	}
	snprintf(path, sizeof(path), "stop");
	ck_assert_int_ge(close(openat(store->state_fd, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	ck_assert_int_eq(waitpid(other, &status, 0), other);
	ck_assert_int_eq(status, 0);
	for (i = 0; i < RUNS; i++) {
		snprintf(path, sizeof(path), "runs/meanwhile%02d/plan.json", i);
		ck_assert_msg(there(path), "%s is gone", path);
	}
	end();
}
END_TEST

START_TEST(test_one_at_a_time)
{
	oc_error *error = NULL;
	char *text = NULL;
	int lock;

	begin();
	lock = oc_store_recovery_lock(store, &error);
	ck_assert_int_ge(lock, 0);
	ck_assert_int_eq(oc_store_recover(store, &text, &error), OC_ETIME);
	ck_assert_ptr_nonnull(oc_error_fix(error));
	oc_error_free(error);
	oc_close(lock);
	ck_assert_str_eq(recover(), "launchable");
	end();
}
END_TEST

SUITE_MAIN("recover", test_nothing_ran, test_started, test_alive, test_lost, test_finished, test_mismatch, test_reboot,
           test_unknown, test_orphans, test_pinned_meanwhile, test_one_at_a_time)
