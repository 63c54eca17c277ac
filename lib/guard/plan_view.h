/* SPDX-License-Identifier: Apache-2.0 */
/* The guard's reading of plan.json.  It is read anew at each launch and dropped after, so that a guard that only waits keeps
 * none of it, and each reading is checked against the digest of the first. */
#ifndef OC_GUARD_PLAN_VIEW_H
#define OC_GUARD_PLAN_VIEW_H

#include "base/json.h"
#include "base/sha256.h"

struct oc_plan_view {
	json_t *json;
	char digest[OC_DIGEST_SIZE];
	const char *run, *kind; /* all borrowed from json */
	const char *live, *runs, *state;
	const char *work; /* NULL: none */
	json_t *clone;    /* of the Work */
	json_t *resolved; /* NULL for none */
	/* command */
	json_t *argv, *env, *secrets, *inherit, *files; /* files: NULL for none */
	const char *cwd;
	int64_t rows, cols; /* of its terminal; 0: it has none */
	/* launch */
	json_t *launch; /* whole; its parts: */
	json_t *launch_argv, *launch_env;
	bool cleanup; /* it names what removes the rest */
	const char *launch_cwd;
	int64_t hello_retries;
	/* guest */
	const char *guest, *guest_digest;
	bool confined, landlock, nest, deny_ipc, deny_trace, unix_sockets;
	json_t *writable, *links;
	json_t *probes, *tools;
	const char *provider, *provider_digest; /* NULL for none */
	json_t *toolbelt;                       /* {"instructions"?,"tools"}; NULL: none */
	const char *toolbelt_at;
	/* limits */
	int64_t timeout_ms, grace_ms, unhosted_ms, journal_bytes;
	bool keep;
};

/* digest NULL: none is expected yet; else another one is pin_mismatch. */
int oc_plan_view_load(int run_dir, const char *digest, struct oc_plan_view *out, oc_error **err);
void oc_plan_view_free(struct oc_plan_view *view);

#endif
