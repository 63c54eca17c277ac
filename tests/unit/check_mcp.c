/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "guard/mcp.h"
#include "suite.h"

#define META                                                                                                           \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                       \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define SERVER                                                                                                         \
	"\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"open-conduit\","    \
	"\"version\":\"" OC_VERSION "\"}}"
#define VERSIONS "[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\",\"2024-11-05\"]"
#define TOOLS                                                                                                          \
	"\"tools\":[{\"description\":\"Says it\",\"inputSchema\":{\"additionalProperties\":false,\"properties\":"      \
	"{\"n\":{\"maximum\":9,\"type\":\"integer\"},\"text\":{\"type\":\"string\"}},\"required\":[\"text\"],"         \
	"\"type\":\"object\"},\"name\":\"echo\"},{\"description\":\"Asks\",\"inputSchema\":{\"type\":\"object\"},"     \
	"\"name\":\"ask\"}]"

static const char belt_text[] =
        "{\"instructions\":\"Be kind.\",\"tools\":["
        "{\"name\":\"echo\",\"description\":\"Says it\",\"inputSchema\":{\"type\":\"object\",\"required\":[\"text\"],"
        "\"properties\":{\"text\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\",\"maximum\":9}},"
        "\"additionalProperties\":false}},"
        "{\"name\":\"ask\",\"description\":\"Asks\",\"inputSchema\":{\"type\":\"object\"},\"requires\":[\"sampling\"]}]"
        "}";

/* A client and what happened to it. */
struct client {
	json_t *belt;
	struct oc_mcp *m;
	struct oc_buf out, events; /* sent; "call 1 echo {…}\n", "cancelled 1\n" */
	int refuse;                /* what send returns */
	const char *at_once;       /* calls are answered inside with this result */
};

static int on_send(void *arg, const void *line, size_t len)
{
	struct client *c = arg;

	ck_assert_msg(len && ((const char *)line)[len - 1] == '\n' && !memchr(line, '\n', len - 1), "one line");
	if (c->refuse)
		return c->refuse;
	ck_assert_int_eq(oc_buf_add(&c->out, line, len), 0);
	return 0;
}

static void on_call(void *arg, uint64_t ticket, const char *name, const json_t *arguments)
{
	struct client *c = arg;
	struct oc_buf text;

	oc_buf_init(&text, OC_JSON_MAX);
	ck_assert_int_eq(oc_json_canonical(arguments, &text, NULL), 0);
	ck_assert_int_eq(oc_buf_printf(&c->events, "call %llu %s %s\n", (unsigned long long)ticket, name, text.data),
	                 0);
	oc_buf_free(&text);
	if (c->at_once) {
		json_t *result = json_loads(c->at_once, 0, NULL);

		oc_mcp_answer(c->m, ticket, result);
		json_decref(result);
	}
}

static void on_cancelled(void *arg, uint64_t ticket)
{
	ck_assert_int_eq(oc_buf_printf(&((struct client *)arg)->events, "cancelled %llu\n", (unsigned long long)ticket),
	                 0);
}

static const struct oc_mcp_ops ops = { on_send, on_call, on_cancelled };

static void client_open(struct client *c)
{
	memset(c, 0, sizeof(*c));
	oc_buf_init(&c->out, 64u << 20);
	oc_buf_init(&c->events, 1u << 20);
	c->belt = json_loads(belt_text, 0, NULL);
	ck_assert_ptr_nonnull(c->belt);
	ck_assert_int_eq(oc_mcp_belt_check(c->belt, NULL), 0);
	ck_assert_int_eq(oc_mcp_new(c->belt, &ops, c, &c->m), 0);
}

static void client_close(struct client *c)
{
	oc_mcp_free(c->m);
	json_decref(c->belt);
	oc_buf_free(&c->out);
	oc_buf_free(&c->events);
}

static void clear(struct oc_buf *b)
{
	oc_buf_consume(b, b->len);
}

static const char *text_of(const struct oc_buf *b)
{
	return b->data ? b->data : "";
}

/* What comes back for these lines, and nothing of what came before. */
static const char *say(struct client *c, const char *lines)
{
	clear(&c->out);
	ck_assert_int_eq(oc_mcp_feed(c->m, lines, strlen(lines)), 0);
	return text_of(&c->out);
}

static void answer(struct client *c, uint64_t ticket, const char *result)
{
	json_t *json = json_loads(result, JSON_DECODE_ANY, NULL);

	ck_assert_ptr_nonnull(json);
	clear(&c->out);
	ck_assert_int_eq(oc_mcp_answer(c->m, ticket, json), 0);
	json_decref(json);
}

static void legacy(struct client *c, const char *version)
{
	char text[512];

	snprintf(text, sizeof(text),
	         "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\","
	         "\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n"
	         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
	         version);
	say(c, text);
}

/* {in, out} pairs, each to the same client. */
struct pair {
	const char *in, *out;
};
static void pairs(struct client *c, const struct pair *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *got = say(c, p[i].in);

		ck_assert_msg(strcmp(got, p[i].out) == 0, "for %sgot %swant %s", p[i].in, got, p[i].out);
	}
}

