/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of Claude Code's lines, on what version 2.1.332 printed (vectors/claude_*.jsonl) cut anywhere, on what is no
 * line of it, and without memory; and how its events look. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "executor/claude_reader.h"
#include "executor/render.h"
#include "suite.h"

#define SESSION "79e281fe-ea5f-4355-b81d-eeb14b9c2d2f"

struct seen {
	struct text log; /* one line an event */
	struct text shown;
	bool no_session;
};

static void word(struct text *out, const char *text)
{
	text_puts(out, " ");
	text_puts(out, text ? text : "-");
}

static void event(const struct talk_event *e, void *userdata)
{
	static const char *const kinds[] = { "started", "text",  "tool",      "tool_bad", "note",
		                             "server",  "taken", "delivered", "turn",     "other" };
	struct seen *s = userdata;

	text_puts(&s->log, kinds[e->kind]);
	word(&s->log, e->id);
	word(&s->log, e->name);
	word(&s->log, e->text);
	if (e->failed)
		text_puts(&s->log, " failed");
	if (e->why) {
		word(&s->log, e->why->reason);
		word(&s->log, e->why->subject);
		word(&s->log, e->why->message);
		s->no_session = e->why->no_session;
	}
	text_puts(&s->log, "\n");
	render_event(&s->shown, e, false);
}

static void seen_free(struct seen *s)
{
	text_free(&s->log);
	text_free(&s->shown);
}

/* Read in pieces of `step` bytes, the first of `first`. */
static bool read_all(struct seen *s, const char *data, size_t len, size_t first, size_t step)
{
	void *reader = claude_talk.open(event, s);
	bool idle;

	ck_assert_ptr_nonnull(reader);
	for (size_t at = 0, n = first; at < len; at += n, n = step) {
		n = n > len - at ? len - at : n;
		claude_talk.read(reader, data + at, n);
	}
	claude_talk.end(reader);
	idle = claude_talk.idle(reader);
	claude_talk.close(reader);
	return idle;
}

static const char TURN[] = "taken 1eb24805-1f40-43b4-bb9f-ee9e031753e0 - -\n"
                           "started " SESSION " - claude-opus-5-5\n"
                           "note - - HTTP 529, overloaded: attempt 1 of 4, again in 0.5 s\n"
                           "delivered 1eb24805-1f40-43b4-bb9f-ee9e031753e0 - -\n"
                           "tool - Bash sleep 2; echo late\n"
                           "text - - begun\n"
                           "turn - - -\n"
                           "started " SESSION " - claude-opus-5-5\n"
                           "tool - Bash false; cat /none\n"
                           "tool_bad - - Exit code 1\ncat: /none: No such file or directory\n"
                           "text - - the job is done\n"
                           "turn - - -\n";
static const char SHOWN[] = "  ~ HTTP 529, overloaded: attempt 1 of 4, again in 0.5 s\n"
                            "* Bash: sleep 2; echo late\n"
                            "begun\n"
                            "* Bash: false; cat /none\n"
                            "  ! Exit code 1\n"
                            "the job is done\n";

START_TEST(test_recorded)
{
	struct seen s = { 0 };
	size_t len;
	char *data = suite_load("unit/vectors/claude_turn.jsonl", &len);

	ck_assert(read_all(&s, data, len, len, len));
	ck_assert_str_eq(s.log.data, TURN);
	ck_assert_str_eq(s.shown.data, SHOWN);
	seen_free(&s);
	free(data);
}
END_TEST

START_TEST(test_every_split)
{
	size_t len;
	char *data = suite_load("unit/vectors/claude_turn.jsonl", &len);

	for (size_t first = 1; first<len; first += len> 4000 ? 7 : 1) {
		struct seen s = { 0 };

		ck_assert(read_all(&s, data, len, first, len));
		ck_assert_str_eq(s.log.data, TURN);
		seen_free(&s);
	}
	for (size_t step = 1; step < 9; step++) {
		struct seen s = { 0 };

		ck_assert(read_all(&s, data, len, step, step));
		ck_assert_str_eq(s.log.data, TURN);
		seen_free(&s);
	}
	free(data);
}
END_TEST

