/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine answered about real containers of ours, and the same with one member changed at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "suite.h"

struct recorded {
	const char *name; /* "container", "gateway" */
	const json_t *request, *facts, *networks;
	json_t *inspect;
	const char *called;
	bool running;
	unsigned tried;
};

static json_t *load(void)
{
	size_t len;
	char *text = suite_load("unit/vectors/docker_inspect.json", &len);
	json_t *all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	free(text);
	ck_assert_uint_ge(json_array_size(all), 4);
	return all;
}

static bool of(const json_t *all, size_t i, const char *name, struct recorded *out)
{
	const json_t *one = json_array_get(all, i), *part = json_object_get(one, name);

	*out = (struct recorded){ .name = name,
		                  .request = json_object_get(part, "request"),
		                  .facts = json_object_get(json_object_get(one, "facts"), name),
		                  .networks = json_object_get(one, "names"),
		                  .inspect = json_object_get(part, "inspect"),
		                  .called = text_of(part, "name") };
	return part;
}

static bool same(const struct recorded *c, char **why)
{
	struct refusal r = { 0 };
	int rc = (c->running ? compare_running : compare_container)(c->request, c->facts, c->networks, c->called,
	                                                            c->inspect, &r);

	if (rc < 0) {
		ck_assert_str_eq(r.reason, c->running ? "pin_mismatch" : "sandbox_unavailable");
		ck_assert_ptr_nonnull(r.subject);
		ck_assert(c->running || r.fix); /* who knows the run adds it */
	}
	if (why)
		*why = r.message ? strdup(r.message) : NULL;
	refusal_clear(&r);
	return rc == 0;
}

START_TEST(test_recorded)
{
	json_t *all = load();
	struct recorded c;
	size_t i, n = 0;

	for (i = 0; i < json_array_size(all); i++)
		for (int k = 0; k < 2; k++) {
			char *why;

			if (!of(all, i, k ? "gateway" : "container", &c))
				continue;
			ck_assert_msg(same(&c, &why), "%s: %s", text_of(json_array_get(all, i), "image"), why);
			free(why);
			n++;
		}
	ck_assert_uint_ge(n, 5);
	json_decref(all);
}
END_TEST

/* Members that may be anything, or that only get longer. */
static bool is_free(const char *path)
{
	static const char *const exempt[] = { "Id", "Created", "Driver", "MountLabel", "ProcessLabel", "GraphDriver" };
	size_t i;

	for (i = 0; i < COUNT(exempt); i++)
		if (!strncmp(path, exempt[i], strlen(exempt[i])) && strchr(".", path[strlen(exempt[i])]))
			return true;
	return !strncmp(path, "Config.Healthcheck.", 19) && strncmp(path + 19, "Test", 4) != 0;
}

static json_t *other(const json_t *v)
{
	if (json_is_string(v)) {
		char text[8192];

		(void)snprintf(text, sizeof(text), "%sx", json_string_value(v));
		return json_string(text);
	}
	if (json_is_integer(v))
		return json_integer(json_integer_value(v) + 1);
	if (json_is_boolean(v))
		return json_boolean(!json_is_true(v));
	if (json_is_array(v))
		return json_pack("[s]", "x");
	return json_is_object(v) ? json_pack("{s:s}", "x", "x") : json_string("x");
}

static void put_back(json_t *in, const char *key, size_t i, json_t *value)
{
	if (json_is_object(in))
		ck_assert_int_eq(json_object_set(in, key, value), 0);
	else
		ck_assert_int_eq(json_array_set(in, i, value), 0);
}

/* Of one that runs only what was asked for is looked at. */
static bool is_state(const char *path)
{
	static const char *const asked[] = { "Name",   "Platform", "Image",      "Args",           "Path",
		                             "Config", "Mounts",   "HostConfig", "NetworkSettings" };
	const char *ends = strstr(path, "NetworkSettings.Networks.") == path ? strrchr(path, '.') : NULL;
	size_t i;

	if (!strncmp(path, "NetworkSettings.", 16))
		return !ends || (!strstr(path, ".IPAMConfig") && strcmp(ends, ".GwPriority") != 0 &&
		                 strcmp(ends, ".DriverOpts") != 0 && strcmp(ends, ".Links") != 0 &&
		                 strcmp(ends, ".Aliases") != 0);
	for (i = 0; i < COUNT(asked); i++)
		if (!strncmp(path, asked[i], strlen(asked[i])))
			return false;
	return true;
}

