/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "mcp_client.h"
#include "suite.h"

START_TEST(test_call)
{
	struct client c;

	client_open(&c);
	client_initialize(&c, "2025-11-25");
	ck_assert_str_eq(client_says(&c, CALL("\"x-1\"", "echo", ",\"arguments\":{\"text\":\"h\\u00e9\",\"n\":3}")),
	                 "");
	ck_assert_str_eq(client_text(&c.events), "call 1 echo {\"n\":3,\"text\":\"h\xc3\xa9\"}\n");
	ck_assert_uint_eq(oc_mcp_pending(c.m), 1);
	client_answer(&c, 2, "{\"content\":[]}"); /* no such ticket */
	ck_assert_str_eq(client_text(&c.out), "");
	client_answer(&c, 1, "{\"content\":[{\"type\":\"text\",\"text\":\"a\\nb\"}],\"isError\":false,\"extra\":1}");
	ck_assert_str_eq(client_text(&c.out), RES("\"x-1\"", "\"content\":[{\"text\":\"a\\nb\",\"type\":\"text\"}]"));
	ck_assert_uint_eq(oc_mcp_pending(c.m), 0);
	client_answer(&c, 1, "{\"content\":[]}"); /* answered already */
	ck_assert_str_eq(client_text(&c.out), "");
	client_says(&c, ECHO("2"));
	client_answer(&c, 2, "{\"structuredContent\":{\"a\":1}}");
	ck_assert_str_eq(client_text(&c.out), RES("2", "\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":1}\"}],"
	                                               "\"structuredContent\":{\"a\":1}"));
	client_says(&c, ECHO("3"));
	client_answer(&c, 3, "{}");
	ck_assert_str_eq(client_text(&c.out), RES("3", "\"content\":[]"));
	client_says(&c, ECHO("4"));
	client_clear(&c.out);
	ck_assert_int_eq(oc_mcp_fail(c.m, 4, "no \"luck\" \xf0\x9f\x91\xa9\xe2\x80\x8d \x1b"), 0);
	ck_assert_str_eq(client_text(&c.out),
	                 RES("4", TOOL_ERROR("no \\\"luck\\\" \xf0\x9f\x91\xa9\xe2\x80\x8d \\u001b")));
	client_says(&c, ECHO("4"));
	client_clear(&c.out);
	ck_assert_int_eq(oc_mcp_fail(c.m, 5, "\xff"), 0);
	ck_assert_str_eq(client_text(&c.out), RES("4", TOOL_ERROR("\\\\xff")));
	/* Answered inside the callback. */
	c.at_once = "{\"content\":[],\"isError\":true}";
	ck_assert_str_eq(client_says(&c, ECHO("5") ECHO("5")),
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
	client_pairs(&c, p, OC_COUNT(p));
	/* Nothing long comes back. */
	memset(name, 'n', 500000);
	name[500000] = '\0';
	snprintf(line, 600000,
	         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\"}}\n", name);
	client_says(&c, line);
	ck_assert_uint_lt(c.out.len, 200);
	snprintf(line, 600000, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"}\n", name);
	client_says(&c, line);
	ck_assert_uint_lt(c.out.len, 200);
	snprintf(line, 600000, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"ping\"}\n", name);
	client_says(&c, line);
	ck_assert_uint_lt(c.out.len, 200);
	snprintf(line, 600000, CALL("1", "echo", ",\"arguments\":{\"%s\":1}"), name);
	client_says(&c, line);
	ck_assert_uint_lt(c.out.len, 400);
	ck_assert_str_eq(client_text(&c.events), "");
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
	client_initialize(&c, "2025-11-25");
	for (size_t i = 0; i < OC_COUNT(bad); i++) {
		client_says(&c, ECHO("1"));
		client_answer(&c, i + 1, bad[i]);
		ck_assert_msg(strstr(client_text(&c.out), "\"isError\":true") != NULL, "%s: %s", bad[i],
		              client_text(&c.out));
	}
	client_says(&c, ECHO("1"));
	client_clear(&c.out);
	result = json_pack("{s:[{s:s,s:f}]}", "content", "type", "text", "text", 1.5);
	ck_assert_int_eq(oc_mcp_answer(c.m, OC_COUNT(bad) + 1, result), 0);
	json_decref(result);
	ck_assert_ptr_nonnull(strstr(client_text(&c.out), "can't be sent"));
	text = malloc(OC_MCP_SENT + 1);
	memset(text, 'x', OC_MCP_SENT);
	text[OC_MCP_SENT] = '\0';
	client_says(&c, ECHO("1"));
	client_clear(&c.out);
	result = json_pack("{s:[{s:s,s:s}]}", "content", "type", "text", "text", text);
	ck_assert_int_eq(oc_mcp_answer(c.m, OC_COUNT(bad) + 2, result), 0);
	json_decref(result);
	ck_assert_ptr_nonnull(strstr(client_text(&c.out), "too long to send"));
	client_says(&c, ECHO("1"));
	client_clear(&c.out);
	ck_assert_int_eq(oc_mcp_fail(c.m, OC_COUNT(bad) + 3, text), 0);
	ck_assert_ptr_nonnull(strstr(client_text(&c.out), "too long to send"));
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
			client_initialize(&c, cases[i].version);
			client_says(&c, ECHO("1"));
		} else {
			client_says(&c, CALL("1", "echo", ",\"arguments\":{\"text\":\"x\"}," META));
		}
		client_answer(&c, 1, cases[i].result);
		ck_assert_msg(!strstr(client_text(&c.out), "structuredContent") == !cases[i].shown, "%zu: %s", i,
		              client_text(&c.out));
		ck_assert_ptr_nonnull(strstr(client_text(&c.out), "\"content\":[{\"type\":\"text\""));
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
	client_initialize(&c, "2025-11-25");
	client_says(&c, CALL("1", "echo", ",\"arguments\":{\"text\":\"x\"},\"_meta\":{\"progressToken\":\"t\"}"));
	client_says(&c, CALL("2", "echo", ",\"arguments\":{\"text\":\"x\"},\"_meta\":{\"progressToken\":0}"));
	client_says(&c, ECHO("3"));
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
	ck_assert_str_eq(client_text(&c.out), PROGRESS("\"t\"", "\"progress\":0,\"total\":100")
	                                              PROGRESS("\"t\"", "\"progress\":0.5,\"message\":\"half\"")
	                                                      PROGRESS("\"t\"", "\"progress\":2,\"total\":2.25")
	                                                              PROGRESS("0", "\"progress\":7"));
	client_answer(&c, 1, "{}");
	client_clear(&c.out);
	ck_assert_int_eq(oc_mcp_progress(c.m, 1, 50, 0, "after the answer"), 0);
	ck_assert_str_eq(client_text(&c.out), "");
	client_close(&c);
	/* The message came with 2025-03-26. */
	client_open(&c);
	client_initialize(&c, "2024-11-05");
	client_says(&c, CALL("1", "echo", ",\"arguments\":{\"text\":\"x\"},\"_meta\":{\"progressToken\":1}"));
	ck_assert_int_eq(oc_mcp_progress(c.m, 1, 1, 0, "m"), 0);
	ck_assert_str_eq(client_text(&c.out), PROGRESS("1", "\"progress\":1"));
	client_close(&c);
}
END_TEST

