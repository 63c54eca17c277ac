/* SPDX-License-Identifier: Apache-2.0 */
#include "task.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPLY_MAX (3u << 20) /* what still fits a line of the protocol */
#define REPLY_FD  3

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif
#define DATA_MAX (4ull << 30)

static bool send_json(json_t *message)
{
	cleanup_free char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
	size_t len = text ? strlen(text) : 0;

	json_decref(message);
	return text && len <= REPLY_MAX && write_all(REPLY_FD, text, len) == 0;
}

static json_t *refusal_json(const struct refusal *r)
{
	return json_pack("{s:{s:s, s:s?, s:s?, s:s?}}", "refusal", "reason", r->reason ? r->reason : "provider_failed",
	                 "subject", r->subject, "fix", r->fix, "message", r->message);
}

/* What an agent made may ask for any amount of time and memory; and a pack is a descriptor. */
static void limit(void)
{
	const struct rlimit cpu = { 3600, 3600 };
	struct rlimit files;

	(void)setrlimit(RLIMIT_CPU, &cpu);
#ifndef SANITIZED /* which has terabytes of it */
	(void)setrlimit(RLIMIT_DATA, &(const struct rlimit){ DATA_MAX, DATA_MAX });
#endif
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

/* The socket to the host is among what is closed: a child that went astray can't speak for the provider. */
static void child(int out, pid_t parent, const struct confine_path *paths, size_t n, task_fn fn, void *arg)
{
	struct refusal r = { 0 };
	json_t *reply = NULL;

	if (dup2(out, REPLY_FD) < 0 || syscall(__NR_close_range, REPLY_FD + 1, ~0u, 0))
		_exit(9);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(9);
	limit();
	if (confine(paths, n, &r) == 0 && fn(arg, &reply, &r) == 0 && reply)
		_exit(send_json(json_pack("{s:o}", "reply", reply)) ? 0 : 8);
	_exit(send_json(refusal_json(&r)) ? 0 : 8);
}

static int take_refusal(const json_t *message, const char *name, struct refusal *r)
{
	const json_t *said = json_object_get(message, "refusal");
	const char *reason = known_reason(text_of(said, "reason")), *text = text_of(said, "message");

	return refuse(r, reason ? reason : "provider_failed", text_of(said, "subject"), text_of(said, "fix"), "%s",
	              text ? text : name);
}

static int read_reply(int in, struct text *out)
{
	char block[65536];

	for (;;) {
		ssize_t n = read(in, block, sizeof(block));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -1 : 0;
		if (out->len + (size_t)n > REPLY_MAX || !text_add(out, block, (size_t)n))
			return -1;
	}
}

static int conclude(const char *name, int in, pid_t pid, json_t **reply, struct refusal *r)
{
	cleanup_text struct text text = { 0 };
	cleanup_json json_t *message = NULL;
	int bad = read_reply(in, &text), status = 0;

	if (bad)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		return refuse(r, "provider_failed", name, NULL, "the step \"%s\" was ended by signal %d", name,
		              WTERMSIG(status));
	if (!bad && status == 0)
		message = json_loadb(text.data ? text.data : "", text.len, JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(json_object_get(message, "reply"))) {
		*reply = json_incref(json_object_get(message, "reply"));
		return 0;
	}
	if (json_is_object(json_object_get(message, "refusal")))
		return take_refusal(message, name, r);
	return refuse(r, "provider_failed", name, NULL, "the step \"%s\" ended without an answer (status %d)", name,
	              WEXITSTATUS(status));
}

int task_run(const char *name, const struct confine_path *paths, size_t n, task_fn fn, void *arg, json_t **reply,
             struct refusal *r)
{
	pid_t pid, self = getpid();
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC))
		return refuse_errno(r, name, "a pipe");
	pid = fork();
	if (pid == 0)
		child(ends[1], self, paths, n, fn, arg);
	rc = pid < 0 ? refuse_errno(r, name, "a process for the step") : 0;
	(void)close(ends[1]);
	if (!rc)
		rc = conclude(name, ends[0], pid, reply, r);
	(void)close(ends[0]);
	return rc;
}
