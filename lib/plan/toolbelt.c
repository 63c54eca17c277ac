/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/toolbelt.h"

#include <string.h>

#include "wire/belt.h"

#define PORT "7353"

char *oc_plan_toolbelt_at(const struct oc_plan_input *in)
{
	struct oc_buf at;
	char *run_dir;
	int rc;

	if (strcmp(in->kind, "none") != 0)
		return strdup(PORT);
	run_dir = oc_plan_run_dir(in);
	oc_buf_init(&at, 65536);
	rc = run_dir ? oc_buf_printf(&at, "%s/toolbelt.sock", run_dir) : OC_ENOMEM;
	free(run_dir);
	if (rc < 0)
		oc_buf_free(&at);
	return rc < 0 ? NULL : oc_buf_steal(&at);
}

char *oc_plan_toolbelt_file(const struct oc_plan_input *in, const char *at)
{
	oc_cleanup(oc_json_decrefp) json_t *file = json_pack(
	        "{s:{s:{s:s, s:[s, s], s:b}}}", "mcpServers", "open-conduit", "command",
	        oc_kind_container(in->kind) ? OC_CONTAINER_GUEST : in->guest, "args", "mcp", at, "alwaysLoad", 1);

	return file ? json_dumps(file, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
}

int oc_plan_toolbelt(const struct oc_plan_input *in, json_t **out, oc_error **err)
{
	const char *text = in->request->toolbelt;
	oc_cleanup(oc_json_decrefp) json_t *belt = NULL;
	oc_cleanup(oc_freep) char *at = NULL;
	int rc;

	*out = NULL;
	if (!text)
		return 0;
	rc = oc_json_parse(text, strlen(text), OC_MCP_BELT, "request.toolbelt", &belt, err);
	if (rc >= 0)
		rc = oc_mcp_belt_check(belt, err);
	if (rc < 0)
		return rc;
	at = oc_plan_toolbelt_at(in);
	*out = at ? json_pack("{s:s, s:O}", "at", at, "belt", belt) : NULL;
	return *out ? 0 : oc_nomem(err);
}

int oc_plan_toolbelt_check(const json_t *toolbelt, oc_error **err)
{
	const char *at = NULL;
	json_t *belt = NULL;
	const struct oc_json_key keys[] = { { "at", OC_JSON_STRING, true, &at },
		                            { "belt", OC_JSON_OBJECT, true, &belt } };
	int rc = oc_json_unpack(toolbelt, "toolbelt", NULL, keys, OC_COUNT(keys), err);

	if (rc >= 0 && strcmp(at, PORT) != 0 && (*at != '/' || !strchr(at + 1, '/')))
		rc = oc_error_makef(err, OC_EPROTO, 0, NULL, "toolbelt.at", NULL,
		                    "toolbelt.at: is no address of a toolbelt");
	return rc < 0 ? rc : oc_mcp_belt_check(belt, err);
}
