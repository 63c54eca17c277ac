/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of oc_policy, and what it means on this machine. */
#ifndef OC_POLICY_POLICY_H
#define OC_POLICY_POLICY_H

#include <openconduit/broker.h>
#include <openconduit/policy.h>

#include "base/json.h"

struct oc_policy {
	char *kind, *text, *canonical;
	/* Every member present: write, read{allow,deny}, network{allow}, sockets, unix_sockets; a container's: write, read[],
	 * network{allow}, image, limits, provider{context} */
	json_t *normal;
};

/* What a policy is resolved against.  Nothing is written; all borrowed. */
struct oc_resolve_input {
	const oc_policy *policy;
	const char *home, *workspace, *run_dir; /* run_dir need not exist yet */
	const char *state_dir, *config_dir, *libexec_dir;
	char *const *environ; /* XDG_RUNTIME_DIR, SSH_AUTH_SOCK, CLAUDE_CONFIG_DIR, PATH … */
	enum oc_git_mode git;
	const char *work;            /* the Work whose workspace this may be: the one exception in our state; or NULL */
	const char *agent_home;      /* a container's: HOME in it, in {run} or the Work's own; NULL else */
	const struct oc_strv *tools; /* files and directories that decide how runs are confined */
};
/* The resolved policy (HACKING.md, "Resolved policy").  Every violation is chained:
 * sandbox_denied for protected state and tools, missing grants and reaching links; sandbox_config
 * for a write beneath a deny. */
int oc_resolve(const struct oc_resolve_input *in, json_t **resolved, oc_error **err);

/* May the run do it?  `rule` (borrowed from resolved, or static) is what decided. */
struct oc_verdict {
	bool allowed;
	const char *rule;
};
struct oc_verdict oc_resolved_read(const json_t *resolved, const char *path);
struct oc_verdict oc_resolved_write(const json_t *resolved, const char *path);
struct oc_verdict oc_resolved_socket(const json_t *resolved, const char *path);
struct oc_verdict oc_resolved_host(const json_t *resolved, const char *host, int port);

/* {"question","subject","resolved","allowed","rule","allow_line"} */
int oc_resolved_explain(const json_t *resolved, const char *question, const char *subject, json_t **out,
                        oc_error **err);
/* needs {"hosts","read","write"} against grants: sandbox_denied, each that is missing chained. */
int oc_resolved_needs(const json_t *resolved, const json_t *needs, oc_error **err);
/* After the provider named its own tools: none may lie in a write grant or be writable by another. */
int oc_resolved_tools(const json_t *resolved, const json_t *tools, oc_error **err);

#endif
