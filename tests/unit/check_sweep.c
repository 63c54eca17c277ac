/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/os.h"
#include "guard/protocol.h"
#include "suite.h"

#define RUN "abcdefgh"

static char *dir;
static int run_dir;
static pid_t pids[8];
static size_t n_pids;

static void begin(void)
{
	dir = suite_mkdir();
	run_dir = oc_open_dir(dir);
	n_pids = 0;
}

static void end(void)
{
	size_t i;

	for (i = 0; i < n_pids; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	oc_close(run_dir);
	suite_rmdir(dir);
}

/* A sleeping child in its own session and group (session 0) or in that session. */
static pid_t sleeper(const char *mark, pid_t group)
{
	char *argv[] = { (char *)"sleep", (char *)"30", NULL }, *envp[] = { (char *)mark, NULL };
	struct timespec pause = { 0, 1000000 };
	pid_t pid = fork();
	int i;

	if (pid == 0) {
		if (group)
			setpgid(0, group);
		else
			setsid();
		execve("/bin/sleep", argv, envp);
		_exit(1);
	}
	pids[n_pids++] = pid;
	/* Until it is what it is going to be. */
	for (i = 0; i < 2000 && oc_os_environ_has(pid, mark) != 1; i++)
		nanosleep(&pause, NULL);
	ck_assert_int_eq(oc_os_environ_has(pid, mark), 1);
	return pid;
}

static bool lives(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == 0;
}

static void record(const char *file, pid_t pid, uint64_t start, const char *boot, pid_t pgrp, pid_t session)
{
	char text[512];
	int n = snprintf(text, sizeof(text),
	                 "{\"at\":\"x\",\"boot\":\"%s\",\"pid\":%d,\"start\":%llu,\"pgrp\":%d,\"session\":%d}", boot,
	                 (int)pid, (unsigned long long)start, (int)pgrp, (int)session);

	ck_assert_int_eq(oc_write_file(run_dir, file, text, (size_t)n, 0600), 0);
}

static void record_of(pid_t pid, int64_t later)
{
	char boot[OC_BOOT_SIZE];
	uint64_t start;

	ck_assert_int_eq(oc_os_boot_id(boot), 0);
	ck_assert_int_eq(oc_os_start_time(pid, &start), 0);
	record(OC_GUARD_STARTED, pid, start + (uint64_t)later, boot, pid, pid);
}

START_TEST(test_kills_its_own)
{
	pid_t leader, stranger, other;

	begin();
	leader = sleeper("OPEN_CONDUIT_RUN=" RUN, 0);
	stranger = sleeper("OPEN_CONDUIT_RUN=" RUN, 0); /* the mark, but neither group nor session */
	other = sleeper("OPEN_CONDUIT_RUN=" RUN "x", 0);
	record_of(leader, 0);
	ck_assert_int_eq(oc_guard_sweep(run_dir, RUN, NULL), 1);
	ck_assert(!lives(leader));
	ck_assert(lives(stranger));
	ck_assert(lives(other));
	ck_assert_int_eq(oc_guard_sweep(run_dir, RUN, NULL), 0);
	end();
}
END_TEST

START_TEST(test_spares_the_unmarked)
{
	pid_t leader;

	begin();
	leader = sleeper("OPEN_CONDUIT_RUN=" RUN "2", 0);
	record_of(leader, 0);
	ck_assert_int_eq(oc_guard_sweep(run_dir, RUN, NULL), 0);
	ck_assert(lives(leader));
	end();
}
END_TEST

START_TEST(test_spares_the_older)
{
	pid_t leader;

	begin();
	leader = sleeper("OPEN_CONDUIT_RUN=" RUN, 0);
	record_of(leader, 1000); /* the record is of a process that started later: this one is not it */
	ck_assert_int_eq(oc_guard_sweep(run_dir, RUN, NULL), 0);
	ck_assert(lives(leader));
	end();
}
END_TEST

START_TEST(test_another_boot)
{
	uint64_t start;
	pid_t leader;

	begin();
	leader = sleeper("OPEN_CONDUIT_RUN=" RUN, 0);
	ck_assert_int_eq(oc_os_start_time(leader, &start), 0);
	record(OC_GUARD_STARTED, leader, start, "11111111-1111-1111-1111-111111111111", leader, leader);
	ck_assert_int_eq(oc_guard_sweep(run_dir, RUN, NULL), 0);
	ck_assert(lives(leader));
	ck_assert_int_eq(oc_guard_alive(run_dir, OC_GUARD_STARTED, NULL, NULL), OC_ALIVE_NO);
	end();
}
END_TEST

START_TEST(test_damaged)
{
	static const char *const texts[] = { "",
		                             "{",
		                             "[]",
		                             "{\"pid\":1,\"start\":1,\"boot\":\"x\"}",
		                             "{\"pid\":-1}",
		                             "{\"boot\":\"x\",\"pid\":99999,\"pgrp\":0,\"session\":0,\"start\":5}" };
	size_t i;

	begin();
	ck_assert_int_eq(oc_guard_sweep(run_dir, RUN, NULL), 0);
	ck_assert_int_eq(oc_guard_alive(run_dir, OC_GUARD_STARTED, NULL, NULL), OC_ALIVE_NO);
	for (i = 0; i < OC_COUNT(texts); i++) {
		oc_error *err = NULL;

		ck_assert_int_eq(oc_write_file(run_dir, OC_GUARD_STARTED, texts[i], strlen(texts[i]), 0600), 0);
		ck_assert_int_lt(oc_guard_sweep(run_dir, RUN, &err), 0);
		ck_assert_ptr_nonnull(err);
		oc_error_free(err);
	}
	for (i = 0; i + 1 < OC_COUNT(texts); i++) {
		ck_assert_int_eq(oc_write_file(run_dir, OC_GUARD_STARTED, texts[i], strlen(texts[i]), 0600), 0);
		ck_assert_int_eq(oc_guard_alive(run_dir, OC_GUARD_STARTED, NULL, NULL), OC_ALIVE_UNKNOWN);
	}
	end();
}
END_TEST

START_TEST(test_alive)
{
	pid_t leader, pid = 0;

	begin();
	leader = sleeper("OPEN_CONDUIT_RUN=" RUN, 0);
	record_of(leader, 0);
	ck_assert_int_eq(oc_guard_alive(run_dir, OC_GUARD_STARTED, &pid, NULL), OC_ALIVE_YES);
	ck_assert_int_eq(pid, leader);
	record_of(leader, 1); /* the same number, another process */
	ck_assert_int_eq(oc_guard_alive(run_dir, OC_GUARD_STARTED, &pid, NULL), OC_ALIVE_NO);
	record_of(leader, 0);
	kill(leader, SIGKILL);
	waitpid(leader, NULL, 0);
	ck_assert_int_eq(oc_guard_alive(run_dir, OC_GUARD_STARTED, &pid, NULL), OC_ALIVE_NO);
	end();
}
END_TEST

SUITE_MAIN("sweep", test_kills_its_own, test_spares_the_unmarked, test_spares_the_older, test_another_boot,
           test_damaged, test_alive)
