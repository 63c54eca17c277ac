/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "suite.h"
#include "wire/belt.h"

static const char good_text[] =
        "{\"instructions\":\"i\",\"tools\":[{\"name\":\"work.get-1_A\",\"title\":\"t\","
        "\"description\":\"d\",\"inputSchema\":"
        "{\"type\":\"object\"},\"outputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{"
        "\"type\":\"string\"}}},\"annotations\":"
        "{\"title\":\"t\",\"readOnlyHint\":true,\"destructiveHint\":false,\"idempotentHint\":"
        "true,\"openWorldHint\":false},"
        "\"_meta\":{\"anthropic/alwaysLoad\":true},\"requires\":[\"sampling\"],\"hidden\":true},"
        "{\"name\":\"other\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"}}]}";

static json_t *json_of(const char *text)
{
	json_t *json = NULL;

	ck_assert_msg(oc_json_parse(text, strlen(text), OC_JSON_MAX, "test", &json, NULL) == 0, "%s", text);
	return json;
}

/* Refused, and an error of the chain is about that path. */
static void refused(json_t *belt, const char *path)
{
	oc_error *err = NULL;
	bool found = false;

	ck_assert_msg(oc_mcp_belt_check(belt, &err) == OC_EREFUSED, "%s", path);
	for (const oc_error *e = err; e; e = oc_error_next(e)) {
		ck_assert_str_eq(oc_error_reason(e), "sandbox_config");
		ck_assert_ptr_nonnull(oc_error_fix(e));
		found |= strcmp(oc_error_subject(e), path) == 0;
	}
	ck_assert_msg(found, "want %s, got %s: %s", path, oc_error_subject(err), oc_error_message(err));
	oc_error_free(err);
	ck_assert_int_eq(oc_mcp_belt_check(belt, NULL), OC_EREFUSED);
}

START_TEST(test_taken)
{
	static const char *const good[] = { good_text, "{\"tools\":[]}", "{\"instructions\":null,\"tools\":[]}" };

	for (size_t i = 0; i < OC_COUNT(good); i++) {
		json_t *belt = json_of(good[i]);
		oc_error *err = NULL;

		ck_assert_msg(oc_mcp_belt_check(belt, &err) == 0, "%s: %s", good[i], oc_error_message(err));
		json_decref(belt);
	}
}
END_TEST

START_TEST(test_refused)
{
	static const struct {
		const char *belt, *path;
	} bad[] = {
		{ "[]", "toolbelt" },
		{ "7", "toolbelt" },
		{ "{}", "toolbelt.tools" },
		{ "{\"tools\":{}}", "toolbelt.tools" },
		{ "{\"tools\":[],\"tool\":[]}", "toolbelt.tool" },
		{ "{\"tools\":[],\"instructions\":7}", "toolbelt.instructions" },
		{ "{\"tools\":[7]}", "toolbelt.tools[0]" },
		{ "{\"tools\":[{}]}", "toolbelt.tools[0].name" },
		{ "{\"tools\":[{}]}", "toolbelt.tools[0].description" },
		{ "{\"tools\":[{}]}", "toolbelt.tools[0].inputSchema" },
		{ "{\"tools\":[{\"name\":\"\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"}}]}",
		  "toolbelt.tools[0].name" },
		{ "{\"tools\":[{\"name\":\"a b\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"}}]}",
		  "toolbelt.tools[0].name" },
		{ "{\"tools\":[{\"name\":\"a/b\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"}}]}",
		  "toolbelt.tools[0].name" },
		{ "{\"tools\":[{\"name\":\"\xc3\xa9\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"}}]}",
		  "toolbelt.tools[0].name" },
		{ "{\"tools\":[{\"name\":\"a\\u0000\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"}}]}",
		  "toolbelt.tools[0].name" },
		{ "{\"tools\":[{\"name\":\"a\",\"description\":\"\",\"inputSchema\":{\"type\":\"object\"}}]}",
		  "toolbelt.tools[0].description" },
		{ "{\"tools\":[{\"name\":\"a\",\"description\":\"d\",\"inputSchema\":{\"type\":\"string\"}}]}",
		  "toolbelt.tools[0].inputSchema" },
		{ "{\"tools\":[{\"name\":\"a\",\"description\":\"d\",\"inputSchema\":{}}]}",
		  "toolbelt.tools[0].inputSchema.type" },
		{ "{\"tools\":[{\"name\":\"a\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\",\"oneOf\":[]}"
		  "}]}",
		  "toolbelt.tools[0].inputSchema.oneOf" },
		{ "{\"tools\":[{\"name\":\"a\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"},"
		  "\"outputSchema\":{\"type\":\"array\"}}]}",
		  "toolbelt.tools[0].outputSchema" },
		{ "{\"tools\":[{\"name\":\"a\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"},"
		  "\"annotations\":{\"readOnly\":true}}]}",
		  "toolbelt.tools[0].annotations.readOnly" },
		{ "{\"tools\":[{\"name\":\"a\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"},"
		  "\"hidden\":1}]}",
		  "toolbelt.tools[0].hidden" },
		{ "{\"tools\":[{\"name\":\"a\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"},"
		  "\"requires\":[7]}]}",
		  "toolbelt.tools[0].requires[0]" },
		{ "{\"tools\":[{\"name\":\"a\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"},"
		  "\"requires\":[\"a\",\"\"]}]}",
		  "toolbelt.tools[0].requires[1]" },
		{ "{\"tools\":[{\"name\":\"a\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"},"
		  "\"requires\":"
		  "[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\",\"13\",\"14\",\"15\","
		  "\"16\",\"17\"]}]}",
		  "toolbelt.tools[0].requires" },
		{ "{\"tools\":[{\"name\":\"a\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"},\"input_"
		  "schema\":{}}]}",
		  "toolbelt.tools[0].input_schema" },
	};

	for (size_t i = 0; i < OC_COUNT(bad); i++) {
		json_t *belt = json_of(bad[i].belt);

		refused(belt, bad[i].path);
		json_decref(belt);
	}
}
END_TEST

