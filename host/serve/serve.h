/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon: one process, one thread, one poll.  It never does what may take long: turns are started by a child
 * (`open-conduit run`), what they leave is settled by another (`open-conduit work settle`), and all that it would have to
 * remember is in the store, so that it may be killed at any moment.
 *
 *   daemon.c  the loop     listen.c  the socket     api.c  what may be asked     queue.c  what waits
 *   launch.c  a child that starts one     settle.c  one that puts things right     adopt.c  runs that are there
 *   routes.c, routed.c  issues that become Works, and what is said on them
 *   hosted.c  agents of theirs that are spoken with     release.c  those that no daemon speaks with any more */
#ifndef HOST_SERVE_SERVE_H
#define HOST_SERVE_SERVE_H

#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

#include "child.h"
#include "errand.h"
#include "host.h"
#include "line.h"
#include "place.h"

#define SERVE_CLIENTS  32
#define SERVE_JOBS_MAX 256
#define SERVE_ENDED    64 /* ids that one settling is told */

struct serve;

struct serve_client {
	struct line line;
	bool greeted, drains;
	long long deadline; /* of its greeting */
};

/* A row of the queue that is being started: by our child, or nobody by now, and then it is looked at after settling. */
struct serve_slot {
	long long number; /* 0: free */
	char run[40];
	struct child child;
	bool look;
	unsigned long after; /* the settling that has to be over */
	long long hold;      /* not tried before; 0: not waiting for that */
};

struct agent;
struct route;
struct serve_adopted {
	struct serve_adopted *next;
	struct serve *s;
	struct agent *agent; /* NULL: it is not spoken with */
	oc_run *run;         /* NULL: not connected */
	char id[40], *binding, *work;
	long long again; /* when to try, where it is not connected */
	bool ended, failed, seen;
};

struct serve {
	struct host *h;
	int jobs, lock, listen, signals;
	bool draining, over, look;
	bool watch, unripe; /* something changes that nobody tells: look again soon */
	int hurry;          /* of those that are spoken with: milliseconds, or -1 */
	char token[SERVE_TOKEN];
	long long began, looked;
	int64_t changes;
	unsigned long fd_limit; /* what children get */
	struct serve_client clients[SERVE_CLIENTS];
	struct serve_slot slots[SERVE_JOBS_MAX];
	struct serve_adopted *adopted;
	struct route *routes;
	long long routes_at; /* when the config is looked at for more of them */
	bool routes_bad;     /* it has an error, which was said */
	/* settling */
	struct child settle;
	unsigned long settle_begun, settle_over, settle_wanted; /* numbers of settlings */
	long long settle_at, settle_pause;
	char ended[SERVE_ENDED][40];
	size_t n_ended;
	/* as last looked */
	size_t queued, starting, started, kept;
};

int serve_daemon(struct host *h, int jobs); /* the exit status */
void serve_say(struct serve *s, const char *what, const oc_error *err);

/* place to put descriptors of one poll; those that nobody waits for are -1 */
struct serve_poll {
	struct pollfd v[4 + SERVE_CLIENTS + 2 * SERVE_JOBS_MAX + 2 * ERRANDS_MAX];
	size_t n;
};

bool serve_listen(struct serve *s);
void serve_accept(struct serve *s);
void serve_client_turn(struct serve *s, struct serve_client *c, short events);
void serve_clients_late(struct serve *s);
void serve_clients_drained(struct serve *s);
/* The answer (new) to a method, or NULL with *error (new). */
json_t *serve_method(struct serve *s, struct serve_client *c, const char *method, const json_t *params, json_t **error);

/* A child of this program: argv after its name; input its standard input (a text), or NULL; hand a descriptor that is 3 in
 * it, or -1. */
bool serve_spawn(struct serve *s, struct child *child, const char *const *argv, const char *const *env,
                 const char *input, int hand);

/* Look through the queue and start what may be started. */
void serve_queue(struct serve *s);
void serve_slot_turn(struct serve *s, struct serve_slot *slot);
bool serve_launch(struct serve *s, struct serve_slot *slot, const json_t *row);
struct serve_slot *serve_slot_of(struct serve *s, long long number);
struct serve_slot *serve_slot_free(struct serve *s);

void serve_adopt(struct serve *s);
void serve_adopted_turn(struct serve *s); /* what callbacks noted */
/* A run that goes on without a host: is it time for another? */
bool serve_ripe(const json_t *row);
void serve_adopted_forget(struct serve *s);
size_t serve_adopted_count(const struct serve *s);

/* Before a run is opened, and when it is not any more: whoever speaks with its agent, if anybody may. */
/* Answer a call of an adopted run's toolbelt; call is taken. */
void serve_call(struct host *h, const char *binding, const char *work, const char *run, oc_toolcall *call);

void hosted_begin(struct serve_adopted *a);
void hosted_end(struct serve_adopted *a);
void hosted_state(oc_run *run, const char *state, const char *json, void *userdata);
void hosted_output(oc_run *run, int stream, uint64_t next, const void *data, size_t len, void *userdata);
int hosted_turn(struct serve_adopted *a); /* milliseconds to the next, or -1 */
void hosted_look(struct serve *s);        /* there may be messages */
void hosted_leave(struct serve *s);

/* Ask about repositories whose time has come; milliseconds to the next, or -1; for --status. */
void routes_turn(struct serve *s);
int routes_wait(const struct serve *s);
json_t *routes_status(const struct serve *s);
void routes_end(struct serve *s);

/* Things may have to be put right; the number of the settling that will have seen what is there now. */
unsigned long serve_settle(struct serve *s, const char *run);
void serve_settle_turn(struct serve *s);

/* A line for the service manager, where there is one. */
void serve_notify(const char *text);

#endif
