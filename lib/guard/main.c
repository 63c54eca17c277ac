/* SPDX-License-Identifier: Apache-2.0 */
/* open-conduit-guard RUN_DIR: the process in the foreground only waits until the guard listens, and says what kept it from
 * that. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/path.h"
#include "guard/guard.h"
#include "guard/record.h"

#define STATUS_FD  3
#define STATUS_MAX 65536
#define LOCK_TRIES 700 /* of 10 ms: recovery may have to end processes, which takes five seconds at most */

static void say(int fd, oc_error *error)
{
	oc_cleanup(oc_json_decrefp) json_t *json = oc_error_to_json(error);
	struct oc_buf text;

	oc_buf_init(&text, STATUS_MAX);
	if (json && oc_json_canonical(json, &text, NULL) == 0 && oc_buf_puts(&text, "\n") == 0)
		(void)oc_write_all(fd, text.data, text.len);
	oc_buf_free(&text);
}

static int open_run_dir(struct oc_guard *g, const char *path, oc_error **err)
{
	struct stat st;

	g->run_dir = oc_open_dir(path);
	if (g->run_dir < 0)
		return oc_fail(err, OC_EIO, -g->run_dir, "Can't open %s: %s", path, strerror(-g->run_dir));
	if (fstat(g->run_dir, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077))
		return oc_refuse(err, "sandbox_unavailable", path, "chmod 700 it, or remove it",
		                 "%s is not a directory that is ours alone", path);
	if (fchdir(g->run_dir) < 0)
		return oc_fail(err, OC_EIO, errno, "Can't enter %s: %s", path, strerror(errno));
	return 0;
}

/* Recovery takes it too, for a moment: another host that lists the runs is no reason to fail this one. */
static int wait_lock(const struct oc_guard *g, int fd)
{
	const struct timespec pause = { 0, 10 * 1000 * 1000 };
	int tries, rc = -EWOULDBLOCK;

	for (tries = 0; tries < LOCK_TRIES && rc == -EWOULDBLOCK; tries++) {
		rc = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
		if (rc == -EWOULDBLOCK && oc_guard_alive(g->run_dir, OC_GUARD_INFO, NULL, NULL) == OC_ALIVE_YES)
			break;
		if (rc == -EWOULDBLOCK)
			nanosleep(&pause, NULL);
	}
	return rc;
}

/* Held until the process ends, however it ends; nothing else is looked at before. */
static int lock_run(const struct oc_guard *g, oc_error **err)
{
	int fd = openat(g->run_dir, OC_GUARD_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0)
		return oc_fail(err, OC_EIO, errno, "Can't open the lock of the run: %s", strerror(errno));
	rc = wait_lock(g, fd);
	if (rc < 0) {
		oc_close(fd);
		if (rc == -EWOULDBLOCK)
			return oc_fail(err, OC_EEXISTS, 0, "Another guard holds this run");
		return oc_fail(err, OC_EIO, -rc, "Can't lock the run: %s", strerror(-rc));
	}
	oc_fault("guard:after-lock");
	(void)oc_remove_temps(g->run_dir); /* of a guard that was killed while it wrote: nobody else writes here */
	return 0;
}

static int read_plan(struct oc_guard *g, const char *path, int64_t *journal_bytes, oc_error **err)
{
	const struct oc_plan_view *plan = &g->plan;
	int rc = oc_plan_view_load(g->run_dir, NULL, &g->plan, err);

	if (rc < 0)
		return rc;
	if (strcmp(plan->runs, path) || strcmp(plan->run, oc_path_base(path)))
		rc = oc_refuse(err, "pin_mismatch", path, NULL, "The plan in %s is of another run: %s", path,
		               plan->runs);
	snprintf(g->run, sizeof(g->run), "%s", plan->run);
	memcpy(g->digest, plan->digest, sizeof(g->digest));
	g->live = strdup(plan->live);
	g->confined = plan->confined;
	g->cleanup = plan->cleanup;
	g->keep = plan->keep;
	g->rows = (uint16_t)plan->rows;
	g->cols = (uint16_t)plan->cols;
	g->timeout_ms = plan->timeout_ms;
	g->grace_ms = plan->grace_ms;
	g->unhosted_ms = plan->unhosted_ms;
	g->hello_retries = plan->hello_retries;
	*journal_bytes = plan->journal_bytes ? plan->journal_bytes : (int64_t)OC_JOURNAL_SEGMENT * OC_JOURNAL_SEGMENTS;
	return rc == 0 && !g->live ? oc_nomem(err) : rc;
}

