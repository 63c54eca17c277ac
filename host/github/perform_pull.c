/* SPDX-License-Identifier: Apache-2.0 */
/* The pull request of the Work's branch, and the checks of it. */
#include "github/perform.h"

#include <stdio.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* From the branch of this repository, and not from one of that name in somebody's fork. */
static bool is_ours(const struct performing *p, const json_t *pull)
{
	const json_t *head = json_object_get(pull, "head");
	const char *ref = text_of(head, "ref"), *repo = text_of(json_object_get(head, "repo"), "full_name");

	return ref && repo && !strcmp(ref, p->branch) && !strcasecmp(repo, p->g->repository);
}

static bool is_open(const json_t *pull)
{
	const char *state = text_of(pull, "state");

	return state && !strcmp(state, "open");
}

/* Those of the branch that GitHub lists, the newest first; NULL: refused. */
static json_t *list_pulls(struct performing *p, const char *state)
{
	char path[GITHUB_PATH_MAX], owner[201];

	snprintf(path, sizeof(path), "/pulls?state=%s&sort=created&direction=desc&per_page=30&head=", state);
	snprintf(owner, sizeof(owner), "%.*s", (int)strcspn(p->g->repository, "/"), p->g->repository);
	if (p->branch && github_path(path, owner) && github_path(path, ":") && github_path(path, p->branch))
		return perform_get(p, "the pull requests of the branch", path);
	github_refuse(p->g, "no_branch", p->g->repository, "give the Work a branch",
	              "the Work has no branch, or one that is too long");
	return NULL;
}

/* The open one's number, else the newest's.  0: there is none; -1: refused. */
static long long find(struct performing *p, const char *state)
{
	json_t *list = list_pulls(p, state), *one;
	const json_t *best = NULL;
	long long number;
	size_t i;

	json_array_foreach(list, i, one)
	{
		if (is_ours(p, one) && (!best || (!is_open(best) && is_open(one))))
			best = one;
	}
	number = list ? (long long)json_integer_value(json_object_get(best, "number")) : -1;
	json_decref(list);
	return number;
}

static long long find_one(struct performing *p)
{
	long long number = find(p, "all");

	if (number == 0)
		github_refuse(p->g, "no_pull_request", p->branch, "push the branch, then github.pull.create",
		              "the branch %s has no pull request", p->branch);
	return number > 0 ? number : 0;
}

static json_t *brief(const json_t *pull)
{
	const json_t *head = json_object_get(pull, "head"), *base = json_object_get(pull, "base");

	return json_pack("{s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?}", "number", json_object_get(pull, "number"),
	                 "title", json_object_get(pull, "title"), "state", json_object_get(pull, "state"), "draft",
	                 json_object_get(pull, "draft"), "url", json_object_get(pull, "html_url"), "head",
	                 json_object_get(head, "ref"), "commit", json_object_get(head, "sha"), "base",
	                 json_object_get(base, "ref"));
}

static bool add_review(json_t *list, const json_t *from)
{
	const json_t *body = json_object_get(from, "body"), *at = json_object_get(from, "submitted_at");
	json_t *one =
	        json_pack("{s:o, s:O?, s:O?, s:O?, s:O?}", "by", perform_login(from), "at",
	                  at ? at : json_object_get(from, "created_at"), "verdict", json_object_get(from, "state"),
	                  "file", json_object_get(from, "path"), "line", json_object_get(from, "line"));

	if (one && perform_text(one, "text", body, PERFORM_COMMENT))
		return json_array_append_new(list, one) == 0;
	json_decref(one);
	return false;
}

/* Reviews, or the comments on lines: GitHub gives the oldest first, and no more than a page is read. */
static bool add_reviews(struct performing *p, json_t *out, const char *name, const char *path)
{
	json_t *found = perform_get(p, "the reviews", path), *list = json_array(), *one;
	size_t n = json_array_size(found), i;
	bool good = found && list;

	json_array_foreach(found, i, one)
	{
		if (i + PERFORM_LAST >= n)
			good = good && add_review(list, one);
	}
	good = good && json_object_set(out, name, list) == 0 &&
	       (n < 100 || json_object_set_new(out, "more_than_shown", json_true()) == 0);
	json_decref(list);
	json_decref(found);
	return good;
}

static bool fill(struct performing *p, json_t *out, const json_t *pull, long long number)
{
	char reviews[80], lines[80];

	snprintf(reviews, sizeof(reviews), "/pulls/%lld/reviews?per_page=100", number);
	snprintf(lines, sizeof(lines), "/pulls/%lld/comments?per_page=100", number);
	return json_object_set(out, "merged", json_object_get(pull, "merged")) == 0 &&
	       json_object_set(out, "mergeable", json_object_get(pull, "mergeable")) == 0 &&
	       perform_text(out, "text", json_object_get(pull, "body"), PERFORM_BODY) &&
	       perform_comments(p, out, number, (long long)json_integer_value(json_object_get(pull, "comments"))) &&
	       add_reviews(p, out, "reviews", reviews) && add_reviews(p, out, "on_lines", lines);
}

