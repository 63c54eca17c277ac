/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent can call on this host: operations by name, those that its binding has and its scope authorises, and of them
 * those that an agent calls itself.  Each acts on the run's own Work and nothing else; none names one. */
#ifndef HOST_TOOLBELT_TOOLBELT_H
#define HOST_TOOLBELT_TOOLBELT_H

#include "config/config.h"
#include "host.h"

#define TOOLBELT_NOTES  "notes"  /* of a Work's data: [{"at","run","text"}…] */
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

/* What a binding's run is offered, as the library wants it: new text.  NULL: out of memory. */
char *toolbelt_request(const struct config_binding *binding);
/* Does the run get one?  It does where an executor hands it out, the binding has operations, and its placement grants it; and
 * wherever it requires one. */
bool toolbelt_wanted(const struct config_binding *binding, bool executor_hands_out);
/* Answer a call; call is taken. */
void toolbelt_call(const struct toolbelt *t, oc_toolcall *call);

/* The operations, one file a group. */
json_t *toolbelt_work_get(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r);
json_t *toolbelt_work_note(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r);
json_t *toolbelt_work_status(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r);
json_t *toolbelt_workspace_saved(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r);
json_t *toolbelt_run_policy(const struct toolbelt *t, const json_t *arguments, struct toolbelt_refusal *r);

/* NULL, with the refusal filled from a library's error (freed). */
json_t *toolbelt_failed(struct toolbelt_refusal *r, oc_error *err);

#endif
