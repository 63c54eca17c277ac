/* SPDX-License-Identifier: Apache-2.0 */
/* The guard's side of MCP as a server on stdin and stdout, without a guard: for clients, and for the conformance suite.
 *
 *   mcp_stdio [--without TEXT]     TEXT is taken out of each line that is sent: the control of a test */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "belt_tools.h"
#include "guard/mcp.h"

struct server {
	struct oc_mcp *mcp;
	struct belt_calls calls;
	const char *without;
};

/* Tickets begin at 1, so none is NULL.  One server a process: where a call came from is no question. */
static struct server server;

static void *handle_of(uint64_t ticket)
{
	return (void *)(uintptr_t)ticket;
}

static uint64_t ticket_of(void *call)
{
	return (uintptr_t)call;
}

static int on_send(void *arg, const void *line, size_t len)
{
	struct server *s = arg;
	const char *at = s->without ? memmem(line, len, s->without, strlen(s->without)) : NULL;
	size_t before = at ? (size_t)(at - (const char *)line) : len;

	fwrite(line, 1, before, stdout);
	if (at)
		fwrite(at + strlen(s->without), 1, len - before - strlen(s->without), stdout);
	return fflush(stdout) ? OC_ECLOSED : 0;
}

static void on_call(void *arg, uint64_t ticket, const char *name, const json_t *arguments)
{
	struct server *s = arg;
	char *text = json_dumps(arguments, JSON_COMPACT);

	if (!text)
		abort();
	belt_begin(&s->calls, handle_of(ticket), name, text);
	free(text);
}

static void on_cancelled(void *arg, uint64_t ticket)
{
	struct server *s = arg;

	belt_drop(&s->calls, handle_of(ticket));
}

static void on_progress(void *call, int64_t progress, int64_t total)
{
	oc_mcp_progress(server.mcp, ticket_of(call), (double)progress, (double)total, NULL);
}

static void on_reply(void *call, const char *result)
{
	json_t *json = json_loads(result, 0, NULL);

	oc_mcp_answer(server.mcp, ticket_of(call), json);
	json_decref(json);
}

int main(int argc, char **argv)
{
	static const struct oc_mcp_ops ops = { on_send, on_call, on_cancelled };
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	json_t *belt = json_loads(belt_text, 0, NULL);
	oc_error *err = NULL;
	char piece[65536];
	ssize_t n = 1;

	if (argc == 3 && strcmp(argv[1], "--without") == 0)
		server.without = argv[2];
	server.calls.progress = on_progress;
	server.calls.reply = on_reply;
	server.calls.effects = getenv("BELT_EFFECTS");
	server.calls.times = 1;
	if (oc_mcp_belt_check(belt, &err) < 0 || oc_mcp_new(belt, &ops, &server, &server.mcp) < 0) {
		fprintf(stderr, "%s: %s\n", oc_error_subject(err) ? oc_error_subject(err) : "mcp",
		        oc_error_message(err));
		return 1;
	}
	while (n > 0) {
		if (poll(&in, 1, belt_run(&server.calls)) <= 0)
			continue;
		n = read(STDIN_FILENO, piece, sizeof(piece));
		if (n > 0 && oc_mcp_feed(server.mcp, piece, (size_t)n) < 0)
			n = -1;
	}
	oc_mcp_free(server.mcp);
	json_decref(belt);
	return n < 0;
}