START_TEST(test_cancel)
{
	struct client c;

	client_open(&c);
	client_initialize(&c, "2025-11-25");
	client_says(&c, ECHO("1") ECHO("\"1\"") ECHO("2"));
	client_clear(&c.events);
	client_says(&c, NOTE("notifications/cancelled", "\"requestId\":3") NOTE("notifications/cancelled", "")
	                        NOTE("notifications/cancelled", "\"requestId\":null")
	                                NOTE("notifications/cancelled", "\"requestId\":0"));
	ck_assert_str_eq(client_text(&c.events), "");
	/* Type and value. */
	ck_assert_str_eq(client_says(&c, NOTE("notifications/cancelled", "\"requestId\":\"1\",\"reason\":\"r\"")), "");
	ck_assert_str_eq(client_text(&c.events), "cancelled 2\n");
	client_answer(&c, 2, "{}");
	ck_assert_str_eq(client_text(&c.out), "");
	client_answer(&c, 1, "{}");
	ck_assert_str_eq(client_text(&c.out), RES("1", "\"content\":[]"));
	/* A finished one. */
	ck_assert_str_eq(client_says(&c, NOTE("notifications/cancelled", "\"requestId\":1")), "");
	ck_assert_str_eq(client_text(&c.events), "cancelled 2\n");
	ck_assert_uint_eq(oc_mcp_pending(c.m), 1);
	/* It is no request. */
	ck_assert_str_eq(client_says(&c, REQP("9", "notifications/cancelled", "\"requestId\":2")),
	                 ERR("9", "-32601", "Method not found: notifications/cancelled"));
	ck_assert_uint_eq(oc_mcp_pending(c.m), 1);
	client_close(&c);
}
END_TEST

