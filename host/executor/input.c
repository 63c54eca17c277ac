/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/template.h"
#include "executor.h"

#define INPUT_MAX (1u << 20)

static int bad_input(struct host *h, const char *why)
{
	struct refusal r = { "sandbox_config", "--input", why, "give an object: --input '{\"number\": 12}'" };

	host_refuse(h, "not run", &r);
	return OC_EREFUSED;
}

int turn_input_read(struct host *h, const char *text, struct turn_input *out)
{
	const char *why = NULL;
	json_error_t where;
	char message[256];

	*out = (struct turn_input){ 0 };
	if (text && *text == '@')
		out->text = host_read_file(text + 1, INPUT_MAX, &why);
	else
		out->text = strdup(text ? text : "{}");
	if (!out->text)
		return bad_input(h, why ? why : "out of memory");
	if (strlen(out->text) > INPUT_MAX)
		return bad_input(h, "it is longer than 1 MiB");
	out->json = json_loads(out->text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
	if (!out->json) {
		snprintf(message, sizeof(message), "it is no JSON: line %d, column %d: %.150s", where.line,
		         where.column, where.text);
		return bad_input(h, message);
	}
	return json_is_object(out->json) ? 0 : bad_input(h, "it is JSON, but no object");
}

void turn_input_free(struct turn_input *input)
{
	free(input->text);
	json_decref(input->json);
	texts_free(&input->scratch);
	*input = (struct turn_input){ 0 };
}

const json_t *turn_input_find(const struct turn_input *input, const char *name, size_t len)
{
	const json_t *value = input->json;
	char key[128];

	for (size_t at = 0; at <= len; at += strlen(key) + 1) {
		size_t n = strcspn(name + at, ".}");

		n = n > len - at ? len - at : n;
		if (n >= sizeof(key))
			return NULL;
		memcpy(key, name + at, n);
		key[n] = 0;
		value = json_object_get(value, key);
	}
	return value;
}

/* Text and whole numbers can stand in a name; anything else is no answer. */
static const char *value_of(const char *name, size_t len, void *userdata)
{
	struct turn_input *input = userdata;
	const json_t *value = turn_input_find(input, name, len);

	if (json_is_string(value) && *json_string_value(value) &&
	    strlen(json_string_value(value)) == json_string_length(value))
		texts_add(&input->scratch, "%s", json_string_value(value));
	else if (json_is_integer(value))
		texts_add(&input->scratch, "%lld", (long long)json_integer_value(value));
	else
		return NULL;
	return input->scratch.failed ? NULL : input->scratch.v[input->scratch.n - 1];
}

static int bad_branch(struct host *h, const struct config_binding *b, const char *message, const char *fix)
{
	char subject[512];
	struct refusal r = { "sandbox_config", subject, message, fix };

	snprintf(subject, sizeof(subject), "%.400s.config.branch", b->field);
	host_refuse(h, "not run", &r);
	return OC_EREFUSED;
}

int turn_branch(struct host *h, const struct config_binding *b, struct turn_input *input, char **branch)
{
	struct text filled = { 0 };
	size_t at = 0, len = 0;
	char message[600];
	const char *why;
	int rc = 0;

	*branch = NULL;
	if (!b->config->branch)
		return 0;
	why = template_fill(&filled, b->config->branch, value_of, input, &at, &len);
	if (why) {
		snprintf(message, sizeof(message), "the input fills no branch from \"%.200s\": %.*s: %s",
		         b->config->branch, (int)(len < 100 ? len : 100), b->config->branch + at, why);
		rc = bad_branch(h, b, message,
		                "--input '{\"number\": 12}', with text or a whole number for each placeholder");
	} else if (filled.failed || !filled.data) {
		rc = bad_branch(h, b, "out of memory", NULL);
	} else if ((why = branch_name_check(filled.data))) {
		snprintf(message, sizeof(message), "the branch \"%.250s\" can't be: it %s", filled.data, why);
		rc = bad_branch(h, b, message, "use placeholders whose values are numbers or plain names");
	}
	if (rc == 0)
		*branch = filled.data;
	else
		text_free(&filled);
	return rc;
}