#define REQ(id, method)     "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\"}\n"
#define REQP(id, method, p) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" p "}}\n"
#define NOTE(method, p)     "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":{" p "}}\n"
#define RES(id, r)          "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{" r "}}\n"
#define ERR(id, code, message)                                                                                         \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" message "\"}}\n"
#define CALL(id, name, more) REQP(id, "tools/call", "\"name\":\"" name "\"" more)
#define ECHO(id)             CALL(id, "echo", ",\"arguments\":{\"text\":\"x\"}")
#define TOOL_ERROR(text)     "\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":true"
#define INIT(id, version)    REQP(id, "initialize", "\"protocolVersion\":\"" version "\"")
#define INIT_RES(id, version)                                                                                          \
	RES(id, "\"protocolVersion\":\"" version "\",\"capabilities\":{\"tools\":{}},\"serverInfo\":"                  \
	        "{\"name\":\"open-conduit\",\"version\":\"" OC_VERSION "\"},\"instructions\":\"Be kind.\"")

START_TEST(test_legacy)
{
	static const struct pair p[] = {
		{ REQ("1", "ping"), RES("1", "") }, /* before initialize: be lenient */
		{ INIT("0", "2025-11-25"), INIT_RES("0", "2025-11-25") },
		{ INIT("\"a\"", "2024-11-05"), INIT_RES("\"a\"", "2024-11-05") },
		{ INIT("1", "2025-06-18"), INIT_RES("1", "2025-06-18") },
		{ INIT("1", "2025-03-26"), INIT_RES("1", "2025-03-26") },
		{ INIT("2", "2026-07-28"), INIT_RES("2", "2025-11-25") },
		{ INIT("3", "1999-01-01"), INIT_RES("3", "2025-11-25") },
		{ REQ("4", "initialize"), ERR("4", "-32602", "Invalid params: \\\"protocolVersion\\\" is no text") },
		{ NOTE("notifications/initialized", ""), "" },
		{ REQ("\"p\"", "ping"), RES("\"p\"", "") },
		{ REQ("5", "tools/list"), RES("5", TOOLS) },
		{ REQP("6", "tools/list", "\"cursor\":\"\""), ERR("6", "-32602", "Invalid params: Invalid cursor") },
		{ REQP("6", "tools/list", "\"cursor\":\"n\""), ERR("6", "-32602", "Invalid params: Invalid cursor") },
		{ REQP("6", "tools/list", "\"cursor\":7"), ERR("6", "-32602", "Invalid params: Invalid cursor") },
		{ REQ("7", "resources/list"), ERR("7", "-32601", "Method not found: resources/list") },
		{ REQ("7", "logging/setLevel"), ERR("7", "-32601", "Method not found: logging/setLevel") },
		{ NOTE("notifications/nosuch", ""), "" },
		{ NOTE("tools/call", "\"name\":\"echo\""), "" }, /* a notification is none of a request */
	};
	struct client c;

	client_open(&c);
	pairs(&c, p, OC_COUNT(p));
	ck_assert_str_eq(text_of(&c.events), "");
	client_close(&c);
}
END_TEST

