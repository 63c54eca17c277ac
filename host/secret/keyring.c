/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of open-conduit-keyring (helper.c): one process for each question, on one socket pair, with a deadline. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "secret/secret.h"

#define HELPER      "open-conduit-keyring"
#define DEADLINE_MS 5000
#define ANSWER_MAX  (SECRET_MAX + 262144)

struct answer {
	char *data; /* the whole; NUL-terminated */
	size_t len, cap;
	char *detail;        /* of the first line, or NULL */
	size_t body, status; /* where the rest begins; the helper's exit status */
};

static void answer_free(struct answer *a)
{
	if (a->data)
		explicit_bzero(a->data, a->cap);
	free(a->data);
	memset(a, 0, sizeof(*a));
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* What it takes to find the session's bus, and nothing else of ours. */
static size_t environment(char *envp[5])
{
	static const char *const names[] = { "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "HOME" };
	size_t n = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && asprintf(&envp[n], "%s=%s", names[i], value) >= 0)
			n++;
	}
	envp[n] = NULL;
	return n;
}

static int spawn(const char *path, const char *operation, const char *name, int fd, pid_t *pid)
{
	char *argv[] = { (char *)HELPER, (char *)(uintptr_t)operation, (char *)(uintptr_t)name, NULL }, *envp[5];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	size_t n = environment(envp);
	int rc;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawn(pid, path, &actions, &attributes, argv, envp);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	while (n)
		free(envp[--n]);
	return rc;
}

