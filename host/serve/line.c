/* SPDX-License-Identifier: Apache-2.0 */
#include "line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE 16384

void line_begin(struct line *l, int fd_taken, size_t max)
{
	*l = (struct line){ .fd = fd_taken, .max = max };
}

void line_end(struct line *l)
{
	if (l->fd >= 0)
		close(l->fd);
	text_free(&l->in);
	text_free(&l->out);
	*l = (struct line){ .fd = -1 };
}

int line_read(struct line *l)
{
	char piece[PIECE];
	ssize_t n;

	if (l->in.len > l->max)
		return -1;
	do
		n = recv(l->fd, piece, sizeof(piece), MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n > 0)
		text_add(&l->in, piece, (size_t)n);
	return n > 0 && !l->in.failed ? 1 : -1;
}

static void drop(struct text *t, size_t n)
{
	memmove(t->data, t->data + n, t->len - n);
	t->len -= n;
}

int line_next(struct line *l, json_t **out)
{
	char *end = l->in.len ? memchr(l->in.data, '\n', l->in.len) : NULL;
	size_t n = end ? (size_t)(end - l->in.data) : l->in.len;

	if (n > l->max)
		return -1;
	if (!end)
		return 0;
	*out = json_loadb(l->in.data, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	drop(&l->in, n + 1);
	return json_is_object(*out) ? 1 : (json_decref(*out), -1);
}

int line_send(struct line *l, json_t *taken)
{
	char *text = taken ? json_dumps(taken, JSON_COMPACT) : NULL;

	json_decref(taken);
	if (!text || l->out.len + strlen(text) > LINE_MAX_MESSAGE) {
		free(text);
		return -1;
	}
	text_puts(&l->out, text);
	text_puts(&l->out, "\n");
	free(text);
	return l->out.failed ? -1 : line_flush(l);
}

int line_flush(struct line *l)
{
	while (l->sent < l->out.len) {
		ssize_t n = send(l->fd, l->out.data + l->sent, l->out.len - l->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		l->sent += (size_t)n;
	}
	text_free(&l->out);
	l->sent = 0;
	return 0;
}

bool line_waits(const struct line *l)
{
	return l->sent < l->out.len;
}
