/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/belt.h"

#include <stdio.h>
#include <string.h>

#include "wire/schema.h"

#define REASON           "sandbox_config"
#define NAME_LONGEST     128
#define TITLE_LONGEST    256
#define DESCRIPTION_MAX  4096
#define INSTRUCTIONS_MAX 8192
#define REQUIRES_MAX     16
#define DEPTH            24 /* with what is around it in a plan and in a message, less than JSON may be nested */

static void add(oc_error **chain, oc_error *one)
{
	oc_error_append(chain, one);
}

static void OC_PRINTF(4, 5) wrong(oc_error **chain, const char *path, const char *fix, const char *fmt, ...)
{
	oc_error *one = NULL;
	va_list ap;

	va_start(ap, fmt);
	oc_error_make(&one, OC_EREFUSED, 0, REASON, path, fix, fmt, ap);
	va_end(ap);
	add(chain, one);
}

static void check_text(oc_error **chain, const char *path, const char *member, const char *text, size_t least,
                       size_t most)
{
	char at[320];

	if (!text || (strlen(text) >= least && strlen(text) <= most))
		return;
	snprintf(at, sizeof(at), "%s.%s", path, member);
	wrong(chain, at, "make it that long", "\"%s\" has %zu to %zu bytes", member, least, most);
}

static void check_name(oc_error **chain, const char *path, const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	char at[256];

	check_text(chain, path, "name", name, 1, NAME_LONGEST);
	if (!name || !name[strspn(name, allowed)])
		return;
	snprintf(at, sizeof(at), "%s.name", path);
	wrong(chain, at, "use letters, digits, \"_\", \".\" and \"-\"", "a tool can't be named that");
}

static void check_schema(oc_error **chain, const char *path, const char *member, const json_t *schema)
{
	oc_error *err = NULL;
	const char *type;
	char at[256];

	if (!schema)
		return;
	snprintf(at, sizeof(at), "%s.%s", path, member);
	if (oc_schema_check(schema, at, REASON, &err) < 0) {
		add(chain, err);
		return;
	}
	type = oc_json_text(schema, "type");
	if (!type || strcmp(type, "object") != 0)
		wrong(chain, at, "write {\"type\": \"object\", \"properties\": { … }}",
		      "what a tool takes or gives is an object");
}

static void check_annotations(oc_error **chain, const char *path, const json_t *annotations)
{
	static const struct oc_json_key keys[] = {
		{ "title", OC_JSON_STRING, false, NULL },         { "readOnlyHint", OC_JSON_BOOL, false, NULL },
		{ "destructiveHint", OC_JSON_BOOL, false, NULL }, { "idempotentHint", OC_JSON_BOOL, false, NULL },
		{ "openWorldHint", OC_JSON_BOOL, false, NULL },
	};
	oc_error *err = NULL;
	char at[256];

	snprintf(at, sizeof(at), "%s.annotations", path);
	if (annotations && oc_json_unpack(annotations, at, REASON, keys, OC_COUNT(keys), &err) < 0)
		add(chain, err);
}

/* Each is in an error that a client gets. */
static void check_requires(oc_error **chain, const char *path, const json_t *requires)
{
	const json_t *name;
	char at[256];
	size_t i;

	snprintf(at, sizeof(at), "%s.requires", path);
	if (json_array_size(requires) > REQUIRES_MAX)
		wrong(chain, at, "require less", "more than %d capabilities", REQUIRES_MAX);
	json_array_foreach(requires, i, name)
	{
		snprintf(at, sizeof(at), "requires[%zu]", i);
		check_text(chain, path, at, json_string_value(name), 1, NAME_LONGEST);
	}
}

