/* SPDX-License-Identifier: Apache-2.0 */
/* The Work's issue: read, commented on, labelled. */
#include <stdio.h>

#include "github/perform.h"

static json_t *labels_of(const json_t *list)
{
	json_t *out = json_array(), *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		json_t *name = json_is_string(one) ? one : json_object_get(one, "name");

		if (name)
			json_array_append(out, name);
	}
	return out;
}

static bool has_number(const struct performing *p)
{
	if (p->number > 0)
		return true;
	github_refuse(p->g, "no_issue", p->g->repository, "start a turn with an input that has a \"number\"",
	              "the Work is about no issue");
	return false;
}

json_t *perform_issue_get(struct performing *p)
{
	json_t *issue, *out = NULL;
	char path[60];

	if (!has_number(p))
		return NULL;
	snprintf(path, sizeof(path), "/issues/%lld", p->number);
	issue = perform_get(p, "the issue", path);
	if (issue)
		out = json_pack("{s:I, s:O?, s:O?, s:O?, s:o, s:O?, s:o, s:b}", "number", (json_int_t)p->number,
		                "title", json_object_get(issue, "title"), "state", json_object_get(issue, "state"),
		                "url", json_object_get(issue, "html_url"), "by", perform_login(issue), "at",
		                json_object_get(issue, "created_at"), "labels",
		                labels_of(json_object_get(issue, "labels")), "is_pull_request",
		                json_object_get(issue, "pull_request") != NULL);
	if (out &&
	    !(perform_text(out, "text", json_object_get(issue, "body"), PERFORM_BODY) &&
	      perform_comments(p, out, p->number, (long long)json_integer_value(json_object_get(issue, "comments"))))) {
		json_decref(out);
		out = NULL;
	}
	json_decref(issue);
	return out;
}

json_t *perform_issue_comment(struct performing *p)
{
	return has_number(p) ? perform_comment(p, "the comment on the issue", p->number) : NULL;
}

json_t *perform_issue_label(struct performing *p)
{
	json_t *labels = json_object_get(p->arguments, "labels"), *done, *out = NULL;
	char path[60];

	if (!has_number(p))
		return NULL;
	snprintf(path, sizeof(path), "/issues/%lld/labels", p->number);
	done = perform_say(p, "PUT", "the labels of the issue", path, json_pack("{s:O}", "labels", labels));
	if (done)
		out = json_pack("{s:I, s:o}", "number", (json_int_t)p->number, "labels", labels_of(done));
	json_decref(done);
	return out;
}
