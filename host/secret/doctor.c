/* SPDX-License-Identifier: Apache-2.0 */
/* Are the secrets that bindings select in the keyring there to be had? */
#include <string.h>

#include "config/config.h"
#include "secret/secret.h"

/* The entries that bindings want, each once. */
static json_t *wanted(void)
{
	struct report report = { 0 };
	struct config *config = NULL;
	json_t *names = json_object();

	if (config_load(NULL, NULL, &config, &report) < 0)
		config = NULL;
	for (size_t s = 0; config && s < config->n_scopes; s++)
		for (size_t b = 0; b < config->scopes[s].n_bindings; b++)
			for (size_t i = 0; i < config->scopes[s].bindings[b].n_secrets; i++) {
				const char *ref = config->scopes[s].bindings[b].secrets[i].ref;

				if (!strncmp(ref, "keyring:", 8))
					json_object_set_new(names, ref + 8, json_null());
			}
	report_free(&report);
	config_free(config);
	return names;
}

static json_t *judge(const json_t *there, const json_t *names, struct secret_problem *p)
{
	json_t *missing = json_array(), *value;
	const char *name;

	json_object_foreach((json_t *)(uintptr_t)names, name, value) if (!json_is_true(json_object_get(there, name)))
	        json_array_append_new(missing, json_string(name));
	if (there && json_array_size(missing)) {
		const char *first = json_string_value(json_array_get(missing, 0));
		bool locked = json_object_get(there, first);

		secret_problem(
		        p, SECRET_ABSENT,
		        locked ? "an entry is locked by itself: " : "the keyring lacks what a binding selects: ", NULL);
		text_puts(&p->message, first);
		if (!locked) {
			text_puts(&p->fix, "open-conduit secret set ");
			text_puts(&p->fix, first);
		}
	}
	return missing;
}

json_t *secret_doctor(void)
{
	struct secret_problem p = { { 0 }, { 0 } };
	json_t *names = wanted(), *there, *missing, *answer;
	enum secret_state state;

	if (!json_object_size(names)) {
		json_decref(names);
		return NULL;
	}
	there = secret_keyring_names(&state, &p);
	missing = judge(there, names, &p);
	answer = json_pack("{s:b, s:s, s:s?, s:s?, s:o}", "ok", there && !json_array_size(missing), "state",
	                   secret_state_name(state), "detail", p.message.data, "fix", p.fix.data, "missing", missing);
	json_decref(there);
	json_decref(names);
	secret_problem_free(&p);
	return answer;
}