static void change(struct recorded *c, json_t *in, const char *key, size_t i, const char *path)
{
	json_t *value = json_incref(json_is_object(in) ? json_object_get(in, key) : json_array_get(in, i));
	json_t *changed = other(value);

	if (!is_free(path) && !(c->running && is_state(path))) {
		put_back(in, key, i, changed);
		ck_assert_msg(!same(c, NULL), "%s: %s may be changed", c->name, path);
		put_back(in, key, i, value);
		c->tried++;
	}
	json_decref(changed);
	json_decref(value);
}

static void each(struct recorded *c, json_t *in, const char *path);

static void member(struct recorded *c, json_t *in, const char *key, size_t i, json_t *value, const char *path)
{
	char at[8192];

	(void)snprintf(at, sizeof(at), "%s%s%s", path, *path ? "." : "", key);
	if (json_object_size(value) || json_array_size(value))
		each(c, value, at);
	else
		change(c, in, key, i, at);
}

static void each(struct recorded *c, json_t *in, const char *path)
{
	json_t *copy = json_copy(in), *value;
	const char *key;
	char number[24];
	size_t i;

	json_object_foreach(copy, key, value) member(c, in, key, 0, value, path);
	json_array_foreach(copy, i, value)
	{
		/* Those lists grow with each engine: what has to be in them is tried below. */
		if (!strcmp(path, "HostConfig.MaskedPaths") || !strcmp(path, "HostConfig.ReadonlyPaths"))
			break;
		(void)snprintf(number, sizeof(number), "%zu", i);
		member(c, in, number, i, value, path);
	}
	json_decref(copy);
}

START_TEST(test_each_member)
{
	json_t *all = load();
	struct recorded c;
	size_t i;
	unsigned tried = 0;

	for (i = 0; i < json_array_size(all); i++)
		for (int k = 0; k < 2; k++) {
			if (!of(all, i, k ? "gateway" : "container", &c))
				continue;
			each(&c, c.inspect, "");
			ck_assert(same(&c, NULL));
			tried += c.tried;
		}
	ck_assert_uint_ge(tried, 600);
	json_decref(all);
}
END_TEST

