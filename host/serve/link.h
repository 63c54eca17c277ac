/* SPDX-License-Identifier: Apache-2.0 */
/* A command's way to the daemon.  Whether there is one is told by a lock, never guessed from silence: one that is there and
 * doesn't answer is an error, so that nothing is done twice. */
#ifndef HOST_SERVE_LINK_H
#define HOST_SERVE_LINK_H

#include "host.h"
#include "line.h"

/* Is a daemon at work?  What can't be told is yes. */
bool link_there(struct host *h);
/* 1: connected, and it knows us; 0: there is none; negative after saying what is wrong. */
int link_open(struct host *h, const char *what, struct line *out);
/* Ask, and wait a bounded time: its answer (new), or NULL with *error (new) in the form of oc_error_json(); where that is NULL
 * too, no answer came. */
json_t *link_ask(struct line *l, const char *method, json_t *params_taken, json_t **error);
/* Say what NULL meant; error is taken. */
void link_report(struct host *h, const char *what, json_t *error);
/* Wait for a message of this name, without limit: false when the daemon went without it. */
bool link_wait(struct line *l, const char *method);

/* Queue a turn with the daemon, where there is one: 1: done, and told; 0: there is none; negative after saying why not. */
struct link_turn {
	const char *run, *binding, *key, *input;
	long long timeout_ms;
};
int link_submit(struct host *h, const struct link_turn *turn);

/* Where no daemon is: end the input of agents that one left waiting. */
void serve_release(struct host *h);

#endif
