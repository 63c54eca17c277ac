/* SPDX-License-Identifier: Apache-2.0 */
/* --secret NAME[=env:VARIABLE|=file:PATH]: the value never is an argument. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec.h"

#define SECRET_MAX 65536

static int missing(struct host *h, const char *name, const char *message, const char *fix)
{
	struct refusal r = { "secret_missing", name, message, fix };

	host_refuse(h, "not run", &r);
	return OC_EREFUSED;
}

/* Another user's file, or one that others may read, is no place for a secret. */
static const char *judge_file(int fd, bool *open_to_others)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "it is not a regular file";
	if (st.st_uid != geteuid())
		return "it belongs to another user";
	*open_to_others = st.st_mode & 077;
	return *open_to_others ? "other users have access to it" : NULL;
}

static int refuse_file(struct host *h, const char *name, const char *path, const char *why, bool open_to_others)
{
	struct text message = { 0 }, fix = { 0 };
	int rc;

	text_puts(&message, "the secret's file ");
	text_puts(&message, path);
	text_puts(&message, " can't be used: ");
	text_puts(&message, why);
	text_puts(&fix, open_to_others ? "chmod 600 " : "name a file of your own with mode 0600");
	if (open_to_others)
		text_quote(&fix, path);
	rc = missing(h, name, message.data ? message.data : why, fix.data);
	text_free(&message);
	text_free(&fix);
	return rc;
}

static int from_file(struct host *h, struct exec_secret *s, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	bool open_to_others = false;
	const char *why = fd < 0 ? strerror(errno) : judge_file(fd, &open_to_others);
	ssize_t n = 0;

	s->value = why ? NULL : calloc(1, SECRET_MAX + 1);
	while (s->value && (n = read(fd, s->value + s->len, SECRET_MAX + 1 - s->len)) > 0)
		s->len += (size_t)n;
	if (!why && (!s->value || n < 0))
		why = s->value ? strerror(errno) : "out of memory";
	if (!why && s->len > SECRET_MAX)
		why = "it is longer than 64 KiB";
	if (fd >= 0)
		close(fd);
	if (why)
		return refuse_file(h, s->name, path, why, open_to_others);
	/* Editors and echo end a file with a newline that is no part of the secret. */
	if (s->len && s->value[s->len - 1] == '\n')
		s->len--;
	return 0;
}

static int from_env(struct host *h, struct exec_secret *s, const char *variable)
{
	const char *value = getenv(variable);
	char message[512], fix[512];

	if (!value || !*value || strlen(value) > SECRET_MAX) {
		snprintf(message, sizeof(message), "the variable %.200s is %s", variable,
		         value && *value ? "longer than 64 KiB"
		         : value         ? "empty"
		                         : "not set");
		snprintf(fix, sizeof(fix), "export %.200s=…   or   --secret %.100s=file:PATH", variable, s->name);
		return missing(h, s->name, message, fix);
	}
	s->value = strdup(value);
	s->len = strlen(value);
	return s->value ? 0 : missing(h, s->name, "out of memory", NULL);
}

static int one(struct host *h, struct exec_secret *s, const char *spec)
{
	const char *equals = strchr(spec, '=');

	s->name = equals ? strndup(spec, (size_t)(equals - spec)) : strdup(spec);
	if (!s->name)
		return missing(h, spec, "out of memory", NULL);
	if (!equals)
		return from_env(h, s, s->name);
	if (!strncmp(equals + 1, "env:", 4))
		return from_env(h, s, equals + 5);
	return from_file(h, s, equals + 6);
}

int exec_secrets(struct host *h, struct exec_args *a)
{
	int rc = 0;

	a->secrets = calloc(a->secret.n + 1, sizeof(*a->secrets));
	if (!a->secrets)
		return missing(h, NULL, "out of memory", NULL);
	for (size_t i = 0; !rc && i < a->secret.n; i++) {
		rc = one(h, &a->secrets[i], a->secret.v[i]);
		if (!rc)
			a->secret.v[i] = a->secrets[i].name; /* from here on the list is of names only */
	}
	return rc;
}

void exec_secrets_free(struct exec_args *a)
{
	for (size_t i = 0; a->secrets && i < a->secret.n; i++) {
		if (a->secrets[i].value)
			explicit_bzero(a->secrets[i].value, a->secrets[i].len);
		free(a->secrets[i].value);
		free((char *)a->secrets[i].name);
	}
	free(a->secrets);
	a->secrets = NULL;
}
