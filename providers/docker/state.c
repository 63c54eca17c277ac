/* SPDX-License-Identifier: Apache-2.0 */
/* A run whose launch command is gone, from its plan and what it recorded. */
#include "state.h"

#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "cleanup.h"
#include "common/files.h"
#include "create.h"
#include "spec.h"

#define PLAN_MAX (16u << 20)

/* The text of descriptor 3, as the plan has it; new. */
static char *spec_of(const char *run, const char *live, struct refusal *r)
{
	size_t n = spec_state(live, run), i;
	cleanup_free char *path = n ? format("%.*s/runs/%s/plan.json", (int)n, live, run) : NULL;
	cleanup_free char *text = path ? read_small(path, PLAN_MAX) : NULL;
	cleanup_json json_t *plan = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const json_t *file;

	json_array_foreach(json_object_get(json_object_get(plan, "launch"), "files"), i, file)
	{
		if (json_integer_value(json_object_get(file, "fd")) == 3 && text_of(file, "text"))
			return strdup(text_of(file, "text"));
	}
	refuse(r, "provider_failed", live, NULL, "%s is not the directory of run %s, or its plan can't be read", live,
	       run);
	return NULL;
}

/* By our labels: an answer to a question, never a reason to remove something. */
static const char *ask_state(struct engine *e, const char *run)
{
	cleanup_json json_t *list = NULL;
	cleanup_free char *filters =
	        format("{\"label\":[\"" CREATE_LABEL "run=%s\",\"" CREATE_LABEL "role=container\"]}", run);
	cleanup_free char *escaped = filters ? engine_escape(filters) : NULL;
	cleanup_free char *path = escaped ? format("/containers/json?all=1&filters=%s", escaped) : NULL;
	struct refusal r = { 0 };
	const char *state = "none";
	const json_t *item;
	size_t i;

	if (!path || ask(e, "GET", path, NULL, "listing containers", &list, &r) < 0)
		state = "unknown";
	json_array_foreach(list, i, item)
	{
		const char *said = text_of(item, "State");
		bool over = said && (!strcmp(said, "exited") || !strcmp(said, "dead") || !strcmp(said, "created"));

		if (!over)
			state = "running";
		else if (strcmp(state, "running") != 0)
			state = "exited";
	}
	refusal_clear(&r);
	return state;
}

static int find_endpoint(const char *run, const char *live, struct endpoint *out, struct refusal *r)
{
	cleanup_free char *text = live ? spec_of(run, live, r) : NULL;
	struct spec s;
	int rc;

	if (!live)
		return endpoint_find("default", out, r);
	if (!text || spec_parse(text, strlen(text), &s, r) < 0)
		return -1;
	rc = endpoint_from_json(s.endpoint, out, r);
	spec_clear(&s);
	return rc;
}

const char *state_of(const char *run, const char *live)
{
	struct endpoint endpoint = { 0 };
	struct engine *engine = NULL;
	struct refusal r = { 0 };
	const char *state = "unknown";

	if (find_endpoint(run, live, &endpoint, &r) == 0 && engine_open(&endpoint, &engine, &r) == 0)
		state = ask_state(engine, run);
	if (!live && !strcmp(state, "none"))
		state = "unknown";
	engine_free(engine);
	endpoint_clear(&endpoint);
	refusal_clear(&r);
	return state;
}

int state_cleanup(const char *run, const char *live, struct refusal *r)
{
	cleanup_free char *text = spec_of(run, live, r);
	bool unasked;

	return text ? cleanup_spec(text, strlen(text), &unasked, r) : -1;
}