START_TEST(test_modern)
{
	static const struct pair p[] = {
		{ REQP("\"server-discover-probe-1\"", "server/discover", META),
		  RES("\"server-discover-probe-1\"",
		      SERVER ",\"capabilities\":{\"tools\":{}},\"ttlMs\":3600000,\"cacheScope\":\"private\","
		             "\"supportedVersions\":" VERSIONS ",\"instructions\":\"Be kind.\"") },
		{ REQ("1", "server/discover"),
		  ERR("1", "-32602", "Invalid params: _meta lacks io.modelcontextprotocol/protocolVersion") },
		{ REQP("1", "tools/list", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"),
		  ERR("1", "-32602", "Invalid params: _meta lacks io.modelcontextprotocol/clientCapabilities") },
		{ REQP("1", "tools/list", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":7}"),
		  ERR("1", "-32602", "Invalid params: _meta lacks io.modelcontextprotocol/protocolVersion") },
		{ REQP("1", "tools/list", "\"_meta\":7"), ERR("1", "-32602", "Invalid params: _meta is no object") },
		{ REQP("2", "tools/list", META),
		  RES("2", SERVER ",\"ttlMs\":3600000,\"cacheScope\":\"private\"," TOOLS) },
		{ REQP("3", "ping", META), ERR("3", "-32601", "Method not found: ping") },
		{ REQP("3", "initialize", "\"protocolVersion\":\"2025-11-25\"," META),
		  ERR("3", "-32601", "Method not found: initialize") },
		{ REQP("3", "logging/setLevel", META), ERR("3", "-32601", "Method not found: logging/setLevel") },
		{ REQP("4", "tools/list",
		       "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2099-01-01\","
		       "\"io.modelcontextprotocol/clientCapabilities\":{}}"),
		  "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32022,\"message\":\"Unsupported protocol "
		  "version\",\"data\":"
		  "{\"supported\":" VERSIONS ",\"requested\":\"2099-01-01\"}}}\n" },
		/* A legacy revision is one of initialize's. */
		{ REQP("4", "tools/list",
		       "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2025-11-25\","
		       "\"io.modelcontextprotocol/clientCapabilities\":{}}"),
		  "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32022,\"message\":\"Unsupported protocol "
		  "version\",\"data\":"
		  "{\"supported\":" VERSIONS ",\"requested\":\"2025-11-25\"}}}\n" },
		{ CALL("5", "ask", "," META), "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32021,\"message\":"
		                              "\"Missing required client capability\",\"data\":"
		                              "{\"requiredCapabilities\":{\"sampling\":{}}}}}\n" },
		{ CALL("6", "nosuch", "," META), ERR("6", "-32602", "Unknown tool: nosuch") },
		{ CALL("7", "echo", "," META),
		  RES("7", SERVER "," TOOL_ERROR("Invalid arguments: arguments lacks \\\"text\\\"")) },
		/* What an earlier request said is not remembered. */
		{ REQ("8", "ping"), RES("8", "") },
	};
	struct client c;

	client_open(&c);
	pairs(&c, p, OC_COUNT(p));
	ck_assert_str_eq(text_of(&c.events), "");
	/* With the capability the same tool is called. */
	ck_assert_str_eq(say(&c, CALL("9", "ask",
	                              ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
	                              "\"io.modelcontextprotocol/clientCapabilities\":{\"sampling\":{}}}")),
	                 "");
	ck_assert_str_eq(text_of(&c.events), "call 1 ask {}\n");
	client_close(&c);
}
END_TEST

START_TEST(test_not_messages)
{
	static const struct pair p[] = {
		{ "7\n", ERR("null", "-32600", "Invalid Request: a message is an object") },
		{ "null\n", ERR("null", "-32600", "Invalid Request: a message is an object") },
		{ "{}\n", ERR("null", "-32600", "Invalid Request: \\\"jsonrpc\\\" is not \\\"2.0\\\"") },
		{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}\n",
		  ERR("1", "-32600", "Invalid Request: \\\"jsonrpc\\\" is not \\\"2.0\\\"") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1}\n",
		  ERR("1", "-32600", "Invalid Request: \\\"method\\\" is no text") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}\n",
		  ERR("1", "-32600", "Invalid Request: \\\"method\\\" is no text") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n",
		  ERR("null", "-32600",
		      "Invalid Request: the id is neither an integer nor a text of at most 256 bytes") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}\n",
		  ERR("null", "-32600",
		      "Invalid Request: the id is neither an integer nor a text of at most 256 bytes") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}\n",
		  ERR("null", "-32600",
		      "Invalid Request: the id is neither an integer nor a text of at most 256 bytes") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":9007199254740992,\"method\":\"ping\"}\n",
		  ERR("null", "-32600",
		      "Invalid Request: the id is neither an integer nor a text of at most 256 bytes") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":9007199254740991,\"method\":\"ping\"}\n", RES("9007199254740991", "") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":\"ping\"}\n", RES("-1", "") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}\n",
		  ERR("1", "-32602", "Invalid params: params is no object") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":null}\n", RES("1", "") },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":7}\n", "" },
		/* Answers to what nobody asked. */
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", "" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}\n", "" },
		{ "\n \t\r\n\r\n", "" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n", RES("1", "") },
		{ "[]\n", ERR("null", "-32600", "Invalid Request: batches are of revision 2025-03-26 alone") },
	};
	struct client c;
	static const char *const no_json[] = { "{\n", "\xff\n", "{\"a\":1,\"a\":2}\n", "[1,]\n", "\"\\ud800\"\n" };
	static const char parse[] =
	        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error: ";
	char deep[200], nul[] = REQ("1", "ping");

	client_open(&c);
	pairs(&c, p, OC_COUNT(p));
	for (size_t i = 0; i < OC_COUNT(no_json); i++)
		ck_assert_msg(strncmp(say(&c, no_json[i]), parse, sizeof(parse) - 1) == 0, "%s%s", no_json[i],
		              text_of(&c.out));
	memset(deep, '[', 100);
	memset(deep + 100, ']', 99);
	strcpy(deep + 198, "\n");
	ck_assert_ptr_nonnull(strstr(say(&c, deep), "\"code\":-32700"));
	nul[5] = '\0';
	clear(&c.out);
	ck_assert_int_eq(oc_mcp_feed(c.m, nul, sizeof(nul) - 1), 0);
	ck_assert_ptr_nonnull(strstr(text_of(&c.out), "\"code\":-32700"));
	client_close(&c);
}
END_TEST

/* A number for which there is no place costs what holds it, not the message. */
START_TEST(test_fractions)
{
	static const struct pair p[] = {
		{ REQP("1", "ping",
		       "\"_meta\":{\"at\":1.5,\"s\":\"1.5 \\\" 2.5\",\"e\":[1e9,-2E+3,12345678901234567890]}"),
		  RES("1", "") },
		{ CALL("2", "echo", ",\"arguments\":{\"text\":\"x\",\"n\":1.0}"),
		  RES("2", TOOL_ERROR("Invalid arguments: arguments.n holds U+0000, or is a number with a fraction, or "
		                      "one beyond 2^53 - 1")) },
		{ CALL("3", "echo", ",\"arguments\":{\"text\":\"a\\u0000b\"}"),
		  RES("3", TOOL_ERROR("Invalid arguments: arguments.text holds U+0000, or is a number with a fraction, "
		                      "or one beyond 2^53 - 1")) },
		{ CALL("4", "ask", ",\"arguments\":{\"free\":[{\"x\":0.5}]}"),
		  RES("4", TOOL_ERROR("Invalid arguments: arguments.free[0].x holds U+0000, or is a number with a "
		                      "fraction, or one beyond 2^53 - 1")) },
		{ CALL("5", "echo", ",\"arguments\":{\"text\":\"x\"},\"_meta\":{\"progressToken\":1.5}"),
		  ERR("5", "-32602",
		      "Invalid params: the progressToken is neither an integer nor a text of at most 256 bytes") },
	};
	static const char *const no_json[] = { "1.",   "1e",   "-",  "01.5", "-x",   "1.5.5",
		                               "1..5", "+1.5", ".5", "1e+",  "--1.5" };
	struct client c;
	char text[128];

	client_open(&c);
	pairs(&c, p, OC_COUNT(p));
	ck_assert_str_eq(text_of(&c.events), "");
	for (size_t i = 0; i < OC_COUNT(no_json); i++) {
		snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":%s}\n",
		         no_json[i]);
		ck_assert_msg(strstr(say(&c, text), "\"code\":-32700") != NULL, "%s: %s", no_json[i], text_of(&c.out));
	}
	client_close(&c);
}
END_TEST