/* What the engine leaves out while it is empty, and what would change a container if it weren't. */
static const struct {
	const char *in, *member, *value;
} added[] = {
	{ "HostConfig", "Binds", "[\"/:/host\"]" },
	{ "HostConfig", "Privileged", "true" },
	{ "HostConfig", "CapAdd", "[\"NET_ADMIN\"]" },
	{ "HostConfig", "CapDrop", "[]" },
	{ "HostConfig", "SecurityOpt", "[]" },
	{ "HostConfig", "SecurityOpt", "[\"no-new-privileges\", \"seccomp=unconfined\"]" },
	{ "HostConfig", "Devices", "[{\"PathOnHost\": \"/dev/kvm\"}]" },
	{ "HostConfig", "DeviceRequests", "[{\"Count\": -1}]" },
	{ "HostConfig", "DeviceCgroupRules", "[\"c 1:1 rwm\"]" },
	{ "HostConfig", "GroupAdd", "[\"docker\"]" },
	{ "HostConfig", "PidMode", "\"host\"" },
	{ "HostConfig", "IpcMode", "\"host\"" },
	{ "HostConfig", "UTSMode", "\"host\"" },
	{ "HostConfig", "UsernsMode", "\"host\"" },
	{ "HostConfig", "CgroupnsMode", "\"host\"" },
	{ "HostConfig", "CgroupParent", "\"/\"" },
	{ "HostConfig", "Cgroup", "\"container:x\"" },
	{ "HostConfig", "NetworkMode", "\"host\"" },
	{ "HostConfig", "PortBindings", "{\"80/tcp\": [{\"HostPort\": \"80\"}]}" },
	{ "HostConfig", "PublishAllPorts", "true" },
	{ "HostConfig", "ReadonlyRootfs", "false" },
	{ "HostConfig", "VolumesFrom", "[\"other\"]" },
	{ "HostConfig", "Tmpfs", "{\"/run\": \"\"}" },
	{ "HostConfig", "Sysctls", "{\"net.ipv4.ip_forward\": \"1\"}" },
	{ "HostConfig", "StorageOpt", "{\"size\": \"1\"}" },
	{ "HostConfig", "Annotations", "{\"run.oci.keep_original_groups\": \"1\"}" },
	{ "HostConfig", "Ulimits", "[{\"Name\": \"nofile\", \"Soft\": 1, \"Hard\": 1}]" },
	{ "HostConfig", "ExtraHosts", "[\"x:127.0.0.1\"]" },
	{ "HostConfig", "Dns", "[\"192.0.2.1\"]" },
	{ "HostConfig", "Links", "[\"a:b\"]" },
	{ "HostConfig", "PidsLimit", "0" },
	{ "HostConfig", "PidsLimit", "null" },
	{ "HostConfig", "Memory", "0" },
	{ "HostConfig", "MemorySwap", "-1" },
	{ "HostConfig", "NanoCpus", "1" },
	{ "HostConfig", "OomKillDisable", "true" },
	{ "HostConfig", "LogConfig", "{\"Type\": \"json-file\", \"Config\": {}}" },
	{ "HostConfig", "RestartPolicy", "{\"Name\": \"always\", \"MaximumRetryCount\": 0}" },
	{ "HostConfig", "AutoRemove", "true" },
	{ "HostConfig", "Runtime", "\"other\"" },
	{ "HostConfig", "Init", "true" },
	{ "HostConfig", "MaskedPaths", "null" },
	{ "HostConfig", "MaskedPaths", "[\"/proc/kcore\"]" },
	{ "HostConfig", "ReadonlyPaths", "[]" },
	{ "HostConfig", "Unheard", "1" },
	{ "Config", "User", "\"0\"" },
	{ "Config", "User", "\"\"" },
	{ "Config", "Env", "[\"LD_PRELOAD=/evil.so\"]" },
	{ "Config", "Entrypoint", "[\"/bin/sh\"]" },
	{ "Config", "Cmd", "[\"-c\"]" },
	{ "Config", "Healthcheck", "{\"Test\": [\"CMD\", \"x\"]}" },
	{ "Config", "Tty", "true" },
	{ "Config", "OpenStdin", "true" },
	{ "Config", "Volumes", "{\"/more\": {}}" },
	{ "Config", "ExposedPorts", "{\"1/tcp\": {}}" },
	{ "Config", "MacAddress", "\"02:00:00:00:00:01\"" },
	{ "Config", "StopTimeout", "1" },
	{ "Config", "Labels", "{}" },
	{ "NetworkSettings", "Networks", "{}" },
	{ "NetworkSettings", "Networks", "{\"bridge\": {}}" },
	{ "NetworkSettings", "Ports", "{\"80/tcp\": null, \"81/tcp\": [{\"HostPort\": \"1\"}]}" },
	{ "State", "Running", "true" },
	{ NULL, "Mounts", "[]" },
	{ NULL, "AppArmorProfile", "\"unconfined\"" },
	{ NULL, "ExecIDs", "[\"x\"]" },
	{ NULL, "Path", "\"/bin/sh\"" },
	{ NULL, "Unheard", "\"x\"" },
};

static void start(json_t *inspect)
{
	json_t *ends = json_object_get(json_object_get(inspect, "NetworkSettings"), "Networks"), *end;
	const char *id;

	ck_assert_int_eq(
	        json_object_set_new(inspect, "State",
	                            json_pack("{s:s, s:b, s:i}", "Status", "running", "Running", 1, "Pid", 4711)),
	        0);
	ck_assert_int_eq(json_object_set_new(inspect, "ExecIDs", json_pack("[s]", "an operator's look inside")), 0);
	json_object_foreach(ends, id, end)
	{
		ck_assert_int_eq(json_object_set_new(end, "IPAddress", json_string("10.213.128.3")), 0);
		ck_assert_int_eq(json_object_set_new(end, "MacAddress", json_string("02:42:0a:d5:80:03")), 0);
	}
}

