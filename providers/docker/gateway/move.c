/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ROUNDS 8 /* of one direction before other connections have their turn */

/* What a call on an end said: false, and the flag that says why. */
static bool took(struct gw_end *e, ssize_t n, bool *flag)
{
	if (n >= 0)
		return true;
	if (errno == EINTR)
		return false;
	if (errno == EAGAIN)
		*flag = false;
	else
		e->broken = true;
	return false;
}

size_t gw_end_put(struct gw_end *to, const char *bytes, size_t len)
{
	size_t done = 0;

	while (done < len && to->writable && !to->broken) {
		ssize_t n = send(to->source.fd, bytes + done, len - done, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (took(to, n, &to->writable))
			done += (size_t)n;
	}
	return done;
}

bool gw_end_write(struct gw_proxy *p, struct gw_end *to, const char *bytes, size_t len)
{
	size_t done = to->text ? 0 : gw_end_put(to, bytes, len);
	char *text;

	if (done == len)
		return true;
	len -= done;
	text = malloc(len + to->text_len);
	if (!text)
		return false;
	if (to->text_len)
		memcpy(text, to->text + to->text_from, to->text_len);
	memcpy(text + to->text_len, bytes + done, len);
	free(to->text);
	to->text = text;
	to->text_from = 0;
	to->text_len += (uint32_t)len;
	p->kept += len;
	return true;
}

bool gw_end_flush(struct gw_proxy *p, struct gw_end *to)
{
	size_t done;

	if (!to->text)
		return true;
	done = gw_end_put(to, to->text + to->text_from, to->text_len);
	to->text_from += (uint32_t)done;
	to->text_len -= (uint32_t)done;
	p->kept -= done;
	if (to->text_len)
		return false;
	free(to->text);
	to->text = NULL;
	to->text_from = 0;
	return true;
}

void gw_end_shut(struct gw_end *to, const struct gw_end *from)
{
	if (to->shut)
		return;
	to->shut = true;
	/* When that was the last of both, closing says it. */
	if (!from || !from->shut)
		(void)shutdown(to->source.fd, SHUT_WR);
}

ssize_t gw_end_peek(struct gw_proxy *p, struct gw_end *from, size_t max)
{
	ssize_t n;

	if (!from->readable || from->ended)
		return 0;
	n = recv(from->source.fd, p->scratch, max, MSG_PEEK | MSG_DONTWAIT);
	if (n == 0)
		from->ended = true;
	return took(from, n, &from->readable) ? n : 0;
}

/* Of TCP, MSG_TRUNC drops what has been read elsewhere, without a copy. */
void gw_end_discard(struct gw_proxy *p, struct gw_end *from, size_t len)
{
	while (len > 0) {
		ssize_t n = recv(from->source.fd, p->scratch, len, MSG_TRUNC | MSG_DONTWAIT);

		if (n <= 0)
			return;
		len -= (size_t)n;
	}
}

static void let_go(struct gw_proxy *p, struct gw_end *from)
{
	gw_pipes_give(&p->pipes, from->pipe, from->held);
	from->pipe = NULL;
}

/* What is in the pipe; false: not all of it went. */
static bool pour(struct gw_end *from, struct gw_end *to)
{
	while (from->held > 0 && to->writable && !to->broken) {
		ssize_t n =
		        splice(from->pipe->r, NULL, to->source.fd, NULL, from->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (!took(to, n, &to->writable))
			continue;
		from->held -= (uint32_t)n;
		from->moved += (uint64_t)n;
	}
	return from->held == 0;
}

static bool fill(struct gw_proxy *p, struct gw_end *from)
{
	ssize_t n =
	        splice(from->source.fd, NULL, from->pipe->w, NULL, GW_PIPE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n == 0)
		from->ended = true;
	if (took(from, n, &from->readable) && n > 0) {
		from->held = (uint32_t)n;
		return true;
	}
	let_go(p, from);
	return false;
}

/* Without a pipe: what the other end takes is taken out, and not a byte more. */
static bool copy(struct gw_proxy *p, struct gw_end *from, struct gw_end *to)
{
	ssize_t n = gw_end_peek(p, from, GW_SCRATCH);
	size_t done = n > 0 ? gw_end_put(to, p->scratch, (size_t)n) : 0;

	gw_end_discard(p, from, done);
	from->moved += done;
	return done > 0;
}

/* A few bytes are quicker read and written, two calls instead of three or four: less than was asked for is all that there
 * was.  What the other end doesn't take then is kept, of all connections together no more than GW_KEPT_MAX. */
static bool little(struct gw_proxy *p, struct gw_end *from, struct gw_end *to)
{
	ssize_t n = recv(from->source.fd, p->scratch, GW_LITTLE, MSG_DONTWAIT);

	if (n == 0)
		from->ended = true;
	if (!took(from, n, &from->readable) || n == 0)
		return false;
	from->moved += (uint64_t)n;
	from->plenty = n == GW_LITTLE;
	from->readable = from->plenty || from->last;
	if (!gw_end_write(p, to, p->scratch, (size_t)n))
		from->broken = true;
	return !to->text;
}

static bool much(struct gw_proxy *p, struct gw_end *from, struct gw_end *to)
{
	if (!from->pipe && !(from->pipe = gw_pipes_take(&p->pipes)))
		return copy(p, from, to);
	if (!fill(p, from))
		return from->plenty = false;
	return pour(from, to);
}

static bool round_of(struct gw_proxy *p, struct gw_end *from, struct gw_end *to)
{
	if (!from->readable || from->ended || !to->writable || from->broken || to->broken)
		return false;
	return from->plenty || p->kept >= GW_KEPT_MAX ? much(p, from, to) : little(p, from, to);
}

bool gw_move(struct gw_proxy *p, struct gw_end *from, struct gw_end *to)
{
	int rounds = 0;

	if (!gw_end_flush(p, to) || (from->held && !pour(from, to)))
		return false;
	while (rounds < ROUNDS && round_of(p, from, to))
		rounds++;
	if (!from->held)
		let_go(p, from);
	if (from->ended && !from->held && !to->text)
		gw_end_shut(to, from);
	return rounds == ROUNDS;
}
