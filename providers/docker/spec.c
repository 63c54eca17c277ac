/* SPDX-License-Identifier: Apache-2.0 */
#include "spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool spec_run_valid(const char *run)
{
	size_t len = strlen(run);

	return len >= 8 && len <= 32 && strspn(run, "abcdefghijklmnopqrstuvwxyz0123456789") == len;
}

size_t spec_state(const char *live, const char *run)
{
	size_t n = strlen(live), tail = strlen("/live/") + strlen(run);

	if (live[0] != '/' || !spec_run_valid(run) || n <= tail || strcmp(live + n - strlen(run), run) != 0 ||
	    strncmp(live + n - tail, "/live/", 6) != 0 || strstr(live, "/../") || strstr(live, "//"))
		return 0;
	return n - tail;
}

static int bad(struct refusal *r, const char *name)
{
	return refuse(r, "provider_failed", name, NULL, "the plan's descriptor 3 has no valid %s", name);
}

static int take(struct spec *s, struct refusal *r)
{
	const struct {
		const char *name;
		const char **out;
	} texts[] = {
		{ "run", &s->run },     { "live", &s->live },         { "log", &s->log },
		{ "lock", &s->lock },   { "instance", &s->instance }, { "engine", &s->engine },
		{ "range", &s->range }, { "policy", &s->policy },
	};
	const struct {
		const char *name;
		const json_t **out;
		json_type type;
	} parts[] = {
		{ "endpoint", &s->endpoint, JSON_OBJECT },   { "network", &s->network, JSON_OBJECT },
		{ "egress", &s->egress, JSON_OBJECT },       { "gateway", &s->gateway, JSON_OBJECT },
		{ "container", &s->container, JSON_OBJECT }, { "facts", &s->facts, JSON_OBJECT },
		{ "files", &s->files, JSON_ARRAY },          { "sources", &s->sources, JSON_ARRAY },
	};
	size_t i;

	for (i = 0; i < COUNT(texts); i++)
		if (!(*texts[i].out = text_of(s->json, texts[i].name)))
			return bad(r, texts[i].name);
	for (i = 0; i < COUNT(parts); i++) {
		*parts[i].out = json_object_get(s->json, parts[i].name);
		if (!*parts[i].out || json_typeof(*parts[i].out) != parts[i].type)
			return bad(r, parts[i].name);
	}
	if (json_integer_value(json_object_get(s->json, "version")) != SPEC_VERSION)
		return bad(r, "version");
	if (json_object_size(s->json) != COUNT(texts) + COUNT(parts) + 1)
		return bad(r, "members");
	return spec_state(s->live, s->run) ? 0 : bad(r, "live");
}

int spec_parse(const char *text, size_t len, struct spec *out, struct refusal *r)
{
	json_error_t error;

	*out = (struct spec){ .json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error) };
	if (!out->json)
		return refuse(r, "provider_failed", "spec", NULL, "the plan's descriptor 3 is no JSON: %s", error.text);
	if (take(out, r) == 0)
		return 0;
	spec_clear(out);
	return -1;
}

int spec_read(int fd, struct spec *out, struct refusal *r)
{
	cleanup_free char *text = malloc(SPEC_MAX + 1);
	size_t len = 0;
	ssize_t n = 0;

	*out = (struct spec){ 0 };
	if (!text)
		return no_memory(r);
	/* By its own position, since cleanup is given the same file. */
	while (len <= SPEC_MAX && (n = pread(fd, text + len, SPEC_MAX + 1 - len, (off_t)len)) > 0)
		len += (size_t)n;
	if (n < 0 || len > SPEC_MAX)
		return refuse(r, "provider_failed", "spec", NULL, "descriptor 3 can't be read: %s",
		              n < 0 ? strerror(errno) : "it is too long");
	return spec_parse(text, len, out, r);
}

void spec_clear(struct spec *s)
{
	json_decref(s->json);
	*s = (struct spec){ 0 };
}