START_TEST(test_call)
{
	struct client c;

	client_open(&c);
	legacy(&c, "2025-11-25");
	ck_assert_str_eq(say(&c, CALL("\"x-1\"", "echo", ",\"arguments\":{\"text\":\"h\\u00e9\",\"n\":3}")), "");
	ck_assert_str_eq(text_of(&c.events), "call 1 echo {\"n\":3,\"text\":\"h\xc3\xa9\"}\n");
	ck_assert_uint_eq(oc_mcp_pending(c.m), 1);
	answer(&c, 2, "{\"content\":[]}"); /* no such ticket */
	ck_assert_str_eq(text_of(&c.out), "");
	answer(&c, 1, "{\"content\":[{\"type\":\"text\",\"text\":\"a\\nb\"}],\"isError\":false,\"extra\":1}");
	ck_assert_str_eq(text_of(&c.out), RES("\"x-1\"", "\"content\":[{\"text\":\"a\\nb\",\"type\":\"text\"}]"));
	ck_assert_uint_eq(oc_mcp_pending(c.m), 0);
	answer(&c, 1, "{\"content\":[]}"); /* answered already */
	ck_assert_str_eq(text_of(&c.out), "");
	say(&c, ECHO("2"));
	answer(&c, 2, "{\"structuredContent\":{\"a\":1}}");
	ck_assert_str_eq(text_of(&c.out), RES("2", "\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":1}\"}],"
	                                           "\"structuredContent\":{\"a\":1}"));
	say(&c, ECHO("3"));
	answer(&c, 3, "{}");
	ck_assert_str_eq(text_of(&c.out), RES("3", "\"content\":[]"));
	say(&c, ECHO("4"));
	clear(&c.out);
	ck_assert_int_eq(oc_mcp_fail(c.m, 4, "no \"luck\"\x1b"), 0);
	ck_assert_str_eq(text_of(&c.out), RES("4", TOOL_ERROR("no \\\"luck\\\"\\\\x1b")));
	/* Answered inside the callback. */
	c.at_once = "{\"content\":[],\"isError\":true}";
	ck_assert_str_eq(say(&c, ECHO("5") ECHO("5")),
	                 RES("5", "\"content\":[],\"isError\":true") RES("5", "\"content\":[],\"isError\":true"));
	ck_assert_uint_eq(oc_mcp_pending(c.m), 0);
	client_close(&c);
}
END_TEST

START_TEST(test_call_refused)
{
	static const struct pair p[] = {
		{ REQ("1", "tools/call"), ERR("1", "-32602", "Invalid params: \\\"name\\\" is no text") },
		{ CALL("1", "echo\\u0000", ""), ERR("1", "-32602", "Invalid params: \\\"name\\\" is no text") },
		{ CALL("1", "Echo", ""), ERR("1", "-32602", "Unknown tool: Echo") },
		{ CALL("1", "\\u001b[2J\\n", ""), ERR("1", "-32602", "Unknown tool: \\\\x1b[2J\\\\n") },
		{ CALL("1", "echo", ""), RES("1", TOOL_ERROR("Invalid arguments: arguments lacks \\\"text\\\"")) },
		{ CALL("1", "echo", ",\"arguments\":null"),
		  RES("1", TOOL_ERROR("Invalid arguments: arguments lacks \\\"text\\\"")) },
		{ CALL("1", "echo", ",\"arguments\":[]"),
		  RES("1", TOOL_ERROR("Invalid arguments: arguments must be of type object")) },
		{ CALL("1", "echo", ",\"arguments\":{\"text\":5,\"n\":10,\"m\":1}"),
		  RES("1", TOOL_ERROR("Invalid arguments: arguments.text must be of type string; arguments.n must be "
		                      "at most 9; "
		                      "arguments.m is no parameter")) },
		{ CALL("1", "echo", ",\"_meta\":{\"progressToken\":true},\"arguments\":{\"text\":\"\"}"),
		  ERR("1", "-32602",
		      "Invalid params: the progressToken is neither an integer nor a text of at most 256 bytes") },
	};
	struct client c;
	char *name = malloc(500001), *line = malloc(600000);

	client_open(&c);
	pairs(&c, p, OC_COUNT(p));
	/* Nothing long comes back. */
	memset(name, 'n', 500000);
	name[500000] = '\0';
	snprintf(line, 600000,
	         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\"}}\n", name);
	say(&c, line);
	ck_assert_uint_lt(c.out.len, 200);
	snprintf(line, 600000, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"}\n", name);
	say(&c, line);
	ck_assert_uint_lt(c.out.len, 200);
	snprintf(line, 600000, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"ping\"}\n", name);
	say(&c, line);
	ck_assert_uint_lt(c.out.len, 200);
	snprintf(line, 600000, CALL("1", "echo", ",\"arguments\":{\"%s\":1}"), name);
	say(&c, line);
	ck_assert_uint_lt(c.out.len, 400);
	ck_assert_str_eq(text_of(&c.events), "");
	free(name);
	free(line);
	client_close(&c);
}
END_TEST

