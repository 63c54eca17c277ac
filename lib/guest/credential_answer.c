/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/credential_answer.h"

#include "guest/json.h"

#include <stdbool.h>
#include <string.h>

#define UNKNOWN_TOOL "Unknown tool: "

struct reading {
	struct oc_credential_answer *out;
	bool id, result, error, failed, structure, username, password;
};

/* Each of these once: of two, a reader that takes the other would be told something else. */
static bool first(bool *seen)
{
	bool was = *seen;

	*seen = true;
	return !was;
}

static bool printable(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++)
		if ((unsigned char)*text <= 0x20 || (unsigned char)*text > 0x7e)
			return false;
	return true;
}

static bool member_of_structure(struct oc_guest_json *j, const char *key, void *arg)
{
	struct reading *r = arg;
	struct oc_credential_answer *out = r->out;

	if (!strcmp(key, "username"))
		return first(&r->username) && oc_guest_json_string(j, out->username, sizeof(out->username)) &&
		       printable(out->username);
	if (!strcmp(key, "password"))
		return first(&r->password) && oc_guest_json_string(j, out->password, sizeof(out->password)) &&
		       printable(out->password);
	if (!strcmp(key, "expires"))
		return !out->expires && oc_guest_json_number(j, &out->expires);
	return oc_guest_json_skip(j);
}

/* Of the content's items the first that is text. */
static bool member_of_item(struct oc_guest_json *j, const char *key, void *arg)
{
	struct reading *r = arg;

	return strcmp(key, "text") || *r->out->text ? oc_guest_json_skip(j)
	                                            : oc_guest_json_start(j, r->out->text, sizeof(r->out->text));
}

static bool item_of_content(struct oc_guest_json *j, void *arg)
{
	return oc_guest_json_object(j, member_of_item, arg);
}

static bool member_of_result(struct oc_guest_json *j, const char *key, void *arg)
{
	struct reading *r = arg;

	if (!strcmp(key, "structuredContent"))
		return first(&r->structure) && oc_guest_json_object(j, member_of_structure, r);
	if (!strcmp(key, "content"))
		return oc_guest_json_array(j, item_of_content, r);
	if (!strcmp(key, "isError"))
		return oc_guest_json_bool(j, &r->failed);
	return oc_guest_json_skip(j);
}

static bool member_of_error(struct oc_guest_json *j, const char *key, void *arg)
{
	struct reading *r = arg;

	return strcmp(key, "message") ? oc_guest_json_skip(j)
	                              : oc_guest_json_start(j, r->out->text, sizeof(r->out->text));
}

static bool member(struct oc_guest_json *j, const char *key, void *arg)
{
	struct reading *r = arg;
	uint64_t id;

	if (!strcmp(key, "id"))
		return first(&r->id) && oc_guest_json_number(j, &id) && id == 1;
	if (!strcmp(key, "result"))
		return first(&r->result) && oc_guest_json_object(j, member_of_result, r);
	if (!strcmp(key, "error"))
		return first(&r->error) && oc_guest_json_object(j, member_of_error, r);
	return oc_guest_json_skip(j);
}

enum oc_credential_outcome oc_credential_answer(const char *line, size_t len, struct oc_credential_answer *out)
{
	struct oc_guest_json j = { line, line + len, 0 };
	struct reading r = { .out = out };

	memset(out, 0, sizeof(*out));
	if (!oc_guest_json_object(&j, member, &r) || !oc_guest_json_end(&j) || !r.id || r.result == r.error)
		return OC_CREDENTIAL_NONE;
	if (r.error)
		return strncmp(out->text, UNKNOWN_TOOL, sizeof(UNKNOWN_TOOL) - 1) ? OC_CREDENTIAL_ERROR
		                                                                  : OC_CREDENTIAL_UNKNOWN;
	if (r.failed)
		return OC_CREDENTIAL_REFUSED;
	return r.username && r.password ? OC_CREDENTIAL_GIVEN : OC_CREDENTIAL_NONE;
}
