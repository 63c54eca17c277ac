/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport.h"
#include "version.h"

#define ASK_MS 25000 /* many plans at once take turns at the processors; a plan has half a minute in all */

struct engine {
	struct transport *transport;
	char *context, *version;
	struct api api;
	json_t *info;
};

/* ---- why it can't be reached ---- */

#define GRANT(names) "\"settings\": {\"extensions\": {\"docker\": {\"pass_env\": [" names "]}}}"

static int refuse_absent(const struct endpoint *e, const char *path, struct refusal *r)
{
	const char *fix = "sudo systemctl start docker";

	if (!strcmp(e->context, "default") && !getenv("DOCKER_HOST") && !getenv("XDG_RUNTIME_DIR"))
		fix = "sudo systemctl start docker  # or, for rootless Docker, grant in the config: " GRANT(
		        "\"XDG_RUNTIME_DIR\"") "; where your CLI needs DOCKER_HOST: " GRANT("\"DOCKER_HOST\"");
	return refuse(r, "sandbox_unavailable", path, fix, "Docker is unreachable by context \"%s\": %s is not there",
	              e->context, path);
}

static int refuse_denied(const struct endpoint *e, const char *path, struct refusal *r)
{
	struct stat st;
	struct group *group = stat(path, &st) == 0 ? getgrgid(st.st_gid) : NULL;
	cleanup_free char *fix = format("sudo usermod -aG %s $(id -un)  # then log in again",
	                                group && st.st_gid != 0 ? group->gr_name : "docker");

	return refuse(r, "sandbox_unavailable", path, fix,
	              "Docker is unreachable by context \"%s\": you may not use %s", e->context, path);
}

static int refuse_unreachable(const struct endpoint *e, const char *why, struct refusal *r)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const char *path = endpoint_socket(e);
	cleanup_fd int fd = path ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;

	if (path)
		(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return refuse_absent(e, path, r);
		if (errno == EACCES || errno == EPERM)
			return refuse_denied(e, path, r);
		if (errno == ECONNREFUSED)
			return refuse(r, "sandbox_unavailable", path, "sudo systemctl restart docker",
			              "Docker is unreachable by context \"%s\": nothing listens at %s", e->context,
			              path);
	}
	return refuse(r, "sandbox_unavailable", e->host, "sudo systemctl restart docker",
	              "Docker is unreachable by context \"%s\": %s", e->context, why ? why : "out of memory");
}

/* ---- opening ---- */

static int negotiate(struct engine *e, const struct endpoint *at, struct refusal *r)
{
	struct request *request = request_begin(e->transport, "GET", "/version", NULL, ASK_MS);
	struct reply reply = { 0 };
	int rc;

	if (!request)
		return no_memory(r);
	request_take(request, &reply);
	if (reply.status != 200)
		rc = refuse_unreachable(at, reply.why, r);
	else
		rc = version_take(reply.json, at->context, &e->api, &e->version, r);
	reply_clear(&reply);
	return rc;
}

int engine_open(const struct endpoint *e, struct engine **out, struct refusal *r)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return no_memory(r);
	engine->transport = transport_new(e);
	engine->context = strdup(e->context);
	if (!engine->transport || !engine->context)
		no_memory(r);
	else if (negotiate(engine, e, r) == 0) {
		*out = engine;
		return 0;
	}
	engine_free(engine);
	return -1;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	transport_free(e->transport);
	json_decref(e->info);
	free(e->context);
	free(e->version);
	free(e);
}

const char *engine_version(const struct engine *e)
{
	return e->version;
}

const char *engine_context(const struct engine *e)
{
	return e->context;
}

const json_t *engine_info(struct engine *e, struct refusal *r)
{
	struct reply reply;

	if (e->info)
		return e->info;
	engine_ask(e, "GET", "/info", NULL, ASK_MS, &reply);
	if (reply.status == 200 && json_is_object(reply.json) && text_of(reply.json, "ID"))
		e->info = json_incref(reply.json);
	else
		refuse(r, "sandbox_unavailable", e->context, "sudo systemctl restart docker",
		       "the engine of context \"%s\" does not describe itself: %s", e->context,
		       reply.why ? reply.why : "its answer has no ID");
	reply_clear(&reply);
	return e->info;
}

static int same(struct engine *engine, const struct endpoint *e, const char *id, struct refusal *r)
{
	const json_t *info = engine_info(engine, r);
	const char *there = text_of(info, "ID");
	cleanup_free char *host = info ? quoted(e->host) : NULL;
	cleanup_free char *fix = host ? format("docker -H %s info --format '{{.ID}}'  # has to be %s", host, id) : NULL;

	if (!info)
		return -1;
	if (!strcmp(there, id))
		return 0;
	return refuse(r, "pin_mismatch", engine->context, fix,
	              "another engine answers where the run is, by context \"%s\" (%s): it is %s, and has to be %s",
	              engine->context, e->host, there, id);
}

int engine_open_pinned(const json_t *endpoint, const char *id, struct engine **out, struct refusal *r)
{
	struct endpoint e = { 0 };
	int rc = endpoint_from_json(endpoint, &e, r);

	if (rc == 0)
		rc = engine_open(&e, out, r);
	if (rc == 0)
		rc = same(*out, &e, id, r);
	endpoint_clear(&e);
	return rc;
}

/* ---- asking ---- */

struct request *engine_begin(struct engine *e, const char *method, const char *path, const json_t *body, int timeout_ms)
{
	cleanup_free char *versioned = format("/v%d.%d%s", e->api.major, e->api.minor, path);

	return versioned ? request_begin(e->transport, method, versioned, body, timeout_ms) : NULL;
}

int engine_poll(struct engine *e, struct pollfd *extra, size_t n, int timeout_ms)
{
	return transport_poll(e->transport, extra, n, timeout_ms);
}

void engine_ask(struct engine *e, const char *method, const char *path, const json_t *body, int timeout_ms,
                struct reply *out)
{
	struct request *request = engine_begin(e, method, path, body, timeout_ms);

	if (request)
		request_take(request, out);
	else
		*out = (struct reply){ .why = strdup("out of memory") };
}
