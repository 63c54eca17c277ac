/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the toolbelt that says anything.  The first byte says how calls are answered and in what pieces the rest comes:
 * what we say is the same for any pieces, each line of it a message, each call one of a tool, with arguments that fit it. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "guard/mcp.h"
#include "wire/message.h"
#include "wire/schema.h"

enum { AT_ONCE = 1, PROGRESS = 2, FAIL = 4, NEVER = 8, PIECES = 16 };

static const char belt_text[] =
        "{\"instructions\":\"i\",\"tools\":[{\"name\":\"echo\",\"description\":\"d\",\"inputSchema\":{\"type\":"
        "\"object\",\"required\":"
        "[\"text\"],\"additionalProperties\":false,\"properties\":{\"text\":{\"type\":\"string\",\"minLength\":1,"
        "\"maxLength\":9},"
        "\"n\":{\"type\":\"integer\",\"minimum\":-5,\"maximum\":5},\"b\":{\"type\":\"boolean\"},\"e\":{\"type\":"
        "\"string\",\"enum\":"
        "[\"x\",\"y\"]},\"l\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"k\":{\"type\":"
        "\"integer\"}}}}}}},"
        "{\"name\":\"any\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"},\"requires\":[\"sampling\"]},"
        "{\"name\":\"unseen\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"},\"hidden\":true}]}";

struct world {
	const json_t *belt;
	struct oc_mcp *m;
	unsigned mode;
	struct oc_buf out;
	uint64_t last, waiting[OC_MCP_CALLS];
	size_t n, calls, cancelled;
	json_t *result;
};

static int on_send(void *arg, const void *line, size_t len)
{
	struct world *w = arg;
	const char *text = line;
	const json_t *tools;
	json_t *json = NULL;

	FUZZ_CHECK(len > 2 && text[len - 1] == '\n' && !memchr(text, '\n', len - 1));
	FUZZ_CHECK(oc_json_parse(text, len, OC_MCP_SENT + 8192, "answer", &json, NULL) == 0);
	FUZZ_CHECK(json_is_object(json) || json_array_size(json));
	tools = json_object_get(json_object_get(json, "result"), "tools");
	FUZZ_CHECK(!tools || json_array_size(tools) == 2);
	json_decref(json);
	FUZZ_CHECK(oc_buf_add(&w->out, line, len) == 0);
	return 0;
}

static const json_t *schema_of(const json_t *belt, const char *name)
{
	const json_t *tool;
	size_t i;

	json_array_foreach(json_object_get(belt, "tools"), i, tool)
	{
		if (strcmp(oc_json_text(tool, "name"), name) == 0)
			return json_object_get(tool, "inputSchema");
	}
	return NULL;
}

static void answer(struct world *w, uint64_t ticket)
{
	if (w->mode & PROGRESS) {
		oc_mcp_progress(w->m, ticket, 1, 2, "m");
		oc_mcp_progress(w->m, ticket, 1, 2, "m");
	}
	if (w->mode & FAIL)
		oc_mcp_fail(w->m, ticket, "f");
	else
		oc_mcp_answer(w->m, ticket, w->result);
}

static void on_call(void *arg, uint64_t ticket, const char *name, const json_t *arguments)
{
	struct world *w = arg;
	struct oc_buf why;

	FUZZ_CHECK(ticket == w->last + 1 && w->n < OC_MCP_CALLS);
	w->last = ticket;
	w->calls++;
	oc_buf_init(&why, 1024);
	FUZZ_CHECK(schema_of(w->belt, name) && oc_schema_fits(schema_of(w->belt, name), arguments, "a", &why) == 0);
	oc_buf_free(&why);
	if (w->mode & AT_ONCE)
		answer(w, ticket);
	else
		w->waiting[w->n++] = ticket;
}

static void on_cancelled(void *arg, uint64_t ticket)
{
	struct world *w = arg;
	size_t i = 0;

	while (i < w->n && w->waiting[i] != ticket)
		i++;
	FUZZ_CHECK(i < w->n);
	w->waiting[i] = w->waiting[--w->n];
	w->cancelled++;
}

static void play(struct world *w, const uint8_t *data, size_t size, size_t piece)
{
	static const struct oc_mcp_ops ops = { on_send, on_call, on_cancelled };
	int rc = 0;

	oc_buf_init(&w->out, 256u << 20);
	FUZZ_CHECK(oc_mcp_new(w->belt, &ops, w, &w->m) == 0);
	for (size_t at = 0; at < size && rc == 0; at += piece)
		rc = oc_mcp_feed(w->m, data + at, OC_MIN(piece, size - at));
	FUZZ_CHECK(rc == 0 || rc == OC_ELIMIT);
	FUZZ_CHECK(oc_mcp_pending(w->m) == w->n);
	while (w->n && !(w->mode & NEVER))
		answer(w, w->waiting[--w->n]);
	FUZZ_CHECK((w->mode & NEVER) || oc_mcp_pending(w->m) == 0);
	oc_mcp_free(w->m);
	/* Less would not do, and more would be a way to make us grow. */
	FUZZ_CHECK(w->out.len <= size * 512);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* One for all inputs: nothing may change them. */
	static json_t *belt, *result;
	struct world a = { 0 }, b;

	if (size < 1 || size > 65536)
		return 0;
	if (!belt) {
		FUZZ_CHECK(oc_json_parse(belt_text, strlen(belt_text), OC_JSON_MAX, "belt", &belt, NULL) == 0);
		FUZZ_CHECK((result = json_pack("{s:[], s:{s:i}}", "content", "structuredContent", "a", 1)) != NULL);
	}
	a.belt = belt;
	a.result = result;
	a.mode = data[0];
	b = a;
	play(&a, data + 1, size - 1, size);
	play(&b, data + 1, size - 1, 1 + a.mode / PIECES * 7);
	FUZZ_CHECK(a.out.len == b.out.len && a.calls == b.calls && a.cancelled == b.cancelled);
	FUZZ_CHECK(!a.out.len || memcmp(a.out.data, b.out.data, a.out.len) == 0);
	oc_buf_free(&a.out);
	oc_buf_free(&b.out);
	return 0;
}
