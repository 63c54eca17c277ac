/* SPDX-License-Identifier: Apache-2.0 */
/* resolve POLICY HOME WORKSPACE RUN_DIR STATE_DIR [clone]: the resolved policy on stdout, for tests that speak to a
 * provider directly.  Then each line "read|write PATH" on stdin is answered with true or false. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"

static int refuse(oc_error *err)
{
	fprintf(stderr, "%s\n", oc_error_json(err));
	oc_error_free(err);
	return 1;
}

static void questions(const json_t *resolved)
{
	char line[8192];

	while (fgets(line, sizeof(line), stdin)) {
		char *path = strchr(line, ' ');

		line[strcspn(line, "\n")] = '\0';
		if (!path)
			continue;
		*path++ = '\0';
		puts((strcmp(line, "write") ? oc_resolved_read(resolved, path) : oc_resolved_write(resolved, path))
		                     .allowed
		             ? "true"
		             : "false");
	}
}

int main(int argc, char **argv)
{
	char *environ_v[] = { NULL, NULL }, path[] = "PATH=/usr/bin:/bin";
	struct oc_strv tools;
	struct oc_resolve_input in = { .environ = environ_v,
		                       .tools = &tools,
		                       .config_dir = "/nonexistent/config",
		                       .libexec_dir = "/usr/libexec/open-conduit" };
	json_t *resolved = NULL;
	oc_policy *policy = NULL;
	oc_error *err = NULL;

	if (argc < 6)
		return 2;
	environ_v[0] = path;
	oc_strv_init(&tools, 8);
	in.home = argv[2];
	in.workspace = argv[3];
	in.run_dir = argv[4];
	in.state_dir = argv[5];
	in.git = argc > 6 ? OC_GIT_CLONE : OC_GIT_READONLY;
	if (oc_policy_parse("sandbox", argv[1], strlen(argv[1]), &policy, &err) < 0)
		return refuse(err);
	in.policy = policy;
	if (oc_resolve(&in, &resolved, &err) < 0) {
		oc_policy_free(policy);
		return refuse(err);
	}
	json_dumpf(resolved, stdout, JSON_COMPACT);
	putchar('\n');
	questions(resolved);
	json_decref(resolved);
	oc_policy_free(policy);
	return 0;
}