/* Write the value, read the answer, whichever can go on.  False: not within the deadline. */
static bool converse(int fd, const struct secret_value *v, struct answer *a)
{
	long long end = now_ms() + DEADLINE_MS, left;
	size_t sent = 0, size = v ? v->len : 0;

	if (!size)
		shutdown(fd, SHUT_WR);
	while ((left = end - now_ms()) > 0) {
		struct pollfd p = { fd, (short)(POLLIN | (sent < size ? POLLOUT : 0)), 0 };
		ssize_t n;

		if (poll(&p, 1, (int)left) < 0 && errno != EINTR)
			return false;
		if (v && (p.revents & POLLOUT)) {
			n = send(fd, v->data + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
			sent += n > 0 ? (size_t)n : 0;
			if (sent == size || (n < 0 && errno == EPIPE)) {
				sent = size;
				shutdown(fd, SHUT_WR);
			}
		}
		if (!(p.revents & (POLLIN | POLLHUP | POLLERR)))
			continue;
		n = recv(fd, a->data + a->len, a->cap - 1 - a->len, MSG_DONTWAIT);
		if (n > 0)
			a->len += (size_t)n;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return true;
	}
	return false;
}

static void split(struct answer *a)
{
	char *end = memchr(a->data, '\n', a->len), *space;

	a->body = end ? (size_t)(end - a->data) + 1 : a->len;
	if (end)
		*end = 0;
	space = strchr(a->data, ' ');
	if (space) {
		*space = 0;
		a->detail = space + 1;
	}
}

static char *helper_path(void)
{
	const char *dirs[2];
	char *path = NULL;

	host_provider_dirs(dirs);
	return asprintf(&path, "%s/" HELPER, dirs[1]) < 0 ? NULL : path;
}

/* 0: an answer; an errno of the start; -1: none in time. */
static int exchange(const char *operation, const char *name, const struct secret_value *v, struct answer *a)
{
	char *path = helper_path();
	int ends[2], rc, status = 0;
	bool whole;
	pid_t pid;

	a->cap = ANSWER_MAX;
	a->data = path ? calloc(1, a->cap) : NULL;
	if (!a->data || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		rc = a->data ? errno : ENOMEM;
		free(path);
		return rc;
	}
	rc = spawn(path, operation, name, ends[1], &pid);
	free(path);
	close(ends[1]);
	if (rc) {
		close(ends[0]);
		return rc;
	}
	whole = converse(ends[0], v, a);
	close(ends[0]);
	if (!whole)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	a->status = (size_t)(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	split(a);
	return whole ? 0 : -1;
}

/* Another place for the secret, where there is no keyring to be had. */
static void or_a_file(struct text *fix, const char *name)
{
	char *path = secret_file_path(name ? name : "NAME");

	text_puts(fix, "   or keep it in a file: open-conduit secret set --file ");
	text_puts(fix, name ? name : "NAME");
	text_puts(fix, "   and use ");
	text_puts(fix, "file:");
	text_puts(fix, path ? path : "PATH");
	free(path);
}

static const struct kind {
	const char *word;
	enum secret_state state;
	const char *message, *fix;
	bool elsewhere;
} kinds[] = {
	{ "absent", SECRET_ABSENT, "there is no such entry in the keyring", NULL, false },
	{ "locked", SECRET_LOCKED, "the keyring is locked",
	  "read -rsp 'password of the keyring: ' P && printf %s \"$P\" | gnome-keyring-daemon --replace --daemonize "
	  "--unlock --components=secrets; unset P",
	  false },
	{ "no_bus", SECRET_NO_BUS, "there is no session bus, so no keyring can be reached",
	  "export DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/$(id -u)/bus", true },
	{ "no_service", SECRET_NO_SERVICE, "no program serves a keyring (Secret Service) on the session bus",
	  "sudo apt-get install gnome-keyring", true },
	{ "failed", SECRET_FAILED, "the keyring did not do it", "secret-tool search --all application open-conduit",
	  false },
};

static enum secret_state told(const struct kind *k, const char *name, const char *detail, struct secret_problem *p)
{
	secret_problem(p, k->state, k->message, k->fix);
	if (detail) {
		text_puts(&p->message, ": ");
		text_puts(&p->message, detail);
	}
	if (k->state == SECRET_ABSENT && name) {
		text_puts(&p->message, ": keyring:");
		text_puts(&p->message, name);
		text_puts(&p->fix, "open-conduit secret set ");
		text_puts(&p->fix, name);
	}
	if (k->elsewhere)
		or_a_file(&p->fix, name);
	return k->state;
}

static enum secret_state no_answer(int rc, const struct answer *a, const char *name, struct secret_problem *p)
{
	struct kind k = { NULL, SECRET_FAILED, "open-conduit-keyring, which asks the keyring, can't be used", NULL,
		          true };

	if (rc == ENOENT) {
		k.state = SECRET_NO_HELPER;
		k.message = "this installation has no open-conduit-keyring: it was built without libsecret";
		k.fix = "sudo apt-get install libsecret-1-dev, then build and install again";
		return told(&k, name, NULL, p);
	}
	if (rc < 0) {
		k.state = SECRET_SILENT;
		k.message = "the keyring did not answer within 5 seconds";
		k.fix = "see whether it waits for somebody at the desktop";
		return told(&k, name, NULL, p);
	}
	if (rc == 0 && a->status == 127) {
		k.state = SECRET_NO_HELPER;
		k.message = "open-conduit-keyring does not start: a library of it is missing";
	}
	k.fix = "sudo apt-get install libsecret-1-0";
	return told(&k, name, rc > 0 ? strerror(rc) : NULL, p);
}

/* The state that the answer's word means; `good` is the word of success. */
static enum secret_state ask(const char *operation, const char *name, const struct secret_value *v, const char *good,
                             struct answer *a, struct secret_problem *p)
{
	int rc = exchange(operation, name, v, a);

	if (rc == 0 && a->status == 0 && !strcmp(a->data, good))
		return SECRET_PRESENT;
	for (size_t i = 0; rc == 0 && a->status == 0 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(a->data, kinds[i].word))
			return told(&kinds[i], name, a->detail, p);
	return no_answer(rc, a, name, p);
}

enum secret_state secret_keyring_read(const char *name, struct secret_value *out, struct secret_problem *p)
{
	struct answer a = { 0 };
	enum secret_state state = ask("lookup", name, NULL, "present", &a, p);

	if (state == SECRET_PRESENT) {
		out->len = a.len - a.body;
		out->data = malloc(out->len + 1);
		if (out->data)
			memcpy(out->data, a.data + a.body, out->len);
		else
			state = secret_problem(p, SECRET_FAILED, "out of memory", NULL);
	}
	if (state == SECRET_PRESENT && out->len > SECRET_MAX) {
		secret_value_free(out);
		state = secret_problem(p, SECRET_UNUSABLE, "the value is longer than 64 KiB", "store a shorter one");
	}
	answer_free(&a);
	return state;
}

enum secret_state secret_keyring_store(const char *name, const struct secret_value *v, struct secret_problem *p)
{
	struct answer a = { 0 };
	enum secret_state state = ask("store", name, v, "done", &a, p);

	answer_free(&a);
	return state;
}

enum secret_state secret_keyring_remove(const char *name, struct secret_problem *p)
{
	struct answer a = { 0 };
	enum secret_state state = ask("remove", name, NULL, "done", &a, p);

	answer_free(&a);
	return state;
}

json_t *secret_keyring_names(enum secret_state *state, struct secret_problem *p)
{
	struct answer a = { 0 };
	json_t *names = NULL;
	char *line, *end;

	*state = ask("names", NULL, NULL, "present", &a, p);
	if (*state == SECRET_PRESENT)
		names = json_object();
	for (line = a.data + a.body; names && (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		if ((*line == '+' || *line == '-') && secret_name_valid(line + 1))
			json_object_set_new(names, line + 1, json_boolean(*line == '+'));
	}
	answer_free(&a);
	return names;
}
