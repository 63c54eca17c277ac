/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest provider: it speaks the whole protocol, confines nothing, and says so.  Its check is red
 * and its plan a refusal, so no run can ever start under it.
 *
 *   cc -o open-conduit-provider-minimal provider_minimal.c $(pkg-config --cflags --libs openconduit-provider)
 *   open-conduit doctor --provider-dir . --provider minimal */
#include <openconduit/provider.h>

static const char fix[] = "use a provider that confines, such as srt";

static void check(oc_call *call, void *userdata)
{
	(void)userdata;
	(void)oc_call_reply(
	        call,
	        "{\"identity\":{\"minimal\":\"1\"},\"checks\":[{\"id\":\"confines\",\"title\":\"it confines runs\","
	        "\"ok\":false,\"detail\":\"this example confines nothing\","
	        "\"fix\":\"use a provider that confines, such as srt\",\"ms\":0}]}");
}

/* A real one answers with the whole launch: openconduit-provider(7). */
static void plan(oc_call *call, void *userdata)
{
	(void)userdata;
	(void)oc_call_refuse(call, "sandbox_unavailable", "minimal", fix, "this example confines nothing");
}

static void inspect(oc_call *call, void *userdata)
{
	(void)userdata;
	(void)oc_call_reply(call, "{\"state\":\"none\"}"); /* it never starts anything */
}

static void cleanup(oc_call *call, void *userdata)
{
	(void)userdata;
	(void)oc_call_reply(call, "{}");
}

int main(int argc, char **argv)
{
	oc_provider_ops ops = OC_PROVIDER_OPS_INIT;

	ops.name = "minimal";
	ops.version = "1";
	ops.kind = "sandbox";
	ops.check = check;
	ops.plan = plan;
	ops.inspect = inspect;
	ops.cleanup = cleanup;
	return oc_provider_main(&ops, 0, argc, argv);
}
