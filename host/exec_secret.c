/* SPDX-License-Identifier: Apache-2.0 */
/* --secret NAME[=SOURCE]: the values, read before anything is planned, so that a missing one costs nothing. */
#include <stdlib.h>
#include <string.h>

#include "exec.h"
#include "secret/secret.h"

static int one(struct host *h, struct exec_secret *s, const char *spec)
{
	const char *equals = strchr(spec, '=');
	struct secret_problem p = { { 0 }, { 0 } };
	struct secret_value value = { NULL, 0 };
	enum secret_state state = SECRET_FAILED;
	char *ref = NULL;

	s->name = equals ? strndup(spec, (size_t)(equals - spec)) : strdup(spec);
	if (s->name && !equals && asprintf(&ref, "env:%s", spec) < 0)
		ref = NULL;
	if (s->name && (equals || ref))
		state = secret_read(s->name, equals ? equals + 1 : ref, &value, &p);
	if (state == SECRET_PRESENT) {
		s->value = value.data;
		s->len = value.len;
	} else {
		secret_refuse(h, "not run", s->name ? s->name : spec, &p);
	}
	secret_problem_free(&p);
	free(ref);
	return state == SECRET_PRESENT ? 0 : OC_EREFUSED;
}

int exec_secrets(struct host *h, struct exec_args *a)
{
	int rc = 0;

	a->secrets = calloc(a->secret.n + 1, sizeof(*a->secrets));
	if (!a->secrets) {
		const struct refusal r = { "secret_missing", NULL, "out of memory", NULL };

		host_refuse(h, "not run", &r);
		return OC_EREFUSED;
	}
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
		struct secret_value value = { a->secrets[i].value, a->secrets[i].len };

		secret_value_free(&value);
		free((char *)a->secrets[i].name);
	}
	free(a->secrets);
	a->secrets = NULL;
}
