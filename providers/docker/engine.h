/* SPDX-License-Identifier: Apache-2.0 */
/* One Docker Engine, spoken to by its API over a unix socket or, on this machine, TCP with or without TLS.  Connections are
 * kept; several requests may be under way.  One thread.
 *
 * Sources: Docker Engine API 1.44 to 1.51; 28 is the first engine with isolated gateway mode. */
#ifndef DOCKER_ENGINE_H
#define DOCKER_ENGINE_H

#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/util.h"
#include "endpoint.h"

#define ENGINE_REPLY_MAX (8u << 20) /* of a body: a longer one is an error */
#define ENGINE_MIN_MAJOR 28
#define ENGINE_EXTRA_MAX 16 /* descriptors beside those of requests */

struct engine;
struct request;
struct reply {
	long status;  /* 0: no answer came; `why` says what happened */
	json_t *json; /* NULL: none, or not JSON */
	char *why;    /* the engine's own message, or the transport's; NULL with a 2xx */
};
void reply_clear(struct reply *reply);

/* Asks /version: an engine that can't be reached, is older than 28 or has no API in common is sandbox_unavailable, with
 * the fix. */
int engine_open(const struct endpoint *e, struct engine **out, struct refusal *r);
void engine_free(struct engine *e);                 /* what is under way is dropped */
const char *engine_version(const struct engine *e); /* "28.5.2" */
const char *engine_context(const struct engine *e);
/* GET /info, asked once.  Borrowed. */
const json_t *engine_info(struct engine *e, struct refusal *r);
/* Opened at the endpoint of a plan (its JSON), and the one with this ID: pin_mismatch where it isn't; *out is to be freed then too. */
int engine_open_pinned(const json_t *endpoint, const char *id, struct engine **out, struct refusal *r);

/* path begins with a slash and has no version.  body: borrowed, or NULL.  timeout_ms 0: none.  Owned by the engine until
 * request_take, which waits for it; a freed request is dropped.  NULL: no memory.  What isn't a GET is sent once, on a
 * connection of its own: libcurl repeats a request whose kept connection turns out to be dead. */
struct request *engine_begin(struct engine *e, const char *method, const char *path, const json_t *body,
                             int timeout_ms);
bool request_answered(const struct request *request); /* its headers are here: a wait is registered */
bool request_done(const struct request *request);
void request_take(struct request *request, struct reply *out);
void request_drop(struct request *request); /* NULL is fine */
/* Moves all that is under way; returns when one is newly answered or done, one of the n extra descriptors is ready
 * (revents are set), or after timeout_ms (-1: none).  Negative errno. */
int engine_poll(struct engine *e, struct pollfd *extra, size_t n, int timeout_ms);
/* begin, wait, take. */
void engine_ask(struct engine *e, const char *method, const char *path, const json_t *body, int timeout_ms,
                struct reply *out);
/* Percent-encoded, new. */
char *engine_escape(const char *text);

#endif
