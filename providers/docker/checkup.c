/* SPDX-License-Identifier: Apache-2.0 */
/* What is there is looked at; then a run is done (act.h), and what it showed is judged. */
#include "checkup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "act.h"
#include "common/checks.h"
#include "engine.h"
#include "image.h"

#define ASK_MS 30000

struct checking {
	const json_t *params;
	json_t *checks;
	struct endpoint endpoint;
	struct engine *engine;
	const json_t *info;
	json_t *image, *gateway;
	bool good;  /* all so far */
	bool added; /* false: no memory */
};

static void add(struct checking *c, const char *id, const char *title, int rc, struct refusal *r, const char *detail,
                int64_t begin)
{
	c->good = c->good && rc == 0;
	c->added = checks_add_step(c->checks, id, title, rc, r, detail, begin) && c->added;
}

static void check_user(struct checking *c)
{
	struct refusal r = { 0 };
	int rc = 0;

	if (geteuid() == 0)
		rc = refuse(&r, "sandbox_unavailable", "root", "run as an ordinary user: su - USER",
		            "a container that runs as root could write root's files");
	add(c, "user", "an ordinary user", rc, &r, NULL, now_ms());
}

static void check_engine(struct checking *c)
{
	int64_t begin = now_ms();
	struct refusal r = { 0 };
	cleanup_free char *detail = NULL;
	const char *name;
	int rc = endpoint_find(text_of(c->params, "context"), &c->endpoint, &r);

	if (rc == 0)
		rc = engine_open(&c->endpoint, &c->engine, &r);
	if (rc == 0) {
		c->info = engine_info(c->engine, &r);
		rc = c->info ? 0 : -1;
	}
	name = text_of(c->info, "OperatingSystem");
	if (rc == 0)
		detail = format("%s at %s, on %s%s", engine_version(c->engine), c->endpoint.host, name ? name : "?",
		                name && !strcmp(name, "Docker Desktop") ? ": Docker Desktop is untested" : "");
	add(c, "engine", "Docker is reachable, and version 28 or later", rc, &r, detail, begin);
}

static void check_kernel(struct checking *c)
{
	const char *os = text_of(c->info, "OSType"), *kernel = text_of(c->info, "KernelVersion");
	cleanup_free char *shown_os = os ? shown(os) : NULL;
	struct refusal r = { 0 };
	struct utsname u;
	int rc = 0;

	if (uname(&u) < 0 || !os || !kernel || strcmp(os, "linux") != 0 || strcmp(kernel, u.release) != 0)
		rc = refuse(
		        &r, "sandbox_unavailable", c->endpoint.context,
		        "docker context ls  # then name this machine's own engine in provider.context",
		        "the engine of context \"%s\" runs %s %s and this machine linux %s: no path of this machine "
		        "could be mounted",
		        c->endpoint.context, shown_os ? shown_os : "?", kernel ? kernel : "?", u.release);
	add(c, "machine", "the engine runs on this machine", rc, &r, kernel, now_ms());
}

static bool has_option(const json_t *info, const char *name)
{
	const json_t *option;
	size_t i, len = strlen(name);

	json_array_foreach(json_object_get(info, "SecurityOptions"), i, option)
	{
		const char *text = json_string_value(option);

		if (text && !strncmp(text, name, len) && (text[len] == '\0' || text[len] == ','))
			return true;
	}
	return false;
}

/* Known before anything is run, with a better reason than what a run would then fail by. */
static void check_mapping(struct checking *c)
{
	static const char *const names[][2] = { { "name=rootless", "is rootless" },
		                                { "name=userns", "maps users (userns-remap)" } };
	struct refusal r = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < COUNT(names); i++)
		if (has_option(c->info, names[i][0]))
			rc = refuse(
			        &r, "sandbox_unavailable", c->endpoint.context,
			        "docker context ls  # then name, in provider.context, an engine that runs as root "
			        "without userns-remap",
			        "the engine of context \"%s\" %s: what your user id writes in a container would belong "
			        "to another user here",
			        c->endpoint.context, names[i][1]);
	if (rc == 0 && !has_option(c->info, "name=seccomp"))
		rc = refuse(&r, "sandbox_unavailable", c->endpoint.context,
		            "install Docker Engine's own build, with seccomp",
		            "the engine of context \"%s\" filters no system calls", c->endpoint.context);
	add(c, "mapping", "user ids in a container are this machine's, and system calls are filtered", rc, &r, NULL,
	    now_ms());
}

