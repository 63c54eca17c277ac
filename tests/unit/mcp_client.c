/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_client.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

const char client_belt[] =
        "{\"instructions\":\"Be kind.\",\"tools\":["
        "{\"name\":\"unseen\",\"description\":\"Is there\",\"inputSchema\":{\"type\":\"object\"},\"hidden\":true},"
        "{\"name\":\"echo\",\"description\":\"Says it\",\"inputSchema\":{\"type\":\"object\",\"required\":[\"text\"],"
        "\"properties\":{\"text\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\",\"maximum\":9}},"
        "\"additionalProperties\":false}},"
        "{\"name\":\"ask\",\"description\":\"Asks\",\"inputSchema\":{\"type\":\"object\"},\"requires\":[\"sampling\"],"
        "\"hidden\":false}]"
        "}";

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

const struct oc_mcp_ops client_ops = { on_send, on_call, on_cancelled };

void client_open(struct client *c)
{
	memset(c, 0, sizeof(*c));
	oc_buf_init(&c->out, 64u << 20);
	oc_buf_init(&c->events, 1u << 20);
	c->belt = json_loads(client_belt, 0, NULL);
	ck_assert_ptr_nonnull(c->belt);
	ck_assert_int_eq(oc_mcp_belt_check(c->belt, NULL), 0);
	ck_assert_int_eq(oc_mcp_new(c->belt, &client_ops, c, &c->m), 0);
}

void client_close(struct client *c)
{
	oc_mcp_free(c->m);
	json_decref(c->belt);
	oc_buf_free(&c->out);
	oc_buf_free(&c->events);
}

void client_clear(struct oc_buf *b)
{
	oc_buf_consume(b, b->len);
}

const char *client_text(const struct oc_buf *b)
{
	return b->data ? b->data : "";
}

const char *client_says(struct client *c, const char *lines)
{
	client_clear(&c->out);
	ck_assert_int_eq(oc_mcp_feed(c->m, lines, strlen(lines)), 0);
	return client_text(&c->out);
}

void client_answer(struct client *c, uint64_t ticket, const char *result)
{
	json_t *json = json_loads(result, JSON_DECODE_ANY, NULL);

	ck_assert_ptr_nonnull(json);
	client_clear(&c->out);
	ck_assert_int_eq(oc_mcp_answer(c->m, ticket, json), 0);
	json_decref(json);
}

void client_initialize(struct client *c, const char *version)
{
	char text[512];

	snprintf(text, sizeof(text),
	         "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\","
	         "\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n"
	         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
	         version);
	client_says(c, text);
}

void client_pairs(struct client *c, const struct pair *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *got = client_says(c, p[i].in);

		ck_assert_msg(strcmp(got, p[i].out) == 0, "for %sgot %swant %s", p[i].in, got, p[i].out);
	}
}
