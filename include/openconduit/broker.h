/* SPDX-License-Identifier: Apache-2.0 */
/** @file broker.h One object for one kind of policy; one type, a constructor a kind. */
#ifndef OPENCONDUIT_BROKER_H
#define OPENCONDUIT_BROKER_H

#include <openconduit/policy.h>
#include <openconduit/run.h>

OC_BEGIN_DECLS

typedef struct oc_broker oc_broker;

typedef struct oc_broker_options {
	size_t size; /**< sizeof(oc_broker_options) */
	const char *
	        provider; /**< name; NULL: "srt" for the process sandbox, "docker" for containers.  Copied, as all here. */
	const char *provider_dir;    /**< looked in before libexec_dir/providers; NULL: none */
	const char *const *pass_env; /**< names the provider gets from the environment; NULL-terminated, or NULL */
	uint32_t flags;              /**< must be 0 */
} oc_broker_options;
#define OC_BROKER_OPTIONS_INIT                                                                                         \
	{                                                                                                              \
		sizeof(oc_broker_options), 0, 0, 0, 0                                                                  \
	}

/** Brokers keep the store they were made with; it must outlive them.  @param options NULL: defaults. */
OC_API OC_WARN_UNUSED int oc_sandbox_broker_new(oc_store *store, const oc_broker_options *options, oc_broker **out,
                                                oc_error **err);
/** Kind "none": the same plan, pin and guard; the record says unsandboxed. */
OC_API OC_WARN_UNUSED int oc_unsandboxed_broker_new(oc_store *store, const oc_broker_options *options, oc_broker **out,
                                                    oc_error **err);
/** Each run in a container of its own, behind a gateway.  Provider: "docker". */
OC_API OC_WARN_UNUSED int oc_container_broker_new(oc_store *store, const oc_broker_options *options, oc_broker **out,
                                                  oc_error **err);
OC_API void
oc_broker_free(oc_broker *broker); /**< NULL allowed; outstanding operations are dropped without a callback. */

enum oc_git_mode {
	OC_GIT_READONLY =
	        0, /**< a repository in or around a write grant: its .git, the common directory too, is read-only */
	OC_GIT_CLONE =
	        1, /**< the workspace is a clone of its own: .git is a mount point, config, hooks, info and what makes
				* git look elsewhere are read-only; must be there as real files */
};

/** What one run asks for.  Strings are copied; lists are NULL-terminated. */
typedef struct oc_request {
	size_t size;             /**< sizeof(oc_request) */
	const char *run;         /**< run id ([a-z0-9]{8,32}); NULL: a new one */
	const char *work;        /**< id of the Work in whose clone it runs (oc_work_open()), or NULL */
	const char *binding;     /**< SCOPE/BINDING or NULL */
	const char *policy;      /**< policy text as written; NULL only for kind none */
	const char *workspace;   /**< absolute; what {workspace} means */
	const char *cwd;         /**< absolute; NULL: the workspace */
	const char *const *argv; /**< the command; argv[0] is looked up in the run's PATH */
	const char *const *
	        env; /**< NAME=VALUE (pinned), or NAME (from the host's environment at launch; only the name is pinned) */
	const char *const *secrets; /**< names; values come by oc_run_ops.secret, delivered as variables of that name */
	const char *const *need_hosts, *const *need_read,
	                                       *const *need_write; /**< compared with the policy: sandbox_denied */
	int32_t git;                                               /**< enum oc_git_mode */
	int32_t keep;             /**< non-zero: goes on with no host connected; 0: is stopped after 10 s without one */
	int64_t timeout_ms;       /**< 0: none; the run's state is then "timeout" */
	int64_t grace_ms;         /**< between SIGTERM and SIGKILL; 0: 5000 */
	uint32_t flags;           /**< must be 0 */
	const char *const *files; /**< name, text, name, text …: put into {run} before the command starts; pinned */
	/** What the run may call on its host, JSON: {"instructions"?,"tools":[{"name","description","inputSchema",…}]}; NULL:
	 * nothing.  Calls come by oc_run_ops.call.  The command finds it by {run}/mcp.json, the configuration of an MCP client.
	 * A process sandbox's policy must list "{toolbelt}" in sockets; a container has it without. */
	const char *toolbelt;
	/** Of a terminal for the command, its 0, 1 and 2: both, or 0 for none.  See oc_run_resize(). */
	uint16_t rows, cols;
	/** Non-zero: a person at the agent's own terminal; needs work and rows, and has no toolbelt.  On this machine nothing confines
	 * it and its plan's kind is "attach": refused as `attach_sandboxed` for a Work that had a run under a policy.  In a container it is
	 * a run as any other; refused for a Work that had one in a process sandbox. */
	int32_t attach;
	/** How git signs in, JSON: {"base":"https://github.com","repository":"acme/web","from":"toolbelt"}; NULL: as it would anyway.
	 * By variables alone: git then asks the run's guest, which asks the toolbelt's tool github.git.credential for that repository
	 * and nothing for another; with "from":"environment" it takes GH_TOKEN or GITHUB_TOKEN of the run, for any at that host.  In a
	 * sandbox no other helper is left, and signing of commits and tags is off. */
	const char *git_credential;
} oc_request;
#define OC_REQUEST_INIT                                                                                                \
	{                                                                                                              \
		sizeof(oc_request), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                \
	}

/** plan: *new*, the callback owns it (oc_plan_free()); exactly one of plan and err is set. */
typedef void (*oc_plan_fn)(oc_plan *plan, const oc_error *err, void *userdata);
/** checks: JSON {"ok","provider","checks":[{"id","title","ok","detail","fix","ms"}…]}; borrowed. */
typedef void (*oc_check_fn)(const char *checks, const oc_error *err, void *userdata);

/** Perform the provider's checks and keep the verdict.  Completes by the callback, never inside the call. */
OC_API OC_WARN_UNUSED int oc_broker_check(oc_broker *broker, oc_check_fn fn, void *userdata, oc_error **err);
/** The same for what this policy uses: in containers its context and its image, each of which has a verdict of its own.
 * @param policy its text; copied.  NULL: as oc_broker_check(), which a broker of containers refuses. */
OC_API OC_WARN_UNUSED int oc_broker_check_policy(oc_broker *broker, const char *policy, oc_check_fn fn, void *userdata,
                                                 oc_error **err);
/** Plan one launch.  Changes nothing on the machine. */
OC_API OC_WARN_UNUSED int oc_broker_plan(oc_broker *broker, const oc_request *request, oc_plan_fn fn, void *userdata,
                                         oc_error **err);
/** The shortcut over all steps: check where no fresh verdict is there, plan, pin, launch, release when held.
 * The run comes at once; what goes wrong arrives at ops->failed. */
OC_API OC_WARN_UNUSED int oc_broker_start(oc_broker *broker, const oc_request *request, const oc_run_ops *ops,
                                          void *userdata, oc_run **out, oc_error **err);
/** explain without planning (no provider is asked): as oc_plan_explain(). */
OC_API OC_WARN_UNUSED int oc_broker_explain(oc_broker *broker, const oc_request *request, const char *question,
                                            const char *subject, char **json, oc_error **err);

OC_END_DECLS
#endif
