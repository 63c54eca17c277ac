/* SPDX-License-Identifier: Apache-2.0 */
/* The socket: who may speak, and how much.  A client is of our uid and says the operator's token first; until then it has
 * five seconds and a short line. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve.h"

#define GREETING_MS 5000

bool serve_listen(struct serve *s)
{
	struct sockaddr_un address;
	mode_t mask;
	bool good;

	if (!place_address(s->h, "not started", &address))
		return false;
	s->listen = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* What is there was another daemon's, and we have its lock. */
	unlink(address.sun_path);
	mask = umask(0177);
	good = s->listen >= 0 && bind(s->listen, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	       listen(s->listen, SERVE_CLIENTS) == 0;
	umask(mask);
	if (!good) {
		out_printf(&s->h->err, "open-conduit: it can't listen at %s: %s\n", address.sun_path, strerror(errno));
		out_flush(&s->h->err);
	}
	return good;
}

static bool ours(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

void serve_accept(struct serve *s)
{
	int fd = accept4(s->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	for (size_t i = 0; ours(fd) && i < SERVE_CLIENTS; i++) {
		struct serve_client *c = &s->clients[i];

		if (c->line.fd >= 0)
			continue;
		*c = (struct serve_client){ .deadline = host_mono_ms() + GREETING_MS };
		line_begin(&c->line, fd, LINE_MAX_GREETING);
		return;
	}
	close(fd);
}

/* In the same time wherever they differ. */
static bool same_token(const char *a, const char *b)
{
	unsigned char differs = strlen(b) != SERVE_TOKEN - 1;

	for (size_t i = 0; i < SERVE_TOKEN - 1 && b[i]; i++)
		differs |= (unsigned char)(a[i] ^ b[i]);
	return !differs;
}

static bool greets(struct serve *s, struct serve_client *c, const char *method, const json_t *params)
{
	const char *token = host_string(params, "token");

	if (strcmp(method, "hello") != 0 || json_integer_value(json_object_get(params, "version")) != 1 || !token ||
	    !same_token(s->token, token))
		return false;
	c->greeted = true;
	c->line.max = LINE_MAX_MESSAGE;
	return true;
}

static int answer(struct serve_client *c, const json_t *id, json_t *result, json_t *error)
{
	json_t *message = json_pack("{s:s, s:O}", "jsonrpc", "2.0", "id", id);

	if (result)
		json_object_set_new(message, "result", result);
	else
		json_object_set_new(message, "error",
		                    json_pack("{s:i, s:s, s:o}", "code", -32000, "message", "refused", "data", error));
	return line_send(&c->line, message);
}

/* False: it is not spoken with any more. */
static bool heard(struct serve *s, struct serve_client *c, const json_t *message)
{
	const char *method = host_string(message, "method");
	const json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");
	json_t *error = NULL, *result;

	if (!method || !json_is_integer(id))
		return false;
	if (!c->greeted)
		return greets(s, c, method, params) &&
		       answer(c, id, json_pack("{s:i, s:i}", "version", 1, "pid", (int)getpid()), NULL) == 0;
	result = serve_method(s, c, method, params, &error);
	return answer(c, id, result, error) == 0;
}

void serve_client_turn(struct serve *s, struct serve_client *c, short events)
{
	bool good = true;
	json_t *message;
	int rc = 0;

	if (events & POLLOUT)
		good = line_flush(&c->line) == 0;
	if (good && (events & (POLLIN | POLLHUP | POLLERR)))
		good = line_read(&c->line) >= 0;
	/* One that doesn't read its answers is not asked for more. */
	while (good && !line_waits(&c->line) && (rc = line_next(&c->line, &message)) > 0) {
		good = heard(s, c, message);
		json_decref(message);
	}
	if (!good || rc < 0)
		line_end(&c->line);
}

void serve_clients_late(struct serve *s)
{
	for (size_t i = 0; i < SERVE_CLIENTS; i++)
		if (s->clients[i].line.fd >= 0 && !s->clients[i].greeted && host_mono_ms() > s->clients[i].deadline)
			line_end(&s->clients[i].line);
}

void serve_clients_drained(struct serve *s)
{
	for (size_t i = 0; i < SERVE_CLIENTS; i++)
		if (s->clients[i].line.fd >= 0 && s->clients[i].drains)
			(void)!line_send(&s->clients[i].line,
			                 json_pack("{s:s, s:s}", "jsonrpc", "2.0", "method", "drained"));
}
