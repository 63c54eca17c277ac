/* SPDX-License-Identifier: Apache-2.0 */
/* oc_broker_start: plan, verdict, pin, launch, release, as one call. */
#include <stdlib.h>

#include "base/fault.h"
#include "broker/broker.h"
#include "guard/run.h"

struct start {
	oc_broker *broker;
	oc_run *run; /* NULL: freed on the way */
	oc_plan *plan;
};

static void start_free(struct start *start)
{
	if (start->run)
		start->run->on_free = NULL;
	oc_plan_free(start->plan);
	free(start);
}

static void run_gone(void *userdata)
{
	struct start *start = userdata;

	start->run = NULL;
}

static void give_up(struct start *start, const oc_error *err)
{
	oc_run *run = start->run;

	start_free(start);
	if (run)
		oc_run_failed(run, err);
}

static void launch(struct start *start)
{
	oc_error *err = NULL;
	int rc;

	if (!start->run) {
		start_free(start);
		return;
	}
	oc_fault("host:planned");
	rc = oc_plan_pin(start->plan, start->broker->store, &err);
	oc_fault("host:pinned");
	if (!rc) {
		start->run->auto_release = true;
		rc = oc_run_begin(start->run, &err);
	}
	if (rc < 0)
		give_up(start, err);
	else
		start_free(start);
	oc_error_free(err);
}

static void checked(const char *checks OC_UNUSED, const oc_error *failure, void *userdata)
{
	struct start *start = userdata;
	oc_error *err = NULL;

	if (failure)
		give_up(start, failure);
	else if (oc_verdict_require(start->broker->store, start->plan, NULL, &err) < 0)
		give_up(start, err);
	else
		launch(start);
	oc_error_free(err);
}

static const char *policy_text(const oc_plan *plan)
{
	return oc_json_text(json_object_get(plan->json, "policy"), "text");
}

static void planned(oc_plan *plan, const oc_error *failure, void *userdata)
{
	struct start *start = userdata;
	bool missing = false;
	oc_error *err = NULL;
	int rc;

	start->plan = plan;
	if (failure || !start->run) {
		give_up(start, failure);
		return;
	}
	rc = oc_verdict_require(start->broker->store, plan, &missing, &err);
	if (!rc && missing)
		rc = oc_broker_check_policy(start->broker, policy_text(plan), checked, start, &err);
	else if (!rc)
		launch(start);
	if (rc < 0)
		give_up(start, err);
	oc_error_free(err);
}

int oc_broker_start(oc_broker *broker, const oc_request *request, const oc_run_ops *ops, void *userdata, oc_run **out,
                    oc_error **err)
{
	struct oc_request_copy copy;
	struct start *start;
	oc_run *run = NULL;
	int rc;

	if (!broker || !out)
		return oc_fail(err, OC_EINVAL, 0, "oc_broker_start needs a broker and somewhere to return the run");
	rc = oc_request_copy(&copy, request, broker->kind, err);
	if (rc < 0)
		return rc;
	start = calloc(1, sizeof(*start));
	rc = start ? oc_run_new(broker->store, copy.run, ops, userdata, &run, err) : oc_nomem(err);
	if (!rc) {
		*start = (struct start){ .broker = broker, .run = run };
		rc = oc_broker_plan(broker, &copy.request, planned, start, err);
	}
	oc_request_release(&copy);
	if (rc < 0) {
		free(start);
		if (run)
			run->ops.userdata_free = NULL; /* a failed call takes nothing */
		oc_run_free(run);
		return rc;
	}
	run->on_free = run_gone;
	run->on_free_userdata = start;
	*out = run;
	return 0;
}