/* What was asked for, of one that runs: the same as long as nothing of that is changed. */
START_TEST(test_running)
{
	json_t *all = load();
	struct recorded c;
	size_t i;
	unsigned tried = 0;

	for (i = 0; i < json_array_size(all); i++)
		for (int k = 0; k < 2; k++) {
			char *why;

			if (!of(all, i, k ? "gateway" : "container", &c))
				continue;
			start(c.inspect);
			ck_assert(!same(&c, NULL));
			c.running = true;
			ck_assert_msg(same(&c, &why), "%s: %s", text_of(json_array_get(all, i), "image"), why);
			free(why);
			each(&c, c.inspect, "");
			tried += c.tried;
			json_object_set_new(json_object_get(json_object_get(c.inspect, "NetworkSettings"), "Networks"),
			                    "bridge", json_object());
			ck_assert(!same(&c, NULL));
		}
	ck_assert_uint_ge(tried, 400);
	json_decref(all);
}
END_TEST

START_TEST(test_named)
{
	json_t *all = load();
	struct recorded c;
	size_t i;

	ck_assert(of(all, 0, "container", &c));
	for (i = 0; i < COUNT(added); i++) {
		json_t *in = added[i].in ? json_object_get(c.inspect, added[i].in) : c.inspect;
		json_t *before = json_incref(json_object_get(in, added[i].member));
		json_t *now = json_loads(added[i].value, JSON_DECODE_ANY, NULL);

		ck_assert_ptr_nonnull(now);
		ck_assert_int_eq(json_object_set_new(in, added[i].member, now), 0);
		ck_assert_msg(!same(&c, NULL), "%s.%s = %s passes", added[i].in, added[i].member, added[i].value);
		if (before)
			ck_assert_int_eq(json_object_set_new(in, added[i].member, before), 0);
		else
			ck_assert_int_eq(json_object_del(in, added[i].member), 0);
		ck_assert(same(&c, NULL));
	}
	json_decref(all);
}
END_TEST

/* A volume of the image shows in the list of mounts alone. */
START_TEST(test_mounts)
{
	json_t *all = load(), *mounts, *volume;
	struct recorded c;
	char *why;

	ck_assert(of(all, 0, "container", &c));
	mounts = json_object_get(c.inspect, "Mounts");
	volume = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:s}", "Type", "volume", "Name", "0123", "Source",
	                   "/var/lib/docker/volumes/0123/_data", "Destination", "/srv", "Driver", "local", "RW", 1,
	                   "Propagation", "");
	ck_assert_int_eq(json_array_append_new(mounts, volume), 0);
	ck_assert(!same(&c, &why));
	ck_assert_ptr_nonnull(strstr(why, "/srv"));
	free(why);
	ck_assert_int_eq(json_array_remove(mounts, json_array_size(mounts) - 1), 0);
	/* Their order says nothing. */
	ck_assert_int_eq(json_array_append(mounts, json_array_get(mounts, 0)), 0);
	ck_assert(!same(&c, NULL));
	ck_assert_int_eq(json_array_remove(mounts, 0), 0);
	ck_assert(same(&c, NULL));
	json_decref(all);
}
END_TEST

START_TEST(test_network_by_id)
{
	json_t *all = load(), *ends, *end;
	struct recorded c;
	const char *id;
	json_t *name;

	ck_assert(of(all, 0, "container", &c));
	ends = json_object_get(json_object_get(c.inspect, "NetworkSettings"), "Networks");
	ck_assert_uint_eq(json_object_size(ends), 1);
	end = json_incref(json_object_iter_value(json_object_iter(ends)));
	json_object_foreach((json_t *)c.networks, id, name)
	{
		bool own = strstr(json_string_value(name), "egress") == NULL;

		json_object_clear(ends);
		ck_assert_int_eq(json_object_set(ends, id, end), 0);
		ck_assert(same(&c, NULL) == own);
		/* The id, where it is told, is that of the network. */
		ck_assert_int_eq(json_object_set_new(end, "NetworkID", json_string(id)), 0);
		ck_assert(same(&c, NULL) == own);
		ck_assert_int_eq(json_object_set_new(end, "NetworkID", json_string("other")), 0);
		ck_assert(!same(&c, NULL));
		ck_assert_int_eq(json_object_set_new(end, "NetworkID", json_string("")), 0);
	}
	json_decref(end);
	json_decref(all);
}
END_TEST

