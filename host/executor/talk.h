/* SPDX-License-Identifier: Apache-2.0 */
/* A command that speaks with its host: what it says is read as events, what is said to it is written in its own form.  One
 * table of functions a CLI; what follows from an event is agent.c's, how it looks render.c's. */
#ifndef HOST_EXECUTOR_TALK_H
#define HOST_EXECUTOR_TALK_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

enum talk_kind {
	TALK_STARTED,   /* id: its session's; text: the model */
	TALK_TEXT,      /* text: what it says */
	TALK_TOOL,      /* name, text: which tool, and with what */
	TALK_TOOL_BAD,  /* text: what a tool answered that failed */
	TALK_NOTE,      /* text: what goes on meanwhile */
	TALK_SERVER,    /* name, text: a server of tools, and its state; failed: it isn't there */
	TALK_TAKEN,     /* id: the mark of a message that it begins with; whether it stays is not known yet */
	TALK_DELIVERED, /* id: the mark of a message that it has */
	TALK_TURN,      /* a turn is over: failed, and why */
	TALK_OTHER,     /* text: a line that is none of its protocol */
};

/* Why a turn failed, in the words of openconduit-reasons(7); also what a run's record keeps. */
struct talk_why {
	const char *reason, *subject, *message, *fix;
	bool no_session; /* there is no such session: nothing was done, and one that begins afresh would work */
};
struct talk_event {
	enum talk_kind kind;
	const char *id, *name, *text; /* borrowed, as all here; not escaped */
	bool failed;
	const struct talk_why *why;
};
typedef void (*talk_event_fn)(const struct talk_event *event, void *userdata);

struct talk {
	/* A reader of standard output.  NULL: no memory. */
	void *(*open)(talk_event_fn fn, void *userdata);
	void (*read)(void *reader, const void *data, size_t len);
	void (*end)(void *reader); /* no more is coming: what is left is a line */
	void (*close)(void *reader);
	/* Does nothing go on, and nothing begin by itself?  But for messages that were written and not delivered. */
	bool (*idle)(const void *reader);
	/* Append what is written to say something to it, or to make it stop what it does.  A message that comes twice by one
	 * mark must be taken once. */
	void (*message)(struct text *out, const char *mark, const char *text);
	void (*interrupt)(struct text *out);
};
extern const struct talk claude_talk;

#endif
