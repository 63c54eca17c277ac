/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of oc_plan, and building one.  Shape: HACKING.md, "Plan". */
#ifndef OC_PLAN_PLAN_H
#define OC_PLAN_PLAN_H

#include <openconduit/broker.h>
#include <openconduit/plan.h>

#include "base/json.h"
#include "base/sha256.h"

struct oc_plan {
	json_t *json;
	char *text; /* canonical */
	char digest[OC_DIGEST_SIZE];
};

/* json is taken, also on failure.  Every member is checked (the same check as for a stored plan). */
int oc_plan_from_json(json_t *json, oc_plan **out, oc_error **err);

struct oc_plan_input {
	const oc_request *request; /* cwd, argv, env, secrets, limits */
	const char *kind, *run;
	const oc_policy *policy; /* NULL for none without a policy */
	const json_t *resolved;  /* NULL for none */
	const json_t *reply;     /* the provider's answer to plan; NULL for none */
	const json_t *provider;  /* {"name","version","path","digest"}; NULL for none */
	const json_t *clone;     /* {"root","git"} of the request's Work; NULL without one */
	const char *guest, *guest_digest, *state_dir;
	const char *home; /* the operator's HOME, the agent's unless env says otherwise */
	char *const *environ;
};
/* Put a plan together: the agent's command and environment, launch, guest options, probes. */
int oc_plan_build(const struct oc_plan_input *in, oc_plan **out, oc_error **err);

/* The kinds of lib/guest/channel.h, which this layer doesn't include; a test compares the numbers. */
enum oc_plan_probe {
	OC_PROBE_FIRST = 1,
	OC_PLAN_NO_ROUTE = 1,
	OC_PLAN_NO_TCP = 2,
	OC_PLAN_NO_NAME = 3,
	OC_PLAN_PROXY = 4,
	OC_PLAN_UNREADABLE = 5,
	OC_PLAN_READABLE = 6,
	OC_PLAN_UNWRITABLE = 7,
	OC_PLAN_WRITABLE = 8,
	OC_PLAN_MOUNT_ROOT = 9,
	OC_PLAN_NO_SOCKET = 10,
	OC_PLAN_SOCKET = 11,
	OC_PLAN_STDIO = 12,
	OC_PLAN_ENVIRONMENT = 13,
	OC_PLAN_SAME = 14,
	OC_PLAN_NAMESPACES = 15,
	OC_PLAN_PRIVILEGES = 16,
	OC_PLAN_NO_WRITE_FIFO = 17,
	OC_PLAN_TRACE = 18,
	OC_PLAN_CONTAINER = 19,
	OC_PROBE_LAST = 19,
};
/* The probes that a resolved policy asks for (P1-P12, P14-P16); the guard adds what only it knows: listeners, its
 * namespaces, the inodes of the directories it made.  command: the plan's; *out new. */
int oc_plan_probes(const struct oc_plan_input *in, const json_t *command, json_t **out, oc_error **err);
/* The plan's `command`: argv[0] looked up, the environment put together; *out new. */
int oc_plan_command(const struct oc_plan_input *in, json_t **out, oc_error **err);
/* Where a container has the guest. */
#define OC_CONTAINER_GUEST "/.open-conduit/guest"
char *oc_plan_run_dir(const struct oc_plan_input *in); /* {run}; new, or NULL: no memory */

#endif
