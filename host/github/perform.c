/* SPDX-License-Identifier: Apache-2.0 */
#include "github/perform.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

#define PAGE 30 /* of GitHub's lists: PERFORM_LAST are on two of them at most */

static const struct {
	const char *name, *permission, *level;
	perform_fn *fn;
} operations[] = {
	{ "github.check.list", "checks", "read", perform_check_list },
	{ "github.issue.comment", "issues", "write", perform_issue_comment },
	{ "github.issue.get", "issues", "read", perform_issue_get },
	{ "github.issue.label", "issues", "write", perform_issue_label },
	{ "github.pull.comment", "pull_requests", "write", perform_pull_comment },
	{ "github.pull.create", "pull_requests", "write", perform_pull_create },
	{ "github.pull.get", "pull_requests", "read", perform_pull_get },
	{ "github.pull.update", "pull_requests", "write", perform_pull_update },
};

static bool path_of(struct performing *p, const char *path, char out[GITHUB_PATH_MAX])
{
	int n = snprintf(out, GITHUB_PATH_MAX, "/repos/%s%s", p->g->repository, path);

	if (n > 0 && n < GITHUB_PATH_MAX)
		return true;
	github_refuse(p->g, "limit", p->g->repository, "use a shorter name for the branch",
	              "what GitHub is to be asked is too long");
	return false;
}

json_t *perform_get(struct performing *p, const char *what, const char *path)
{
	char full[GITHUB_PATH_MAX];
	const struct github_call call = { "GET",
		                          full,
		                          what,
		                          .auth = GITHUB_TOKEN,
		                          .token = p->token->value,
		                          .token_made = p->token->made,
		                          .needs = p->needs };
	struct github_answer a = { 0 };
	json_t *found = NULL;

	if (path_of(p, path, full) && github_ask(p->g, &call, &a) == 0) {
		found = json_incref(a.json);
		if (!found)
			github_refuse(p->g, "github_answer", p->g->repository, "try again",
			              "%s: GitHub's answer is empty", what);
	}
	github_answer_clear(&a);
	return found;
}

/* It was said, and what came back isn't an answer to it. */
static bool unknown(const struct github_answer *a)
{
	return a->status >= 500 || a->garbled || (!a->status && a->heard);
}

json_t *perform_say(struct performing *p, const char *method, const char *what, const char *path, json_t *body)
{
	char full[GITHUB_PATH_MAX];
	struct github_call call = { method,
		                    full,
		                    what,
		                    .body = body,
		                    .auth = GITHUB_TOKEN,
		                    .token = p->token->value,
		                    .needs = p->needs,
		                    .once = true };
	struct github_answer a = { 0 };
	json_t *done = NULL;

	call.token_made = p->token->made;
	if (body && path_of(p, path, full)) {
		if (github_ask(p->g, &call, &a) == 0) {
			done = a.json ? json_incref(a.json) : json_object();
		} else if (unknown(&a)) {
			github_forgive(p->g);
			github_refuse(p->g, "outcome_unknown", p->g->repository,
			              "look whether it is there before you try again",
			              "%s: GitHub gave no answer, so it is unknown whether it was done; it is not "
			              "repeated",
			              what);
		}
	}
	json_decref(body);
	github_answer_clear(&a);
	return done;
}

bool perform_text(json_t *out, const char *name, const json_t *value, size_t max)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);
	char cut[64];

	if (!text)
		return json_object_set_new(out, name, json_null()) == 0;
	if (len <= max)
		return json_object_set(out, name, (json_t *)(uintptr_t)value) == 0;
	max = text_valid(text, max);
	snprintf(cut, sizeof(cut), "%s_cut", name);
	return json_object_set_new(out, name, json_stringn(text, max)) == 0 &&
	       json_object_set_new(out, cut, json_integer((json_int_t)(len - max))) == 0;
}

json_t *perform_login(const json_t *object)
{
	const json_t *login = json_object_get(json_object_get(object, "user"), "login");

	return login ? json_incref((json_t *)(uintptr_t)login) : json_null();
}

static bool add_comment(json_t *list, const json_t *from)
{
	json_t *one = json_pack("{s:o, s:O?}", "by", perform_login(from), "at", json_object_get(from, "created_at"));

	if (one && perform_text(one, "text", json_object_get(from, "body"), PERFORM_COMMENT))
		return json_array_append_new(list, one) == 0;
	json_decref(one);
	return false;
}

/* One page of the list, the last PERFORM_LAST of all of them. */
static bool add_page(struct performing *p, json_t *list, long long number, long long page, long long skip)
{
	char path[120];
	json_t *found, *one;
	bool good = true;
	size_t i;

	snprintf(path, sizeof(path), "/issues/%lld/comments?per_page=%d&page=%lld", number, PAGE, page);
	found = perform_get(p, "the comments", path);
	json_array_foreach(found, i, one)
	{
		if ((page - 1) * PAGE + (long long)i >= skip)
			good = good && add_comment(list, one);
	}
	json_decref(found);
	return found && good;
}

bool perform_comments(struct performing *p, json_t *out, long long number, long long total)
{
	long long skip = total > PERFORM_LAST ? total - PERFORM_LAST : 0;
	json_t *list = json_array();
	bool good = list && json_object_set_new(out, "comments", list) == 0;

	for (long long page = skip / PAGE + 1; good && (page - 1) * PAGE < total; page++)
		good = add_page(p, list, number, page, skip);
	return good && (!skip || json_object_set_new(out, "older_comments", json_integer(skip)) == 0);
}

json_t *perform_comment(struct performing *p, const char *what, long long number)
{
	json_t *body = json_object_get(p->arguments, "body"), *done, *out = NULL;
	char path[80];

	snprintf(path, sizeof(path), "/issues/%lld/comments", number);
	done = perform_say(p, "POST", what, path, json_pack("{s:O}", "body", body));
	if (done)
		out = json_pack("{s:I, s:O?, s:O?}", "number", (json_int_t)number, "id", json_object_get(done, "id"),
		                "url", json_object_get(done, "html_url"));
	json_decref(done);
	return out;
}

static json_t *perform(struct github *g, size_t which)
{
	const json_t *about = json_object_get(g->request, "about");
	struct app_token token;
	char needs[64];
	struct performing p = { .g = g,
		                .token = &token,
		                .arguments = json_object_get(g->request, "arguments"),
		                .number = (long long)json_integer_value(json_object_get(about, "number")),
		                .branch = json_string_value(json_object_get(about, "branch")),
		                .needs = needs };
	json_t *permissions = json_pack("{s:s}", operations[which].permission, operations[which].level);
	json_t *result = NULL;

	snprintf(needs, sizeof(needs), "%s: %s", operations[which].permission, operations[which].level);
	if (permissions && app_token_for(g, permissions, &token) == 0) {
		result = operations[which].fn(&p);
		app_token_end(g, &token);
	}
	json_decref(permissions);
	return result ? json_pack("{s:o}", "result", result) : NULL;
}

json_t *op_perform(struct github *g)
{
	const char *name = json_string_value(json_object_get(g->request, "operation"));

	for (size_t i = 0; name && i < sizeof(operations) / sizeof(operations[0]); i++)
		if (!strcmp(operations[i].name, name))
			return perform(g, i);
	github_refuse(g, "no_such_operation", name ? name : "operation", "open-conduit config check",
	              "there is no such operation");
	return NULL;
}
