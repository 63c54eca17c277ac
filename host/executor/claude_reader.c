/* SPDX-License-Identifier: Apache-2.0 */
/* What Claude Code prints with --output-format stream-json, and what it reads with --input-format stream-json: JSON, a line
 * each.  A turn is judged by is_error: its subtype says "success" of an API that refused everything. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claude_reader.h"

#define SUMMARY_MAX 300
#define ERROR_MAX   64

struct reader {
	talk_event_fn fn;
	void *userdata;
	struct text line;
	bool skipping;         /* the line is too long to be kept */
	bool over;             /* a result, and nothing since */
	size_t tasks;          /* that run in the background */
	char error[ERROR_MAX]; /* how it called what failed last */
};

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool is(const char *a, const char *b)
{
	return a && !strcmp(a, b);
}

static void emit(struct reader *r, struct talk_event event)
{
	r->fn(&event, r->userdata);
}

static void started(struct reader *r, const json_t *line)
{
	const json_t *servers = json_object_get(line, "mcp_servers"), *server;
	size_t i;

	emit(r, (struct talk_event){
	                .kind = TALK_STARTED, .id = text_of(line, "session_id"), .text = text_of(line, "model") });
	json_array_foreach(servers, i, server)
	{
		const char *status = text_of(server, "status");

		emit(r, (struct talk_event){ .kind = TALK_SERVER,
		                             .name = text_of(server, "name"),
		                             .text = status,
		                             .failed = !is(status, "connected") });
	}
}

static void retried(struct reader *r, const json_t *line)
{
	const json_t *status = json_object_get(line, "error_status");
	const char *error = text_of(line, "error");
	char text[200], what[40] = "no connection to its API";

	if (json_is_integer(status))
		snprintf(what, sizeof(what), "HTTP %lld", (long long)json_integer_value(status));
	snprintf(text, sizeof(text), "%s%s%.60s: attempt %lld of %lld, again in %.1f s", what, error ? ", " : "",
	         error ? error : "", (long long)json_integer_value(json_object_get(line, "attempt")),
	         (long long)json_integer_value(json_object_get(line, "max_retries")),
	         json_number_value(json_object_get(line, "retry_delay_ms")) / 1000);
	emit(r, (struct talk_event){ .kind = TALK_NOTE, .text = text });
}

static void of_system(struct reader *r, const json_t *line)
{
	const char *subtype = text_of(line, "subtype");

	if (is(subtype, "init")) {
		r->over = false;
		started(r, line);
	} else if (is(subtype, "api_retry")) {
		r->over = false;
		retried(r, line);
	} else if (is(subtype, "background_tasks_changed")) {
		r->tasks = json_array_size(json_object_get(line, "tasks"));
	} else if (is(subtype, "permission_denied")) {
		emit(r, (struct talk_event){ .kind = TALK_TOOL_BAD, .text = text_of(line, "message") });
	}
}

/* The one member that says most, or all of them. */
static char *summary(const json_t *input)
{
	static const char *const telling[] = { "command", "file_path", "path", "pattern", "url", "description" };
	const char *tells = NULL;
	char *text = NULL;

	for (size_t i = 0; !tells && i < sizeof(telling) / sizeof(telling[0]); i++)
		tells = text_of(input, telling[i]);
	if (tells)
		text = strdup(tells);
	else if (json_object_size(input))
		text = json_dumps(input, JSON_COMPACT);
	if (text && strlen(text) > SUMMARY_MAX) {
		size_t n = text_valid(text, SUMMARY_MAX - 3); /* the dots take the place of what is there */

		memcpy(text + n, "...", 4);
	}
	return text;
}

static void of_assistant(struct reader *r, const json_t *line)
{
	const json_t *content = json_object_get(json_object_get(line, "message"), "content"), *block;
	const char *error = text_of(line, "error");
	size_t i;

	r->over = false;
	if (error) {
		snprintf(r->error, sizeof(r->error), "%s", error);
		return; /* its text is the result's, which comes */
	}
	json_array_foreach(content, i, block)
	{
		const char *type = text_of(block, "type");

		if (is(type, "text")) {
			emit(r, (struct talk_event){ .kind = TALK_TEXT, .text = text_of(block, "text") });
		} else if (is(type, "tool_use")) {
			char *text = summary(json_object_get(block, "input"));

			emit(r, (struct talk_event){ .kind = TALK_TOOL, .name = text_of(block, "name"), .text = text });
			free(text);
		}
	}
}

/* A tool's answer is text, or blocks of which the first text is shown. */
static const char *answer_text(const json_t *content)
{
	const json_t *block;
	size_t i;

	if (json_is_string(content))
		return json_string_value(content);
	json_array_foreach(content, i, block)
	{
		if (text_of(block, "text"))
			return text_of(block, "text");
	}
	return NULL;
}

