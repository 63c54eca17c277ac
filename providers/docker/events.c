/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUMMARY_ROOM 512
#define FIELDS_MAX   5

/* A member for each word after the event's name: # a number, else a text; the last of a line may have spaces in it. */
static const struct {
	const char *event;
	const char *members[FIELDS_MAX];
} forms[EVENT_KINDS] = {
	[EVENT_ALLOW] = { "allow", { "#n", "host", "#port", "address" } },
	[EVENT_DENY] = { "deny", { "#n", "host", "#port", "why" } },
	[EVENT_BAD] = { "bad", { "#n", "what" } },
	[EVENT_FAIL] = { "fail", { "#n", "host", "#port", "why" } },
	[EVENT_SNI] = { "sni", { "#n", "name" } },
	[EVENT_END] = { "end", { "#n", "#up", "#down", "#ms" } },
	[EVENT_LOST] = { "lost", { "#n" } },
};

static bool add_word(json_t *out, const char *member, const char *word)
{
	char *end;
	long long n;

	if (member[0] != '#')
		return json_object_set_new(out, member, json_string(word)) == 0;
	if (*word < '0' || *word > '9' || strlen(word) > 15)
		return false;
	n = strtoll(word, &end, 10);
	return !*end && json_object_set_new(out, member + 1, json_integer(n)) == 0;
}

static bool add_words(json_t *out, const char *const *members, char *words)
{
	size_t i;

	for (i = 0; i < FIELDS_MAX && members[i]; i++) {
		bool last = i + 1 == FIELDS_MAX || !members[i + 1];
		char *word = words, *space = last ? NULL : strchr(words, ' ');

		if (!last && !space)
			return false;
		if (space) {
			*space = '\0';
			words = space + 1;
		}
		if (!*word || !add_word(out, members[i], word))
			return false;
	}
	return true;
}

json_t *events_parse(const char *line, int *kind)
{
	cleanup_free char *words = strdup(line);
	char *space = words ? strchr(words, ' ') : NULL;
	json_t *out;
	const char *p;

	for (p = line; *p; p++)
		if (*p < 0x20 || *p > 0x7e)
			return NULL;
	if (!space)
		return NULL;
	*space = '\0';
	for (*kind = 0; *kind < EVENT_KINDS && strcmp(forms[*kind].event, words) != 0; ++*kind)
		;
	if (*kind == EVENT_KINDS)
		return NULL;
	out = json_pack("{s:s}", "event", words);
	if (out && add_words(out, forms[*kind].members, space + 1))
		return out;
	json_decref(out);
	return NULL;
}

int events_open(const char *path, struct events *out, struct refusal *r)
{
	struct stat st;

	*out = (struct events){ .fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		                           0600) };
	if (out->fd < 0)
		return refuse(r, "sandbox_unavailable", path, NULL, "%s can't be opened: %s", path, strerror(errno));
	if (fstat(out->fd, &st) == 0 && S_ISREG(st.st_mode)) {
		out->size = (size_t)st.st_size;
		return 0;
	}
	close(out->fd);
	out->fd = -1;
	return refuse(r, "sandbox_unavailable", path, NULL, "%s is no file", path);
}

static bool put(struct events *e, json_t *line, size_t most)
{
	struct timespec now;
	cleanup_free char *text = NULL, *whole = NULL;
	size_t len;

	clock_gettime(CLOCK_REALTIME, &now);
	if (json_object_set_new(line, "at", json_integer((json_int_t)now.tv_sec * 1000 + now.tv_nsec / 1000000)) < 0)
		return false;
	text = json_dumps(line, JSON_COMPACT | JSON_SORT_KEYS);
	whole = text ? format("%s\n", text) : NULL;
	len = whole ? strlen(whole) : 0;
	/* In one piece, so that a reader of what is written just now sees whole lines. */
	if (!whole || e->size + len > most || write(e->fd, whole, len) != (ssize_t)len)
		return false;
	e->size += len;
	return true;
}

static void take_line(struct events *e)
{
	int kind;
	json_t *line;

	e->line[e->len] = '\0';
	line = e->overlong || strlen(e->line) != e->len ? NULL : events_parse(e->line, &kind);
	if (!line) {
		e->malformed++;
		return;
	}
	e->seen[kind]++;
	if (kind == EVENT_LOST)
		e->lost += (uint64_t)json_integer_value(json_object_get(line, "n"));
	if (!put(e, line, EVENTS_MAX - SUMMARY_ROOM))
		e->dropped++;
	json_decref(line);
}

void events_feed(struct events *e, const char *data, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (data[i] == '\n') {
			take_line(e);
			e->len = 0;
			e->overlong = false;
		} else if (e->len + 1 < sizeof(e->line)) {
			e->line[e->len++] = data[i];
		} else {
			e->overlong = true;
		}
	}
}

void events_close(struct events *e)
{
	json_t *line;
	int i;

	if (e->fd < 0)
		return;
	line = json_pack("{s:s, s:I, s:I, s:I}", "event", "summary", "lost", (json_int_t)e->lost, "dropped",
	                 (json_int_t)e->dropped, "malformed", (json_int_t)e->malformed);
	for (i = 0; line && i < EVENT_KINDS; i++)
		if (i != EVENT_LOST)
			(void)json_object_set_new(line, forms[i].event, json_integer((json_int_t)e->seen[i]));
	if (line)
		(void)put(e, line, EVENTS_MAX);
	json_decref(line);
	close(e->fd);
	e->fd = -1;
}
