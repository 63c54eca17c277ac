/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "guard/guard.h"
#include "wire/conn.h"

#define READ_SIZE 65536u
#define IDLE_MS   30

void oc_streams_init(struct oc_streams *s)
{
	memset(s, 0, sizeof(*s));
	s->in = s->out[0] = s->out[1] = s->agent[0] = s->agent[1] = s->agent[2] = -1;
	s->end = UINT64_MAX;
	oc_buf_init(&s->queue, OC_STDIN_QUEUE);
}

bool oc_streams_output_open(const struct oc_streams *s)
{
	return s->out[0] >= 0 || s->out[1] >= 0;
}

struct recording {
	struct oc_journal *journal;
	int stream;
};

static void record(const void *data, size_t len, void *userdata)
{
	const struct recording *to = userdata;

	oc_journal_write(to->journal, to->stream, data, len);
}

/* data NULL: it has ended, and what was held back is no secret. */
static void take_output(struct oc_guard *g, int i, const void *data, size_t len)
{
	struct recording to = { &g->journal, i + 1 };
	struct oc_redact_stream *redact = g->streams.redact[i];

	if (!redact && data)
		record(data, len, &to);
	else if (redact && data)
		oc_redact_feed(redact, data, len, record, &to);
	else if (redact)
		oc_redact_end(redact, record, &to);
}

/* False: that was the end. */
static bool read_some(struct oc_guard *g, int i, unsigned times)
{
	struct oc_streams *s = &g->streams;
	char data[READ_SIZE];

	while (times-- && s->out[i] >= 0) {
		ssize_t n = read(s->out[i], data, sizeof(data));

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0) {
			oc_source_free(s->out_source[i]);
			s->out_source[i] = NULL;
			s->out[i] = oc_close(s->out[i]);
			take_output(g, i, NULL, 0);
			return false;
		}
		take_output(g, i, data, (size_t)n);
		s->read_since = true;
		if (n < (ssize_t)sizeof(data))
			return true;
	}
	return true;
}

static void on_output(int fd, unsigned events, void *userdata)
{
	struct oc_guard *g = userdata;
	bool more = read_some(g, fd == g->streams.out[0] ? 0 : 1, 4);

	(void)events;
	oc_server_output(&g->server);
	if (g->streams.idle)
		oc_source_set_timer(g->streams.idle, IDLE_MS);
	if (!more)
		oc_ending_output_closed(g);
}

static void on_idle(void *userdata)
{
	struct oc_guard *g = userdata;
	struct recording to = { &g->journal, 1 };

	if (g->streams.redact[0])
		oc_redact_idle(g->streams.redact[0], record, &to);
	oc_server_output(&g->server);
}

void oc_streams_drain(struct oc_guard *g)
{
	/* Bounded: a writer that never stops must not keep the guard here. */
	read_some(g, 0, 64);
	read_some(g, 1, 64);
	oc_server_output(&g->server);
}

static void drop_input(struct oc_streams *s)
{
	oc_source_free(s->in_source);
	s->in_source = NULL;
	s->in = oc_close(s->in);
	oc_buf_free(&s->queue);
	s->in_closed = true;
}

/* What waits goes in as soon as there is room for all of it. */
static void admit_waiting(struct oc_guard *g)
{
	struct oc_streams *s = &g->streams;

	if (!s->waiting || (!s->in_closed && s->queue.len + s->waiting_len > OC_STDIN_QUEUE))
		return;
	if (s->in_closed || oc_buf_add(&s->queue, s->waiting_data, s->waiting_len) == 0)
		s->accepted += s->waiting_len;
	oc_server_accepted(s->waiting, s->waiting_id, s->accepted);
	free(s->waiting_data);
	s->waiting_data = NULL;
	s->waiting = NULL;
}

static void feed(struct oc_guard *g)
{
	struct oc_streams *s = &g->streams;

	while (s->in >= 0 && s->queue.len) {
		ssize_t n = write(s->in, s->queue.data, OC_MIN(s->queue.len, (size_t)READ_SIZE));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			drop_input(s); /* the agent closed its stdin */
		if (n < 0)
			break;
		oc_buf_consume(&s->queue, (size_t)n);
		admit_waiting(g);
	}
	admit_waiting(g);
	if (s->in_source)
		oc_source_set_events(s->in_source, s->queue.len ? OC_WRITE : 0);
	if (!s->queue.len)
		oc_buf_free(&s->queue);
	if (s->in >= 0 && !s->queue.len && s->accepted >= s->end)
		drop_input(s);
}

static void on_input(int fd, unsigned events, void *userdata)
{
	struct oc_guard *g = userdata;

	(void)fd;
	/* The writing end hears of a hang-up only when the last reader is gone. */
	if (events & OC_HANGUP)
		drop_input(&g->streams);
	feed(g);
}

