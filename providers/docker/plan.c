/* SPDX-License-Identifier: Apache-2.0 */
/* The reply to plan: the engine, both images and the machine are asked, and nothing is changed. */
#include <mbedtls/md.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/files.h"
#include "create.h"
#include "engine.h"
#include "image.h"
#include "mounts.h"
#include "names.h"
#include "passwd.h"
#include "spec.h"
#include "subnet.h"

#define PATH_OF_RUN "/usr/sbin:/usr/bin:/sbin:/bin"

struct planning {
	const char *run, *guest, *live, *self, *context, *engine_id, *range;
	const json_t *resolved;
	struct refusal *r;
	struct endpoint endpoint;
	struct engine *engine;
	const json_t *info;
	json_t *image, *gateway; /* as inspected */
	struct mounts mounts;
	struct list private;
	json_t *files;
	char instance[17];
	char *state, *policy, *text;
};

/* The guest hands these on to the agent by name. */
static const char *const inherited[] = { "HTTP_PROXY", "HTTPS_PROXY", "http_proxy",        "https_proxy",
	                                 "NO_PROXY",   "no_proxy",    "NODE_USE_ENV_PROXY" };

static const json_t *config_of(const json_t *image)
{
	return json_object_get(image, "Config");
}

/* Another state directory's runs are another instance's: told apart by labels, without the path in them. */
static int name_instance(struct planning *p)
{
	unsigned char sum[32];
	int i;

	if (mbedtls_md(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), (const unsigned char *)p->state, strlen(p->state),
	               sum))
		return no_memory(p->r);
	for (i = 0; i < 8; i++)
		(void)snprintf(p->instance + 2 * i, 3, "%02x", sum[i]);
	return 0;
}

static int take_params(struct planning *p, const json_t *params)
{
	size_t n;

	p->run = text_of(params, "run");
	p->guest = text_of(params, "guest");
	p->live = text_of(params, "live");
	p->resolved = json_object_get(params, "resolved");
	p->context = text_of(p->resolved, "context");
	if (!p->run || !p->guest || !p->live || !p->context || !text_of(p->resolved, "image") ||
	    !text_of(p->resolved, "agent_home"))
		return refuse(p->r, "provider_failed", "plan", NULL, "plan lacks what a container's run needs");
	n = spec_state(p->live, p->run);
	if (!n)
		return refuse(p->r, "provider_failed", p->live, NULL, "%s is not the directory of run %s", p->live,
		              p->run);
	if (geteuid() == 0)
		return refuse(p->r, "sandbox_unavailable", "root", "run as an ordinary user: su - USER",
		              "a container that runs as root could write root's files");
	p->state = strndup(p->live, n);
	return p->state ? name_instance(p) : no_memory(p->r);
}

static int choose_range(struct planning *p)
{
	struct subnet range;

	p->range = getenv(SUBNET_VARIABLE);
	if (!p->range || !*p->range)
		p->range = SUBNET_DEFAULT;
	if (subnet_range_parse(p->range, &range))
		return 0;
	return refuse(p->r, "sandbox_unavailable", SUBNET_VARIABLE, "export " SUBNET_VARIABLE "=" SUBNET_DEFAULT,
	              "%s is no range for the runs' networks: a private one, from /8 to /20", p->range);
}

static int check_limits(struct planning *p)
{
	json_int_t cpus = json_integer_value(json_object_get(json_object_get(p->resolved, "limits"), "nano_cpus"));
	json_int_t there = json_integer_value(json_object_get(p->info, "NCPU"));
	cleanup_free char *fix = format("\"limits\": {\"cpus\": %lld}", (long long)there);

	if (cpus <= there * 1000000000)
		return 0;
	return refuse(p->r, "sandbox_unavailable", "limits.cpus", fix,
	              "limits.cpus is %lld.%02lld, and the engine's machine has %lld", (long long)(cpus / 1000000000),
	              (long long)(cpus / 10000000 % 100), (long long)there);
}

static int ask_engine(struct planning *p)
{
	if (endpoint_find(p->context, &p->endpoint, p->r) < 0 || engine_open(&p->endpoint, &p->engine, p->r) < 0)
		return -1;
	p->info = engine_info(p->engine, p->r);
	if (!p->info)
		return -1;
	p->engine_id = text_of(p->info, "ID");
	if (!p->engine_id || !*p->engine_id)
		return refuse(p->r, "sandbox_unavailable", p->context, NULL, "the engine of context %s has no ID",
		              p->context);
	if (check_limits(p) < 0 || image_find(p->engine, text_of(p->resolved, "image"), &p->image, p->r) < 0)
		return -1;
	return gateway_find(p->engine, &p->gateway, p->r);
}

