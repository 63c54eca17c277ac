/* SPDX-License-Identifier: Apache-2.0 */
/* What a route wants to know: which open issues are assigned to the bot or have the binding's label, and what others wrote
 * on issues since.  An answer that is as the last one was costs nothing of GitHub's limits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "github/github.h"
#include "text.h"

#define PAGE         100
#define LIST_PAGES   3 /* 300 issues that are routed at once */
#define TALK_PAGES   5
#define NEW_MAX      20 /* issues begun with; the rest next time */
#define BODY_MAX     (60u << 10)
#define COMMENTS_MAX (96u << 10) /* of what an issue begins with */
#define ANSWER_MAX   (2u << 20)

struct poll {
	struct github *g;
	struct app_token token;
	const json_t *request, *etag, *known; /* borrowed */
	char login[128];
	json_t *etags, *issues; /* issues NULL: as they were */
	json_t *comments;
	long long since, now, wait; /* ms */
	size_t begun, bytes;
	bool more;
};

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static long long ms_of(const char *text)
{
	struct tm tm = { 0 };
	const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) : NULL;

	return end ? (long long)timegm(&tm) * 1000 : 0;
}

/* At most `max` bytes of text, cut between two signs. */
static json_t *bounded(const char *text, size_t max)
{
	static const char cut[] = "\n[cut here: the rest is on its page]";
	struct text out = { 0 };
	json_t *json;

	text = text ? text : "";
	text_add(&out, text, text_valid(text, strnlen(text, max)));
	if (strlen(text) > max)
		text_puts(&out, cut);
	json = out.failed ? NULL : json_string(out.data ? out.data : "");
	text_free(&out);
	return json;
}

/* One page.  1: it is there; 0: as it was; -1 refused. */
static int get(struct poll *p, const char *path, const char *what, const char *etag, struct github_answer *a)
{
	const struct github_call call = { "GET",
		                          path,
		                          what,
		                          .auth = GITHUB_TOKEN,
		                          .token = p->token.value,
		                          .token_made = p->token.made,
		                          .etag = etag,
		                          .needs = "issues: read" };

	if (github_ask(p->g, &call, a) < 0) {
		p->wait = a->wait > 0 ? a->wait * 1000 : 0;
		return -1;
	}
	p->now = a->date ? a->date * 1000 : github_now_ms();
	if (a->wait > 0)
		p->wait = a->wait * 1000;
	if (a->status == 304)
		return 0;
	return json_is_array(a->json) ? 1
	                              : github_refuse(p->g, "github_answer", p->g->repository,
	                                              "look whether the connection's address is an API of GitHub's",
	                                              "%s: GitHub's answer is no list", what);
}

/* ---- who we are there ---- */

static int find_login(struct poll *p)
{
	const struct github_call call = { "GET", "/user", "whose token that is", .auth = GITHUB_TOKEN,
		                          .token = p->token.value };
	const char *known = text_of(p->request, "login"), *name = NULL;
	struct github_answer a = { 0 };
	json_t *self = NULL;

	if (known) {
		snprintf(p->login, sizeof(p->login), "%s", known);
		return 0;
	}
	if (!p->g->app) {
		if (github_ask(p->g, &call, &a) == 0)
			name = text_of(a.json, "login");
	} else if ((self = app_self(p->g, &a))) {
		name = text_of(self, "slug");
	}
	if (name)
		snprintf(p->login, sizeof(p->login), "%.100s%s", name, p->g->app ? "[bot]" : "");
	else
		github_refuse(p->g, "github_answer", p->g->repository,
		              "look whether the connection's address is an API of GitHub's",
		              "the bot: GitHub doesn't say what it is called");
	json_decref(self);
	github_answer_clear(&a);
	return name ? 0 : -1;
}

/* ---- comments ---- */

static json_t *comment_of(const json_t *raw, size_t max)
{
	const char *author = text_of(json_object_get(raw, "user"), "login"), *url = text_of(raw, "html_url");

	return json_pack("{s:O, s:s, s:o, s:s, s:I}", "id", json_object_get(raw, "id"), "author",
	                 author ? author : "ghost", "body", bounded(text_of(raw, "body"), max), "url", url ? url : "",
	                 "created", (json_int_t)ms_of(text_of(raw, "created_at")));
}

static bool is_ours(const struct poll *p, const json_t *raw)
{
	const char *author = text_of(json_object_get(raw, "user"), "login");

	return author && !strcmp(author, p->login);
}

/* The newest that there is room for, oldest first; the others are only known. */
static void keep_newest(json_t *comments)
{
	size_t total = 0, i = json_array_size(comments);

	while (i > 0) {
		total += json_string_length(json_object_get(json_array_get(comments, i - 1), "body")) + 200;
		if (total > COMMENTS_MAX)
			break;
		i--;
	}
	while (i-- > 0)
		json_array_remove(comments, 0);
}

