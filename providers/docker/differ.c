/* SPDX-License-Identifier: Apache-2.0 */
#include "differ.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 200

/* Members that are as they are: `value` NULL, they say nothing about what is confined; or as a list, what has to be in them; or one
 * word of "a|b". */
enum how { ANY, HOLDS, ONE_OF };
static const struct rule {
	const char *path;
	enum how how;
	const char *value;
} rules[] = {
	{ "Id", ANY, NULL },
	{ "Created", ANY, NULL },
	{ "Driver", ANY, NULL }, /* of images' layers; a network's is asked for */
	{ "GraphDriver", ANY, NULL },
	{ "Storage", ANY, NULL },
	{ "ImageManifestDescriptor", ANY, NULL },
	/* Labels of SELinux and profiles of AppArmor only take away; a profile that takes nothing is "unconfined". */
	{ "MountLabel", ANY, NULL },
	{ "ProcessLabel", ANY, NULL },
	{ "AppArmorProfile", ONE_OF, "|docker-default" },
	/* With the test NONE nothing reads them. */
	{ "Config.Healthcheck.Interval", ANY, NULL },
	{ "Config.Healthcheck.Timeout", ANY, NULL },
	{ "Config.Healthcheck.StartPeriod", ANY, NULL },
	{ "Config.Healthcheck.StartInterval", ANY, NULL },
	{ "Config.Healthcheck.Retries", ANY, NULL },
	{ "HostConfig.Isolation", ONE_OF, "|default" },
	/* Longer with each engine. */
	{ "HostConfig.MaskedPaths", HOLDS,
	  "/proc/acpi|/proc/kcore|/proc/keys|/proc/timer_list|/proc/sched_debug|/proc/scsi|/sys/firmware" },
	{ "HostConfig.ReadonlyPaths", HOLDS, "/proc/bus|/proc/fs|/proc/irq|/proc/sys|/proc/sysrq-trigger" },
};

/* Objects of fixed members, where one that is empty is the same as one that isn't there.  In any other the names themselves say
 * something: a tmpfs, a volume, a port. */
static const char *const fixed[] = { "",
	                             "Config",
	                             "HostConfig",
	                             "State",
	                             "NetworkSettings",
	                             "Config.Healthcheck",
	                             "HostConfig.RestartPolicy",
	                             "HostConfig.LogConfig",
	                             "ConfigFrom" };
static const char *const fixed_beneath[] = { "Mounts.", "HostConfig.Mounts.", "NetworkSettings.Networks." };

bool differ_empty(const json_t *v)
{
	if (!v || json_is_null(v) || json_is_false(v))
		return true;
	if (json_is_number(v))
		return json_number_value(v) == 0;
	if (json_is_string(v))
		return json_string_length(v) == 0;
	return !json_is_true(v) && json_object_size(v) == 0 && json_array_size(v) == 0;
}

/* At most some characters of it, for a message. */
static char *brief(const json_t *v)
{
	char *text = !v || json_is_null(v) ? strdup("nothing")
	                                   : json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);

	if (text && strlen(text) > SHOWN_MAX)
		memcpy(text + SHOWN_MAX - 3, "...", 4);
	return text;
}

int differ_refuse(struct comparing *c, const json_t *want, const json_t *got)
{
	cleanup_free char *asked = brief(want), *there = brief(got);

	if (c->running)
		return refuse(c->r, "pin_mismatch", c->path, NULL,
		              "the run's %s is not as it was pinned: %s is %s, and has to be %s", c->what, c->path,
		              there ? there : "?", asked ? asked : "?");
	return refuse(c->r, "sandbox_unavailable", c->path, "open-conduit doctor",
	              "the engine did not make the %s as planned: %s is %s, and has to be %s", c->what, c->path,
	              there ? there : "?", asked ? asked : "?");
}

