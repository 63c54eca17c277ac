/* SPDX-License-Identifier: Apache-2.0 */
/* A library of the public headers' types with nothing in it: the seeded breaks of tests/stages/32-abi.sh are made to
 * this one, so that each takes a second and not a build. */
#include <openconduit/openconduit.h>
#include <openconduit/provider.h>

struct oc_context {
	int private_member;
};

/* The signature of a seeded break. */
#ifndef VERSION_TYPE
#define VERSION_TYPE const char *
#endif

int oc_context_new(const oc_context_options *options, oc_context **out, oc_error **err)
{
	(void)options;
	(void)out;
	(void)err;
	return OC_EFAILED;
}

void oc_context_free(oc_context *ctx)
{
	(void)ctx;
}

#ifndef WITHOUT_FD
int oc_context_fd(const oc_context *ctx)
{
	return ctx->private_member;
}
#endif

#ifdef WITH_MORE
OC_API int oc_context_more(void);
int oc_context_more(void)
{
	return 0;
}
#endif

VERSION_TYPE oc_version(void)
{
	return 0;
}

int oc_broker_plan(oc_broker *broker, const oc_request *request, oc_plan_fn fn, void *userdata, oc_error **err)
{
	(void)broker;
	(void)request;
	(void)fn;
	(void)userdata;
	(void)err;
	return OC_EFAILED;
}

int oc_provider_main(const oc_provider_ops *ops, void *userdata, int argc, char **argv)
{
	(void)ops;
	(void)userdata;
	(void)argc;
	(void)argv;
	return OC_EFAILED;
}