/* Cut off anywhere: no event that the whole has not, and idle only where nothing goes on. */
START_TEST(test_every_end)
{
	size_t len, idle = 0;
	char *data = suite_load("unit/vectors/claude_turn.jsonl", &len);

	for (size_t n = 0; n < len; n += 3) {
		struct seen s = { 0 };
		bool is = read_all(&s, data, n, n, n);
		size_t whole = s.log.len;

		/* The last line may be half a line. */
		if (whole && strncmp(s.log.data, TURN, whole) != 0) {
			for (whole--; whole && s.log.data[whole - 1] != '\n';)
				whole--;
			ck_assert_msg(!strncmp(s.log.data, TURN, whole), "at %zu: %s", n, s.log.data);
		}
		idle += is;
		seen_free(&s);
	}
	/* Between the end of the job in the background and the turn that it makes begin: the host waits for that. */
	ck_assert_uint_gt(idle, 0);
	ck_assert_uint_lt(idle, len / 3 / 4);
	free(data);
}
END_TEST

START_TEST(test_refused)
{
	struct seen s = { 0 };
	size_t len;
	char *data = suite_load("unit/vectors/claude_refused.jsonl", &len);

	ck_assert(read_all(&s, data, len, len, len));
	ck_assert_msg(strstr(s.log.data,
	                     "turn - - - failed agent_sign_in HTTP 403 Failed to authenticate. API Error: 403 "
	                     "not for you\n") != NULL,
	              "%s", s.log.data);
	ck_assert_ptr_null(strstr(s.log.data, "\ntext ")); /* its text is told once */
	seen_free(&s);
	free(data);
}
END_TEST

static const struct {
	const char *line, *reason, *subject;
} WHYS[] = {
	{ "{\"type\":\"result\",\"is_error\":true,\"api_error_status\":401}", "agent_sign_in", "HTTP 401" },
	{ "{\"type\":\"result\",\"is_error\":true,\"api_error_status\":429}", "agent_limited", "HTTP 429" },
	{ "{\"type\":\"result\",\"is_error\":true,\"api_error_status\":529}", "agent_unreachable", "HTTP 529" },
	{ "{\"type\":\"result\",\"is_error\":true,\"api_error_status\":500}", "agent_unreachable", "HTTP 500" },
	{ "{\"type\":\"result\",\"is_error\":true,\"api_error_status\":404}", "agent_failed", "HTTP 404" },
	{ "{\"type\":\"result\",\"is_error\":true,\"result\":\"Not logged in · Please run /login\"}", "agent_sign_in",
	  "claude" },
	{ "{\"type\":\"result\",\"is_error\":true,\"terminal_reason\":\"api_error\",\"api_error_status\":null}",
	  "agent_unreachable", "claude" },
	{ "{\"type\":\"result\",\"is_error\":true,\"subtype\":\"error_max_turns\"}", "agent_failed",
	  "error_max_turns" },
	{ "{\"type\":\"assistant\",\"error\":\"billing_error\"}\n{\"type\":\"result\",\"is_error\":true,\"api_error_"
	  "status\":400}",
	  "agent_limited", "HTTP 400" },
	{ "{\"type\":\"assistant\",\"error\":\"rate_limit\"}\n{\"type\":\"result\",\"is_error\":true}", "agent_limited",
	  "rate_limit" },
	{ "{\"type\":\"result\"}", "agent_failed", "claude" },
	{ "{\"type\":\"result\",\"is_error\":1,\"errors\":[\"No conversation found with session ID: x\"]}",
	  "agent_failed", "claude" },
};

START_TEST(test_whys)
{
	char want[200];

	for (size_t i = 0; i < sizeof(WHYS) / sizeof(WHYS[0]); i++) {
		struct seen s = { 0 };

		read_all(&s, WHYS[i].line, strlen(WHYS[i].line), 1000, 1000);
		snprintf(want, sizeof(want), "turn - - - failed %s %s ", WHYS[i].reason, WHYS[i].subject);
		ck_assert_msg(s.log.data && strstr(s.log.data, want), "%s: %s", WHYS[i].line, s.log.data);
		ck_assert_int_eq(s.no_session, strstr(WHYS[i].line, "No conversation") != NULL);
		seen_free(&s);
	}
}
END_TEST

