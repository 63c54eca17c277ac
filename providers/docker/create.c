/* SPDX-License-Identifier: Apache-2.0 */
#include "create.h"

#include <stdlib.h>
#include <string.h>

#define SHM_BYTES     (64 << 20)
#define GATEWAY_BYTES (64 << 20)
#define GATEWAY_PIDS  16

/* Every client reads one of these, and no two the same ones. */
static const char *const proxied[] = { "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy" };
static const char *const constant[] = { "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1",
	                                "NODE_USE_ENV_PROXY=1" };

char *create_egress_name(const char *instance)
{
	return format("oc-%s-egress", instance);
}

char *create_name(const char *attempt, const char *what)
{
	return format("oc-%s%s", attempt, what);
}

static json_t *labels(const char *run, const char *instance, const char *role)
{
	return json_pack("{s:s, s:s, s:s, s:{s:s}, s:{s:s}}", CREATE_LABEL "instance", instance, CREATE_LABEL "run",
	                 run, CREATE_LABEL "role", role, CREATE_LABEL "attempt", "$", "{" CREATE_ATTEMPT "}",
	                 CREATE_LABEL "plan", "$", "{" CREATE_PLAN "}");
}

static bool in_ours(const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < COUNT(proxied); i++)
		if (strlen(proxied[i]) == n && !memcmp(proxied[i], name, n))
			return true;
	for (i = 0; i < COUNT(constant); i++)
		if (strcspn(constant[i], "=") == n && !memcmp(constant[i], name, n))
			return true;
	return false;
}

/* A name alone takes the image's variable away: the agent's environment is the plan's, and the guest itself has none of it. */
static bool remove_variables(json_t *list, const json_t *of_image)
{
	const json_t *item;
	bool good = true;
	size_t i;

	json_array_foreach(of_image, i, item)
	{
		size_t n = strcspn(json_string_value(item), "=");

		if (!in_ours(json_string_value(item), n))
			good = good && json_array_append_new(list, json_stringn(json_string_value(item), n)) == 0;
	}
	return good;
}

static json_t *env(const json_t *of_image)
{
	json_t *list = json_array();
	bool good = list;
	size_t i;

	for (i = 0; good && i < COUNT(proxied); i++) {
		cleanup_free char *text = format("%s=http://{" CREATE_GATEWAY "}:%d", proxied[i], CREATE_PROXY_PORT);

		good = text && json_array_append_new(list, json_pack("{s:s}", "$", text)) == 0;
	}
	for (i = 0; good && i < COUNT(constant); i++)
		good = json_array_append_new(list, json_string(constant[i])) == 0;
	if (good && remove_variables(list, of_image))
		return list;
	json_decref(list);
	return NULL;
}

/* What is the same for both.  All that has a default of the engine's is said. */
static json_t *host_config(json_int_t memory, json_int_t pids, const char *runtime)
{
	return json_pack("{s:{s:s}, s:[s], s:[s], s:b, s:I, s:I, s:I, s:s, s:s, s:s, s:{s:s, s:{}}, s:{s:s, s:i}, s:b, "
	                 "s:b, s:s, s:i}",
	                 "NetworkMode", "$", "{" CREATE_NETWORK "}", "CapDrop", "ALL", "SecurityOpt",
	                 "no-new-privileges", "ReadonlyRootfs", 1, "PidsLimit", pids, "Memory", memory, "MemorySwap",
	                 memory, "CgroupnsMode", "private", "PidMode", "", "UTSMode", "", "LogConfig", "Type", "none",
	                 "Config", "RestartPolicy", "Name", "no", "MaximumRetryCount", 0, "Init", 0, "AutoRemove", 0,
	                 "Runtime", runtime, "ShmSize", SHM_BYTES);
}

static json_t *container_host(const struct create_input *in)
{
	const json_t *limits = in->limits;
	json_t *host = host_config(json_integer_value(json_object_get(limits, "memory")),
	                           json_integer_value(json_object_get(limits, "pids")), in->runtime);
	json_t *more =
	        json_pack("{s:I, s:s, s:i, s:O}", "NanoCpus", json_integer_value(json_object_get(limits, "nano_cpus")),
	                  "IpcMode", "private", "OomScoreAdj", 500, "Mounts", in->mounts);

	if (host && more && json_object_update_new(host, more) == 0)
		return host;
	json_decref(host);
	return NULL;
}