START_TEST(test_same_id)
{
	struct client c;

	client_open(&c);
	client_says(&c, ECHO("1"));
	ck_assert_str_eq(client_says(&c, ECHO("1")),
	                 ERR("null", "-32600", "Invalid Request: the id is that of a call in flight"));
	ck_assert_str_eq(client_says(&c, REQ("1", "ping")),
	                 ERR("null", "-32600", "Invalid Request: the id is that of a call in flight"));
	ck_assert_str_eq(client_says(&c, REQ("\"1\"", "ping")), RES("\"1\"", ""));
	ck_assert_str_eq(client_text(&c.events), "call 1 echo {\"text\":\"x\"}\n");
	client_answer(&c, 1, "{}");
	ck_assert_str_eq(client_says(&c, REQ("1", "ping")), RES("1", ""));
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
		ck_assert_str_eq(client_says(&c, line), "");
	}
	ck_assert_ptr_nonnull(strstr(client_says(&c, ECHO("\"more\"")), "\"isError\":true"));
	ck_assert_uint_eq(oc_mcp_pending(c.m), OC_MCP_CALLS);
	/* Others are served meanwhile, and one that ended makes room for one. */
	ck_assert_str_eq(client_says(&c, REQ("\"p\"", "ping")), RES("\"p\"", ""));
	client_answer(&c, 7, "{}");
	ck_assert_str_eq(client_says(&c, ECHO("\"more\"")), "");
	ck_assert_ptr_nonnull(strstr(client_says(&c, ECHO("\"again\"")), "\"isError\":true"));
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
	struct client c;

	client_open(&c);
	client_initialize(&c, "2025-03-26");
	client_pairs(&c, p, OC_COUNT(p));
	client_close(&c);
	/* Of no other revision. */
	client_open(&c);
	client_initialize(&c, "2025-06-18");
	ck_assert_str_eq(client_says(&c, p[0].in),
	                 ERR("null", "-32600", "Invalid Request: batches are of revision 2025-03-26 alone"));
	client_close(&c);
}
END_TEST

static size_t answers(const char *text)
{
	json_t *all = json_loads(text, 0, NULL);
	size_t n = json_array_size(all);

	json_decref(all);
	return n;
}

START_TEST(test_batch_of_calls)
{
	static const char one[] =
	        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
	        "\"arguments\":{\"text\":\"x\"}}}";
	struct oc_buf line;
	struct client c;

	client_open(&c);
	client_initialize(&c, "2025-03-26");
	/* Answered when its last call is. */
	ck_assert_str_eq(client_says(&c, "["
	                                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
	                                 "call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"a\"}}},"
	                                 "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"
	                                 "call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"b\"}}},"
	                                 "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}]\n"),
	                 "");
	client_answer(&c, 2, "{}");
	ck_assert_str_eq(client_text(&c.out), "");
	ck_assert_str_eq(client_says(&c, REQ("4", "ping")), RES("4", ""));
	client_answer(&c, 1, "{}");
	ck_assert_str_eq(client_text(&c.out),
	                 "[{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":"
	                 "{\"content\":[]}},{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}]\n");
	/* One that is cancelled isn't waited for. */
	client_says(&c, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
	                "call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"a\"}}},"
	                "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}]\n");
	ck_assert_str_eq(client_says(&c, NOTE("notifications/cancelled", "\"requestId\":1")),
	                 "[{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}]\n");
	/* All cancelled: nothing is said. */
	client_says(&c, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
	                "call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"a\"}}}]\n");
	ck_assert_str_eq(client_says(&c, NOTE("notifications/cancelled", "\"requestId\":1")), "");
	/* 64 calls, answered inside; 65 are refused. */
	c.at_once = "{}";
	oc_buf_init(&line, 1u << 20);
	for (int i = 0; i < 64; i++) {
		oc_buf_puts(&line, i ? "," : "[");
		oc_buf_printf(&line, one, i);
	}
	oc_buf_puts(&line, "]\n");
	ck_assert_uint_eq(answers(client_says(&c, line.data)), 64);
	line.len -= 2;
	oc_buf_puts(&line, ",7]\n");
	ck_assert_str_eq(client_says(&c, line.data),
	                 ERR("null", "-32600", "Invalid Request: a batch has 1 to 64 messages"));
	oc_buf_free(&line);
	ck_assert_uint_eq(oc_mcp_pending(c.m), 0);
	/* A client that leaves in the middle of one. */
	client_says(&c, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ask\"}},"
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
	ck_assert_int_eq(oc_mcp_new(c.belt, &client_ops, &c, &c.m), 0);
	client_initialize(&c, "2025-03-26");
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
		ck_assert_str_eq(client_says(&c, b.data), "");
		oc_buf_free(&b);
	}
	for (uint64_t i = 1; i <= 3; i++) {
		client_answer(&c, i, "{}");
		ck_assert_ptr_nonnull(strstr(client_text(&c.out), "ask one at a time"));
		ck_assert_uint_lt(c.out.len, OC_MCP_SENT + (1u << 16));
		/* The first has what there was room for, so each request has its answer. */
		ck_assert(i == 1 ? c.out.len > OC_MCP_SENT / 2 : c.out.len < 100000);
		ck_assert_uint_eq(answers(client_text(&c.out)), 63);
	}
	free(line);
	free(description);
	client_close(&c);
}
END_TEST

SUITE_MAIN("mcp_calls", test_call, test_call_refused, test_bad_answers, test_structured, test_progress, test_cancel,
           test_same_id, test_many_calls, test_batch, test_batch_of_calls, test_batches_held)
