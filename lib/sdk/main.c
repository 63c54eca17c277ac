/* SPDX-License-Identifier: Apache-2.0 */
/* The provider's side of the protocol.  One thread, one call at a time: a callback runs inside
 * the loop and must have answered when it returns, so there is nothing to queue and no state to
 * lose.  Descriptors 0 and 1 are taken away from the rest of the program at the start: a stray
 * printf of a provider, or of a program it starts, would otherwise be a line of the protocol. */
#include <openconduit/provider.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/json.h"
#include "loop/loop.h"
#include "wire/conn.h"

#define PROTOCOL  1
#define REPLY_MAX (3u << 20) /* beneath the host's limit for a line, so that a refusal still fits */

struct server {
	struct oc_provider_ops ops;
	void *userdata;
	struct oc_loop *loop;
	bool initialized, over, failed;
};

struct oc_call {
	const char *method;
	char *params;
	json_t *reply;
	oc_error *refusal;
	bool answered;
};

static const struct method {
	const char *name;
	size_t offset;
} methods[] = {
	{ "check", offsetof(struct oc_provider_ops, check) },
	{ "plan", offsetof(struct oc_provider_ops, plan) },
	{ "inspect", offsetof(struct oc_provider_ops, inspect) },
	{ "cleanup", offsetof(struct oc_provider_ops, cleanup) },
	{ "create", offsetof(struct oc_provider_ops, create) },
	{ "save", offsetof(struct oc_provider_ops, save) },
	{ "remove", offsetof(struct oc_provider_ops, remove) },
};
typedef void (*method_fn)(oc_call *call, void *userdata);

static method_fn method_of(const struct oc_provider_ops *ops, const struct method *m)
{
	method_fn fn;

	memcpy(&fn, (const char *)ops + m->offset, sizeof(fn));
	return fn;
}

const char *oc_call_method(const oc_call *call)
{
	return call->method;
}

const char *oc_call_params(const oc_call *call)
{
	return call->params;
}

static int call_failed(oc_call *call, const char *why)
{
	call->answered = true;
	(void)oc_refuse(&call->refusal, "provider_failed", call->method, NULL, "the provider's answer to \"%s\" %s",
	                call->method, why);
	return OC_EPROTO;
}

int oc_call_reply(oc_call *call, const char *json)
{
	oc_cleanup(oc_json_decrefp) json_t *reply = NULL;
	oc_error *err = NULL;
	size_t len = json ? strlen(json) : 0;

	if (call->answered)
		return OC_EINVAL;
	if (len > REPLY_MAX)
		return call_failed(call, "is too long");
	if (!json || oc_json_parse(json, len, REPLY_MAX, "answer", &reply, &err) < 0 || !json_is_object(reply)) {
		oc_error_free(err);
		return call_failed(call, "is no JSON object");
	}
	call->answered = true;
	call->reply = oc_steal(reply);
	return OC_OK;
}

int oc_call_refuse(oc_call *call, const char *reason, const char *subject, const char *fix, const char *message)
{
	if (call->answered || !reason || !message)
		return OC_EINVAL;
	call->answered = true;
	return oc_refuse(&call->refusal, reason, subject, fix, "%s", message) == OC_ENOMEM ? OC_ENOMEM : OC_OK;
}

static void send_reply(struct server *s, struct oc_conn *conn, json_int_t id, json_t *result, oc_error *refusal)
{
	int code = refusal ? oc_conn_reply_error(conn, id, refusal) : oc_conn_reply(conn, id, result);

	if (code < 0)
		s->over = s->failed = true;
	oc_error_free(refusal);
}

static json_t *method_names(const struct oc_provider_ops *ops)
{
	json_t *names = json_array();
	size_t i;

	for (i = 0; names && i < OC_COUNT(methods); i++)
		if (method_of(ops, &methods[i]) && !oc_json_append(names, json_string(methods[i].name))) {
			json_decref(names);
			return NULL;
		}
	return names;
}

static void initialize(struct server *s, struct oc_conn *conn, json_int_t id, const json_t *params)
{
	int64_t protocol = 0;
	const char *host = NULL;
	const struct oc_json_key keys[] = {
		{ "protocol", OC_JSON_INT, true, &protocol },
		{ "host", OC_JSON_STRING, true, &host },
	};
	oc_error *err = NULL;
	json_t *reply;

	if (s->initialized)
		(void)oc_fail(&err, OC_EPROTO, 0, "initialize came twice");
	else if (!json_is_object(params))
		(void)oc_fail(&err, OC_EPROTO, 0, "initialize takes an object");
	else if (oc_json_unpack(params, "", NULL, keys, OC_COUNT(keys), &err) == 0 && protocol != PROTOCOL)
		(void)oc_fail(&err, OC_EVERSION, 0, "protocol %lld was asked for, and this provider speaks %d",
		              (long long)protocol, PROTOCOL);
	if (err) {
		send_reply(s, conn, id, NULL, err);
		return;
	}
	reply = json_pack("{s:i, s:s, s:s, s:s, s:o}", "protocol", PROTOCOL, "name", s->ops.name, "version",
	                  s->ops.version, "kind", s->ops.kind, "methods", method_names(&s->ops));
	if (!reply)
		(void)oc_nomem(&err);
	s->initialized = true;
	send_reply(s, conn, id, reply, err);
}

