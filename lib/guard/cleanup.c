/* SPDX-License-Identifier: Apache-2.0 */
/* launch.cleanup and launch.inspect of a plan: what the launch command made outside of this machine's processes goes, or is
 * compared with the pin, by the same pinned description that made it and the same program.  Waits, bounded. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "base/time.h"
#include "base/utf8.h"
#include "guard/program.h"
#include "guard/protocol.h"
#include "guard/refused.h"
#include "loop/child.h"

#define CLEANUP_MS  90000
#define SAID_MAX    4096
#define CAN_T_TELL  3 /* its status: the engine could not be asked */
#define GONE_STATUS (-1)

struct asked {
	pid_t pid;
	int pidfd, said; /* what it prints */
	char text[SAID_MAX];
	size_t len;
	int status;
};

static int spawn(struct asked *c, const struct oc_program *p, const char *cwd, int out, oc_error **err)
{
	int fds[OC_PROGRAM_FD + 1];
	struct oc_spawn s = {
		.argv = p->argv.v, .envp = p->envp.v, .cwd = cwd, .fds = fds, .n_fds = 3, .new_session = true
	};

	for (size_t i = 0; i < OC_COUNT(fds); i++)
		fds[i] = -1;
	fds[1] = fds[2] = out;
	for (size_t i = 0; i < p->n_files; i++) {
		fds[p->fds[i]] = p->files[i];
		s.n_fds = OC_MAX(s.n_fds, (size_t)p->fds[i] + 1);
	}
	return oc_child_spawn(&s, &c->pid, &c->pidfd, err);
}

static void read_said(struct asked *c)
{
	char rest[512];
	ssize_t n;

	do {
		size_t room = sizeof(c->text) - c->len;

		n = read(c->said, room ? c->text + c->len : rest, room ? room : sizeof(rest));
		if (n > 0 && room)
			c->len += (size_t)n;
	} while (n > 0);
}

/* Its exit status, or GONE_STATUS: killed, by us after its time, or reaped by somebody else. */
static int wait_for(struct asked *c, int ms)
{
	int64_t until = oc_mono_ms() + ms;
	struct pollfd p[2] = { { c->pidfd, POLLIN, 0 }, { c->said, POLLIN, 0 } };
	siginfo_t info = { 0 };

	while (!(p[0].revents & POLLIN) && oc_mono_ms() < until) {
		if (poll(p, 2, (int)(until - oc_mono_ms())) < 0 && errno != EINTR)
			break;
		if (p[1].revents)
			read_said(c);
		if (p[1].revents & (POLLHUP | POLLERR))
			p[1].fd = -1;
	}
	if (!(p[0].revents & POLLIN))
		(void)kill(c->pid, SIGKILL);
	while (waitid(P_PID, (id_t)c->pid, &info, WEXITED) < 0)
		if (errno != EINTR)
			return GONE_STATUS;
	read_said(c);
	return info.si_code == CLD_EXITED ? info.si_status : GONE_STATUS;
}

/* Not by a program that took its place: what it would do to what is there nobody has pinned. */
static int check_provider(const json_t *plan, const char *run, oc_error **err)
{
	const json_t *provider = json_object_get(plan, "provider");
	const char *path = oc_json_text(provider, "path"), *pinned = oc_json_text(provider, "digest");
	oc_cleanup(oc_closep) int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	char digest[OC_DIGEST_SIZE] = "", fix[160];
	int rc = fd < 0 ? -errno : oc_digest_fd(fd, digest);

	if (!path || !pinned)
		return oc_refuse(err, "pin_mismatch", run, NULL, "the plan of run %s names no provider", run);
	if (rc == 0 && strcmp(digest, pinned) == 0)
		return 0;
	snprintf(fix, sizeof(fix), "open-conduit runs get %s  # when the build that started it is back in its place",
	         run);
	return oc_refuse(err, "pin_mismatch", path, fix,
	                 "the provider %s is not the one that run %s was pinned with: it is %s, and has to be %s", path,
	                 run, rc < 0 ? strerrordesc_np(-rc) : digest, pinned);
}

static int start(struct asked *c, const json_t *launch, const json_t *argv, const char *run, const char *digest,
                 oc_error **err)
{
	struct oc_program p;
	int out[2] = { -1, -1 }, rc;

	oc_program_init(&p);
	rc = oc_program_prepare(&p, launch, argv, run, digest, err);
	if (rc == 0 && (pipe2(out, O_CLOEXEC) < 0 || oc_fd_nonblock(out[0]) < 0))
		rc = oc_fail(err, OC_EIO, errno, "Can't make a pipe: %s", strerror(errno));
	c->said = out[0];
	rc = rc < 0 ? rc : spawn(c, &p, "/", out[1], err);
	oc_close(out[1]);
	oc_program_free(&p);
	return rc;
}

/* 1: it was asked, and c says what came of it.  0: the plan has no such command. */
static int ask(struct asked *c, const json_t *plan, const char *command, const char *digest, int ms, oc_error **err)
{
	const json_t *launch = json_object_get(plan, "launch"), *argv = json_object_get(launch, command);
	const char *run = oc_json_text(plan, "run");
	int rc;

	*c = (struct asked){ .pidfd = -1, .said = -1 };
	if (!json_array_size(argv) || !run)
		return 0;
	rc = check_provider(plan, run, err);
	rc = rc < 0 ? rc : start(c, launch, argv, run, digest, err);
	if (rc >= 0)
		c->status = wait_for(c, ms);
	oc_close(c->pidfd);
	oc_close(c->said);
	return rc < 0 ? rc : 1;
}

/* Its own words, or these with what it printed. */
static int refused(const struct asked *c, const char *reason, const char *run, const char *what, oc_error **err)
{
	struct oc_buf text;

	if (oc_refused_find(c->text, c->len, err))
		return oc_error_code(*err);
	oc_buf_init(&text, 8 * SAID_MAX);
	(void)oc_text_escape(&text, c->text, c->len, false);
	oc_refuse(err, reason, run, "open-conduit doctor", "What run %s %s: %s", run, what,
	          text.len ? text.data : "it ended without an answer, or had none in time");
	oc_buf_free(&text);
	return OC_EFAILED;
}

int oc_guard_cleanup(const json_t *plan, const char *digest, oc_error **err)
{
	const char *run = oc_json_text(plan, "run");
	struct asked c;
	int rc = ask(&c, plan, "cleanup", digest, CLEANUP_MS, err);

	if (rc <= 0 || c.status == 0)
		return OC_MIN(rc, 0);
	return refused(&c, c.status == CAN_T_TELL ? "sandbox_unavailable" : "container_running", run,
	               "left in the engine could not be removed", err);
}

int oc_guard_inspect(const json_t *plan, const char *digest, int ms, oc_error **err)
{
	const char *run = oc_json_text(plan, "run");
	struct asked c;
	int rc = ask(&c, plan, "inspect", digest, ms, err);

	if (rc <= 0 || c.status == 0)
		return OC_MIN(rc, 0);
	return refused(&c, "sandbox_unavailable", run, "has in the engine could not be looked at", err);
}