json_t *perform_pull_get(struct performing *p)
{
	long long number = find_one(p);
	json_t *pull, *out;
	char path[60];

	if (!number)
		return NULL;
	snprintf(path, sizeof(path), "/pulls/%lld", number);
	pull = perform_get(p, "the pull request", path);
	out = pull ? brief(pull) : NULL;
	if (out && !fill(p, out, pull, number)) {
		json_decref(out);
		out = NULL;
	}
	json_decref(pull);
	return out;
}

/* Refused as what it is: GitHub's own 422 says it less clearly. */
static bool may_open(struct performing *p)
{
	long long number = find(p, "open");

	if (number > 0)
		github_refuse(p->g, "exists", p->branch, "github.pull.update",
		              "the branch %s has an open pull request already, number %lld", p->branch, number);
	return number == 0;
}

static json_t *open_pull(struct performing *p, json_t *base)
{
	json_t *title = json_object_get(p->arguments, "title"), *text = json_object_get(p->arguments, "body");

	return perform_say(p, "POST", "the pull request", "/pulls",
	                   json_pack("{s:O, s:s, s:O, s:O*, s:O*}", "title", title, "head", p->branch, "base", base,
	                             "body", text, "draft", json_object_get(p->arguments, "draft")));
}

json_t *perform_pull_create(struct performing *p)
{
	json_t *repository = may_open(p) ? perform_get(p, "the repository", "") : NULL, *pull = NULL, *out;
	json_t *base = json_object_get(repository, "default_branch");

	if (json_is_string(base))
		pull = open_pull(p, base);
	else if (repository)
		github_refuse(p->g, "github_answer", p->g->repository, "try again",
		              "the repository: GitHub doesn't say what its default branch is");
	out = pull ? brief(pull) : NULL;
	json_decref(pull);
	json_decref(repository);
	return out;
}

json_t *perform_pull_update(struct performing *p)
{
	long long number;
	json_t *pull, *out;
	char path[60];

	if (!json_object_size(p->arguments)) {
		github_refuse(p->g, "bad_arguments", "arguments", "give a title, a body or a state",
		              "there is nothing to change");
		return NULL;
	}
	number = find_one(p);
	if (!number)
		return NULL;
	snprintf(path, sizeof(path), "/pulls/%lld", number);
	pull = perform_say(p, "PATCH", "the pull request", path, json_copy((json_t *)(uintptr_t)p->arguments));
	out = pull ? brief(pull) : NULL;
	json_decref(pull);
	return out;
}

json_t *perform_pull_comment(struct performing *p)
{
	long long number = find_one(p);

	return number ? perform_comment(p, "the comment on the pull request", number) : NULL;
}

static bool add_check(json_t *list, const json_t *run)
{
	json_t *one = json_pack("{s:O?, s:O?, s:O?, s:O?}", "name", json_object_get(run, "name"), "status",
	                        json_object_get(run, "status"), "conclusion", json_object_get(run, "conclusion"), "url",
	                        json_object_get(run, "html_url"));
	const json_t *summary = json_object_get(json_object_get(run, "output"), "summary");

	if (one && (!json_is_string(summary) || perform_text(one, "summary", summary, PERFORM_SUMMARY)))
		return json_array_append_new(list, one) == 0;
	json_decref(one);
	return false;
}

json_t *perform_check_list(struct performing *p)
{
	char path[GITHUB_PATH_MAX] = "/commits/";
	json_t *found, *runs, *list = json_array(), *one, *out = NULL;
	bool good = list != NULL;
	size_t i, n;

	if (p->branch && github_path(path, p->branch) && (n = strlen(path)) + 40 < sizeof(path)) {
		snprintf(path + n, sizeof(path) - n, "/check-runs?per_page=100");
		found = perform_get(p, "the checks of the branch", path);
		runs = json_object_get(found, "check_runs");
		json_array_foreach(runs, i, one) good = good && add_check(list, one);
		if (found && good)
			out = json_pack("{s:s, s:O?, s:O?, s:O}", "branch", p->branch, "commit",
			                json_object_get(json_array_get(runs, 0), "head_sha"), "total",
			                json_object_get(found, "total_count"), "checks", list);
		json_decref(found);
	} else {
		github_refuse(p->g, "no_branch", p->g->repository, "give the Work a branch",
		              "the Work has no branch, or one that is too long");
	}
	json_decref(list);
	return out;
}
