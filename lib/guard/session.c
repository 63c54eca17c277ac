/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/utf8.h"
#include "guard/attempt.h"
#include "guard/guard.h"

#define OUT_MAX          (16u << 20)
#define RESULTS_MAX      (1u << 20)
#define FACTS_MAX        64
#define TEXT_MAX         4096u
#define PING_MS          10000
#define PINGS_UNANSWERED 3

void oc_session_init(struct oc_session *s)
{
	memset(s, 0, sizeof(*s));
	s->fd = s->go_fds[0] = s->go_fds[1] = s->go_fds[2] = -1;
	oc_frame_reader_init(&s->in);
	oc_buf_init(&s->out, OUT_MAX);
	oc_buf_init(&s->results, RESULTS_MAX);
}

static void wipe_out(struct oc_session *s)
{
	if (s->out_secret && s->out.data)
		explicit_bzero(s->out.data, s->out.cap);
	s->out_secret = false;
	oc_buf_free(&s->out);
}

void oc_session_close(struct oc_session *s)
{
	int i;

	oc_source_free(s->source);
	oc_source_free(s->ping);
	oc_close(s->fd);
	for (i = 0; i < 3; i++)
		oc_close(s->go_fds[i]);
	oc_frame_reader_free(&s->in);
	wipe_out(s);
	oc_buf_free(&s->results);
	json_decref(s->facts);
	oc_error_free(s->failed);
	oc_session_init(s);
}

int oc_session_expect(struct oc_session *s, const char *id)
{
	unsigned i;

	for (i = 0; i < s->n_ids && strcmp(s->ids[i].id, id); i++)
		;
	if (i == OC_PROBE_IDS || !*id || strlen(id) >= sizeof(s->ids[i].id))
		return OC_ELIMIT;
	if (i == s->n_ids) {
		snprintf(s->ids[i].id, sizeof(s->ids[i].id), "%s", id);
		s->n_ids++;
	}
	s->ids[i].sent++;
	return 0;
}

static int count_result(struct oc_session *s, const char *id)
{
	unsigned i;

	for (i = 0; i < s->n_ids; i++)
		if (strcmp(s->ids[i].id, id) == 0) {
			s->ids[i].got++;
			return 0;
		}
	return OC_EPROTO;
}

static void chain_failure(struct oc_session *s, const char *id, const char *detail)
{
	oc_error *one = NULL;

	s->failures++;
	oc_refuse(&one, "sandbox_unavailable", id, "open-conduit doctor",
	          "The sandbox did not prove itself: probe %s: %s", id, *detail ? detail : "no detail");
	if (s->failed)
		oc_error_append(&s->failed, one);
	else
		s->failed = one;
}

int oc_session_result(struct oc_session *s, const char *id, bool ok, const char *detail, uint64_t ns)
{
	json_t *one = json_pack("{s:s, s:b, s:s, s:I}", "id", id, "ok", ok, "detail", detail, "ns", (json_int_t)ns);
	int rc;

	if (!one)
		return OC_ENOMEM;
	rc = s->results.len ? oc_buf_puts(&s->results, ",") : 0;
	if (rc == 0)
		rc = oc_json_canonical(one, &s->results, NULL);
	json_decref(one);
	if (!ok)
		chain_failure(s, id, detail);
	return rc;
}

