/* SPDX-License-Identifier: Apache-2.0 */
#include "version.h"

#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* What this was written and tried against. */
static const struct api oldest = { 1, 44 }, newest = { 1, 51 };

static int compare(struct api a, struct api b)
{
	return a.major != b.major ? a.major - b.major : a.minor - b.minor;
}

/* A number of at most four digits at *at, which is moved behind it; -1: none. */
static int take_number(const char **at)
{
	size_t len = strspn(*at, "0123456789");
	int number;

	if (len < 1 || len > 4)
		return -1;
	number = atoi(*at);
	*at += len;
	return number;
}

static bool take_api(const char *text, struct api *out)
{
	if (!text)
		return false;
	out->major = take_number(&text);
	if (out->major < 0 || *text++ != '.')
		return false;
	out->minor = take_number(&text);
	return out->minor >= 0 && *text == '\0';
}

/* By its number alone: "28.5.2+dfsg4", "29.0.0-rc.1". */
static int major_of(const char *text)
{
	int major = take_number(&text);

	return *text == '.' ? major : -1;
}

static int refuse_old(const char *context, const char *version, struct refusal *r)
{
	return refuse(r, "sandbox_unavailable", context,
	              "install Docker Engine 28 or later: https://docs.docker.com/engine/install/",
	              "the engine of context \"%s\" is version %s: containers need Docker Engine %d or later", context,
	              version, ENGINE_MIN_MAJOR);
}

int version_take(const json_t *reply, const char *context, struct api *api, char **version, struct refusal *r)
{
	const char *text = text_of(reply, "Version"), *theirs = text_of(reply, "ApiVersion"),
	           *least = text_of(reply, "MinAPIVersion");
	cleanup_free char *look = format("docker --context %s version", context);
	struct api max, min;

	if (!text || major_of(text) < 0 || !take_api(theirs, &max) || !take_api(least, &min))
		return refuse(r, "sandbox_unavailable", context, look,
		              "what answers at context \"%s\" does not say its version as a Docker Engine does",
		              context);
	if (major_of(text) < ENGINE_MIN_MAJOR)
		return refuse_old(context, text, r);
	*api = compare(max, newest) < 0 ? max : newest;
	if (compare(*api, oldest) < 0 || compare(*api, min) < 0)
		return refuse(r, "sandbox_unavailable", context,
		              compare(*api, oldest) < 0 ? "install a current Docker Engine"
		                                        : "install a current Open Conduit",
		              "the engine of context \"%s\" speaks API %s to %s, and this Open Conduit %d.%d to %d.%d",
		              context, least, theirs, oldest.major, oldest.minor, newest.major, newest.minor);
	*version = strdup(text);
	return *version ? 0 : no_memory(r);
}
