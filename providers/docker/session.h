/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt at a run, from the plan to nothing left. */
#ifndef DOCKER_SESSION_H
#define DOCKER_SESSION_H

#include <sys/types.h>

#include "engine.h"
#include "events.h"
#include "objects.h"
#include "spec.h"
#include "turn.h"

struct part { /* the container, or its gateway */
	enum kind kind;
	const json_t *template, *facts;
	const char *what; /* for messages */
	char *name, *id;
	json_t *asked;
	struct request *under_way, *wait;
	pid_t pid;
	int pidfd, listener, socket;
};

struct session {
	struct spec spec;
	const char *digest; /* of the plan, from the guard */
	struct engine *engine;
	struct objects objects;
	json_t *values; /* fill.h */
	struct part container, gateway;
	struct events events;
	int signals, lock;
	struct turn turn; /* at the engine */
	bool now;         /* it doesn't queue */
	bool ended;       /* a signal said so, or the guard is gone */
	bool handed;
	struct refusal *r;
};

/* Each is 0 or -1 with a refusal; or with none, where `ended` says why. */
int session_prepare(struct session *s); /* the plan, the engine, folders, sockets */
int session_turn(struct session *s);    /* waits until the engine has a place for it */
int session_make(struct session *s);    /* networks, containers: made, and compared with the plan */
int session_start(struct session *s);   /* both started, the gateway ready, the channel handed over */
int session_serve(struct session *s);   /* until the container is over */
int session_end(struct session *s);     /* whatever there is, removed */

/* Waits until fd is ready.  Ends early where a signal, the guard's end, the container's or the gateway's does. */
int session_await(struct session *s, int fd, int timeout_ms, const char *what);
/* What the engine's answer to start-up says about a part. */
int session_inspect(struct session *s, const struct part *p, json_t **out);
/* The gateway's policy, sent; and its answer, waited for. */
int session_instruct(struct session *s, const json_t *shown);

#endif