/* What a host may answer that is no result: the client still gets an answer. */
START_TEST(test_bad_answers)
{
	static const char *const bad[] = { "7",
		                           "[]",
		                           "{\"content\":{}}",
		                           "{\"content\":[7]}",
		                           "{\"content\":[{}]}",
		                           "{\"content\":[{\"type\":7}]}",
		                           "{\"isError\":1}" };
	struct client c;
	json_t *result;
	char *text;

	client_open(&c);
	legacy(&c, "2025-11-25");
	for (size_t i = 0; i < OC_COUNT(bad); i++) {
		say(&c, ECHO("1"));
		answer(&c, i + 1, bad[i]);
		ck_assert_msg(strstr(text_of(&c.out), "\"isError\":true") != NULL, "%s: %s", bad[i], text_of(&c.out));
	}
	say(&c, ECHO("1"));
	clear(&c.out);
	result = json_pack("{s:[{s:s,s:f}]}", "content", "type", "text", "text", 1.5);
	ck_assert_int_eq(oc_mcp_answer(c.m, OC_COUNT(bad) + 1, result), 0);
	json_decref(result);
	ck_assert_ptr_nonnull(strstr(text_of(&c.out), "can't be sent"));
	text = malloc(OC_MCP_SENT + 1);
	memset(text, 'x', OC_MCP_SENT);
	text[OC_MCP_SENT] = '\0';
	say(&c, ECHO("1"));
	clear(&c.out);
	result = json_pack("{s:[{s:s,s:s}]}", "content", "type", "text", "text", text);
	ck_assert_int_eq(oc_mcp_answer(c.m, OC_COUNT(bad) + 2, result), 0);
	json_decref(result);
	ck_assert_ptr_nonnull(strstr(text_of(&c.out), "too long to send"));
	say(&c, ECHO("1"));
	clear(&c.out);
	ck_assert_int_eq(oc_mcp_fail(c.m, OC_COUNT(bad) + 3, text), 0);
	ck_assert_ptr_nonnull(strstr(text_of(&c.out), "too long to send"));
	free(text);
	ck_assert_uint_eq(oc_mcp_pending(c.m), 0);
	client_close(&c);
}
END_TEST

/* structuredContent is of 2025-06-18, an object until 2026-07-28. */
START_TEST(test_structured)
{
	static const struct {
		const char *version, *result;
		bool shown;
	} cases[] = {
		{ "2024-11-05", "{\"structuredContent\":{\"a\":1}}", false },
		{ "2025-03-26", "{\"structuredContent\":{\"a\":1}}", false },
		{ "2025-06-18", "{\"structuredContent\":{\"a\":1}}", true },
		{ "2025-11-25", "{\"structuredContent\":{\"a\":1}}", true },
		{ "2025-11-25", "{\"structuredContent\":[1]}", false },
		{ "2025-11-25", "{\"structuredContent\":null}", false },
		{ NULL, "{\"structuredContent\":[1]}", true },
		{ NULL, "{\"structuredContent\":{\"a\":1}}", true },
	};

	for (size_t i = 0; i < OC_COUNT(cases); i++) {
		struct client c;

		client_open(&c);
		if (cases[i].version) {
			legacy(&c, cases[i].version);
			say(&c, ECHO("1"));
		} else {
			say(&c, CALL("1", "echo", ",\"arguments\":{\"text\":\"x\"}," META));
		}
		answer(&c, 1, cases[i].result);
		ck_assert_msg(!strstr(text_of(&c.out), "structuredContent") == !cases[i].shown, "%zu: %s", i,
		              text_of(&c.out));
		ck_assert_ptr_nonnull(strstr(text_of(&c.out), "\"content\":[{\"type\":\"text\""));
		client_close(&c);
	}
}
END_TEST

START_TEST(test_progress)
{
#define PROGRESS(token, p)                                                                                             \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":" token "," p "}}\n"
	struct client c;

	client_open(&c);
	legacy(&c, "2025-11-25");
	say(&c, CALL("1", "echo", ",\"arguments\":{\"text\":\"x\"},\"_meta\":{\"progressToken\":\"t\"}"));
	say(&c, CALL("2", "echo", ",\"arguments\":{\"text\":\"x\"},\"_meta\":{\"progressToken\":0}"));
	say(&c, ECHO("3"));
	ck_assert_int_eq(oc_mcp_progress(c.m, 1, 0, 100, NULL), 0);
	ck_assert_int_eq(oc_mcp_progress(c.m, 1, 0, 100, "again"), 0); /* not more than before */
	ck_assert_int_eq(oc_mcp_progress(c.m, 1, 0.5, 0, "half"), 0);
	ck_assert_int_eq(oc_mcp_progress(c.m, 1, 0.50000001, 0, "as good as the same"), 0);
	ck_assert_int_eq(oc_mcp_progress(c.m, 1, 0.2, 100, "back"), 0);
	ck_assert_int_eq(oc_mcp_progress(c.m, 1, -1, 0, NULL), 0);
	ck_assert_int_eq(oc_mcp_progress(c.m, 1, 0.0 / (c.refuse ? 1 : 0.0), 0, NULL), 0);
	ck_assert_int_eq(oc_mcp_progress(c.m, 1, 1e300, 0, NULL), 0);
	ck_assert_int_eq(oc_mcp_progress(c.m, 1, 1.9999999, 2.25, NULL), 0);
	ck_assert_int_eq(oc_mcp_progress(c.m, 2, 7, -1, NULL), 0);
	ck_assert_int_eq(oc_mcp_progress(c.m, 3, 1, 0, "nobody asked"), 0);
	ck_assert_int_eq(oc_mcp_progress(c.m, 9, 1, 0, "no such call"), 0);
	ck_assert_str_eq(text_of(&c.out), PROGRESS("\"t\"", "\"progress\":0,\"total\":100")
	                                          PROGRESS("\"t\"", "\"progress\":0.5,\"message\":\"half\"")
	                                                  PROGRESS("\"t\"", "\"progress\":2,\"total\":2.25")
	                                                          PROGRESS("0", "\"progress\":7"));
	answer(&c, 1, "{}");
	clear(&c.out);
	ck_assert_int_eq(oc_mcp_progress(c.m, 1, 50, 0, "after the answer"), 0);
	ck_assert_str_eq(text_of(&c.out), "");
	client_close(&c);
	/* The message came with 2025-03-26. */
	client_open(&c);
	legacy(&c, "2024-11-05");
	say(&c, CALL("1", "echo", ",\"arguments\":{\"text\":\"x\"},\"_meta\":{\"progressToken\":1}"));
	ck_assert_int_eq(oc_mcp_progress(c.m, 1, 1, 0, "m"), 0);
	ck_assert_str_eq(text_of(&c.out), PROGRESS("1", "\"progress\":1"));
	client_close(&c);
}
END_TEST