/* What stands on a new issue already. */
static int begin_with(struct poll *p, json_t *issue)
{
	json_t *ids = json_array(), *comments = json_array();
	struct github_answer a = { 0 };
	char path[GITHUB_PATH_MAX];
	size_t n = PAGE;
	int rc = 1;

	json_object_set_new(issue, "ids", ids);
	json_object_set_new(issue, "comments", comments);
	for (int page = 1; rc > 0 && n == PAGE && page <= TALK_PAGES; page++) {
		snprintf(path, sizeof(path), "/repos/%s/issues/%lld/comments?per_page=%d&page=%d", p->g->repository,
		         (long long)json_integer_value(json_object_get(issue, "number")), PAGE, page);
		rc = get(p, path, "the comments of an issue", NULL, &a);
		n = rc > 0 ? json_array_size(a.json) : 0;
		for (size_t i = 0; i < n; i++) {
			const json_t *raw = json_array_get(a.json, i);

			json_array_append(ids, json_object_get(raw, "id"));
			if (!is_ours(p, raw))
				json_array_append_new(comments, comment_of(raw, BODY_MAX / 2));
		}
	}
	keep_newest(comments);
	github_answer_clear(&a);
	return rc < 0 ? -1 : 0;
}

static bool has_number(const json_t *list, const json_t *number)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_equal(json_array_get(list, i), number))
			return true;
	return false;
}

/* The number at the end of ".../issues/12". */
static long long number_of(const json_t *raw)
{
	const char *url = text_of(raw, "issue_url"), *last = url ? strrchr(url, '/') : NULL;

	return last ? strtoll(last + 1, NULL, 10) : 0;
}

/* False: no more goes into this answer. */
static bool take_comment(struct poll *p, const json_t *raw)
{
	json_t *number = json_integer(number_of(raw)), *one = NULL;
	long long updated = ms_of(text_of(raw, "updated_at"));

	if (has_number(p->known, number) && !is_ours(p, raw)) {
		one = comment_of(raw, BODY_MAX);
		json_object_set(one, "number", number);
		p->bytes += json_string_length(json_object_get(one, "body"));
	}
	json_decref(number);
	if (p->bytes > ANSWER_MAX) {
		json_decref(one);
		p->more = true;
		return false;
	}
	if (one)
		json_array_append_new(p->comments, one);
	p->since = updated > p->since ? updated : p->since;
	return true;
}