/* Nothing of the image's own is used: neither its user nor what it starts, checks or where. */
static json_t *common(const struct create_input *in, const char *image, const char *role)
{
	cleanup_free char *user = format("%u:%u", in->uid, in->gid);

	if (!user)
		return NULL;
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:{s:[s]}, s:o, s:b, s:b, s:b}", "Image", image, "User", user,
	                 "WorkingDir", "/", "Hostname", "open-conduit", "Domainname", "", "StopSignal", "SIGTERM",
	                 "Healthcheck", "Test", "NONE", "Labels", labels(in->run, in->instance, role), "Tty", 0,
	                 "OpenStdin", 0, "AttachStdin", 0);
}

static json_t *join(json_t *a_taken, json_t *b_taken)
{
	if (a_taken && b_taken && json_object_update_new(a_taken, b_taken) == 0)
		return a_taken;
	json_decref(a_taken);
	return NULL;
}

json_t *create_container(const struct create_input *in)
{
	json_t *own =
	        json_pack("{s:[s, s, s], s:[], s:o, s:o, s:{s:{s:{s:{s:{s:s}}}}}}", "Entrypoint",
	                  "/.open-conduit/guest", "enter", "/.open-conduit/channel/sock", "Cmd", "Env",
	                  env(in->image_env), "HostConfig", container_host(in), "NetworkingConfig", "EndpointsConfig",
	                  "${" CREATE_NETWORK "}", "IPAMConfig", "IPv4Address", "$", "{" CREATE_ADDRESS "}");

	return join(common(in, in->image, "container"), own);
}

static json_t *gateway_host(const struct create_input *in)
{
	cleanup_free char *gate = format("%s/gate", in->live);
	json_t *host = host_config(GATEWAY_BYTES, GATEWAY_PIDS, in->runtime);
	json_t *mount = gate ? json_pack("{s:s, s:s, s:s, s:b, s:{s:s, s:b}}", "Type", "bind", "Source", gate, "Target",
	                                 "/control", "ReadOnly", 1, "BindOptions", "Propagation", "rprivate",
	                                 "ReadOnlyForceRecursive", 1)
	                     : NULL;

	return join(host, json_pack("{s:s, s:{s:s}, s:[o]}", "IpcMode", "none", "Sysctls", "net.ipv4.ip_forward", "0",
	                            "Mounts", mount));
}

/* Two networks in one request; by the priority the way out is the default route whatever the names are. */
json_t *create_gateway(const struct create_input *in)
{
	json_t *ends = json_pack("{s:{s:{s:{s:s}}}, s:{s:i}}", "${" CREATE_NETWORK "}", "IPAMConfig", "IPv4Address",
	                         "$", "{" CREATE_GATEWAY "}", "${" CREATE_EGRESS "}", "GwPriority", 1);
	json_t *own = json_pack("{s:[s], s:[s], s:[], s:o, s:{s:o}}", "Entrypoint", "/open-conduit-gateway", "Cmd",
	                        "/control/sock", "Env", "HostConfig", gateway_host(in), "NetworkingConfig",
	                        "EndpointsConfig", ends);

	if (own && !remove_variables(json_object_get(own, "Env"), in->gateway_env)) {
		json_decref(own);
		own = NULL;
	}
	return join(common(in, in->gateway, "gateway"), own);
}

/* In isolated mode the host has no address on the bridge, and no name or route leads out; for IPv6 too, since the bridge would
 * answer there on its link-local address. */
json_t *create_network(const char *run, const char *instance)
{
	return json_pack("{s:{s:s}, s:s, s:b, s:b, s:b, s:{s:s, s:s}, s:{s:s, s:[{s:{s:s}}]}, s:o}", "Name", "$",
	                 "oc-{" CREATE_ATTEMPT "}", "Driver", "bridge", "Internal", 1, "EnableIPv4", 1, "EnableIPv6", 1,
	                 "Options", "com.docker.network.bridge.gateway_mode_ipv4", "isolated",
	                 "com.docker.network.bridge.gateway_mode_ipv6", "isolated", "IPAM", "Driver", "default",
	                 "Config", "Subnet", "$", "{" CREATE_SUBNET "}", "Labels", labels(run, instance, "network"));
}

json_t *create_egress(const char *instance)
{
	cleanup_free char *name = create_egress_name(instance);

	if (!name)
		return NULL;
	return json_pack("{s:s, s:s, s:b, s:b, s:b, s:{s:s}, s:{s:s, s:[{s:{s:s}}]}, s:{s:s, s:s}}", "Name", name,
	                 "Driver", "bridge", "Internal", 0, "EnableIPv4", 1, "EnableIPv6", 0, "Options",
	                 "com.docker.network.bridge.enable_icc", "false", "IPAM", "Driver", "default", "Config",
	                 "Subnet", "$", "{" CREATE_SUBNET "}", "Labels", CREATE_LABEL "instance", instance,
	                 CREATE_LABEL "role", "egress");
}