START_TEST(test_cancel)
{
	struct client c;

	client_open(&c);
	legacy(&c, "2025-11-25");
	say(&c, ECHO("1") ECHO("\"1\"") ECHO("2"));
	clear(&c.events);
	say(&c, NOTE("notifications/cancelled", "\"requestId\":3") NOTE("notifications/cancelled", "")
	                NOTE("notifications/cancelled", "\"requestId\":null")
	                        NOTE("notifications/cancelled", "\"requestId\":0"));
	ck_assert_str_eq(text_of(&c.events), "");
	/* Type and value. */
	ck_assert_str_eq(say(&c, NOTE("notifications/cancelled", "\"requestId\":\"1\",\"reason\":\"r\"")), "");
	ck_assert_str_eq(text_of(&c.events), "cancelled 2\n");
	answer(&c, 2, "{}");
	ck_assert_str_eq(text_of(&c.out), "");
	answer(&c, 1, "{}");
	ck_assert_str_eq(text_of(&c.out), RES("1", "\"content\":[]"));
	/* A finished one. */
	ck_assert_str_eq(say(&c, NOTE("notifications/cancelled", "\"requestId\":1")), "");
	ck_assert_str_eq(text_of(&c.events), "cancelled 2\n");
	ck_assert_uint_eq(oc_mcp_pending(c.m), 1);
	/* It is no request. */
	ck_assert_str_eq(say(&c, REQP("9", "notifications/cancelled", "\"requestId\":2")),
	                 ERR("9", "-32601", "Method not found: notifications/cancelled"));
	ck_assert_uint_eq(oc_mcp_pending(c.m), 1);
	client_close(&c);
}
END_TEST

START_TEST(test_same_id)
{
	struct client c;

	client_open(&c);
	say(&c, ECHO("1"));
	ck_assert_str_eq(say(&c, ECHO("1")),
	                 ERR("null", "-32600", "Invalid Request: the id is that of a call in flight"));
	ck_assert_str_eq(say(&c, REQ("1", "ping")),
	                 ERR("null", "-32600", "Invalid Request: the id is that of a call in flight"));
	ck_assert_str_eq(say(&c, REQ("\"1\"", "ping")), RES("\"1\"", ""));
	ck_assert_str_eq(text_of(&c.events), "call 1 echo {\"text\":\"x\"}\n");
	answer(&c, 1, "{}");
	ck_assert_str_eq(say(&c, REQ("1", "ping")), RES("1", ""));
	client_close(&c);
}
END_TEST

START_TEST(test_many_calls)
{
	struct client c;
	char line[200];

	client_open(&c);
	for (int i = 0; i < OC_MCP_CALLS; i++) {
		snprintf(line, sizeof(line), ECHO("%d"), i);
		ck_assert_str_eq(say(&c, line), "");
	}
	ck_assert_ptr_nonnull(strstr(say(&c, ECHO("\"more\"")), "\"isError\":true"));
	ck_assert_uint_eq(oc_mcp_pending(c.m), OC_MCP_CALLS);
	/* Others are served meanwhile, and one that ended makes room for one. */
	ck_assert_str_eq(say(&c, REQ("\"p\"", "ping")), RES("\"p\"", ""));
	answer(&c, 7, "{}");
	ck_assert_str_eq(say(&c, ECHO("\"more\"")), "");
	ck_assert_ptr_nonnull(strstr(say(&c, ECHO("\"again\"")), "\"isError\":true"));
	client_close(&c);
}
END_TEST