/* What is none of its lines is an event that says so, or nothing; never anything else. */
START_TEST(test_garbage)
{
	static const char *const lines[] = {
		"x", "{", "[]", "null", "5", "\"a\"", "{\"type\":5}", "{\"type\":null}", "\x1b[2J", "\xff\xfe", "{}"
	};
	static const char *const silent[] = { "{\"type\":\"system\"}",
		                              "{\"type\":\"assistant\"}",
		                              "{\"type\":\"assistant\",\"message\":[]}",
		                              "{\"type\":\"user\",\"message\":{\"content\":[5,null,{}]}}",
		                              "{\"type\":\"none\"}",
		                              "",
		                              "\n\n" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct seen s = { 0 };

		ck_assert(!read_all(&s, lines[i], strlen(lines[i]), 1, 1));
		ck_assert_msg(s.log.data && !strncmp(s.log.data, "other ", 6), "%s", lines[i]);
		for (const char *c = s.shown.data; *c; c++)
			ck_assert_msg(*c == '\n' || (unsigned char)*c >= 0x20, "%s", lines[i]);
		seen_free(&s);
	}
	for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++) {
		struct seen s = { 0 };

		ck_assert(!read_all(&s, silent[i], strlen(silent[i]), 1, 1));
		ck_assert_msg(!s.log.len, "%s: %s", silent[i], s.log.data);
		seen_free(&s);
	}
}
END_TEST

START_TEST(test_servers)
{
	static const char line[] =
	        "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"mcp_servers\":[{\"name\":\"a\","
	        "\"status\":\"connected\"},{\"name\":\"b\\u001b[m\",\"status\":\"failed\"},{},5]}";
	struct seen s = { 0 };

	read_all(&s, line, strlen(line), 1000, 1000);
	ck_assert_str_eq(s.log.data,
	                 "started s - -\nserver - a connected\nserver - b\x1b[m failed failed\nserver - - - failed\n"
	                 "server - - - failed\n");
	ck_assert_msg(!strncmp(s.shown.data, "  ! the tools of b\\x1b[m are not there: failed\n", 46), "%s",
	              s.shown.data);
	seen_free(&s);
}
END_TEST

START_TEST(test_long_lines)
{
	size_t big = CLAUDE_LINE_MAX + 10;
	char *pad = malloc(big);
	struct seen s = { 0 };
	void *reader = claude_talk.open(event, &s);

	ck_assert_ptr_nonnull(pad);
	memset(pad, 'x', big);
	claude_talk.read(reader, pad, big);
	claude_talk.read(reader, pad, big);
	claude_talk.read(reader, "\n{\"type\":\"result\",\"is_error\":false}\n", 36);
	ck_assert(claude_talk.idle(reader));
	claude_talk.close(reader);
	ck_assert_str_eq(s.log.data,
	                 "note - - a line of its output is longer than 16 MiB, and was not read\nturn - - -\n");
	seen_free(&s);
	free(pad);
}
END_TEST

/* What is written is one line of JSON, whatever is said. */
START_TEST(test_written)
{
	struct text out = { 0 };
	json_t *line;

	claude_talk.message(&out, "m-1", "a \"b\"\n\xc3\xa4\x01");
	ck_assert_ptr_eq(strchr(out.data, '\n'), out.data + out.len - 1);
	line = json_loads(out.data, 0, NULL);
	ck_assert_str_eq(json_string_value(json_object_get(line, "uuid")), "m-1");
	ck_assert_str_eq(json_string_value(json_object_get(json_object_get(line, "message"), "content")),
	                 "a \"b\"\n\xc3\xa4\x01");
	json_decref(line);
	text_free(&out);
	claude_talk.message(&out, "m-1", "\xff");
	ck_assert(out.failed && !out.len); /* not UTF-8: nothing is written, and that is known */
	text_free(&out);
	claude_talk.interrupt(&out);
	line = json_loads(out.data, 0, NULL);
	ck_assert_str_eq(json_string_value(json_object_get(json_object_get(line, "request"), "subtype")), "interrupt");
	json_decref(line);
	text_free(&out);
}
END_TEST

static json_malloc_t json_takes;
static json_free_t json_gives;
static char *turn_data;
static size_t turn_len;

static int read_turn(void *userdata)
{
	struct seen s = { 0 };
	void *reader = claude_talk.open(event, &s);

	(void)userdata;
	/* jansson 2.14 itself writes past its buffer when memory runs out inside a string: it is left out of this. */
	json_set_alloc_funcs(json_takes, json_gives);
	if (!reader)
		return -1;
	claude_talk.read(reader, turn_data, turn_len);
	claude_talk.end(reader);
	claude_talk.close(reader);
	seen_free(&s);
	return 0;
}

START_TEST(test_no_memory)
{
	turn_data = suite_load("unit/vectors/claude_turn.jsonl", &turn_len);
	json_get_alloc_funcs(&json_takes, &json_gives);
	ck_assert_int_gt(alloc_fail_each(read_turn, NULL, 1), 10);
	free(turn_data);
}
END_TEST

SUITE_MAIN("claude", test_recorded, test_every_split, test_every_end, test_refused, test_whys, test_garbage,
           test_servers, test_long_lines, test_written, test_no_memory)