static void of_user(struct reader *r, const json_t *line)
{
	const json_t *content = json_object_get(json_object_get(line, "message"), "content"), *block;
	size_t i;

	r->over = false;
	if (json_is_true(json_object_get(line, "isReplay"))) {
		emit(r, (struct talk_event){ .kind = TALK_DELIVERED, .id = text_of(line, "uuid") });
		return;
	}
	json_array_foreach(content, i, block)
	{
		if (is(text_of(block, "type"), "tool_result") && json_is_true(json_object_get(block, "is_error")))
			emit(r, (struct talk_event){ .kind = TALK_TOOL_BAD,
			                             .text = answer_text(json_object_get(block, "content")) });
	}
}

static void of_result(struct reader *r, const json_t *line)
{
	char subject[40], *message;
	struct talk_why why = { 0 };
	bool failed = !json_is_false(json_object_get(line, "is_error"));

	r->over = true;
	message = failed ? claude_why(line, r->error, &why, subject) : NULL;
	r->error[0] = 0;
	emit(r, (struct talk_event){ .kind = TALK_TURN, .failed = failed, .why = failed ? &why : NULL });
	free(message);
}

static void of_line(struct reader *r, const char *data, size_t len)
{
	json_t *line = json_loadb(data, len, JSON_ALLOW_NUL, NULL);
	const char *type = text_of(line, "type");

	if (!type) {
		char *text = strndup(data, len < SUMMARY_MAX ? len : SUMMARY_MAX);

		if (len)
			emit(r, (struct talk_event){ .kind = TALK_OTHER, .text = text });
		free(text);
	} else if (is(type, "system")) {
		of_system(r, line);
	} else if (is(type, "assistant")) {
		of_assistant(r, line);
	} else if (is(type, "user")) {
		of_user(r, line);
	} else if (is(type, "command_lifecycle")) {
		if (is(text_of(line, "state"), "started"))
			emit(r, (struct talk_event){ .kind = TALK_TAKEN, .id = text_of(line, "command_uuid") });
	} else if (is(type, "result")) {
		of_result(r, line);
	}
	json_decref(line);
}

static void too_long(struct reader *r)
{
	emit(r, (struct talk_event){ .kind = TALK_NOTE,
	                             .text = r->line.failed ? "out of memory: a line of its output was not read"
	                                                    : "a line of its output is longer than 16 MiB, and was "
	                                                      "not read" });
	text_free(&r->line);
	r->skipping = true;
}

static void *open_reader(talk_event_fn fn, void *userdata)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (r) {
		r->fn = fn;
		r->userdata = userdata;
	}
	return r;
}

static void end_line(struct reader *r)
{
	if (!r->skipping && r->line.len)
		of_line(r, r->line.data, r->line.len);
	r->skipping = false;
	r->line.len = 0;
	if (r->line.cap > CLAUDE_LINE_KEPT)
		text_free(&r->line); /* one long line is no reason to keep its memory */
}

static void read_bytes(void *reader, const void *data, size_t len)
{
	struct reader *r = reader;
	const char *s = data;

	while (len) {
		const char *end = memchr(s, '\n', len);
		size_t n = end ? (size_t)(end - s) : len;

		if (!r->skipping && n > CLAUDE_LINE_MAX - r->line.len)
			too_long(r);
		if (!r->skipping && n) {
			text_add(&r->line, s, n);
			if (r->line.failed)
				too_long(r);
		}
		if (!end)
			return;
		end_line(r);
		s += n + 1;
		len -= n + 1;
	}
}

static void end_reader(void *reader)
{
	end_line(reader);
}

static void close_reader(void *reader)
{
	struct reader *r = reader;

	if (r)
		text_free(&r->line);
	free(r);
}

static bool idle(const void *reader)
{
	const struct reader *r = reader;

	return r->over && !r->tasks;
}

static void put_line(struct text *out, json_t *taken)
{
	char *text = taken ? json_dumps(taken, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	if (text) {
		text_puts(out, text);
		text_add(out, "\n", 1);
	} else {
		out->failed = true;
	}
	json_decref(taken);
	free(text);
}

static void put_message(struct text *out, const char *mark, const char *text)
{
	put_line(out, json_pack("{s:s, s:{s:s, s:s}, s:s}", "type", "user", "message", "role", "user", "content", text,
	                        "uuid", mark));
}

static void put_interrupt(struct text *out)
{
	put_line(out, json_pack("{s:s, s:s, s:{s:s}}", "type", "control_request", "request_id", "interrupt", "request",
	                        "subtype", "interrupt"));
}

const struct talk claude_talk = {
	.open = open_reader,
	.read = read_bytes,
	.end = end_reader,
	.close = close_reader,
	.idle = idle,
	.message = put_message,
	.interrupt = put_interrupt,
};