static int pipes(struct oc_streams *s, oc_error **err)
{
	int i, p[2];

	for (i = 0; i < 3; i++) {
		if (pipe2(p, O_CLOEXEC) < 0)
			return oc_fail(err, OC_EIO, errno, "Can't make a pipe: %s", strerror(errno));
		s->agent[i] = i ? p[1] : p[0];
		if (i)
			s->out[i - 1] = p[0];
		else
			s->in = p[1];
		/* Only our ends: the flag would be the agent's too if it were set on its own. */
		if (oc_fd_nonblock(i ? p[0] : p[1]) < 0)
			return oc_fail(err, OC_EIO, errno, "Can't set up a pipe: %s", strerror(errno));
	}
	return 0;
}

/* Of each output that is open and has none yet. */
static int redact_streams(struct oc_guard *g, oc_error **err)
{
	struct oc_streams *s = &g->streams;
	int i, rc = 0;

	for (i = 0; rc >= 0 && i < 2; i++)
		if (s->out[i] >= 0 && !s->redact[i])
			rc = oc_redact_stream_new(g->redact, &s->redact[i], err);
	if (rc >= 0 && g->rows && !s->idle)
		rc = oc_loop_add_timer(g->loop, -1, on_idle, g, &s->idle, err);
	return rc;
}

int oc_streams_redact(struct oc_guard *g, size_t slot, const char *name, const char *value, size_t len, oc_error **err)
{
	struct oc_streams *s = &g->streams;
	int rc = g->redact ? 0 : oc_redact_new(NULL, &g->redact, err);

	rc = rc < 0 ? rc : redact_streams(g, err);
	return rc < 0 ? rc : oc_redact_later(g->redact, slot, name, value, len, s->redact, OC_COUNT(s->redact), err);
}

int oc_streams_open(struct oc_guard *g, oc_error **err)
{
	struct oc_streams *s = &g->streams;
	int i, rc = pipes(s, err);

	if (rc >= 0 && g->redact)
		rc = redact_streams(g, err);
	for (i = 0; rc >= 0 && i < 2; i++)
		rc = oc_loop_add_fd(g->loop, s->out[i], OC_READ, on_output, g, &s->out_source[i], err);
	if (rc >= 0)
		rc = oc_loop_add_fd(g->loop, s->in, 0, on_input, g, &s->in_source, err);
	if (rc < 0)
		return rc;
	feed(g);
	return 0;
}

int oc_streams_input(struct oc_guard *g, struct oc_conn *conn, json_int_t id, uint64_t offset, void *data_taken,
                     size_t len, oc_error **err)
{
	oc_cleanup(oc_freep) char *data = data_taken;
	struct oc_streams *s = &g->streams;
	size_t old;
	int rc = 0;

	if (offset > s->accepted)
		return oc_fail(err, OC_EINVAL, 0, "stdin is at %llu: bytes before %llu are missing",
		               (unsigned long long)s->accepted, (unsigned long long)offset);
	if (s->end != UINT64_MAX && offset + len > s->end)
		return oc_fail(err, OC_EINVAL, 0, "stdin ended at %llu", (unsigned long long)s->end);
	/* Delivered again after a reconnect: the part that is here already is not taken twice. */
	old = OC_MIN(s->accepted - offset, len);
	len -= old;
	if (!len || s->in_closed) {
		s->accepted += len;
		return 0;
	}
	memmove(data, data + old, len);
	if (s->waiting)
		return 0;
	if (s->queue.len + len > OC_STDIN_QUEUE) {
		s->waiting = conn;
		s->waiting_id = id;
		s->waiting_len = len;
		s->waiting_data = oc_steal(data);
		return 1;
	}
	rc = oc_buf_add(&s->queue, data, len);
	if (rc < 0)
		return oc_nomem(err);
	s->accepted += len;
	feed(g);
	return 0;
}

int oc_streams_input_end(struct oc_guard *g, uint64_t offset, oc_error **err)
{
	struct oc_streams *s = &g->streams;

	if (s->end != UINT64_MAX && s->end != offset)
		return oc_fail(err, OC_EINVAL, 0, "stdin ended at %llu", (unsigned long long)s->end);
	if (offset < s->accepted || offset > s->accepted + (s->waiting ? s->waiting_len : 0))
		return oc_fail(err, OC_EINVAL, 0, "stdin is at %llu: it can't end at %llu",
		               (unsigned long long)s->accepted, (unsigned long long)offset);
	s->end = offset;
	feed(g);
	return 0;
}

void oc_streams_forget(struct oc_streams *s, const struct oc_conn *conn)
{
	if (s->waiting != conn)
		return;
	free(s->waiting_data);
	s->waiting_data = NULL;
	s->waiting = NULL;
}

void oc_streams_close_input(struct oc_guard *g)
{
	drop_input(&g->streams);
	admit_waiting(g);
}

void oc_streams_close(struct oc_guard *g)
{
	struct oc_streams *s = &g->streams;
	int i;

	oc_source_free(oc_steal(s->idle));
	for (i = 0; i < 2; i++) {
		oc_source_free(s->out_source[i]);
		s->out_source[i] = NULL;
		s->out[i] = oc_close(s->out[i]);
		take_output(g, i, NULL, 0);
		oc_redact_stream_free(oc_steal(s->redact[i]));
	}
	for (i = 0; i < 3; i++)
		s->agent[i] = oc_close(s->agent[i]);
	oc_streams_close_input(g);
}