static json_t *with_names(const char *a, const char *b)
{
	return json_pack("{s:[{s:s,s:s,s:{s:s}},{s:s,s:s,s:{s:s}}]}", "tools", "name", a, "description", "d",
	                 "inputSchema", "type", "object", "name", b, "description", "d", "inputSchema", "type",
	                 "object");
}

/* Names that one client or another would take for the same. */
START_TEST(test_duplicates)
{
	static const struct {
		const char *a, *b;
		bool same;
	} names[] = {
		{ "a", "a", true },      { "a.b", "a_b", true },   { "a_b.c", "a.b_c", true }, { "a", "b", false },
		{ "a.b", "a-b", false }, { "a.b", "a.bc", false }, { "a.", "a", false },       { "A", "a", false },
	};

	for (size_t i = 0; i < OC_COUNT(names); i++) {
		json_t *belt = with_names(names[i].a, names[i].b);

		if (names[i].same)
			refused(belt, "toolbelt.tools[1].name");
		else
			ck_assert_msg(oc_mcp_belt_check(belt, NULL) == 0, "%s %s", names[i].a, names[i].b);
		json_decref(belt);
	}
}
END_TEST

static json_t *of_size(size_t name, size_t title, size_t description, size_t instructions)
{
	json_t *belt = json_of(good_text), *tool = json_array_get(json_object_get(belt, "tools"), 0);
	char *text = malloc(10001);

	memset(text, 'x', 10000);
	json_object_set_new(tool, "name", json_stringn(text, name));
	json_object_set_new(tool, "title", json_stringn(text, title));
	json_object_set_new(tool, "description", json_stringn(text, description));
	json_object_set_new(belt, "instructions", json_stringn(text, instructions));
	free(text);
	return belt;
}

START_TEST(test_sizes)
{
	static const struct {
		size_t name, title, description, instructions;
		const char *path;
	} sizes[] = {
		{ 128, 256, 4096, 8192, NULL },
		{ 129, 256, 4096, 8192, "toolbelt.tools[0].name" },
		{ 128, 257, 4096, 8192, "toolbelt.tools[0].title" },
		{ 128, 256, 4097, 8192, "toolbelt.tools[0].description" },
		{ 128, 256, 4096, 8193, "toolbelt.instructions" },
		{ 1, 1, 1, 0, NULL },
		{ 1, 0, 1, 0, "toolbelt.tools[0].title" },
	};

	for (size_t i = 0; i < OC_COUNT(sizes); i++) {
		json_t *belt = of_size(sizes[i].name, sizes[i].title, sizes[i].description, sizes[i].instructions);

		if (sizes[i].path)
			refused(belt, sizes[i].path);
		else
			ck_assert_int_eq(oc_mcp_belt_check(belt, NULL), 0);
		json_decref(belt);
	}
}
END_TEST

static json_t *many(int n, size_t description)
{
	json_t *belt = json_of("{\"tools\":[]}"), *tools = json_object_get(belt, "tools");
	char *text = malloc(description), name[16];

	memset(text, 'x', description);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		json_array_append_new(tools, json_pack("{s:s,s:s%,s:{s:s}}", "name", name, "description", text,
		                                       description, "inputSchema", "type", "object"));
	}
	free(text);
	return belt;
}

START_TEST(test_whole)
{
	json_t *belt = many(OC_MCP_TOOLS, 100);

	ck_assert_int_eq(oc_mcp_belt_check(belt, NULL), 0);
	json_decref(belt);
	refused(belt = many(OC_MCP_TOOLS + 1, 100), "toolbelt.tools");
	json_decref(belt);
	refused(belt = many(70, 4000), "toolbelt");
	json_decref(belt);
	for (int depth = 10; depth < 40; depth += 20) {
		json_t *deep = json_object();

		for (int i = 0; i < depth; i++)
			deep = json_pack("{s:o}", "x", deep);
		belt = json_of(good_text);
		json_object_set_new(json_array_get(json_object_get(belt, "tools"), 0), "_meta", deep);
		if (depth > 20)
			refused(belt, "toolbelt");
		else
			ck_assert_int_eq(oc_mcp_belt_check(belt, NULL), 0);
		json_decref(belt);
	}
}
END_TEST

static int check(void *userdata)
{
	oc_error *err = NULL;
	int rc = oc_mcp_belt_check(userdata, &err);

	oc_error_free(err);
	return rc;
}

START_TEST(test_no_memory)
{
	json_t *belt = json_of(good_text);

	ck_assert_int_gt(alloc_fail_each(check, belt, 0), 2);
	json_decref(belt);
}
END_TEST

SUITE_MAIN("belt", test_taken, test_refused, test_duplicates, test_sizes, test_whole, test_no_memory)
