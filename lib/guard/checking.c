/* SPDX-License-Identifier: Apache-2.0 */
/* The preflight of a small workspace takes less than a process to do it in costs, so the guard tries it itself, within
 * bounds that nobody notices.  What is larger, and all that is refused, is checked in a child of its own: a large workspace
 * must not make the socket deaf, and what the scan remembers must not stay in the guard.  The child's answer is "ok", or
 * "no" and the errors; anything else, and a child that died, is a refusal. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/time.h"
#include "guard/guard.h"
#include "guard/preflight.h"

#define REPORT_MAX (1u << 20)

static void report(int fd, oc_error *error)
{
	oc_cleanup(oc_json_decrefp) json_t *json = oc_error_to_json(error);
	struct oc_buf text;

	oc_buf_init(&text, REPORT_MAX);
	if (json && oc_buf_puts(&text, "no") == 0 && oc_json_canonical(json, &text, NULL) == 0)
		(void)oc_write_all(fd, text.data, text.len);
	oc_buf_free(&text);
}

/* The scan holds a descriptor a level and thread. */
static void all_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void child(const struct oc_guard *g, int out)
{
	oc_error *err = NULL;
	int run_dir;

	/* High first, then low: neither may be closed by the other's arrival. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	all_descriptors();
	out = fcntl(out, F_DUPFD_CLOEXEC, 64);
	run_dir = fcntl(g->run_dir, F_DUPFD_CLOEXEC, 64);
	if (out < 0 || run_dir < 0 || dup2(out, 3) < 0 || dup2(run_dir, 4) < 0 || oc_os_close_from(5) < 0)
		_exit(1);
	if (oc_preflight(4, &g->plan, &err) == 0)
		(void)oc_write_all(3, "ok", 2);
	else
		report(3, err);
	_exit(0);
}

static oc_error *verdict(const struct oc_buf *report)
{
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	oc_error *err = NULL;

	if (report->len == 2 && memcmp(report->data, "ok", 2) == 0)
		return NULL;
	if (report->len > 2 && memcmp(report->data, "no", 2) == 0 &&
	    oc_json_parse(report->data + 2, report->len - 2, REPORT_MAX, "preflight", &json, &err) == 0)
		oc_error_from_json(&err, json);
	if (!err)
		oc_refuse(&err, "sandbox_unavailable", "preflight", NULL,
		          "The checks before the run ended without an answer");
	return err;
}

static void finish(struct oc_guard *g, oc_error *refusal)
{
	g->preflight.ns = oc_mono_ns() - g->preflight.ns;
	oc_source_free(oc_steal(g->preflight.source));
	g->preflight.fd = oc_close(g->preflight.fd);
	oc_buf_free(&g->preflight.report);
	oc_plan_view_free(&g->plan);
	oc_machine_checked(g, refusal);
	/* From here on it may wait for long: with what it needs for that, and no more. */
	(void)malloc_trim(0);
}

static void on_report(int fd, unsigned events, void *userdata)
{
	struct oc_guard *g = userdata;
	char data[4096];
	ssize_t n = read(fd, data, sizeof(data));

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && oc_buf_add(&g->preflight.report, data, (size_t)n) == 0)
		return;
	finish(g, verdict(&g->preflight.report));
}

static int start_child(struct oc_guard *g, oc_error **err)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return oc_fail(err, OC_EIO, errno, "Can't make a pipe: %s", strerror(errno));
	g->preflight.fd = p[0];
	g->preflight.pid = fork();
	if (g->preflight.pid == 0)
		child(g, p[1]);
	oc_close(p[1]);
	oc_plan_view_free(&g->plan);
	if (g->preflight.pid < 0)
		return oc_fail(err, OC_EIO, errno, "Can't make a process: %s", strerror(errno));
	(void)oc_fd_nonblock(p[0]);
	return oc_loop_add_fd(g->loop, p[0], OC_READ, on_report, g, &g->preflight.source, err);
}

/* Once the guard listens and has said so: its host connects meanwhile. */
static void on_start(void *userdata)
{
	struct oc_guard *g = userdata;
	oc_error *err = NULL;

	g->preflight.ns = oc_mono_ns();
	if (oc_preflight_quick(g->run_dir, &g->plan)) {
		finish(g, NULL);
		return;
	}
	oc_source_free(oc_steal(g->preflight.source));
	if (start_child(g, &err) < 0)
		finish(g, err);
}

int oc_preflight_start(struct oc_guard *g, oc_error **err)
{
	oc_fault("guard:preflight");
	oc_buf_init(&g->preflight.report, REPORT_MAX);
	return oc_loop_add_timer(g->loop, 0, on_start, g, &g->preflight.source, err);
}

void oc_preflight_cancel(struct oc_guard *g)
{
	if (!g->preflight.source)
		return;
	if (g->preflight.pid > 0)
		(void)kill(g->preflight.pid, SIGKILL);
	oc_source_free(oc_steal(g->preflight.source));
	g->preflight.fd = oc_close(g->preflight.fd);
	oc_buf_free(&g->preflight.report);
}