/* "provider:plan": it is asked; "provider:plan-done": it has done it, and nobody knows. */
static void fault(const char *method, const char *when)
{
	char point[64];

	snprintf(point, sizeof(point), "provider:%s%s", method, when);
	oc_fault(point);
}

static void perform(struct server *s, struct oc_conn *conn, json_int_t id, method_fn fn, const char *method,
                    const json_t *params)
{
	struct oc_call call = { .method = method };
	oc_error *err = NULL;

	call.params = params ? json_dumps(params, JSON_COMPACT) : strdup("{}");
	if (!call.params) {
		(void)oc_nomem(&err);
		send_reply(s, conn, id, NULL, err);
		return;
	}
	fault(method, "");
	fn(&call, s->userdata);
	fault(method, "-done");
	if (!call.answered)
		(void)call_failed(&call, "never came");
	if (!call.reply && !call.refusal)
		(void)oc_nomem(&call.refusal);
	send_reply(s, conn, id, call.reply, call.refusal);
	free(call.params);
}

static void on_request(struct oc_conn *conn, json_int_t id, const char *method, const json_t *params, void *userdata)
{
	struct server *s = userdata;
	oc_error *err = NULL;
	size_t i;

	if (!strcmp(method, "initialize")) {
		initialize(s, conn, id, params);
		return;
	}
	if (!s->initialized) {
		(void)oc_fail(&err, OC_EPROTO, 0, "initialize has to come first");
		send_reply(s, conn, id, NULL, err);
		return;
	}
	for (i = 0; i < OC_COUNT(methods); i++) {
		method_fn fn = method_of(&s->ops, &methods[i]);

		if (!strcmp(method, methods[i].name) && fn) {
			perform(s, conn, id, fn, methods[i].name, params);
			return;
		}
	}
	(void)oc_fail(&err, OC_ENOTFOUND, 0, "this provider has no such method");
	send_reply(s, conn, id, NULL, err);
}

/* The protocol has no notifications: one that comes anyway means that the two sides don't agree
 * about the version, and going on would be guessing. */
static void on_notify(struct oc_conn *conn OC_UNUSED, const char *method OC_UNUSED, const json_t *params OC_UNUSED,
                      void *userdata)
{
	struct server *s = userdata;

	s->over = s->failed = true;
}

static void on_closed(struct oc_conn *conn OC_UNUSED, const oc_error *err, void *userdata)
{
	struct server *s = userdata;

	s->over = true;
	s->failed = s->failed || err;
}

static bool is_stream(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

/* The socket moves above the standard descriptors; 0 becomes /dev/null and 1 the log. */
static int take_socket(void)
{
	int null, fd = fcntl(0, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return -1;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, 0) < 0 || dup2(fcntl(2, F_GETFD) < 0 ? null : 2, 1) < 0)
		fd = oc_close(fd);
	(void)oc_close(null);
	return fd;
}

static int serve(struct server *s)
{
	static const struct oc_conn_ops conn_ops = { on_request, on_notify, on_closed };
	const struct oc_conn_limits limits = OC_CONN_LIMITS;
	struct oc_conn *conn = NULL;
	int fd = take_socket();

	if (fd < 0)
		return 1;
	if (oc_conn_new(s->loop, fd, &limits, &conn_ops, s, &conn, NULL) < 0) {
		(void)oc_close(fd);
		return 1;
	}
	while (!s->over)
		if (oc_loop_wait(s->loop, -1, NULL) < 0)
			s->over = s->failed = true;
	oc_conn_free(conn);
	return s->failed ? 1 : 0;
}

int oc_provider_main(const oc_provider_ops *ops, void *userdata, int argc, char **argv OC_UNUSED)
{
	struct server s = { .userdata = userdata };
	int status = 2;

	if (!ops || argc > 1 || !oc_copy_sized(&s.ops, sizeof(s.ops), ops))
		return 2;
	if (!s.ops.name || !s.ops.version || !s.ops.kind || !is_stream(0) || !is_stream(1))
		return 2;
	if (oc_loop_new(&s.loop, NULL) < 0)
		return 1;
	status = serve(&s);
	oc_loop_free(s.loop);
	return status;
}