/* All that the gateway is told but its addresses. */
static int write_policy(struct planning *p)
{
	const json_t *network = json_object_get(p->resolved, "network"), *entry;
	struct text out = { 0 };
	bool good = text_puts(&out, "");
	size_t i;

	if (names_private(network, &p->private, p->r) < 0)
		return -1;
	json_array_foreach(network, i, entry)
	{
		cleanup_free char *line = format("allow %s\n", text_of(entry, "entry"));

		good = good && line && text_puts(&out, line);
	}
	for (i = 0; good && i < p->private.n; i++) {
		cleanup_free char *line = format("private %s\n", p->private.v[i]);

		good = line && text_puts(&out, line);
	}
	p->policy = out.data;
	return good ? 0 : no_memory(p->r);
}

/* What of an image shows in a container made of it, and does nothing there. */
static json_t *facts_of(const json_t *image)
{
	static const char *const names[] = { "Labels", "ExposedPorts", "Volumes" };
	json_t *facts = json_object(), *value;
	size_t i;

	for (i = 0; i < COUNT(names); i++) {
		value = json_object_get(config_of(image), names[i]);
		if (json_object_size(value) && json_object_set(facts, names[i], value) < 0) {
			json_decref(facts);
			return NULL;
		}
	}
	return facts;
}

static json_t *spec_json(struct planning *p)
{
	const struct create_input in = {
		.run = p->run,
		.instance = p->instance,
		.live = p->live,
		.image = text_of(p->image, "Id"),
		.gateway = text_of(p->gateway, "Id"),
		.runtime = text_of(p->info, "DefaultRuntime") ? text_of(p->info, "DefaultRuntime") : "runc",
		.image_env = json_object_get(config_of(p->image), "Env"),
		.gateway_env = json_object_get(config_of(p->gateway), "Env"),
		.mounts = p->mounts.list,
		.limits = json_object_get(p->resolved, "limits"),
		.uid = geteuid(),
		.gid = getegid(),
	};
	cleanup_free char *log = format("%s/runs/%s/network", p->state, p->run),
	                  *lock = format("%s/docker-%.12s.lock", p->state, p->engine_id);

	if (!log || !lock)
		return NULL;
	return json_pack(
	        "{s:i, s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:s, s:s, s:O, s:O, s:{s:o, s:o}}",
	        "version", SPEC_VERSION, "run", p->run, "live", p->live, "log", log, "lock", lock, "instance",
	        p->instance, "endpoint", endpoint_json(&p->endpoint), "engine", p->engine_id, "network",
	        create_network(p->run, p->instance), "egress", create_egress(p->instance), "gateway",
	        create_gateway(&in), "container", create_container(&in), "policy", p->policy, "range", p->range,
	        "files", p->files, "sources", p->mounts.sources, "facts", "gateway", facts_of(p->gateway), "container",
	        facts_of(p->image));
}

static int write_spec(struct planning *p)
{
	const struct mounts_input in = {
		.resolved = p->resolved,
		.volumes = json_object_get(config_of(p->image), "Volumes"),
		.guest = p->guest,
		.live = p->live,
		.socket = !strncmp(p->endpoint.host, "unix://", 7) ? p->endpoint.host + 7 : NULL,
		.memory = json_integer_value(json_object_get(json_object_get(p->resolved, "limits"), "memory")),
	};
	cleanup_json json_t *spec = NULL;

	if (mounts_plan(&in, &p->mounts, p->r) < 0)
		return -1;
	p->files = passwd_own(text_of(p->resolved, "agent_home"), p->r);
	if (!p->files || write_policy(p) < 0)
		return -1;
	spec = spec_json(p);
	p->text = spec ? json_dumps(spec, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	if (!p->text)
		return no_memory(p->r);
	if (strlen(p->text) > SPEC_MAX)
		return refuse(p->r, "sandbox_unavailable", "policy", NULL,
		              "the container's policy is too long to be pinned");
	return 0;
}

static bool name_valid(const char *s)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

	return *s && strspn(s, letters) == strlen(s) && !(*s >= '0' && *s <= '9');
}

