/* SPDX-License-Identifier: Apache-2.0 */
/* A program of the time when a version's headers were frozen: compiled with those, run with the library of today.  It
 * uses what such a program would, so that a changed meaning shows as well as a changed layout. */
#include <openconduit/openconduit.h>
#include <openconduit/provider.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed;

static void check(int good, const char *what)
{
	if (!good) {
		printf("failed: %s\n", what);
		failed = 1;
	}
}

static void contexts(const char *state)
{
	oc_context_options options = OC_CONTEXT_OPTIONS_INIT;
	oc_context *ctx = NULL;
	oc_store *store = NULL;
	oc_error *err = NULL;
	char *runs = NULL;

	options.state_dir = state;
	check(oc_context_new(&options, &ctx, &err) == 0 && ctx && !err, "a context from the options of then");
	if (!ctx)
		return;
	check(strcmp(oc_context_state_dir(ctx), state) == 0, "its state directory");
	check(oc_context_fd(ctx) >= 0, "a descriptor to poll");
	check(oc_context_wait(ctx, 0, &err) >= 0, "a wait of no time");
	check(oc_store_open(ctx, &store, &err) == 0 && store, "a store");
	if (store) {
		check(oc_store_runs(store, 0, &runs, &err) == 0 && runs && runs[0] == '[', "no runs yet");
		check(oc_store_run(store, "nosuchrun", &runs, &err) == OC_ENOTFOUND, "a run that is not there");
		check(oc_error_code(err) == OC_ENOTFOUND && oc_error_message(err), "says so");
	}
	free(runs);
	oc_error_free(err);
	oc_store_free(store);
	oc_context_free(ctx);
}

static void refusals(void)
{
	oc_context_options options = OC_CONTEXT_OPTIONS_INIT;
	oc_context *ctx = NULL;
	oc_error *err = NULL;

	options.flags = 1u << 31;
	check(oc_context_new(&options, &ctx, &err) < 0 && !ctx && err, "an unknown flag is refused");
	oc_error_free(err);
}

static void policies(void)
{
	static const char good[] = "{\"write\":[\"{workspace}\"],\"network\":{\"allow\":[\"example.org:443\"]}}";
	static const char bad[] = "{\"wrote\":[]}";
	oc_policy *policy = NULL;
	oc_error *err = NULL;

	check(oc_policy_parse("sandbox", good, strlen(good), &policy, &err) == 0 && policy, "a policy of then");
	check(policy && strcmp(oc_policy_kind(policy), "sandbox") == 0, "its kind");
	oc_policy_free(policy);
	policy = NULL;
	check(oc_policy_parse("sandbox", bad, strlen(bad), &policy, &err) == OC_EREFUSED && !policy, "an unknown key");
	check(err && oc_error_reason(err) && strcmp(oc_error_reason(err), "sandbox_config") == 0, "with its reason");
	oc_error_free(err);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	check(oc_version()[0] != 0, "a version");
	contexts(argv[1]);
	refusals();
	policies();
	return failed;
}
