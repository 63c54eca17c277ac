/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define ASK_MS 30000
#define BUILD_FIX                                                                                                      \
	"meson compile -C build gateway-image  # then export " IMAGE_VARIABLE "=sha256:… as it prints, where the "   \
	"daemon runs"

/* ---- names ---- */

static bool is_digest(const char *text)
{
	return !strncmp(text, "sha256:", 7) && strlen(text) == 7 + 64 && strspn(text + 7, "0123456789abcdef") == 64;
}

/* What can neither leave its place in a request's path nor be more than one word to a shell, and has no tag: which names
 * there are is the library's to say, and the registry's. */
static bool is_repository(const char *text, size_t len)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:";
	const char *colon;

	if (len == 0 || len > IMAGE_NAME_MAX || strspn(text, letters) < len || strchr("._-/:", text[0]) ||
	    strchr("._-/:", text[len - 1]))
		return false;
	for (size_t i = 0; i + 1 < len; i++)
		if ((text[i] == '/' && strchr("/.", text[i + 1])) || (text[i] == '.' && strchr("/.", text[i + 1])))
			return false;
	/* A colon is a registry's port. */
	colon = memrchr(text, ':', len);
	return !colon || memchr(colon, '/', (size_t)(text + len - colon));
}

bool image_name_valid(const char *name)
{
	const char *at = strchr(name, '@');

	return at && is_repository(name, (size_t)(at - name)) && is_digest(at + 1);
}

const char *image_architecture(void)
{
	static const char *const names[][2] = { { "x86_64", "amd64" }, { "aarch64", "arm64" } };
	struct utsname u;

	if (uname(&u) < 0)
		return NULL;
	for (size_t i = 0; i < COUNT(names); i++)
		if (!strcmp(u.machine, names[i][0]))
			return names[i][1];
	return NULL;
}

/* ---- what the engine says of one ---- */

static int check_platform(const char *name, const json_t *inspect, struct refusal *r)
{
	const char *os = text_of(inspect, "Os"), *arch = text_of(inspect, "Architecture"), *here = image_architecture();
	cleanup_free char *fix = format("docker buildx imagetools inspect %s  # lists the digests by platform", name);

	if (os && arch && here && !strcmp(os, "linux") && !strcmp(arch, here))
		return 0;
	return refuse(r, "sandbox_unavailable", name, fix, "image %s is for %s/%s, and this machine runs linux/%s",
	              name, os ? os : "?", arch ? arch : "?", here ? here : "?");
}

static int check_labels(const char *name, const json_t *inspect, struct refusal *r)
{
	json_t *labels = json_object_get(json_object_get(inspect, "Config"), "Labels"), *value;
	cleanup_free char *fix = format(
	        "docker image inspect -f '{{json .Config.Labels}}' %s  # build it without " IMAGE_LABELS "*", name);
	const char *key;

	json_object_foreach(labels, key, value) if (!strncmp(key, IMAGE_LABELS, strlen(IMAGE_LABELS))) return refuse(
	        r, "sandbox_unavailable", name, fix,
	        "image %s carries the label %s: those of " IMAGE_LABELS "* tell Open Conduit's own "
	        "containers from others'",
	        name, key);
	return 0;
}

/* The engine resolved the name; that it is by this digest is seen here. */
static bool has_digest(const json_t *inspect, const char *digest)
{
	const json_t *list = json_object_get(inspect, "RepoDigests"), *entry;
	const char *id = text_of(inspect, "Id");
	size_t i;

	json_array_foreach(list, i, entry)
	{
		const char *text = json_string_value(entry), *at = text ? strchr(text, '@') : NULL;

		if (at && !strcmp(at + 1, digest))
			return true;
	}
	return id && !strcmp(id, digest);
}

/* 0 with *inspect NULL: the engine has none. */
static int ask(struct engine *e, const char *name, json_t **inspect, struct refusal *r)
{
	cleanup_free char *path = format("/images/%s/json", name),
	                  *look = format("docker --context %s image inspect %s", engine_context(e), name);
	const char *at = strchr(name, '@');
	struct reply reply;
	int rc = 0;

	if (!path)
		return no_memory(r);
	engine_ask(e, "GET", path, NULL, ASK_MS, &reply);
	*inspect = NULL;
	if (reply.status == 200 && json_is_object(reply.json) && text_of(reply.json, "Id") &&
	    has_digest(reply.json, at ? at + 1 : name))
		*inspect = json_incref(reply.json);
	else if (reply.status == 200)
		rc = refuse(r, "sandbox_unavailable", name, look, "the engine answers for image %s with another one",
		            name);
	else if (reply.status != 404)
		rc = refuse(r, "sandbox_unavailable", name, "open-conduit doctor",
		            "the engine of context \"%s\" can't tell of image %s: %s", engine_context(e), name,
		            reply.why ? reply.why : "no answer");
	reply_clear(&reply);
	return rc;
}

static int check(const char *name, json_t **inspect, struct refusal *r)
{
	if (check_platform(name, *inspect, r) == 0 && check_labels(name, *inspect, r) == 0)
		return 0;
	json_decref(*inspect);
	*inspect = NULL;
	return -1;
}

int image_find(struct engine *e, const char *name, json_t **inspect, struct refusal *r)
{
	cleanup_free char *pull = format("docker --context %s pull %s", engine_context(e), name);

	if (!image_name_valid(name))
		return refuse(r, "sandbox_unavailable", name,
		              "docker inspect --format '{{index .RepoDigests 0}}' IMAGE  # prints what to write",
		              "\"%s\" is no image by digest: name@sha256:…, without a tag", name);
	if (ask(e, name, inspect, r) < 0)
		return -1;
	if (!*inspect)
		return refuse(r, "sandbox_unavailable", name, pull, "the engine of context \"%s\" has no image %s",
		              engine_context(e), name);
	return check(name, inspect, r);
}

static int no_gateway(struct engine *e, const char *name, bool set, struct refusal *r)
{
	cleanup_free char *pull = format("docker --context %s pull %s", engine_context(e), name);

	return refuse(r, "sandbox_unavailable", set ? IMAGE_VARIABLE : name, strchr(name, '@') ? pull : BUILD_FIX,
	              "the gateway image is missing: the engine of context \"%s\" has no image %s", engine_context(e),
	              name);
}

int gateway_find(struct engine *e, json_t **inspect, struct refusal *r)
{
	const char *set = getenv(IMAGE_VARIABLE), *name = set && set[0] ? set : OC_GATEWAY_IMAGE;

	if (!name[0])
		return refuse(r, "sandbox_unavailable", IMAGE_VARIABLE, BUILD_FIX,
		              "the gateway image is missing: this build pins none, and " IMAGE_VARIABLE " is not set");
	if (!is_digest(name) && !image_name_valid(name))
		return refuse(r, "sandbox_unavailable", IMAGE_VARIABLE, BUILD_FIX,
		              IMAGE_VARIABLE " is no image ID (sha256:…) and no name@sha256:…: %s", name);
	if (ask(e, name, inspect, r) < 0)
		return -1;
	return *inspect ? check(name, inspect, r) : no_gateway(e, name, name == set, r);
}
