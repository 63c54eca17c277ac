/* SPDX-License-Identifier: Apache-2.0 */
/* Routes: issues of a repository that become Works of a binding, and what is said on them.  What was seen is kept with each
 * Work (oc_work_set), so that a daemon that is killed at any moment has lost nothing, and does nothing twice:
 *
 *   "route"          {"repository","number","begun","through","first","queued","seen":[…],"floor","next"}
 *   "route-issue"    what later turns are told of the issue
 *   "route-pending"  {"run","comments"}: a turn that is being queued with comments in it */
#ifndef HOST_SERVE_ROUTE_H
#define HOST_SERVE_ROUTE_H

#include "config/config.h"
#include "serve.h"

#define ROUTES_MAX 64

struct route {
	struct route *next;
	struct serve *s;
	char *name, *binding, *repository; /* "web/issues", "web/agent", "acme/web" */
	bool there;                        /* in the config, as last read */
	/* between polls */
	struct errand *errand; /* NULL: none is on its way */
	json_t *etags, *open;  /* open: the numbers of issues that are routed; NULL: not asked yet */
	json_t *done;          /* numbers of issues whose Works are finished, or can't be begun */
	char *login;
	long long since, at, last; /* since, last: wall clock, ms; at: when to ask next */
	unsigned failures;
	json_t *error; /* NULL: the last one went well */
};

/* What config has of a route by now; NULL: nothing. */
struct routed {
	const struct config_route *route;
	const struct config_binding *binding;
	const struct config_connection *connection;
	const char *repository;
};

/* Works of the binding that are open and that a route began or took: new; NULL after saying why. */
json_t *routed_works(struct route *r);
/* Do what an answer asks for.  False: not all of it could be done, so it has to come again. */
bool routed_take(struct route *r, const struct routed *to, const json_t *answer);
/* Queue the turns that what was said asks for, where none is under way. */
bool routed_turns(struct route *r, const json_t *works);
/* oc_work_set(), said where it fails. */
bool routed_keep(struct route *r, const char *work, const char *name, const json_t *value);
bool routed_queue(struct route *r, const char *run, const char *key, const json_t *input);
const json_t *routed_data(const json_t *work);

#endif
