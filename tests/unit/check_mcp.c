/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "mcp_client.h"
#include "suite.h"

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
	client_pairs(&c, p, OC_COUNT(p));
	ck_assert_str_eq(client_text(&c.events), "");
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
	client_pairs(&c, p, OC_COUNT(p));
	ck_assert_str_eq(client_text(&c.events), "");
	/* With the capability the same tool is called. */
	ck_assert_str_eq(client_says(&c, CALL("9", "ask",
	                                      ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
	                                      "\"io.modelcontextprotocol/clientCapabilities\":{\"sampling\":{}}}")),
	                 "");
	ck_assert_str_eq(client_text(&c.events), "call 1 ask {}\n");
	client_close(&c);
}
END_TEST

/* In no list (TOOLS, above, is without it), and there for who knows of it; control: what is nowhere is not. */
START_TEST(test_hidden)
{
	struct client c;

	client_open(&c);
	ck_assert_ptr_null(strstr(client_says(&c, REQP("1", "tools/list", META)), "unseen"));
	ck_assert_str_eq(client_says(&c, CALL("2", "unseen", "," META)), "");
	ck_assert_str_eq(client_text(&c.events), "call 1 unseen {}\n");
	ck_assert_str_eq(client_says(&c, CALL("3", "unseen2", "," META)), ERR("3", "-32602", "Unknown tool: unseen2"));
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
	client_pairs(&c, p, OC_COUNT(p));
	for (size_t i = 0; i < OC_COUNT(no_json); i++)
		ck_assert_msg(strncmp(client_says(&c, no_json[i]), parse, sizeof(parse) - 1) == 0, "%s%s", no_json[i],
		              client_text(&c.out));
	memset(deep, '[', 100);
	memset(deep + 100, ']', 99);
	memcpy(deep + 198, "\n", 2);
	ck_assert_ptr_nonnull(strstr(client_says(&c, deep), "\"code\":-32700"));
	nul[5] = '\0';
	client_clear(&c.out);
	ck_assert_int_eq(oc_mcp_feed(c.m, nul, sizeof(nul) - 1), 0);
	ck_assert_ptr_nonnull(strstr(client_text(&c.out), "\"code\":-32700"));
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
	client_pairs(&c, p, OC_COUNT(p));
	ck_assert_str_eq(client_text(&c.events), "");
	for (size_t i = 0; i < OC_COUNT(no_json); i++) {
		snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":%s}\n",
		         no_json[i]);
		ck_assert_msg(strstr(client_says(&c, text), "\"code\":-32700") != NULL, "%s: %s", no_json[i],
		              client_text(&c.out));
	}
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
	client_says(&whole, all);
	for (size_t size = 1; size < 40; size++) {
		client_open(&parts);
		for (size_t at = 0; at < sizeof(all) - 1; at += size)
			ck_assert_int_eq(oc_mcp_feed(parts.m, all + at, OC_MIN(size, sizeof(all) - 1 - at)), 0);
		ck_assert_str_eq(client_text(&parts.out), client_text(&whole.out));
		ck_assert_str_eq(client_text(&parts.events), client_text(&whole.events));
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
			ck_assert_str_eq(client_text(&c.out), more ? "" : RES("1", ""));
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
	client_says(&c, ECHO("1"));
	client_clear(&c.events);
	c.refuse = OC_ECLOSED;
	ck_assert_int_eq(oc_mcp_feed(c.m, REQ("2", "ping") ECHO("3"), sizeof(REQ("2", "ping") ECHO("3")) - 1),
	                 OC_ECLOSED);
	ck_assert_str_eq(client_text(&c.events), "");
	c.refuse = 0;
	ck_assert_int_eq(oc_mcp_fail(c.m, 1, "x"), OC_ECLOSED);
	ck_assert_int_eq(oc_mcp_feed(c.m, "\n", 1), OC_ECLOSED);
	ck_assert_str_eq(client_text(&c.out), "");
	client_close(&c);
	client_open(&c);
	client_says(&c, ECHO("1"));
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
	struct script s = { json_loads(client_belt, 0, NULL), json_loads("{\"structuredContent\":{\"a\":1}}", 0, NULL),
		            0 };

	ck_assert_int_gt(alloc_fail_each(play, &s, 1), 100);
	ck_assert_uint_gt(s.sent, 1000);
	json_decref(s.belt);
	json_decref(s.result);
}
END_TEST

SUITE_MAIN("mcp", test_legacy, test_modern, test_hidden, test_not_messages, test_fractions, test_pieces,
           test_long_lines, test_nobody_reads, test_no_memory)
