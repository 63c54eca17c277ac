/* SPDX-License-Identifier: Apache-2.0 */
/* A provider of workspaces; built with -DOLDER it is one of the time before there were any: its struct ended
 * earlier, and what lies behind it in memory is no callback. */
#include <openconduit/provider.h>

#include <stdlib.h>
#include <string.h>

static void answer(oc_call *call, void *userdata)
{
	(void)userdata;
	if (oc_call_reply(call, strcmp(oc_call_method(call), "create") ? "{\"other\":true}" : "{\"created\":true}") !=
	    OC_OK)
		abort();
}

int main(int argc, char **argv)
{
	oc_provider_ops ops = OC_PROVIDER_OPS_INIT;

	ops.name = "sizes";
	ops.version = "1";
	ops.kind = "workspace";
	ops.inspect = answer;
	ops.create = answer;
	ops.save = answer;
	ops.remove = answer;
#ifdef OLDER
	ops.size = offsetof(oc_provider_ops, create);
	memset((char *)&ops + ops.size, 0x5a, sizeof(ops) - ops.size);
#endif
	return oc_provider_main(&ops, 0, argc, argv);
}