static bool network_same(const json_t *part, const char *shown, bool fresh)
{
	struct refusal r = { 0 };
	int rc = compare_network(json_object_get(part, "request"), fresh, json_object_get(part, shown), &r);

	refusal_clear(&r);
	return rc == 0;
}

static const struct {
	const char *member, *value;
} networks[] = {
	{ "Internal", "false" },
	{ "Attachable", "true" },
	{ "Ingress", "true" },
	{ "Scope", "\"swarm\"" },
	{ "Driver", "\"macvlan\"" },
	{ "EnableIPv4", "false" },
	{ "EnableIPv6", "false" },
	{ "ConfigOnly", "true" },
	{ "ConfigFrom", "{\"Network\": \"x\"}" },
	{ "Options", "{}" },
	{ "Options", "{\"com.docker.network.bridge.gateway_mode_ipv4\": \"isolated\"}" },
	{ "Options", "{\"com.docker.network.bridge.gateway_mode_ipv4\": \"isolated\", "
	             "\"com.docker.network.bridge.gateway_mode_ipv6\": \"nat\"}" },
	{ "Labels", "{}" },
	{ "Name", "\"bridge\"" },
	{ "Containers", "{\"x\": {\"Name\": \"stranger\"}}" },
	{ "IPAM", "{\"Driver\": \"default\", \"Config\": []}" },
	{ "IPAM", "{\"Driver\": \"default\", \"Config\": [{\"Subnet\": \"10.213.200.0/29\"}]}" },
	{ "IPAM", "{\"Driver\": \"default\", \"Config\": [{\"Subnet\": \"10.213.200.0/29\"}, {\"Subnet\": "
	          "\"2001:db8::/64\"}]}" },
	{ "IPAM",
	  "{\"Driver\": \"default\", \"Config\": [{\"Subnet\": \"10.213.200.0/29\", \"Gateway\": \"10.213.200.1\"}, "
	  "{\"Subnet\": \"fd00::/64\"}]}" },
	{ "IPAM",
	  "{\"Driver\": \"null\", \"Config\": [{\"Subnet\": \"10.213.200.0/29\"}, {\"Subnet\": \"fd00::/64\"}]}" },
	{ "Unheard", "1" },
};

START_TEST(test_networks)
{
	json_t *all = load(), *own = json_object_get(json_array_get(all, 0), "network"),
	       *egress = json_object_get(json_array_get(all, 0), "egress"), *shown = json_object_get(own, "inspect");
	size_t i;

	ck_assert(network_same(own, "inspect", true));
	ck_assert(network_same(egress, "inspect", true));
	ck_assert(network_same(egress, "used", false));
	/* With somebody on it, it isn't new. */
	ck_assert(!network_same(egress, "used", true));
	for (i = 0; i < COUNT(networks); i++) {
		json_t *before = json_incref(json_object_get(shown, networks[i].member));

		ck_assert_int_eq(json_object_set_new(shown, networks[i].member,
		                                     json_loads(networks[i].value, JSON_DECODE_ANY, NULL)),
		                 0);
		ck_assert_msg(!network_same(own, "inspect", true), "%s = %s passes", networks[i].member,
		              networks[i].value);
		if (before)
			ck_assert_int_eq(json_object_set_new(shown, networks[i].member, before), 0);
		else
			ck_assert_int_eq(json_object_del(shown, networks[i].member), 0);
		ck_assert(network_same(own, "inspect", true));
	}
	/* The way out, with traffic between those who use it. */
	ck_assert_int_eq(json_object_set_new(json_object_get(egress, "used"), "Options", json_object()), 0);
	ck_assert(!network_same(egress, "used", false));
	json_decref(all);
}
END_TEST

SUITE_MAIN("docker_compare", test_recorded, test_each_member, test_named, test_mounts, test_network_by_id,
           test_networks, test_running)
