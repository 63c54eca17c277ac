/* SPDX-License-Identifier: Apache-2.0 */
#include "binding.h"
#include "serve.h"
#include "toolbelt/toolbelt.h"

/* By the config as it is now: what an operator took out of it since is refused. */
void serve_call(struct host *h, const char *binding, const char *work, const char *run, oc_toolcall *call)
{
	static const struct toolbelt_refusal gone = {
		.reason = "sandbox_config", .message = "the binding of this run can't be found in the config any more"
	};
	struct toolbelt belt = { .h = h, .work = work, .run = run };
	struct config *config = NULL;

	if (binding && work && binding_config(h, "a call is not answered", &config) == 0)
		belt.binding = binding_find(h, "a call is not answered", config, binding, NULL);
	if (belt.binding)
		toolbelt_call(&belt, call);
	else
		toolbelt_refuse(h, call, &gone);
	config_free(config);
}
