/* SPDX-License-Identifier: Apache-2.0 */
/* A provider that misuses the SDK: each method breaks one of its rules, or finds out what the rule does. */
#include <openconduit/provider.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Answers with text that is no JSON. */
static void check(oc_call *call, void *userdata)
{
	(void)userdata;
	puts("a stray line"); /* must not reach the host */
	fflush(stdout);
	if (oc_call_reply(call, "{\"half\":") == OC_OK)
		abort();
}

/* Answers three times; only the first counts. */
static void plan(oc_call *call, void *userdata)
{
	(void)userdata;
	if (strcmp(oc_call_method(call), "plan") || oc_call_reply(call, "{\"first\":true}") != OC_OK)
		abort();
	if (oc_call_reply(call, "{\"second\":true}") == OC_OK || oc_call_refuse(call, "x", 0, 0, "y") == OC_OK)
		abort();
}

/* Doesn't answer. */
static void inspect(oc_call *call, void *userdata)
{
	(void)call;
	(void)userdata;
}

/* Answers with more than fits. */
static void cleanup(oc_call *call, void *userdata)
{
	size_t len = 5u << 20;
	char *text = malloc(len + 1);

	(void)userdata;
	if (!text)
		abort();
	memset(text, ' ', len);
	memcpy(text, "{}", 2);
	text[len] = '\0';
	if (oc_call_reply(call, text) == OC_OK)
		abort();
	free(text);
}

int main(int argc, char **argv)
{
	oc_provider_ops ops = OC_PROVIDER_OPS_INIT;

	ops.name = "misuse";
	ops.version = "1";
	ops.kind = "sandbox";
	ops.check = check;
	ops.plan = plan;
	ops.inspect = inspect;
	ops.cleanup = cleanup;
	return oc_provider_main(&ops, 0, argc, argv);
}