static void check_tool(oc_error **chain, const char *path, const json_t *tool)
{
	const char *name = NULL, *title = NULL, *description = NULL;
	json_t *input = NULL, *output = NULL, *annotations = NULL, *requires = NULL;
	const struct oc_json_key keys[] = {
		{ "name", OC_JSON_STRING, true, &name },
		{ "title", OC_JSON_STRING, false, &title },
		{ "description", OC_JSON_STRING, true, &description },
		{ "inputSchema", OC_JSON_OBJECT, true, &input },
		{ "outputSchema", OC_JSON_OBJECT, false, &output },
		{ "annotations", OC_JSON_OBJECT, false, &annotations },
		{ "_meta", OC_JSON_OBJECT, false, NULL },
		{ "requires", OC_JSON_STRINGS, false, &requires },
		{ "hidden", OC_JSON_BOOL, false, NULL },
	};
	oc_error *err = NULL;

	if (oc_json_unpack(tool, path, REASON, keys, OC_COUNT(keys), &err) < 0)
		add(chain, err);
	check_name(chain, path, name);
	check_text(chain, path, "title", title, 1, TITLE_LONGEST);
	check_text(chain, path, "description", description, 1, DESCRIPTION_MAX);
	check_schema(chain, path, "inputSchema", input);
	check_schema(chain, path, "outputSchema", output);
	check_annotations(chain, path, annotations);
	check_requires(chain, path, requires);
}

/* Clients make one name of it that has no dots: what differs in these alone would be one tool there. */
static bool alike(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !(strchr("._", *a) && strchr("._", *b)))
			return false;
	return *a == *b;
}

static void check_alike(oc_error **chain, const json_t *tools, size_t n)
{
	const char *name = oc_json_text(json_array_get(tools, n), "name"), *other;
	char at[64];

	for (size_t i = 0; name && i < n; i++) {
		other = oc_json_text(json_array_get(tools, i), "name");
		if (!other || !alike(name, other))
			continue;
		snprintf(at, sizeof(at), "toolbelt.tools[%zu].name", n);
		wrong(chain, at, "rename one of them",
		      "it is the name of tools[%zu] to a client that writes \"_\" for \".\"", i);
		return;
	}
}

static bool deeper(const json_t *value, int than)
{
	const char *key;
	json_t *item;
	size_t i;

	if (!json_is_object(value) && !json_is_array(value))
		return false;
	if (than == 0)
		return true;
	json_array_foreach(value, i, item)
	{
		if (deeper(item, than - 1))
			return true;
	}
	json_object_foreach((json_t *)value, key, item)
	{
		if (deeper(item, than - 1))
			return true;
	}
	return false;
}

static void check_size(oc_error **chain, const json_t *belt)
{
	oc_error *err = NULL;
	struct oc_buf text;
	int rc;

	oc_buf_init(&text, OC_MCP_BELT);
	rc = oc_json_canonical(belt, &text, &err);
	oc_buf_free(&text);
	if (rc == OC_ELIMIT) {
		oc_error_free(err);
		wrong(chain, "toolbelt", "offer fewer tools, or describe them in fewer words",
		      "it is longer than %u bytes", OC_MCP_BELT);
	} else if (rc < 0) {
		add(chain, err);
	}
}

static void check_tools(oc_error **chain, const json_t *tools)
{
	const json_t *tool;
	char at[64];
	size_t i;

	if (json_array_size(tools) > OC_MCP_TOOLS) {
		wrong(chain, "toolbelt.tools", "offer fewer tools", "there are more than %d", OC_MCP_TOOLS);
		return;
	}
	json_array_foreach(tools, i, tool)
	{
		snprintf(at, sizeof(at), "toolbelt.tools[%zu]", i);
		check_tool(chain, at, tool);
		check_alike(chain, tools, i);
	}
}

int oc_mcp_belt_check(const json_t *belt, oc_error **err)
{
	const char *instructions = NULL;
	json_t *tools = NULL;
	const struct oc_json_key keys[] = {
		{ "instructions", OC_JSON_STRING | OC_JSON_NULL_OK, false, &instructions },
		{ "tools", OC_JSON_ARRAY, true, &tools },
	};
	oc_error *chain = NULL;
	int rc = OC_EREFUSED;

	if (deeper(belt, DEPTH))
		return oc_refuse(err, REASON, "toolbelt", "make it flatter", "it is nested deeper than %d", DEPTH);
	rc = oc_json_unpack(belt, "toolbelt", REASON, keys, OC_COUNT(keys), &chain);
	check_text(&chain, "toolbelt", "instructions", instructions, 0, INSTRUCTIONS_MAX);
	check_tools(&chain, tools);
	check_size(&chain, belt);
	if (rc == 0 && chain)
		rc = oc_error_code(chain) < 0 ? oc_error_code(chain) : OC_EREFUSED;
	if (err)
		*err = chain;
	else
		oc_error_free(chain);
	return rc;
}
