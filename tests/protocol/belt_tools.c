/* SPDX-License-Identifier: Apache-2.0 */
#include "belt_tools.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOTHING "\"inputSchema\":{\"type\":\"object\",\"additionalProperties\":false}"
#define PNG     "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
#define WAV     "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="
#define IMAGE   "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}"
#define RESOURCE                                                                                                       \
	"{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\",\"mimeType\":\"text/plain\","       \
	"\"text\":\"This is an embedded resource content.\"}}"
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"

const char belt_text[] =
        "{\"instructions\":\"Tools for tests.\",\"tools\":["
        "{\"name\":\"echo\",\"title\":\"Echo\",\"description\":\"Says it "
        "again.\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
        "{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"],\"additionalProperties\":false},\"outputSchema\":{"
        "\"type\":"
        "\"object\",\"properties\":{\"echo\":{\"type\":\"string\"}},\"required\":[\"echo\"]},\"annotations\":{"
        "\"readOnlyHint\":true}},"
        "{\"name\":\"slow\",\"description\":\"Takes its time and says how far it "
        "is.\",\"inputSchema\":{\"type\":\"object\","
        "\"properties\":{\"steps\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000},\"delay_ms\":{\"type\":"
        "\"integer\","
        "\"minimum\":0,\"maximum\":1000}},\"required\":[\"steps\"],\"additionalProperties\":false}},"
        "{\"name\":\"append\",\"description\":\"Adds a line to a file of the "
        "host.\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
        "{\"text\":{\"type\":\"string\",\"maxLength\":100}},\"required\":[\"text\"],\"additionalProperties\":false}},"
        "{\"name\":\"test_simple_text\",\"description\":\"Fixture.\"," NOTHING "},"
        "{\"name\":\"test_error_handling\",\"description\":\"Fixture.\"," NOTHING "},"
        "{\"name\":\"test_tool_with_progress\",\"description\":\"Fixture.\"," NOTHING "},"
        "{\"name\":\"test_image_content\",\"description\":\"Fixture.\"," NOTHING "},"
        "{\"name\":\"test_audio_content\",\"description\":\"Fixture.\"," NOTHING "},"
        "{\"name\":\"test_embedded_resource\",\"description\":\"Fixture.\"," NOTHING "},"
        "{\"name\":\"test_multiple_content_types\",\"description\":\"Fixture.\"," NOTHING "},"
        "{\"name\":\"test_missing_capability\",\"description\":\"Fixture.\"," NOTHING ",\"requires\":[\"sampling\"]},"
        "{\"name\":\"github.git.credential\",\"description\":\"For git's helper.\"," NOTHING ",\"hidden\":true}]}";

/* Those that say the same each time. */
static const struct {
	const char *name, *result;
} fixed[] = {
	{ "test_simple_text", "{\"content\":[" TEXT("This is a simple text response for testing.") "]}" },
	{ "test_error_handling",
	  "{\"content\":[" TEXT("This tool intentionally returns an error for testing") "],\"isError\":true}" },
	{ "test_image_content", "{\"content\":[" IMAGE "]}" },
	{ "test_audio_content",
	  "{\"content\":[{\"type\":\"audio\",\"data\":\"" WAV "\",\"mimeType\":\"audio/wav\"}]}" },
	{ "test_embedded_resource", "{\"content\":[" RESOURCE "]}" },
	{ "test_multiple_content_types",
	  "{\"content\":[" TEXT("Multiple content types test:") "," IMAGE "," RESOURCE "]}" },
	{ "test_missing_capability", "{\"content\":[" TEXT("ok") "]}" },
	{ "github.git.credential",
	  "{\"username\":\"x-access-token\",\"password\":\"of-the-host\",\"expires\":4102444800000}" },
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void end(struct belt_calls *c, struct belt_call *one, const char *result)
{
	void *call = one->call;

	free(one->name);
	free(one->arguments);
	memset(one, 0, sizeof(*one));
	c->reply(call, result);
}

static void end_json(struct belt_calls *c, struct belt_call *one, json_t *result)
{
	char *text = json_dumps(result, JSON_COMPACT);

	json_decref(result);
	if (!text)
		abort();
	end(c, one, text);
	free(text);
}

static const char *text_argument(const json_t *arguments)
{
	return json_string_value(json_object_get(arguments, "text"));
}

static void append(struct belt_calls *c, struct belt_call *one, const json_t *arguments)
{
	const char *text = text_argument(arguments);
	int fd = c->effects ? open(c->effects, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
	char line[512];
	size_t len = strlen(text);

	memcpy(line, text, len);
	line[len] = '\n';
	if (fd < 0)
		abort();
	for (int i = 0; i < c->times; i++)
		if (write(fd, line, len + 1) != (ssize_t)(len + 1))
			abort();
	close(fd);
	end_json(c, one, json_pack("{s:[{s:s,s:s}]}", "content", "type", "text", "text", text));
}

/* The next step of a call; true: it is answered. */
static bool step(struct belt_calls *c, struct belt_call *one, const json_t *arguments)
{
	json_int_t steps = json_integer_value(json_object_get(arguments, "steps")), all = steps, each = 1, from = 1;
	json_int_t delay = json_integer_value(json_object_get(arguments, "delay_ms"));

	if (strcmp(one->name, "test_tool_with_progress") == 0)
		steps = 3, all = 100, each = 50, from = 0, delay = 50;
	if (one->step >= steps) {
		end(c, one, "{\"content\":[" TEXT("done") "]}");
		return true;
	}
	c->progress(one->call, from + one->step * each, all);
	one->step++;
	one->due = now_ms() + delay;
	return false;
}

static bool go_on(struct belt_calls *c, struct belt_call *one)
{
	json_t *arguments = json_loads(one->arguments, 0, NULL);
	bool done = true;

	if (!arguments)
		abort();
	if (strcmp(one->name, "echo") == 0)
		end_json(c, one,
		         json_pack("{s:[{s:s,s:s}],s:{s:s}}", "content", "type", "text", "text", one->arguments,
		                   "structuredContent", "echo", text_argument(arguments)));
	else if (strcmp(one->name, "append") == 0)
		append(c, one, arguments);
	else
		done = step(c, one, arguments);
	json_decref(arguments);
	return done;
}

static const char *fixed_result(const char *name)
{
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (strcmp(fixed[i].name, name) == 0)
			return fixed[i].result;
	return NULL;
}

void belt_begin(struct belt_calls *c, void *call, const char *name, const char *arguments)
{
	const char *result = fixed_result(name);
	struct belt_call *one = c->calls;

	if (result) {
		c->reply(call, result);
		return;
	}
	while (one < c->calls + BELT_CALLS && one->call)
		one++;
	if (one == c->calls + BELT_CALLS)
		abort(); /* no more than that are in flight: the server's promise */
	*one = (struct belt_call){ call, strdup(name), strdup(arguments), 0, 0 };
	if (!one->name || !one->arguments)
		abort();
	go_on(c, one);
}

void belt_drop(struct belt_calls *c, void *call)
{
	for (struct belt_call *one = c->calls; one < c->calls + BELT_CALLS; one++) {
		if (one->call != call)
			continue;
		free(one->name);
		free(one->arguments);
		memset(one, 0, sizeof(*one));
	}
}

int belt_run(struct belt_calls *c)
{
	int64_t now = now_ms(), next = -1;

	for (struct belt_call *one = c->calls; one < c->calls + BELT_CALLS; one++) {
		if (!one->call || (one->due <= now && go_on(c, one)))
			continue;
		if (next < 0 || one->due - now < next)
			next = one->due > now ? one->due - now : 0;
	}
	return (int)next;
}
