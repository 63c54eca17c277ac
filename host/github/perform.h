/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of the toolbelt: each on the one repository, and in it on the issue and the branch of the Work; by a token with
 * the permissions that it needs, made for it and revoked at its end.  Answers are what an agent wants to know, and bounded. */
#ifndef HOST_GITHUB_PERFORM_H
#define HOST_GITHUB_PERFORM_H

#include "github/github.h"

#define PERFORM_BODY    16384 /* bytes of a description */
#define PERFORM_COMMENT 4096
#define PERFORM_SUMMARY 1000
#define PERFORM_LAST    30 /* comments, the newest */

struct performing {
	struct github *g;
	const struct app_token *token;
	const json_t *arguments;
	long long number; /* of the Work's issue; 0: none */
	const char *branch;
	const char *needs; /* "issues: write" */
};
/* Its result, new; or NULL with g->error. */
typedef json_t *perform_fn(struct performing *p);
perform_fn perform_issue_get, perform_issue_comment, perform_issue_label;
perform_fn perform_pull_get, perform_pull_create, perform_pull_update, perform_pull_comment;
perform_fn perform_check_list;

/* GET a path below the repository ("/issues/7"): what it gives, new; or NULL. */
json_t *perform_get(struct performing *p, const char *what, const char *path);
/* Say something that changes something, once: where nobody knows whether it was heard that is the refusal.  body: taken. */
json_t *perform_say(struct performing *p, const char *method, const char *what, const char *path, json_t *body);
/* A text, cut to at most max bytes; what of it is missing is said by the member NAME_cut of `out`. */
bool perform_text(json_t *out, const char *name, const json_t *value, size_t max);
/* The newest comments of an issue or a pull request that has `total`, into out: "comments" and what is left out. */
bool perform_comments(struct performing *p, json_t *out, long long number, long long total);
/* A comment was written: {"id","url"}. */
json_t *perform_comment(struct performing *p, const char *what, long long number);
/* The login of an object's member "user". */
json_t *perform_login(const json_t *object);

#endif
