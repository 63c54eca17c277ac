/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "differ.h"

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

static const char *role_of(const json_t *request)
{
	return !strcmp(text_of(json_object_get(request, "Labels"), "io.openconduit.role"), "gateway") ? "gateway"
	                                                                                              : "container";
}

int compare_container(const json_t *request, const json_t *facts, const json_t *networks, const char *name,
                      const json_t *got, struct refusal *r)
{
	struct comparing c = { .r = r, .what = role_of(request) };
	cleanup_json json_t *want = container_wanted(request, facts, name);
	cleanup_json json_t *seen = container_seen(got, networks);

	if (!want)
		return no_memory(r);
	if (!seen)
		return refuse(r, "sandbox_unavailable", c.what, "open-conduit doctor",
		              "the engine describes the %s in a way that can't be compared with the plan", c.what);
	return differ_walk(&c, want, seen);
}

/* Only the members of that object which are members of this one, or are named. */
static json_t *only(const json_t *object, const json_t *of, const char *const *named, size_t n)
{
	json_t *out = json_object(), *value;
	const char *name;
	size_t i;

	json_object_foreach((json_t *)object, name, value)
	{
		bool kept = json_object_get(of, name);

		for (i = 0; i < n; i++)
			kept = kept || !strcmp(named[i], name);
		if (kept && json_object_set(out, name, value) < 0) {
			json_decref(out);
			return NULL;
		}
	}
	return out;
}

/* What the engine gave each end when it was started says nothing about what it was asked for. */
static json_t *ends_asked(const json_t *shown)
{
	static const char *const asked[] = { "IPAMConfig", "GwPriority", "DriverOpts", "Links", "Aliases" };
	json_t *out = json_object(), *end;
	const char *id;

	json_object_foreach((json_t *)shown, id, end) if (!put(out, id, only(end, NULL, asked, COUNT(asked))))
	{
		json_decref(out);
		return NULL;
	}
	return out;
}

/* Of one that runs: what it was made of, and not how it is. */
static json_t *running_seen(const json_t *got, const json_t *networks, const json_t *want)
{
	cleanup_json json_t *all = container_seen(got, networks);
	json_t *out = all ? only(all, want, NULL, 0) : NULL;
	json_t *ends = ends_asked(json_object_get(json_object_get(all, "NetworkSettings"), "Networks"));

	if (out && ends && put(out, "NetworkSettings", json_pack("{s:O}", "Networks", ends))) {
		json_decref(ends);
		return out;
	}
	json_decref(ends);
	json_decref(out);
	return NULL;
}

int compare_running(const json_t *request, const json_t *facts, const json_t *networks, const char *name,
                    const json_t *got, struct refusal *r)
{
	struct comparing c = { .r = r, .what = role_of(request), .running = true };
	cleanup_json json_t *want = container_wanted(request, facts, name), *seen = NULL;

	if (!want || json_object_del(want, "State") < 0)
		return no_memory(r);
	seen = running_seen(got, networks, want);
	if (!seen)
		return refuse(r, "pin_mismatch", c.what, "open-conduit doctor",
		              "the engine describes the %s in a way that can't be compared with the plan", c.what);
	return differ_walk(&c, want, seen);
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

	if (!subnet || !driver || strcmp(driver, "default") != 0 || !differ_empty(json_object_get(there, "Options")) ||
	    !ipam_ok(json_object_get(there, "Config"), subnet, v6))
		return differ_refuse(c, want, there);
	return 0;
}

static int walk_network(struct comparing *c, const json_t *request, bool fresh, const json_t *got)
{
	cleanup_json json_t *want = json_copy((json_t *)request), *seen = json_copy((json_t *)got);

	if (!want || !seen || json_object_set_new(want, "Scope", json_string("local")) < 0)
		return no_memory(c->r);
	if (compare_ipam(c, request, got) < 0)
		return -1;
	c->path[0] = '\0';
	(void)json_object_del(want, "IPAM");
	(void)json_object_del(seen, "IPAM");
	(void)json_object_del(seen, "Id");
	(void)json_object_del(seen, "Created");
	if (!fresh)
		(void)json_object_del(seen, "Containers");
	return differ_walk(c, want, seen);
}

int compare_network(const json_t *request, bool fresh, const json_t *got, struct refusal *r)
{
	struct comparing c = { .r = r, .what = "network", .path = "IPAM", .network = true };

	return walk_network(&c, request, fresh, got);
}

int compare_network_running(const json_t *request, const json_t *got, struct refusal *r)
{
	struct comparing c = { .r = r, .what = "network", .path = "IPAM", .network = true, .running = true };

	return walk_network(&c, request, false, got);
}
