/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "store/works.h"

#define GUEST_PROGRAM "open-conduit-guest"

/* What decides how runs are confined, before the provider adds its own. */
static int collect_tools(oc_broker *broker, oc_error **err)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	oc_strv_init(&broker->tools, 64);
	if (oc_strv_add(&broker->tools, broker->ctx->libexec_dir) < 0)
		return oc_nomem(err);
	if (broker->provider && oc_strv_add(&broker->tools, oc_provider_path(broker->provider)) < 0)
		return oc_nomem(err);
	if (n <= 0)
		return 0;
	self[n] = 0;
	return oc_path_clean(self) && oc_strv_add(&broker->tools, self) < 0 ? oc_nomem(err) : 0;
}

static int find_guest(oc_broker *broker, oc_error **err)
{
	oc_cleanup(oc_closep) int fd = -1;
	int rc;

	broker->guest = oc_path_join(broker->ctx->libexec_dir, GUEST_PROGRAM);
	if (!broker->guest)
		return oc_nomem(err);
	fd = open(broker->guest, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	rc = fd < 0 ? -errno : oc_digest_fd(fd, broker->guest_digest);
	if (rc < 0)
		return oc_refuse(err, "sandbox_unavailable", broker->guest, "reinstall open-conduit",
		                 "the guest program can't be read: %s", strerror(-rc));
	return 0;
}

static int new_broker(oc_store *store, const char *kind, const char *default_provider, const oc_broker_options *options,
                      oc_broker **out, oc_error **err)
{
	oc_broker_options o = OC_BROKER_OPTIONS_INIT;
	oc_broker *broker;
	int rc;

	if (!store || !out)
		return oc_fail(err, OC_EINVAL, 0, "a broker needs a store and somewhere to be returned");
	if (options && !oc_copy_sized(&o, sizeof(o), options))
		return oc_fail(err, OC_EVERSION, 0,
		               "oc_broker_options has a member set that this library does not know");
	if (o.flags)
		return oc_fail(err, OC_EVERSION, 0, "oc_broker_options.flags must be 0");
	broker = calloc(1, sizeof(*broker));
	if (!broker)
		return oc_nomem(err);
	broker->store = store;
	broker->ctx = store->ctx;
	broker->kind = kind;
	rc = find_guest(broker, err);
	if (!rc && default_provider)
		rc = oc_provider_new(broker->ctx, o.provider ? o.provider : default_provider, o.provider_dir,
		                     o.pass_env, &broker->provider, err);
	if (!rc)
		rc = collect_tools(broker, err);
	if (rc < 0)
		oc_broker_free(broker);
	else
		*out = broker;
	return rc;
}

int oc_sandbox_broker_new(oc_store *store, const oc_broker_options *options, oc_broker **out, oc_error **err)
{
	return new_broker(store, "sandbox", "srt", options, out, err);
}

int oc_unsandboxed_broker_new(oc_store *store, const oc_broker_options *options, oc_broker **out, oc_error **err)
{
	return new_broker(store, "none", NULL, options, out, err);
}

int oc_container_broker_new(oc_store *store, const oc_broker_options *options, oc_broker **out, oc_error **err)
{
	return new_broker(store, OC_KIND_CONTAINER, "docker", options, out, err);
}

/* The Work's own, or one in {run} that is gone with the run. */
static char *agent_home(const oc_broker *broker, const oc_request *r, const char *run_dir)
{
	return r->work ? oc_store_work_path(broker->store, r->work, OC_WORK_HOME) : oc_path_join(run_dir, "home");
}

int oc_broker_resolve(oc_broker *broker, const struct oc_request_copy *request, oc_policy **policy, json_t **resolved,
                      oc_error **err)
{
	const oc_request *r = &request->request;
	oc_cleanup(oc_freep) char *run_dir = NULL;
	oc_cleanup(oc_freep) char *home = NULL;
	struct oc_resolve_input in;
	oc_policy *parsed = NULL;
	int rc;

	rc = oc_policy_parse(broker->kind, r->policy ? r->policy : "{}", r->policy ? strlen(r->policy) : 2, &parsed,
	                     err);
	if (rc < 0)
		return rc;
	*resolved = NULL;
	if (broker->provider) {
		run_dir = oc_plan_run_dir(
		        &(struct oc_plan_input){ .state_dir = broker->ctx->state_dir, .run = request->run });
		if (run_dir && oc_kind_container(broker->kind))
			home = agent_home(broker, r, run_dir);
		if (!run_dir || (oc_kind_container(broker->kind) && !home)) {
			oc_policy_free(parsed);
			return oc_nomem(err);
		}
		in = (struct oc_resolve_input){
			.policy = parsed,
			.home = broker->ctx->home,
			.workspace = r->workspace,
			.run_dir = run_dir,
			.state_dir = broker->ctx->state_dir,
			.config_dir = broker->ctx->config_dir,
			.libexec_dir = broker->ctx->libexec_dir,
			.environ = broker->ctx->environ,
			.git = r->git,
			.work = r->work,
			.agent_home = home,
			.tools = &broker->tools,
		};
		rc = oc_resolve(&in, resolved, err);
	}
	if (rc < 0)
		oc_policy_free(parsed);
	else
		*policy = parsed;
	return rc;
}

int oc_broker_explain(oc_broker *broker, const oc_request *request, const char *question, const char *subject,
                      char **json, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *resolved = NULL, *answer = NULL;
	struct oc_request_copy copy;
	oc_policy *policy = NULL;
	int rc;

	if (!broker || !json || !broker->provider)
		return oc_fail(err, OC_EINVAL, 0, "explain needs a broker of a sandbox and somewhere to answer");
	rc = oc_request_copy(&copy, request, broker->kind, err);
	if (rc < 0)
		return rc;
	rc = oc_broker_resolve(broker, &copy, &policy, &resolved, err);
	if (!rc)
		rc = oc_resolved_explain(resolved, question, subject, &answer, err);
	if (!rc) {
		*json = json_dumps(answer, JSON_COMPACT | JSON_SORT_KEYS);
		rc = *json ? 0 : oc_nomem(err);
	}
	oc_policy_free(policy);
	oc_request_release(&copy);
	return rc;
}