static int identify(struct oc_guard *g, oc_error **err)
{
	int rc = oc_os_boot_id(g->boot);

	rc = rc < 0 ? rc : oc_os_start_time(getpid(), &g->start);
	g->session_id = getsid(0);
	return rc < 0 ? oc_fail(err, OC_EIO, -rc, "Can't tell this process from others: %s", strerror(-rc)) : 0;
}

static int set_up(struct oc_guard *g, const char *path, oc_error **err)
{
	int64_t journal_bytes = 0;
	int rc = open_run_dir(g, path, err);

	rc = rc < 0 ? rc : lock_run(g, err);
	rc = rc < 0 ? rc : read_plan(g, path, &journal_bytes, err);
	rc = rc < 0 ? rc : oc_record_check_earlier(g->run_dir, err);
	rc = rc < 0 ? rc : identify(g, err);
	rc = rc < 0 ? rc : oc_journal_open(&g->journal, g->run_dir, journal_bytes, err);
	rc = rc < 0 ? rc : oc_loop_new(&g->loop, err);
	rc = rc < 0 ? rc : oc_reap_signals(g, err);
	rc = rc < 0 ? rc : oc_record_guard(g, err);
	rc = rc < 0 ? rc : oc_server_open(g, err);
	if (rc >= 0)
		oc_fault("guard:after-listen");
	return rc < 0 ? rc : oc_machine_begin(g, err);
}

static void init(struct oc_guard *g)
{
	memset(g, 0, sizeof(*g));
	g->run_dir = g->work.fd = g->signals = g->record = g->reserve = g->preflight.fd = g->server.fd = -1;
	g->journal.dir = g->journal.fd = -1;
	g->umask = umask(077);
	oc_launch_init(&g->launch);
	oc_session_init(&g->session);
	oc_streams_init(&g->streams);
}

static void harden(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)oc_os_set_subreaper();
	(void)oc_os_fresh_keyring();
}

static void take_down(struct oc_guard *g)
{
	oc_server_close(g);
	oc_streams_close(g);
	oc_tokens_free(g);
	oc_redact_free(oc_steal(g->redact));
	oc_belt_end(g);
	oc_session_close(&g->session);
	oc_journal_close(&g->journal);
	/* Held and given up: nothing ran, and nothing stays. */
	oc_ending_clear(g);
	json_decref(g->record_json);
}

static int guard_main(const char *path)
{
	struct oc_guard g;
	oc_error *err = NULL;
	int rc;

	init(&g);
	harden();
	rc = set_up(&g, path, &err);
	if (rc < 0) {
		say(STATUS_FD, err);
		return 1;
	}
	(void)oc_write_all(STATUS_FD, "ok", 2);
	close(STATUS_FD);
	while (!g.over && oc_loop_wait(g.loop, -1, &err) >= 0)
		;
	take_down(&g);
	return g.over ? 0 : 1;
}

static int become_daemon(const char *path, int status)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t pid;

	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		return 1;
	if (status != STATUS_FD && dup2(status, STATUS_FD) < 0)
		return 1;
	(void)fcntl(STATUS_FD, F_SETFD, FD_CLOEXEC);
	(void)oc_os_close_from(STATUS_FD + 1);
	(void)setsid();
	pid = fork();
	if (pid != 0)
		_exit(pid < 0);
	return guard_main(path);
}

static int wait_for(int status)
{
	struct oc_buf text;
	char data[4096];
	ssize_t n;

	oc_buf_init(&text, STATUS_MAX);
	do {
		n = read(status, data, sizeof(data));
		if (n > 0 && oc_buf_add(&text, data, (size_t)n) < 0)
			break;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (text.len == 2 && memcmp(text.data, "ok", 2) == 0) {
		oc_buf_free(&text);
		return 0;
	}
	if (text.len)
		(void)oc_write_all(2, text.data, text.len);
	else
		dprintf(2, "{\"code\":%d,\"message\":\"The guard ended before it listened\"}\n", OC_EFAILED);
	oc_buf_free(&text);
	return 1;
}

int main(int argc, char **argv)
{
	int status[2];
	pid_t pid;

	if (argc != 2 || !oc_path_clean(argv[1])) {
		dprintf(2, "{\"code\":%d,\"message\":\"usage: open-conduit-guard RUN_DIR (an absolute path)\"}\n",
		        OC_EINVAL);
		return 1;
	}
	if (pipe2(status, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		dprintf(2, "{\"code\":%d,\"errno\":%d,\"message\":\"Can't make a process\"}\n", OC_EIO, errno);
		return 1;
	}
	if (pid == 0) {
		close(status[0]);
		return become_daemon(argv[1], status[1]);
	}
	close(status[1]);
	(void)waitpid(pid, NULL, 0);
	return wait_for(status[0]);
}