START_TEST(test_batch)
{
	static const struct pair p[] = {
		{ "["
		  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},7,{\"jsonrpc\":\"2.0\",\"method\":"
		  "\"notifications/x\"},"
		  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"nosuch\"}]\n",
		  "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-"
		  "32600,"
		  "\"message\":\"Invalid Request: a message is an "
		  "object\"}},{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601,"
		  "\"message\":\"Method not found: nosuch\"}}]\n" },
		{ "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]\n", "" },
		{ "[]\n", ERR("null", "-32600", "Invalid Request: a batch has 1 to 64 messages") },
		{ "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-"
		  "25\"}}]\n",
		  "[{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"Invalid Request: initialize "
		  "can't be in a batch\"}}]\n" },
		{ "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}]\n",
		  "[{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"Invalid Request: 2026-07-28 "
		  "has no batches\"}}]\n" },
	};
	static const char one[] = "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/"
	                          "call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"x\"}}}";
	struct oc_buf line;
	struct client c;

	client_open(&c);
	legacy(&c, "2025-03-26");
	pairs(&c, p, OC_COUNT(p));
	/* Answered when its last call is. */
	ck_assert_str_eq(say(&c, "["
	                         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
	                         "call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"a\"}}},"
	                         "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"
	                         "call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"b\"}}},"
	                         "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}]\n"),
	                 "");
	answer(&c, 2, "{}");
	ck_assert_str_eq(text_of(&c.out), "");
	ck_assert_str_eq(say(&c, REQ("4", "ping")), RES("4", ""));
	answer(&c, 1, "{}");
	ck_assert_str_eq(text_of(&c.out),
	                 "[{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":"
	                 "{\"content\":[]}},{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}]\n");
	/* One that is cancelled isn't waited for. */
	say(&c, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
	        "call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"a\"}}},"
	        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}]\n");
	ck_assert_str_eq(say(&c, NOTE("notifications/cancelled", "\"requestId\":1")),
	                 "[{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}]\n");
	/* All cancelled: nothing is said. */
	say(&c, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
	        "call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"a\"}}}]\n");
	ck_assert_str_eq(say(&c, NOTE("notifications/cancelled", "\"requestId\":1")), "");
	/* 64 calls, answered inside; 65 are refused. */
	c.at_once = "{}";
	oc_buf_init(&line, 1u << 20);
	for (int i = 0; i < 64; i++) {
		oc_buf_puts(&line, i ? "," : "[");
		oc_buf_printf(&line, one, i);
	}
	oc_buf_puts(&line, "]\n");
	ck_assert_uint_eq(json_array_size(json_loads(say(&c, line.data), 0, NULL)) == 64, 1);
	line.len -= 2;
	oc_buf_puts(&line, ",7]\n");
	ck_assert_str_eq(say(&c, line.data), ERR("null", "-32600", "Invalid Request: a batch has 1 to 64 messages"));
	oc_buf_free(&line);
	ck_assert_uint_eq(oc_mcp_pending(c.m), 0);
	client_close(&c);
	/* Of no other revision; and a client that leaves in the middle of one. */
	client_open(&c);
	legacy(&c, "2025-06-18");
	ck_assert_str_eq(say(&c, p[0].in),
	                 ERR("null", "-32600", "Invalid Request: batches are of revision 2025-03-26 alone"));
	legacy(&c, "2025-03-26");
	say(&c, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
	        "call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"a\"}}},"
	        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}]\n");
	client_close(&c);
}
END_TEST

/* Answers of batches that wait for a call are bounded, however many there are. */
START_TEST(test_batches_held)
{
	struct client c;
	char *description = malloc(4097), *line;
	json_t *tools;
	struct oc_buf b;

	client_open(&c);
	oc_mcp_free(c.m);
	memset(description, 'd', 4096);
	description[4096] = '\0';
	tools = json_object_get(c.belt, "tools");
	for (int i = 0; i < 50; i++) {
		char name[16];

		snprintf(name, sizeof(name), "t%d", i);
		json_array_append_new(tools, json_pack("{s:s,s:s,s:{s:s}}", "name", name, "description", description,
		                                       "inputSchema", "type", "object"));
	}
	ck_assert_int_eq(oc_mcp_belt_check(c.belt, NULL), 0);
	ck_assert_int_eq(oc_mcp_new(c.belt, &ops, &c, &c.m), 0);
	legacy(&c, "2025-03-26");
	oc_buf_init(&b, 1u << 20);
	for (int i = 0; i < 62; i++) {
		oc_buf_puts(&b, i ? "," : "[");
		oc_buf_printf(&b, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/list\"}", 100 + i);
	}
	line = oc_buf_steal(&b);
	for (int i = 0; i < 3; i++) {
		oc_buf_init(&b, 1u << 20);
		oc_buf_printf(
		        &b,
		        "%s,{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"t0\"}}]\n",
		        line, i);
		ck_assert_str_eq(say(&c, b.data), "");
		oc_buf_free(&b);
	}
	for (uint64_t i = 1; i <= 3; i++) {
		answer(&c, i, "{}");
		ck_assert_ptr_nonnull(strstr(text_of(&c.out), "ask one at a time"));
		ck_assert_uint_lt(c.out.len, OC_MCP_SENT + (1u << 16));
		/* The first has what there was room for, so each request has its answer. */
		ck_assert(i == 1 ? c.out.len > OC_MCP_SENT / 2 : c.out.len < 100000);
		json_t *all = json_loads(text_of(&c.out), 0, NULL);
		ck_assert_uint_eq(json_array_size(all), 63);
		json_decref(all);
	}
	free(line);
	free(description);
	client_close(&c);
}
END_TEST

/* The same whatever pieces it comes in. */
START_TEST(test_pieces)
{
	static const char all[] = INIT("0", "2025-11-25") NOTE("notifications/initialized", "")
	        REQ("1", "tools/list") "\r\n" ECHO("2") "garbage\n" REQ("\"3\"", "ping");
	struct client whole, parts;

	client_open(&whole);
	say(&whole, all);
	for (size_t size = 1; size < 40; size++) {
		client_open(&parts);
		for (size_t at = 0; at < sizeof(all) - 1; at += size)
			ck_assert_int_eq(oc_mcp_feed(parts.m, all + at, OC_MIN(size, sizeof(all) - 1 - at)), 0);
		ck_assert_str_eq(text_of(&parts.out), text_of(&whole.out));
		ck_assert_str_eq(text_of(&parts.events), text_of(&whole.events));
		client_close(&parts);
	}
	ck_assert_uint_gt(whole.out.len, 500);
	client_close(&whole);
}
END_TEST

