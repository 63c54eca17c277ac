/* SPDX-License-Identifier: Apache-2.0 */
#include "render.h"

#include <string.h>

#define LINE_MAX_SHOWN 400 /* of what a tool answered */

/* Lines of the agent's, each of them with `indent` before it. */
static void lines(struct text *out, const char *indent, const char *text, bool ascii)
{
	while (*text) {
		struct filter f = { .lines = true, .ascii = ascii };
		size_t n = strcspn(text, "\n");

		text_puts(out, indent);
		filter_add(&f, out, text, n);
		filter_end(&f, out);
		text_puts(out, "\n");
		text += n + (text[n] == '\n');
	}
}

static void first_line(struct text *out, const char *before, const char *text, bool ascii)
{
	char line[LINE_MAX_SHOWN + 1];
	size_t n;

	text += strspn(text, " \t\r\n");
	n = strcspn(text, "\n");
	n = n > LINE_MAX_SHOWN ? LINE_MAX_SHOWN : n;
	n = text_valid(text, n);
	memcpy(line, text, n);
	line[n] = 0;
	lines(out, before, *line ? line : "(nothing)", ascii);
}

static void tool(struct text *out, const struct talk_event *e, bool ascii)
{
	text_puts(out, "* ");
	text_escape(out, e->name ? e->name : "?", ascii);
	if (e->text)
		first_line(out, ": ", e->text, ascii);
	else
		text_puts(out, "\n");
}

void render_event(struct text *out, const struct talk_event *e, bool ascii)
{
	const char *text = e->text ? e->text : "";

	switch (e->kind) {
	case TALK_TEXT:
		lines(out, "", text, ascii);
		break;
	case TALK_TOOL:
		tool(out, e, ascii);
		break;
	case TALK_TOOL_BAD:
		first_line(out, "  ! ", text, ascii);
		break;
	case TALK_NOTE:
		first_line(out, "  ~ ", text, ascii);
		break;
	case TALK_OTHER:
		first_line(out, "? ", text, ascii);
		break;
	case TALK_SERVER:
		if (e->failed) {
			text_puts(out, "  ! the tools of ");
			text_escape(out, e->name ? e->name : "?", ascii);
			first_line(out, " are not there: ", text, ascii);
		}
		break;
	case TALK_TURN:
		if (e->failed && e->why)
			first_line(out, "  ! ", e->why->message, ascii);
		break;
	case TALK_STARTED:
	case TALK_TAKEN:
	case TALK_DELIVERED:
		break;
	}
}