static bool is_inherited(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(inherited); i++)
		if (!strcmp(inherited[i], name))
			return true;
	return false;
}

/* What the image sets for the agent. */
static json_t *env_json(const json_t *image)
{
	json_t *env = json_object();
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(config_of(image), "Env"), i, item)
	{
		const char *text = json_string_value(item), *eq = text ? strchr(text, '=') : NULL;
		cleanup_free char *name = eq ? strndup(text, (size_t)(eq - text)) : NULL;

		if (!name || !name_valid(name) || is_inherited(name))
			continue;
		if (json_object_set_new(env, name, json_string(eq + 1)) < 0) {
			json_decref(env);
			return NULL;
		}
	}
	return env;
}

static json_t *guest_json(void)
{
	bool landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, 1u) >= 1;

	return json_pack("{s:b, s:b, s:b, s:b, s:b, s:i, s:[]}", "landlock", landlock, "nest", 0, "deny_ipc", 0,
	                 "deny_trace", !landlock, "unix", 1, "filters", 1, "links");
}

static json_t *inherit_json(void)
{
	json_t *names = json_array();
	size_t i;

	for (i = 0; i < COUNT(inherited); i++)
		if (json_array_append_new(names, json_string(inherited[i])) < 0) {
			json_decref(names);
			return NULL;
		}
	return names;
}

static bool note(json_t *notes, char *text_taken)
{
	cleanup_free char *text = text_taken;

	return text && json_array_append_new(notes, json_string(text)) == 0;
}

static json_t *notes_json(const struct planning *p)
{
	const json_t *volumes = json_object_get(config_of(p->image), "Volumes");
	json_t *notes = json_array(), *unused;
	const char *name;
	bool good = notes;
	size_t i;

	json_object_foreach((json_t *)volumes, name, unused) good =
	        good &&
	        note(notes, format("the image's volume %s is covered: it is empty and read-only unless granted", name));
	for (i = 0; good && i < p->private.n; i++)
		good = note(notes,
		            format("%s had a private address when the run was planned, and may be reached at one",
		                   p->private.v[i]));
	if (good)
		return notes;
	json_decref(notes);
	return NULL;
}

static json_t *launch_json(const struct planning *p)
{
	cleanup_free char *cwd = format("%s/cwd", p->live);

	if (!cwd)
		return NULL;
	return json_pack("{s:[s, s], s:{s:s}, s:s, s:[{s:i, s:s}], s:i, s:[s, s], s:[s, s]}", "argv", p->self, "run",
	                 "env", "PATH", PATH_OF_RUN, "cwd", cwd, "files", "fd", 3, "text", p->text, "hello_retries", 0,
	                 "cleanup", p->self, "cleanup", "inspect", p->self, "inspect");
}

static json_t *reply_json(const struct planning *p)
{
	return json_pack("{s:{s:s, s:s, s:s, s:s, s:s, s:s}, s:o, s:o, s:o, s:{s:s}, s:[s], s:o, s:o}", "identity",
	                 "engine", p->engine_id, "version", engine_version(p->engine), "context", p->context,
	                 "endpoint", p->endpoint.host, "image", text_of(p->image, "Id"), "gateway",
	                 text_of(p->gateway, "Id"), "launch", launch_json(p), "guest", guest_json(), "inherit",
	                 inherit_json(), "proxy", "variable", "HTTP_PROXY", "tools", p->self, "notes", notes_json(p),
	                 "env", env_json(p->image));
}

static void clear(struct planning *p)
{
	engine_free(p->engine);
	endpoint_clear(&p->endpoint);
	json_decref(p->image);
	json_decref(p->gateway);
	json_decref(p->files);
	mounts_clear(&p->mounts);
	list_free(&p->private);
	free(p->state);
	free(p->policy);
	free(p->text);
}

json_t *spec_plan(const json_t *params, struct refusal *r)
{
	cleanup_free char *self = realpath("/proc/self/exe", NULL);
	struct planning p = { .r = r, .self = self };
	json_t *reply = NULL;

	if (!self)
		no_memory(r);
	else if (take_params(&p, params) == 0 && choose_range(&p) == 0 && ask_engine(&p) == 0 && write_spec(&p) == 0) {
		reply = reply_json(&p);
		if (!reply)
			no_memory(r);
	}
	clear(&p);
	return reply;
}
