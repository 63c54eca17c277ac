/* SPDX-License-Identifier: Apache-2.0 */
#include "secret/secret.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@+-"

const char *secret_state_name(enum secret_state state)
{
	static const char *const names[] = { "present",    "absent",    "locked", "unusable", "no_bus",
		                             "no_service", "no_helper", "silent", "failed" };

	return names[state];
}

void secret_value_free(struct secret_value *v)
{
	if (v->data)
		explicit_bzero(v->data, v->len);
	free(v->data);
	v->data = NULL;
	v->len = 0;
}

void secret_problem_free(struct secret_problem *p)
{
	text_free(&p->message);
	text_free(&p->fix);
}

enum secret_state secret_problem(struct secret_problem *p, enum secret_state state, const char *message,
                                 const char *fix)
{
	secret_problem_free(p);
	text_puts(&p->message, message);
	if (fix)
		text_puts(&p->fix, fix);
	return state;
}

void secret_refuse(struct host *h, const char *what, const char *name, const struct secret_problem *p)
{
	struct refusal r = { "secret_missing", name, p->message.data ? p->message.data : "out of memory", p->fix.data };

	host_refuse(h, what, &r);
}

bool secret_name_valid(const char *name)
{
	size_t n = strlen(name);

	return n && n <= SECRET_NAME_MAX && strspn(name, NAME_CHARS) == n && !strchr("._@+-", *name);
}

static bool variable_valid(const char *name)
{
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return n && !name[n] && !(*name >= '0' && *name <= '9');
}

bool secret_ref_valid(const char *ref)
{
	if (!strncmp(ref, "keyring:", 8))
		return secret_name_valid(ref + 8);
	if (!strncmp(ref, "env:", 4))
		return variable_valid(ref + 4);
	return !strncmp(ref, "file:", 5) && ref[5];
}

static enum secret_state from_env(const char *name, const char *variable, struct secret_value *out,
                                  struct secret_problem *p)
{
	const char *value = getenv(variable);
	char message[512], fix[512];

	if (value && *value && strlen(value) <= SECRET_MAX) {
		out->data = strdup(value);
		out->len = out->data ? strlen(value) : 0;
		return out->data ? SECRET_PRESENT : secret_problem(p, SECRET_FAILED, "out of memory", NULL);
	}
	snprintf(message, sizeof(message), "the variable %.200s is %s", variable,
	         value && *value ? "longer than 64 KiB"
	         : value         ? "empty"
	                         : "not set");
	snprintf(fix, sizeof(fix), "export %.200s=…   or   --secret %.100s=file:PATH", variable, name);
	return secret_problem(p, value && *value ? SECRET_UNUSABLE : SECRET_ABSENT, message, fix);
}

enum secret_state secret_read(const char *name, const char *ref, struct secret_value *out, struct secret_problem *p)
{
	enum secret_state state;

	/* From here on this process holds one: no core file, no other process of the user that reads its memory. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	*out = (struct secret_value){ NULL, 0 };
	if (!strncmp(ref, "keyring:", 8))
		state = secret_keyring_read(ref + 8, out, p);
	else if (!strncmp(ref, "env:", 4))
		state = from_env(name, ref + 4, out, p);
	else if (!strncmp(ref, "file:", 5))
		state = secret_file_read(ref + 5, out, p);
	else
		return secret_problem(p, SECRET_UNUSABLE, "it is in no place that is known",
		                      "write keyring:NAME, file:PATH or env:NAME");
	/* A variable can't hold it; an empty one would be taken for set. */
	if (state == SECRET_PRESENT && (!out->len || memchr(out->data, 0, out->len))) {
		char message[600];

		snprintf(message, sizeof(message), "the value in %.500s %s", ref,
		         out->len ? "holds a NUL byte" : "is empty");
		secret_value_free(out);
		state = secret_problem(p, SECRET_UNUSABLE, message, "open-conduit secret set --help");
	}
	return state;
}
