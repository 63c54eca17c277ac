/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "place.h"

#define WAIT_MS  10000
#define RETRY_MS 50

bool link_there(struct host *h)
{
	int fd = place_lock_file(h, false), rc = fd < 0 ? 0 : place_locked(fd, 0);

	if (fd >= 0)
		close(fd);
	return rc != 0; /* what can't be told is no reason to go round it */
}

static int dial(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The next message within the time; NULL: none came. */
static json_t *next(struct line *l, long long until)
{
	struct pollfd p = { .fd = l->fd };
	json_t *message = NULL;
	int rc;

	while ((rc = line_next(l, &message)) == 0) {
		long long left = until < 0 ? -1 : until - host_mono_ms();

		p.events = line_waits(l) ? POLLIN | POLLOUT : POLLIN;
		if ((until >= 0 && left <= 0) || (poll(&p, 1, (int)left) < 0 && errno != EINTR) ||
		    ((p.revents & POLLOUT) && line_flush(l) < 0) ||
		    ((p.revents & (POLLIN | POLLHUP | POLLERR)) && line_read(l) < 0))
			return NULL;
	}
	return rc > 0 ? message : NULL;
}

json_t *link_ask(struct line *l, const char *method, json_t *params_taken, json_t **error)
{
	long long until = host_mono_ms() + WAIT_MS;
	json_t *message, *result;

	*error = NULL;
	if (line_send(l, json_pack("{s:s, s:i, s:s, s:o}", "jsonrpc", "2.0", "id", 1, "method", method, "params",
	                           params_taken)) < 0)
		return NULL;
	message = next(l, until);
	result = json_object_get(message, "result");
	result = result ? json_incref(result) : NULL;
	if (message && !result)
		*error = json_incref(json_object_get(json_object_get(message, "error"), "data"));
	json_decref(message);
	return result;
}

bool link_wait(struct line *l, const char *method)
{
	json_t *message;
	bool found = false;

	while (!found && (message = next(l, -1))) {
		const char *name = host_string(message, "method");

		found = name && !strcmp(name, method);
		json_decref(message);
	}
	return found;
}

static bool greet(struct host *h, struct line *l)
{
	char token[SERVE_TOKEN];
	json_t *error = NULL, *answer = NULL;

	if (place_token_read(h, token))
		answer = link_ask(l, "hello", json_pack("{s:i, s:s}", "version", 1, "token", token), &error);
	explicit_bzero(token, sizeof(token));
	json_decref(error);
	json_decref(answer);
	return answer != NULL;
}

int link_open(struct host *h, const char *what, struct line *out)
{
	static const struct refusal silent = { "serve_unreachable", "serve.sock",
		                               "a daemon has this state directory, and doesn't answer",
		                               "systemctl --user restart open-conduit" };
	struct sockaddr_un address;
	long long until = host_mono_ms() + WAIT_MS;

	if (host_open(h) < 0)
		return -1;
	if (!link_there(h))
		return 0;
	if (!place_address(h, what, &address))
		return -1;
	/* One that begins isn't listening yet, one that ends will be gone. */
	while (host_mono_ms() < until) {
		int fd = dial(&address);

		if (fd >= 0) {
			line_begin(out, fd, LINE_MAX_MESSAGE);
			if (greet(h, out))
				return 1;
			line_end(out);
		}
		if (!link_there(h))
			return 0;
		poll(NULL, 0, RETRY_MS);
	}
	host_refuse(h, what, &silent);
	return -1;
}

void link_report(struct host *h, const char *what, json_t *error)
{
	static const struct refusal gone = { "serve_unreachable", "serve.sock", "the daemon gave no answer",
		                             "open-conduit serve --status" };

	if (error)
		host_report_json(h, what, error);
	else
		host_refuse(h, what, &gone);
	json_decref(error);
}

/* No answer came: its row says whether it was queued. */
static bool is_queued(struct host *h, const char *run)
{
	char *text = NULL;
	json_t *rows, *row;
	bool found = false;
	size_t i;

	if (oc_queue_list(h->store, &text, NULL) < 0)
		return false;
	rows = host_parse(h, "the queue", text);
	json_array_foreach(rows, i, row) found |= !strcmp(host_string(row, "id"), run);
	json_decref(rows);
	return found;
}

static json_t *message_of(const struct link_turn *t)
{
	return json_pack("{s:s, s:s, s:s?, s:{s:s, s:I}}", "run", t->run, "binding", t->binding, "key", t->key,
	                 "request", "input", t->input, "timeout_ms", (json_int_t)t->timeout_ms);
}

int link_submit(struct host *h, const struct link_turn *t)
{
	json_t *error = NULL, *answer;
	struct line l;
	int rc = link_open(h, "not queued", &l);

	if (rc <= 0)
		return rc;
	answer = link_ask(&l, "submit", message_of(t), &error);
	line_end(&l);
	if (!answer && (error || !is_queued(h, t->run))) {
		link_report(h, "not queued", error);
		return -1;
	}
	json_decref(answer);
	if (h->json)
		out_json(&h->out, json_pack("{s:i, s:s, s:s}", "version", 1, "run", t->run, "state", "queued"));
	else
		out_printf(&h->out, "%s\n", t->run);
	return 1;
}