START_TEST(test_long_lines)
{
	size_t len = OC_MCP_LINE;
	char *line = malloc(len + 2);
	struct client c;

	memset(line, ' ', len + 2);
	memcpy(line, REQ("1", "ping"), sizeof(REQ("1", "ping")) - 2);
	line[len] = '\n';
	/* As long as it may be; one byte more; the same in pieces; and without an end. */
	for (size_t piece = 4096; piece <= 2 * len; piece *= 512) {
		for (size_t more = 0; more < 2; more++) {
			int rc = 0;

			client_open(&c);
			line[len] = more ? ' ' : '\n';
			line[len + 1] = '\n';
			for (size_t at = 0; at < len + 1 + more && rc == 0; at += piece)
				rc = oc_mcp_feed(c.m, line + at, OC_MIN(piece, len + 1 + more - at));
			ck_assert_int_eq(rc, more ? OC_ELIMIT : 0);
			ck_assert_str_eq(text_of(&c.out), more ? "" : RES("1", ""));
			/* From then on. */
			ck_assert_int_eq(oc_mcp_feed(c.m, REQ("2", "ping"), sizeof(REQ("2", "ping")) - 1),
			                 more ? OC_ELIMIT : 0);
			client_close(&c);
		}
	}
	client_open(&c);
	memset(line, 'x', len + 2);
	ck_assert_int_eq(oc_mcp_feed(c.m, line, len), 0);
	ck_assert_int_eq(oc_mcp_feed(c.m, line, 1), OC_ELIMIT);
	client_close(&c);
	free(line);
}
END_TEST

/* Nobody reads any more: nothing further is read or sent, and no call is made. */
START_TEST(test_nobody_reads)
{
	struct client c;

	client_open(&c);
	say(&c, ECHO("1"));
	clear(&c.events);
	c.refuse = OC_ECLOSED;
	ck_assert_int_eq(oc_mcp_feed(c.m, REQ("2", "ping") ECHO("3"), sizeof(REQ("2", "ping") ECHO("3")) - 1),
	                 OC_ECLOSED);
	ck_assert_str_eq(text_of(&c.events), "");
	c.refuse = 0;
	ck_assert_int_eq(oc_mcp_fail(c.m, 1, "x"), OC_ECLOSED);
	ck_assert_int_eq(oc_mcp_feed(c.m, "\n", 1), OC_ECLOSED);
	ck_assert_str_eq(text_of(&c.out), "");
	client_close(&c);
	client_open(&c);
	say(&c, ECHO("1"));
	c.refuse = OC_ELIMIT;
	ck_assert_int_eq(oc_mcp_fail(c.m, 1, "x"), OC_ELIMIT);
	client_close(&c);
}
END_TEST

static int quiet_send(void *arg, const void *line, size_t len)
{
	(void)line;
	*(size_t *)arg += len;
	return 0;
}

static void quiet_call(void *arg, uint64_t ticket, const char *name, const json_t *arguments)
{
	(void)arg;
	(void)ticket;
	(void)name;
	(void)arguments;
}

static void quiet_cancelled(void *arg, uint64_t ticket)
{
	(void)arg;
	(void)ticket;
}

struct script {
	json_t *belt, *result;
	size_t sent;
};

static int play(void *userdata)
{
	static const struct oc_mcp_ops quiet = { quiet_send, quiet_call, quiet_cancelled };
	static const char *const lines[] = {
		INIT("0", "2025-03-26"),
		REQ("1", "tools/list"),
		REQP("1", "server/discover", META),
		"garbage\n",
		REQP("1", "ping", "\"x\":1.5"),
		CALL("1", "echo", ",\"arguments\":{\"text\":\"x\"},\"_meta\":{\"progressToken\":\"t\"}"),
		CALL("2", "echo", ",\"arguments\":{\"text\":1}"),
		CALL("2", "ask", "," META),
		CALL("2", "nosuch", ""),
		"[{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"ask\"}},7]\n",
		"{\"jsonrpc\":\"2.0\",",
		"\"id\":4,\"method\":\"ping\"}\n",
		REQP("4", "tools/list",
		     "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"x\","
		     "\"io.modelcontextprotocol/clientCapabilities\":{}}"),
	};
	struct script *s = userdata;
	struct oc_mcp *m = NULL;
	int rc;

	s->sent = 0;
	rc = oc_mcp_new(s->belt, &quiet, &s->sent, &m);
	for (size_t i = 0; i < OC_COUNT(lines) && rc == 0; i++)
		rc = oc_mcp_feed(m, lines[i], strlen(lines[i]));
	if (rc == 0)
		rc = oc_mcp_progress(m, 1, 1.5, 2, "m");
	if (rc == 0)
		rc = oc_mcp_answer(m, 1, s->result);
	if (rc == 0)
		rc = oc_mcp_fail(m, 2, "no");
	oc_mcp_free(m);
	return rc;
}

START_TEST(test_no_memory)
{
	struct script s = { json_loads(belt_text, 0, NULL), json_loads("{\"structuredContent\":{\"a\":1}}", 0, NULL),
		            0 };

	ck_assert_int_gt(alloc_fail_each(play, &s, 1), 100);
	ck_assert_uint_gt(s.sent, 1000);
	json_decref(s.belt);
	json_decref(s.result);
}
END_TEST

SUITE_MAIN("mcp", test_legacy, test_modern, test_not_messages, test_fractions, test_call, test_call_refused,
           test_bad_answers, test_structured, test_progress, test_cancel, test_same_id, test_many_calls, test_batch,
           test_batches_held, test_pieces, test_long_lines, test_nobody_reads, test_no_memory)