/* Is it one of "a|b"? */
static bool one_of(const char *text, const char *words)
{
	size_t n = strlen(text);

	for (;; words++) {
		size_t word = strcspn(words, "|");

		if (word == n && !memcmp(words, text, n))
			return true;
		words += word;
		if (!*words)
			return false;
	}
}

static bool holds(const json_t *list, const char *word, size_t n)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item) if (json_string_length(item) == n &&
	                                      !memcmp(json_string_value(item), word, n)) return true;
	return false;
}

static bool holds_all(const json_t *list, const char *words)
{
	for (; *words; words += *words == '|') {
		size_t n = strcspn(words, "|");

		if (!holds(list, words, n))
			return false;
		words += n;
	}
	return true;
}

static bool by_rule(const struct rule *rule, const json_t *got)
{
	if (rule->how == HOLDS)
		return holds_all(got, rule->value);
	return rule->how == ANY || one_of(json_string_value(got) ? json_string_value(got) : "", rule->value);
}

static const struct rule *rule_of(const struct comparing *c)
{
	size_t i;

	for (i = 0; !c->network && i < COUNT(rules); i++)
		if (!strcmp(rules[i].path, c->path))
			return &rules[i];
	return NULL;
}

static bool is_fixed(const char *path)
{
	size_t i;

	for (i = 0; i < COUNT(fixed); i++)
		if (!strcmp(fixed[i], path))
			return true;
	for (i = 0; i < COUNT(fixed_beneath); i++)
		if (!strncmp(fixed_beneath[i], path, strlen(fixed_beneath[i])))
			return true;
	return false;
}

static int walk_member(struct comparing *c, const char *name, const json_t *want, const json_t *got)
{
	size_t len = strlen(c->path);
	int rc;

	(void)snprintf(c->path + len, sizeof(c->path) - len, "%s%s", len ? "." : "", name);
	rc = differ_walk(c, want, got);
	c->path[len] = '\0';
	return rc;
}

/* A member that nobody asked for. */
static int walk_extra(struct comparing *c, const char *name, const json_t *got)
{
	size_t len = strlen(c->path);

	if (is_fixed(c->path))
		return walk_member(c, name, NULL, got);
	(void)snprintf(c->path + len, sizeof(c->path) - len, ".%s", name);
	return differ_refuse(c, NULL, got);
}

static int walk_object(struct comparing *c, const json_t *want, const json_t *got)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)want, name,
	                    value) if (walk_member(c, name, value, json_object_get(got, name)) < 0) return -1;
	json_object_foreach((json_t *)got, name, value)
	{
		if (json_object_get(want, name))
			continue;
		if (walk_extra(c, name, value) < 0)
			return -1;
	}
	return 0;
}

static int walk_array(struct comparing *c, const json_t *want, const json_t *got)
{
	char name[24];
	size_t i;

	if (json_array_size(want) != json_array_size(got))
		return differ_refuse(c, want, got);
	for (i = 0; i < json_array_size(want); i++) {
		(void)snprintf(name, sizeof(name), "%zu", i);
		if (walk_member(c, name, json_array_get(want, i), json_array_get(got, i)) < 0)
			return -1;
	}
	return 0;
}

/* The engine leaves members out that are empty, and names what it wasn't told: so the empty is the same as the absent. */
int differ_walk(struct comparing *c, const json_t *want, const json_t *got)
{
	const struct rule *rule = rule_of(c);

	if (rule)
		return by_rule(rule, got) ? 0 : differ_refuse(c, want, got);
	if (json_is_object(want) && json_is_object(got))
		return walk_object(c, want, got);
	if (differ_empty(want) && json_object_size(got))
		return is_fixed(c->path) ? walk_object(c, want, got) : differ_refuse(c, want, got);
	if (json_is_object(want) && differ_empty(got))
		return walk_object(c, want, NULL);
	if (json_is_array(want) && json_is_array(got))
		return walk_array(c, want, got);
	if ((differ_empty(want) && differ_empty(got)) || json_equal(want, got))
		return 0;
	return differ_refuse(c, want, got);
}