static void check_images(struct checking *c)
{
	int64_t begin = now_ms();
	struct refusal r = { 0 };
	const char *name = text_of(c->params, "image");
	int rc = image_find(c->engine, name, &c->image, &r);

	add(c, "image", "the image is present, for this machine's platform", rc, &r, name, begin);
	begin = now_ms();
	rc = gateway_find(c->engine, &c->gateway, &r);
	add(c, "gateway", "the gateway image is present", rc, &r, text_of(c->gateway, "Id"), begin);
}

static size_t count_ours(struct engine *e, const char *path, const char *filter, size_t *all)
{
	struct reply reply;
	size_t ours = 0, i;
	const json_t *entry;

	engine_ask(e, "GET", path, NULL, ASK_MS, &reply);
	json_array_foreach(reply.json, i, entry) ours +=
	        json_object_get(json_object_get(entry, "Labels"), filter) != NULL;
	*all = json_array_size(reply.json);
	reply_clear(&reply);
	return ours;
}

/* For who wonders where the networks went: what runs now is in it, and so is what could not be removed. */
static void check_objects(struct checking *c)
{
	int64_t begin = now_ms();
	struct refusal r = { 0 };
	size_t networks, containers,
	        our_networks = count_ours(c->engine, "/networks", IMAGE_LABELS "instance", &networks),
	        our_containers =
	                count_ours(c->engine, "/containers/json?all=true", IMAGE_LABELS "instance", &containers);
	cleanup_free char *detail = format("%zu of %zu containers and %zu of %zu networks are Open Conduit's",
	                                   our_containers, containers, our_networks, networks);

	add(c, "objects", "what the engine has", 0, &r, detail, begin);
}

/* Without them nothing can be run, and each already says why. */
static void look(struct checking *c)
{
	check_user(c);
	check_engine(c);
	if (!c->info)
		return;
	check_kernel(c);
	check_mapping(c);
	check_images(c);
	check_objects(c);
}

static void act(struct checking *c)
{
	struct act_result result = { 0 };
	struct refusal r = { 0 };
	int64_t begin = now_ms();
	int rc = act_run(c->params, &result, &r);

	add(c, "run", "a container runs behind its gateway, in the form of a real run", rc, &r,
	    "one run, and nothing is left of it", begin);
	if (rc < 0)
		return;
	rc = act_judge_owner(&result, &r);
	add(c, "owner", "a file written in a container is yours", rc, &r, NULL, begin);
	rc = act_judge_network(&result, &r);
	add(c, "network", "a container reaches its gateway, no outside name and no port of this machine", rc, &r,
	    result.tried, begin);
	act_clear(&result);
}

static json_t *identity(const struct checking *c)
{
	return json_pack("{s:s*, s:s*, s:s*, s:s*, s:s*, s:s*}", "engine", text_of(c->info, "ID"), "version",
	                 c->engine ? engine_version(c->engine) : NULL, "context", text_of(c->params, "context"),
	                 "endpoint", c->endpoint.host, "image", text_of(c->image, "Id"), "gateway",
	                 text_of(c->gateway, "Id"));
}

json_t *check_all(const json_t *params)
{
	struct checking c = { .params = params, .checks = json_array(), .good = true, .added = true };
	json_t *who;

	look(&c);
	if (c.good && c.info)
		act(&c);
	who = identity(&c);
	json_decref(c.image);
	json_decref(c.gateway);
	engine_free(c.engine);
	endpoint_clear(&c.endpoint);
	if (c.added && who)
		return json_pack("{s:o, s:o}", "identity", who, "checks", c.checks);
	json_decref(who);
	json_decref(c.checks);
	return NULL;
}
