/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subnet.h"

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

struct comparing {
	struct refusal *r;
	const char *what;
	char path[256];
	bool network;
};

static bool is_empty(const json_t *v)
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

static int differs(struct comparing *c, const json_t *want, const json_t *got)
{
	cleanup_free char *asked = brief(want), *there = brief(got);

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

static int walk(struct comparing *c, const json_t *want, const json_t *got);

static int walk_member(struct comparing *c, const char *name, const json_t *want, const json_t *got)
{
	size_t len = strlen(c->path);
	int rc;

	(void)snprintf(c->path + len, sizeof(c->path) - len, "%s%s", len ? "." : "", name);
	rc = walk(c, want, got);
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
	return differs(c, NULL, got);
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
		return differs(c, want, got);
	for (i = 0; i < json_array_size(want); i++) {
		(void)snprintf(name, sizeof(name), "%zu", i);
		if (walk_member(c, name, json_array_get(want, i), json_array_get(got, i)) < 0)
			return -1;
	}
	return 0;
}

/* The engine leaves members out that are empty, and names what it wasn't told: so the empty is the same as the absent. */
static int walk(struct comparing *c, const json_t *want, const json_t *got)
{
	const struct rule *rule = rule_of(c);

	if (rule)
		return by_rule(rule, got) ? 0 : differs(c, want, got);
	if (json_is_object(want) && json_is_object(got))
		return walk_object(c, want, got);
	if (is_empty(want) && json_object_size(got))
		return is_fixed(c->path) ? walk_object(c, want, got) : differs(c, want, got);
	if (json_is_object(want) && is_empty(got))
		return walk_object(c, want, NULL);
	if (json_is_array(want) && json_is_array(got))
		return walk_array(c, want, got);
	if ((is_empty(want) && is_empty(got)) || json_equal(want, got))
		return 0;
	return differs(c, want, got);
}

/* A list as an object by a member of its items: for what has no order.  NULL: no memory, or one that is there twice. */
static json_t *by_member(const json_t *list, const char *member)
{
	json_t *out = json_object();
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *key = text_of(item, member);

		if (!key || json_object_get(out, key) || json_object_set(out, key, item) < 0) {
			json_decref(out);
			return NULL;
		}
	}
	return out;
}

/* The list "Mounts" that an asked list leads to: the one place where an image's volumes show. */
static json_t *mounts_shown(const json_t *asked)
{
	json_t *out = json_object();
	const json_t *mount;
	size_t i;

	json_array_foreach(asked, i, mount)
	{
		bool bind = !strcmp(text_of(mount, "Type"), "bind");
		json_t *shown = json_pack("{s:s, s:s, s:s, s:b, s:s}", "Type", text_of(mount, "Type"), "Source",
		                          bind ? text_of(mount, "Source") : "", "Destination", text_of(mount, "Target"),
		                          "RW", !json_is_true(json_object_get(mount, "ReadOnly")), "Propagation",
		                          bind ? "rprivate" : "");

		if (json_object_set_new(out, text_of(mount, "Target"), shown) < 0) {
			json_decref(out);
			return NULL;
		}
	}
	return out;
}

/* Until it is started a container shows a network by its name or by its id. */
static json_t *networks_by_id(const json_t *shown, const json_t *networks)
{
	json_t *out = json_object(), *value, *name;
	const char *key, *id;

	json_object_foreach((json_t *)shown, key, value)
	{
		const char *is = key;

		json_object_foreach((json_t *)networks, id, name) if (!strcmp(json_string_value(name), key)) is = id;
		if (json_object_get(out, is) || json_object_set(out, is, value) < 0) {
			json_decref(out);
			return NULL;
		}
	}
	return out;
}

static bool put(json_t *object, const char *name, json_t *taken)
{
	return taken && json_object_set_new(object, name, taken) == 0;
}

/* An image's members, and ours over them. */
static bool merge(json_t *config, const char *name, const json_t *facts)
{
	json_t *of_image = json_object_get(facts, name), *all = of_image ? json_copy(of_image) : json_object();
	json_t *ours = json_object_get(config, name);

	if (all && ours && json_object_update(all, ours) < 0) {
		json_decref(all);
		return false;
	}
	return put(config, name, all);
}

static json_t *config_wanted(const json_t *request, const json_t *facts)
{
	json_t *config = json_copy((json_t *)request);

	if (config && merge(config, "Labels", facts) && merge(config, "ExposedPorts", facts) &&
	    merge(config, "Volumes", facts)) {
		(void)json_object_del(config, "HostConfig");
		(void)json_object_del(config, "NetworkingConfig");
		return config;
	}
	json_decref(config);
	return NULL;
}

static json_t *host_wanted(const json_t *request)
{
	json_t *host = json_copy(json_object_get(request, "HostConfig"));

	if (host && put(host, "ConsoleSize", json_pack("[i, i]", 0, 0)))
		return host;
	json_decref(host);
	return NULL;
}

static json_t *args_of(const json_t *request)
{
	const json_t *entry = json_object_get(request, "Entrypoint");
	json_t *args = json_array(), *cmd = json_object_get(request, "Cmd");
	size_t i;

	for (i = 1; i < json_array_size(entry); i++)
		if (json_array_append(args, json_array_get(entry, i)) < 0)
			break;
	if (i == json_array_size(entry) && (!cmd || json_array_extend(args, cmd) == 0))
		return args;
	json_decref(args);
	return NULL;
}

