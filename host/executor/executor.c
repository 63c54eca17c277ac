/* SPDX-License-Identifier: Apache-2.0 */
#include "executor.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE     "OPEN_CONDUIT_INPUT"
#define VARIABLE_MAX 65536 /* a longer value is in the file alone */
#define NAME_MAX_OWN 100

static const struct executor *const EXECUTORS[] = { &executor_shell, &executor_claude };

void texts_add(struct texts *t, const char *fmt, ...)
{
	char **v = t->failed || t->n >= EXECUTOR_LIST_MAX ? NULL : reallocarray(t->v, t->n + 2, sizeof(*v));
	va_list ap;

	if (!v) {
		t->failed = true;
		return;
	}
	t->v = v;
	va_start(ap, fmt);
	if (vasprintf(&v[t->n], fmt, ap) < 0) {
		v[t->n] = NULL;
		t->failed = true;
	} else {
		v[++t->n] = NULL;
	}
	va_end(ap);
}

void texts_free(struct texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i]);
	free(t->v);
	*t = (struct texts){ 0 };
}

const char *const *texts_list(const struct texts *t)
{
	static const char *const none[] = { NULL };

	return t->v ? (const char *const *)t->v : none;
}

void executor_launch_free(struct executor_launch *launch)
{
	struct texts *all[] = { &launch->argv, &launch->env,   &launch->hosts,
		                &launch->read, &launch->write, &launch->files };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		texts_free(all[i]);
}

static int refuse(struct host *h, const struct config_binding *b, const char *field, const char *message,
                  const char *fix)
{
	char subject[512];
	struct refusal r = { "sandbox_config", subject, message, fix };

	snprintf(subject, sizeof(subject), "%.400s.%.100s", b->field, field);
	host_refuse(h, "not run", &r);
	return OC_EREFUSED;
}

const struct executor *executor_named(const char *name)
{
	for (size_t i = 0; i < sizeof(EXECUTORS) / sizeof(EXECUTORS[0]); i++)
		if (!strcmp(EXECUTORS[i]->name, name))
			return EXECUTORS[i];
	return NULL;
}

const char *executor_variable(const struct config_binding *b, const char *name)
{
	for (size_t i = 0; i < b->config->env.n; i++)
		if (!strcmp(b->config->env.v[i].name, name))
			return b->config->env.v[i].value;
	return NULL;
}

const char *executor_config_dir(const struct executor_turn *turn)
{
	return turn->home ? turn->home : executor_variable(turn->binding, "CLAUDE_CONFIG_DIR");
}

const struct executor *executor_find(struct host *h, const struct config_binding *b)
{
	static const struct config_requires nothing;
	const struct config_requires *needs = b->requires ? b->requires : &nothing;
	const struct executor *e = executor_named(b->executor);
	const char *lacks;

	if (!e) {
		struct refusal r = { "sandbox_unavailable", b->executor, "this executor is known but not built yet",
			             "use \"executor\": \"shell\" with the command that is to run" };

		host_refuse(h, "not run", &r);
		return NULL;
	}
	lacks = needs->toolbelt && !e->toolbelt ? "requires.toolbelt"
	        : needs->inject && !e->inject   ? "requires.inject"
	        : needs->resume && !e->resume   ? "requires.resume"
	                                        : NULL;
	if (!lacks)
		return e;
	refuse(h, b, lacks, "the binding requires of its executor what that can't do",
	       "leave it out of requires, or name another executor");
	return NULL;
}

/* "pr-number" is OPEN_CONDUIT_INPUT_PR_NUMBER; false: it can't be a part of a variable's name. */
static bool variable_name(char *out, size_t size, const char *key)
{
	size_t n = strlen(VARIABLE), i;

	if (!*key || strlen(key) > NAME_MAX_OWN || size < sizeof(VARIABLE) + NAME_MAX_OWN + 2)
		return false;
	memcpy(out, VARIABLE "_", n + 2);
	for (i = 0; key[i]; i++) {
		if ((unsigned char)key[i] >= 0x80)
			return false;
		out[n + 1 + i] = isalnum((unsigned char)key[i]) ? (char)toupper((unsigned char)key[i]) : '_';
	}
	out[n + 1 + i] = 0;
	return true;
}

static bool has_variable(const struct texts *env, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < env->n; i++)
		if (!strncmp(env->v[i], name, n) && env->v[i][n] == '=')
			return true;
	return false;
}

/* A member of the input as a variable: text as it is, the rest as JSON.  What can't be one is in the file all the same. */
static int put_member(struct host *h, const struct executor_turn *turn, struct executor_launch *out, const char *key,
                      const json_t *value)
{
	char name[sizeof(VARIABLE) + NAME_MAX_OWN + 2];
	char *text = json_is_string(value) ? strdup(json_string_value(value))
	                                   : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	int rc = 0;

	if (!text)
		out->env.failed = true;
	else if (!variable_name(name, sizeof(name), key) || strlen(text) > VARIABLE_MAX ||
	         (json_is_string(value) && strlen(text) != json_string_length(value)))
		out_printf(&h->err, "open-conduit: the input's \"%s\" can't be a variable; it is in $%s\n", key,
		           VARIABLE);
	else if (has_variable(&out->env, name))
		rc = refuse(h, turn->binding, "config", "two members of the input would be the same variable",
		            "name them apart by more than their signs");
	else
		texts_add(&out->env, "%s=%s", name, text);
	free(text);
	return rc;
}

/* git gc would write into .git/info, which is read-only, and say so each time. */
static void git_in_container(struct texts *env)
{
	texts_add(env, "GIT_CONFIG_COUNT=1");
	texts_add(env, "GIT_CONFIG_KEY_0=repack.updateServerInfo");
	texts_add(env, "GIT_CONFIG_VALUE_0=false");
}

void executor_of_work(const struct executor_turn *turn, struct executor_launch *out)
{
	const struct config_pairs *env = &turn->binding->config->env;

	if (turn->home && !executor_variable(turn->binding, "GIT_CONFIG_COUNT"))
		git_in_container(&out->env);
	texts_add(&out->env, "OPEN_CONDUIT_WORK=%s", turn->work);
	texts_add(&out->env, "OPEN_CONDUIT_BRANCH=%s", turn->branch);
	for (size_t i = 0; i < env->n; i++)
		texts_add(&out->env, "%s=%s", env->v[i].name, env->v[i].value);
}

int executor_common(struct host *h, const struct executor_turn *turn, struct executor_launch *out)
{
	const char *key;
	json_t *value;
	int rc = 0;

	texts_add(&out->files, "input.json");
	texts_add(&out->files, "%s", turn->input->text);
	texts_add(&out->env, VARIABLE "=%s/input.json", turn->run_dir);
	texts_add(&out->env, EXECUTOR_VARIABLE "=%s", turn->binding->executor);
	json_object_foreach(turn->input->json, key, value)
	{
		if (rc == 0)
			rc = put_member(h, turn, out, key, value);
	}
	executor_of_work(turn, out);
	return rc;
}