/* GO leaves after all that was queued before it: descriptors must not overtake bytes. */
static void send_go(struct oc_guard *g)
{
	struct oc_session *s = &g->session;
	unsigned char head[OC_FRAME_HEADER];
	char control[CMSG_SPACE(sizeof(s->go_fds))] = { 0 };
	struct iovec iov = { head, sizeof(head) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	ssize_t n;
	int i;

	oc_frame_header(head, OC_FRAME_GO, 0);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(s->go_fds));
	memcpy(CMSG_DATA(c), s->go_fds, sizeof(s->go_fds));
	n = sendmsg(s->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	s->go_due = false;
	for (i = 0; i < 3; i++)
		s->go_fds[i] = oc_close(s->go_fds[i]);
	if (n > 0 && n < (ssize_t)sizeof(head))
		(void)oc_buf_add(&s->out, head + n, sizeof(head) - (size_t)n);
}

void oc_session_flush(struct oc_guard *g)
{
	struct oc_session *s = &g->session;

	while (s->fd >= 0 && s->out.len) {
		ssize_t n = oc_send(s->fd, s->out.data, s->out.len);

		if (n == -EINTR)
			continue;
		if (n < 0)
			break; /* EAGAIN: later; anything else: the reading side hears of it */
		oc_buf_consume(&s->out, (size_t)n);
	}
	if (!s->out.len)
		wipe_out(s);
	if (s->fd >= 0 && !s->out.len && s->go_due)
		send_go(g);
	if (s->source)
		oc_source_set_events(s->source, OC_READ | (s->out.len || s->go_due ? OC_WRITE : 0));
}

int oc_session_send(struct oc_guard *g, enum oc_frame_type type, const void *data, size_t len)
{
	unsigned char head[OC_FRAME_HEADER];
	struct oc_session *s = &g->session;
	int rc;

	if (len > OC_FRAME_MAX)
		return OC_ELIMIT;
	oc_frame_header(head, type, (uint32_t)len);
	rc = oc_buf_reserve(&s->out, sizeof(head) + len); /* a whole frame or nothing of it */
	if (rc == 0)
		rc = oc_buf_add(&s->out, head, sizeof(head));
	if (rc == 0 && len)
		rc = oc_buf_add(&s->out, data, len);
	return rc;
}

void oc_session_go(struct oc_guard *g, const int fds[3])
{
	memcpy(g->session.go_fds, fds, sizeof(g->session.go_fds));
	g->session.go = g->session.go_due = true;
	oc_session_flush(g);
}

void oc_session_signal(struct oc_guard *g, int sig)
{
	unsigned char data[4];

	oc_put_u32(data, (uint32_t)sig);
	if (g->session.fd >= 0 && oc_session_send(g, OC_FRAME_SIGNAL, data, sizeof(data)) == 0)
		oc_session_flush(g);
}

int oc_session_size(struct oc_guard *g)
{
	unsigned char data[4];

	if (!g->rows)
		return 0;
	oc_put_u16(data, g->rows);
	oc_put_u16(data + 2, g->cols);
	return oc_session_send(g, OC_FRAME_RESIZE, data, sizeof(data));
}

static void protocol(struct oc_guard *g, const char *what)
{
	oc_error *err = NULL;

	oc_refuse(&err, "sandbox_unavailable", "P13", "open-conduit doctor",
	          "The guest broke the channel's protocol: %s", what);
	oc_attempt_broken(g, err);
}

static bool text_of(struct oc_cursor *c, bool rest, char *out, size_t size)
{
	const char *s;
	size_t len;

	if (!oc_get_string(c, rest, &s, &len) || len >= size)
		return false;
	memcpy(out, s, len);
	out[len] = '\0';
	return true;
}

static void on_hello(struct oc_guard *g, struct oc_cursor *c)
{
	struct oc_session *s = &g->session;
	unsigned char nonce[OC_NONCE_SIZE];
	char run[33];
	uint32_t version;

	if (s->hello || !oc_get_u32(c, &version) || !oc_get_bytes(c, nonce, sizeof(nonce)) ||
	    !text_of(c, true, run, sizeof(run)))
		return protocol(g, "a hello that is none");
	if (version != OC_CHANNEL_VERSION)
		return protocol(g, "another version of it");
	if (memcmp(nonce, s->nonce, sizeof(nonce)) || strcmp(run, g->run))
		return protocol(g, "its hello is not the answer to this run's");
	s->hello = true;
	if (g->confined &&
	    (oc_session_expect(s, "P13") < 0 || count_result(s, "P13") < 0 ||
	     oc_session_result(s, "P13", true, "the channel answered with this run's id and nonce", 0) < 0))
		return protocol(g, "out of memory");
	oc_attempt_hello(g);
}

static void on_fact(struct oc_guard *g, struct oc_cursor *c)
{
	struct oc_session *s = &g->session;
	char text[TEXT_MAX], *value;
	size_t i;

	if (!s->hello || s->ready || !text_of(c, true, text, sizeof(text)) || !(value = strchr(text, '=')))
		return protocol(g, "a fact that is none");
	for (i = 0; text[i]; i++)
		if (text[i] < ' ' || text[i] > '~')
			return protocol(g, "a fact with odd characters");
	*value++ = '\0';
	if (!s->facts)
		s->facts = json_object();
	if (json_object_size(s->facts) >= FACTS_MAX || !oc_json_set_string(s->facts, text, value))
		return protocol(g, "too many facts");
}

static void on_result(struct oc_guard *g, struct oc_cursor *c)
{
	struct oc_session *s = &g->session;
	char id[16], raw[TEXT_MAX];
	struct oc_buf detail;
	uint64_t ns;
	uint8_t ok;
	int rc;

	if (!s->hello || s->ready || !oc_get_u8(c, &ok) || ok > 1 || !oc_get_u64(c, &ns) ||
	    !text_of(c, false, id, sizeof(id)) || !text_of(c, true, raw, sizeof(raw)))
		return protocol(g, "a result that is none");
	if (count_result(s, id) < 0)
		return protocol(g, "a result of a probe that nobody sent");
	/* Whatever a name in the sandbox was, the record holds text that can be shown. */
	oc_buf_init(&detail, TEXT_MAX * 8);
	rc = oc_text_escape(&detail, raw, strlen(raw), false);
	if (rc == 0)
		rc = oc_session_result(s, id, ok == 1, detail.data ? detail.data : "", OC_MIN(ns, (uint64_t)1 << 52));
	oc_buf_free(&detail);
	if (rc < 0)
		protocol(g, "more results than the record holds");
}

static void on_ready(struct oc_guard *g, struct oc_cursor *c)
{
	struct oc_session *s = &g->session;
	uint32_t failures;
	unsigned i;

	if (!s->hello || s->ready || !oc_get_u64(c, &s->total_ns) || !oc_get_u32(c, &failures))
		return protocol(g, "a ready that is none");
	if (failures != s->failures)
		return protocol(g, "its count of failed probes is not what it reported");
	for (i = 0; i < s->n_ids; i++)
		if (s->ids[i].got < s->ids[i].sent)
			chain_failure(s, s->ids[i].id, "the guest reported no result");
	s->ready = true;
	oc_attempt_ready(g);
}

static const char *failed_fix(const struct oc_guard *g, const char *stage, int errnum)
{
	if (g->session.go && errnum == ENOENT)
		return "name a program that is there: in a container those of its image";
	if (g->session.go)
		return "start it through its interpreter: open-conduit exec -- /bin/sh COMMAND";
	/* Namespaces of the guest's own are needed for that one member alone. */
	if (strncmp(stage, "nest:", 5) == 0)
		return "leave \"unix_sockets\": \"all\" out of the policy, or: sudo sysctl "
		       "user.max_user_namespaces=15000 "
		       "user.max_ipc_namespaces=15000 user.max_uts_namespaces=15000 user.max_cgroup_namespaces=15000";
	/* Each run that lives has one, and the kernel counts them by user. */
	if (strcmp(stage, "session keyring") == 0 && errnum == EDQUOT)
		return "sudo sysctl kernel.keys.maxkeys=5000 kernel.keys.maxbytes=5000000";
	return "open-conduit doctor";
}

static void on_failed(struct oc_guard *g, struct oc_cursor *c)
{
	char raw[TEXT_MAX];
	struct oc_buf stage;
	uint32_t errnum;
	oc_error *err = NULL;

	/* Once the agent runs nothing can be "not started": that would be a way to hide how it ended. */
	if (g->session.running || !oc_get_u32(c, &errnum) || !text_of(c, true, raw, sizeof(raw)))
		return protocol(g, "a failure that is none");
	oc_buf_init(&stage, TEXT_MAX * 8);
	(void)oc_text_escape(&stage, raw, strlen(raw), false);
	oc_error_makef(&err, OC_EREFUSED, (int)errnum, "sandbox_unavailable", g->session.go ? "command" : "guest",
	               failed_fix(g, raw, (int)errnum), "%s: %s",
	               g->session.go ? "The command could not be started" : "The guest could not set up the sandbox",
	               stage.data ? stage.data : "");
	oc_buf_free(&stage);
	oc_attempt_refused(g, err);
}

static void on_exit_frame(struct oc_guard *g, struct oc_cursor *c)
{
	uint8_t how;
	uint32_t value;

	if (!g->session.go || g->session.exited || !oc_get_u8(c, &how) || !oc_get_u32(c, &value) ||
	    (how != OC_EXIT_STATUS && how != OC_EXIT_SIGNAL) || value > 255)
		return protocol(g, "an exit that is none");
	g->session.exited = true;
	oc_attempt_exit(g, how == OC_EXIT_SIGNAL, (int)value);
}

static void on_pong(struct oc_guard *g, struct oc_cursor *c)
{
	uint64_t n;

	if (!oc_get_u64(c, &n) || n == 0 || n > g->session.pings)
		return protocol(g, "an answer nobody asked for");
	g->session.unanswered = 0;
}

static void on_belt(struct oc_guard *g, const struct oc_frame *frame)
{
	const char *wrong =
	        g->session.running ? oc_belt_frame(g, frame) : "a toolbelt's client before there is an agent";

	if (wrong)
		protocol(g, wrong);
}

static void dispatch(struct oc_guard *g, const struct oc_frame *frame)
{
	struct oc_cursor c = { frame->data, frame->data + frame->len };

	switch (frame->type) {
	case OC_FRAME_HELLO:
		return on_hello(g, &c);
	case OC_FRAME_FACT:
		return on_fact(g, &c);
	case OC_FRAME_RESULT:
		return on_result(g, &c);
	case OC_FRAME_READY:
		return on_ready(g, &c);
	case OC_FRAME_STARTED:
		if (!g->session.go || g->session.running)
			return protocol(g, "a start nobody asked for");
		g->session.running = true;
		return;
	case OC_FRAME_FAILED:
		return on_failed(g, &c);
	case OC_FRAME_EXIT:
		return on_exit_frame(g, &c);
	case OC_FRAME_PONG:
		return on_pong(g, &c);
	case OC_FRAME_BELT_OPENED:
	case OC_FRAME_BELT_SAID:
	case OC_FRAME_BELT_CLOSED:
		return on_belt(g, frame);
	default:
		return protocol(g, "a frame that only a guard sends");
	}
}

static void on_channel(int fd, unsigned events, void *userdata)
{
	struct oc_guard *g = userdata;
	struct oc_session *s = &g->session;
	char data[16384];
	ssize_t n;

	(void)events;
	oc_session_flush(g);
	n = recv(fd, data, sizeof(data), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		/* Or it would be reported again and again until the session is closed. */
		oc_source_free(oc_steal(s->source));
		oc_attempt_silent(g, "the channel to the guest was closed");
		return;
	}
	/* Once the run is ending nothing the guest says counts; it is read all the same, so that it can't block. */
	if (g->ending)
		return;
	if (oc_frame_feed(&s->in, data, (size_t)n) < 0)
		return protocol(g, "out of memory");
	/* Each step may end the session, and with it this descriptor. */
	while (s->fd == fd && !g->ending) {
		struct oc_frame frame;
		int rc = oc_frame_next(&s->in, &frame);

		if (rc < 0)
			return protocol(g, "bytes that are no frame");
		if (rc == 0)
			return;
		dispatch(g, &frame);
	}
}

static void on_ping(void *userdata)
{
	struct oc_guard *g = userdata;
	struct oc_session *s = &g->session;
	unsigned char data[8];

	if (s->unanswered >= PINGS_UNANSWERED) {
		oc_attempt_silent(g, "the guest has not answered for 30 s");
		return;
	}
	/* Only a running agent's guest is asked: before, deadlines of their own hold. */
	if (s->go && !s->exited) {
		oc_put_u64(data, ++s->pings);
		s->unanswered++;
		if (oc_session_send(g, OC_FRAME_PING, data, sizeof(data)) == 0)
			oc_session_flush(g);
	}
	oc_source_set_timer(s->ping, PING_MS);
}

int oc_session_open(struct oc_guard *g, int fd, oc_error **err)
{
	struct oc_session *s = &g->session;
	int rc = oc_loop_add_fd(g->loop, fd, OC_READ, on_channel, g, &s->source, err);

	if (rc >= 0)
		rc = oc_loop_add_timer(g->loop, PING_MS, on_ping, g, &s->ping, err);
	if (rc < 0)
		return rc;
	s->fd = fd;
	return 0;
}
