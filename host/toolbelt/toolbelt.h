/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent can call on this host: operations by name, those that its binding has and its scope authorises, and of them
 * those that an agent calls itself.  Each acts on the run's own Work and nothing else; none names one. */
#ifndef HOST_TOOLBELT_TOOLBELT_H
#define HOST_TOOLBELT_TOOLBELT_H

#include "config/config.h"
#include "host.h"

#define TOOLBELT_NOTES  "notes"  /* of a Work's data: [{"at","run","text"}…] */
#define TOOLBELT_GITHUB "github" /* of a Work's data: {"number"}, the issue its turns are about */
#define TOOLBELT_STATUS "status" /* of a Work's data: {"at","run","text"} */

/* Whose call it is.  All borrowed. */
struct toolbelt {
	struct host *h;
	const struct config_binding *binding;
	const char *work, *run; /* ids */
};

/* An operation: its answer (an object, new), or NULL with the refusal set (texts static, or in `text`). */
struct toolbelt_refusal {
	const char *reason, *message, *fix;
	char text[512];
};
typedef json_t *(*toolbelt_fn)(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r);

/* One that is answered later, by an errand: call is taken, nothing of t is kept. */
typedef void (*toolbelt_later_fn)(const struct toolbelt *t, oc_toolcall *call, const json_t *arguments);

struct operation {
	const char *name, *title, *about, *schema;
	bool changes; /* something; else it only looks */
	bool hidden;  /* for programs: no agent is told of it */
	bool open;    /* it reaches a service */
	toolbelt_fn fn;
	toolbelt_later_fn later; /* one of the two */
};
/* github.c: those that act on a connection; name NULL ends the list. */
extern const struct operation toolbelt_github[];

/* What a binding's run is offered, as the library wants it: new text.  NULL: out of memory. */
char *toolbelt_request(const struct config_binding *binding);
/* Does the run get one?  It does where an executor hands it out, the binding has operations, and its placement grants it; and
 * wherever it requires one, or its git signs in through it. */
bool toolbelt_wanted(const struct config_binding *binding, bool executor_hands_out);
/* Answer a call, now or when an errand is done; call is taken, and nothing of t is kept but its host. */
void toolbelt_call(const struct toolbelt *t, oc_toolcall *call);

/* The operations, one file a group. */
json_t *toolbelt_work_get(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r);
json_t *toolbelt_work_note(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r);
json_t *toolbelt_work_status(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r);
json_t *toolbelt_workspace_saved(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r);
json_t *toolbelt_run_policy(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r);

void toolbelt_git_credential(const struct toolbelt *t, oc_toolcall *call, const json_t *arguments);

/* The run's Work as the store has it, new; or NULL with the refusal set. */
json_t *toolbelt_work(const struct toolbelt *t, struct toolbelt_refusal *r);
/* Answer with an object, or with a refusal; the call is taken. */
void toolbelt_reply(struct host *h, oc_toolcall *call, const json_t *answer);
void toolbelt_refuse(struct host *h, oc_toolcall *call, const struct toolbelt_refusal *r);
void toolbelt_refuse_json(struct host *h, oc_toolcall *call, const json_t *error);
/* What went wrong with an answer (err freed), if anything did. */
void toolbelt_tell(struct host *h, int rc, oc_error *err);
/* NULL, with the refusal filled from a library's error (freed). */
json_t *toolbelt_failed(struct toolbelt_refusal *r, oc_error *err);

#endif