/* What was said since, in the order in which it was; not asked where nobody would hear it. */
static int listen(struct poll *p)
{
	time_t at = (time_t)(p->since / 1000);
	struct github_answer a = { 0 };
	char path[GITHUB_PATH_MAX], from[32];
	bool going = p->since > 0 && json_array_size(p->known) > 0;
	struct tm tm;
	int rc = 0;

	if (!gmtime_r(&at, &tm) || !strftime(from, sizeof(from), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return -1;
	for (int page = 1; going && page <= TALK_PAGES; page++) {
		snprintf(path, sizeof(path),
		         "/repos/%s/issues/comments?sort=updated&direction=asc&since=%s&per_page=%d&page=%d",
		         p->g->repository, from, PAGE, page);
		rc = get(p, path, "the comments of the repository", page == 1 ? text_of(p->etag, "comments") : NULL,
		         &a);
		if (rc == 0)
			json_object_set(p->etags, "comments", json_object_get(p->etag, "comments"));
		going = rc > 0 && json_array_size(a.json) == PAGE;
		for (size_t i = 0; rc > 0 && i < json_array_size(a.json); i++)
			going = take_comment(p, json_array_get(a.json, i)) && going;
	}
	/* One that moved on has another question the next time. */
	if (rc > 0 && *a.etag && !p->more && p->since / 1000 == (long long)at)
		json_object_set_new(p->etags, "comments", json_string(a.etag));
	github_answer_clear(&a);
	return rc < 0 ? -1 : 0;
}

/* ---- issues ---- */

static json_t *issue_of(const json_t *raw)
{
	const char *title = text_of(raw, "title"), *url = text_of(raw, "html_url");
	const char *author = text_of(json_object_get(raw, "user"), "login");

	return json_pack("{s:O, s:o, s:o, s:s, s:s}", "number", json_object_get(raw, "number"), "title",
	                 bounded(title, 1000), "body", bounded(text_of(raw, "body"), BODY_MAX), "url", url ? url : "",
	                 "author", author ? author : "ghost");
}

static bool is_there(const json_t *issues, const json_t *raw)
{
	for (size_t i = 0; i < json_array_size(issues); i++)
		if (json_equal(json_object_get(json_array_get(issues, i), "number"), json_object_get(raw, "number")))
			return true;
	return false;
}

static void take_issue(struct poll *p, const json_t *raw)
{
	json_t *issue;

	if (json_object_get(raw, "pull_request") || is_there(p->issues, raw) || !json_object_get(raw, "number"))
		return;
	if (has_number(p->known, json_object_get(raw, "number"))) {
		json_array_append_new(p->issues, json_pack("{s:O}", "number", json_object_get(raw, "number")));
		return;
	}
	p->more |= p->begun == NEW_MAX;
	issue = p->begun < NEW_MAX ? issue_of(raw) : NULL;
	p->begun += issue != NULL;
	if (issue)
		json_array_append_new(p->issues, issue);
}

static const char *const names[] = { "label", "assignee" };
static const char *const filters[] = { "labels", "assignee" };

/* One of the two lists, newest change first.  1: there; 0: as it was; -1 refused. */
static int list(struct poll *p, int which, bool anyhow)
{
	const char *etag = anyhow ? NULL : text_of(p->etag, names[which]);
	struct github_answer a = { 0 };
	char path[GITHUB_PATH_MAX];
	size_t n = PAGE;
	int rc = 1;

	for (int page = 1; rc > 0 && n == PAGE && page <= LIST_PAGES; page++) {
		snprintf(path, sizeof(path),
		         "/repos/%s/issues?state=open&sort=updated&direction=desc&per_page=%d&page=%d&%s=",
		         p->g->repository, PAGE, page, filters[which]);
		if (!github_path(path, which ? p->login : text_of(p->request, "label")))
			rc = github_refuse(p->g, "github_denied", p->g->repository, "give the binding a shorter name",
			                   "the issues: the label is too long");
		else
			rc = get(p, path, "the issues", page == 1 ? etag : NULL, &a);
		/* Who can't be assigned has nothing assigned. */
		if (rc < 0 && which && a.status == 422) {
			github_forgive(p->g);
			rc = 1;
		}
		n = rc > 0 ? json_array_size(a.json) : 0;
		if (page == 1 && rc > 0 && *a.etag)
			json_object_set_new(p->etags, names[which], json_string(a.etag));
		for (size_t i = 0; i < n; i++)
			take_issue(p, json_array_get(a.json, i));
	}
	if (rc == 0)
		json_object_set(p->etags, names[which], json_object_get(p->etag, names[which]));
	github_answer_clear(&a);
	return rc;
}

/* Where one of the lists is another, both are needed. */
static int look(struct poll *p)
{
	int label, assignee = 0;

	p->issues = json_array();
	label = list(p, 0, false);
	if (label >= 0)
		assignee = list(p, 1, label > 0);
	if (label == 0 && assignee > 0)
		label = list(p, 0, true);
	if (label < 0 || assignee < 0)
		return -1;
	if (label == 0 && assignee == 0) {
		json_decref(p->issues);
		p->issues = NULL;
	}
	for (size_t i = 0; i < json_array_size(p->issues); i++) {
		json_t *issue = json_array_get(p->issues, i);

		if (json_object_get(issue, "title") && begin_with(p, issue) < 0)
			return -1;
	}
	return 0;
}

/* What could not all be told is asked for again. */
static json_t *answer_of(struct poll *p)
{
	if (p->more) {
		json_object_del(p->etags, "label");
		json_object_del(p->etags, "assignee");
	}
	return json_pack("{s:O?, s:O, s:I, s:I, s:O, s:I, s:s}", "issues", p->issues, "comments", p->comments, "since",
	                 (json_int_t)p->since, "now", (json_int_t)p->now, "etag", p->etags, "wait", (json_int_t)p->wait,
	                 "login", p->login);
}

json_t *op_poll(struct github *g)
{
	struct poll p = { .g = g,
		          .request = g->request,
		          .etag = json_object_get(g->request, "etag"),
		          .known = json_object_get(g->request, "known"),
		          .since = (long long)json_integer_value(json_object_get(g->request, "since")),
		          .etags = json_object(),
		          .comments = json_array() };
	json_t *permissions = json_pack("{s:s}", "issues", "read"), *told = NULL;

	if (!text_of(g->request, "label")) {
		github_refuse(g, "github_answer", "label", "open-conduit doctor", "a poll names a label");
	} else if (permissions && app_token_for(g, permissions, &p.token) == 0) {
		if (find_login(&p) == 0 && look(&p) == 0 && listen(&p) == 0)
			told = answer_of(&p);
		app_token_end(g, &p.token);
	}
	if (!told && g->error)
		told = json_pack("{s:O, s:I}", "error", g->error, "wait", (json_int_t)p.wait);
	json_decref(permissions);
	json_decref(p.etags);
	json_decref(p.issues);
	json_decref(p.comments);
	return told;
}