static json_t *container_wanted(const json_t *request, const json_t *facts, const char *name)
{
	const json_t *ends = json_object_get(json_object_get(request, "NetworkingConfig"), "EndpointsConfig");
	const json_t *mounts = json_object_get(json_object_get(request, "HostConfig"), "Mounts");
	cleanup_free char *slashed = format("/%s", name);

	if (!slashed)
		return NULL;
	return json_pack("{s:s, s:s, s:O, s:o, s:s, s:{s:s, s:s, s:s}, s:o, s:o, s:o, s:{s:o}}", "Name", slashed,
	                 "Platform", "linux", "Image", json_object_get(request, "Image"), "Args", args_of(request),
	                 "Path", json_string_value(json_array_get(json_object_get(request, "Entrypoint"), 0)), "State",
	                 "Status", "created", "StartedAt", "0001-01-01T00:00:00Z", "FinishedAt", "0001-01-01T00:00:00Z",
	                 "Config", config_wanted(request, facts), "HostConfig", host_wanted(request), "Mounts",
	                 mounts_shown(mounts), "NetworkSettings", "Networks", json_deep_copy(ends));
}

/* What is a set becomes an object, in what is looked at as in what is wanted; and the ids of networks, which aren't known to be
 * filled in yet, are taken off where they are the right ones. */
static json_t *container_seen(const json_t *got, const json_t *networks)
{
	json_t *out = json_copy((json_t *)got);
	json_t *settings = json_copy(json_object_get(got, "NetworkSettings"));
	json_t *ends = networks_by_id(json_object_get(settings, "Networks"), networks), *end;
	const char *id;

	json_object_foreach(ends, id, end)
	{
		const char *said = text_of(end, "NetworkID");
		json_t *copy = said && !strcmp(said, id) ? json_copy(end) : NULL;

		if (copy && json_object_del(copy, "NetworkID") == 0)
			(void)json_object_set(ends, id, copy);
		json_decref(copy);
	}
	if (out && settings && ends && json_object_set(settings, "Networks", ends) == 0 &&
	    json_object_set(out, "NetworkSettings", settings) == 0 &&
	    put(out, "Mounts", by_member(json_object_get(got, "Mounts"), "Destination"))) {
		json_decref(settings);
		json_decref(ends);
		return out;
	}
	json_decref(out);
	json_decref(settings);
	json_decref(ends);
	return NULL;
}

int compare_container(const json_t *request, const json_t *facts, const json_t *networks, const char *name,
                      const json_t *got, struct refusal *r)
{
	struct comparing c = { .r = r,
		               .what = !strcmp(text_of(json_object_get(request, "Labels"), "io.openconduit.role"),
		                               "gateway")
		                               ? "gateway"
		                               : "container" };
	cleanup_json json_t *want = container_wanted(request, facts, name);
	cleanup_json json_t *seen = container_seen(got, networks);

	if (!want)
		return no_memory(r);
	if (!seen)
		return refuse(r, "sandbox_unavailable", c.what, "open-conduit doctor",
		              "the engine describes the %s in a way that can't be compared with the plan", c.what);
	return walk(&c, want, seen);
}

/* An isolated network's IPv6 prefix is the engine's choice, of a site's own addresses; a bridge's address is the engine's too. */
static bool ipam_ok(const json_t *config, const char *subnet, bool v6)
{
	const json_t *item;
	bool there = false;
	size_t i;

	json_array_foreach(config, i, item)
	{
		const char *text = text_of(item, "Subnet");
		bool ours = text && !strcmp(text, subnet);

		if (!ours && !(v6 && text && !strncmp(text, "fd", 2) && strchr(text, ':') && strstr(text, "::/64")))
			return false;
		if (json_object_size(item) != 1 && (v6 || json_object_size(item) != 2 || !text_of(item, "Gateway")))
			return false;
		there = there || ours;
	}
	return there && json_array_size(config) == (v6 ? 2 : 1);
}

static int compare_ipam(struct comparing *c, const json_t *request, const json_t *got)
{
	json_t *want = json_object_get(request, "IPAM"), *there = json_object_get(got, "IPAM");
	bool v6 = json_is_true(json_object_get(request, "EnableIPv6"));
	const char *subnet = text_of(json_array_get(json_object_get(want, "Config"), 0), "Subnet");
	const char *driver = text_of(there, "Driver");

	if (!subnet || !driver || strcmp(driver, "default") != 0 || !is_empty(json_object_get(there, "Options")) ||
	    !ipam_ok(json_object_get(there, "Config"), subnet, v6))
		return differs(c, want, there);
	return 0;
}

int compare_network(const json_t *request, bool fresh, const json_t *got, struct refusal *r)
{
	struct comparing c = { .r = r, .what = "network", .path = "IPAM", .network = true };
	cleanup_json json_t *want = json_copy((json_t *)request), *seen = json_copy((json_t *)got);

	if (!want || !seen || json_object_set_new(want, "Scope", json_string("local")) < 0)
		return no_memory(r);
	if (compare_ipam(&c, request, got) < 0)
		return -1;
	c.path[0] = '\0';
	(void)json_object_del(want, "IPAM");
	(void)json_object_del(seen, "IPAM");
	(void)json_object_del(seen, "Id");
	(void)json_object_del(seen, "Created");
	if (!fresh)
		(void)json_object_del(seen, "Containers");
	return walk(&c, want, seen);
}
