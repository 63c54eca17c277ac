/* SPDX-License-Identifier: Apache-2.0 */
/* The truth table, by explain; needs; the answers' shape. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "suite.h"
#include "world.h"

static json_t *explain(const json_t *resolved, const char *question, const char *subject)
{
	json_t *out = NULL;
	oc_error *err = NULL;

	ck_assert_msg(oc_resolved_explain(resolved, question, subject, &out, &err) == 0, "%s %s: %s", question, subject,
	              oc_error_message(err));
	return out;
}

static void set_up(const struct world *w, const json_t *setup)
{
	json_t *item;
	size_t i;

	json_array_foreach(setup, i, item)
	{
		if (oc_json_text(item, "dir"))
			world_dir(w, oc_json_text(item, "dir"));
		else if (oc_json_text(item, "file"))
			world_file(w, oc_json_text(item, "file"), NULL);
		else
			world_link(w, oc_json_text(item, "link"), oc_json_text(item, "to"));
	}
}

static size_t check_row(const json_t *row, size_t *yes)
{
	struct world w;
	char *policy = json_dumps(json_object_get(row, "policy"), JSON_COMPACT);
	json_t *q, *resolved;
	size_t i;

	world_make(&w);
	set_up(&w, json_object_get(row, "setup"));
	resolved = world_granted(&w, policy);
	json_array_foreach(json_object_get(row, "questions"), i, q)
	{
		char *path = world_path(&w, oc_json_text(q, "path"));
		json_t *a = explain(resolved, oc_json_text(q, "op"), path);
		bool want = json_is_true(json_object_get(q, "allowed"));

		ck_assert_msg(json_is_true(json_object_get(a, "allowed")) == want, "%s: %s %s is %s, by %s",
		              oc_json_text(row, "name"), oc_json_text(q, "op"), path, want ? "denied" : "allowed",
		              oc_json_text(a, "rule"));
		*yes += want;
		json_decref(a);
		free(path);
	}
	json_decref(resolved);
	free(policy);
	world_end(&w);
	return i;
}

START_TEST(truth_table)
{
	size_t len, i, asked = 0, yes = 0;
	char *text = suite_load("unit/vectors/truth_table.json", &len);
	json_t *table = json_loadb(text, len, 0, NULL), *row;

	ck_assert_ptr_nonnull(table);
	json_array_foreach(json_object_get(table, "rows"), i, row) asked += check_row(row, &yes);
	ck_assert_uint_ge(i, 12);
	ck_assert_uint_gt(yes, 20);
	ck_assert_uint_gt(asked - yes, 20);
	json_decref(table);
	free(text);
}
END_TEST

static void expect(const json_t *resolved, const char *question, const char *subject, bool allowed, const char *rule,
                   const char *line)
{
	json_t *a = explain(resolved, question, subject);
	const char *got = oc_json_text(a, "allow_line");

	ck_assert_msg(json_is_true(json_object_get(a, "allowed")) == allowed, "%s %s", question, subject);
	ck_assert_msg(!rule || (oc_json_text(a, "rule") && strcmp(oc_json_text(a, "rule"), rule) == 0),
	              "%s %s: rule %s", question, subject, oc_json_text(a, "rule"));
	ck_assert_msg(line ? got && strcmp(got, line) == 0 : got == NULL, "%s %s: line %s", question, subject, got);
	ck_assert_str_eq(oc_json_text(a, "subject"), subject);
	ck_assert_ptr_nonnull(oc_json_text(a, "resolved"));
	json_decref(a);
}

START_TEST(hosts)
{
	struct world w;
	json_t *r;

	world_make(&w);
	r = world_granted(&w, "{\"network\":{\"allow\":[\"github.com:443\",\"*.example.com\",\"127.0.0.1:5432\",\"["
	                      "2001:db8::1]\"]}}");
	expect(r, "host", "GitHub.com.", true, "github.com:443", NULL);
	expect(r, "host", "github.com:22", false, "network.allow", "\"network\": {\"allow\": [\"github.com:22\"]}");
	expect(r, "host", "a.b.example.com:1", true, "*.example.com", NULL);
	expect(r, "host", "example.com", false, NULL, "\"network\": {\"allow\": [\"example.com:443\"]}");
	expect(r, "host", "127.0.0.1:5432", true, "127.0.0.1:5432", NULL);
	expect(r, "host", "127.0.0.1:5433", false, NULL, "\"network\": {\"allow\": [\"127.0.0.1:5433\"]}");
	expect(r, "host", "[2001:DB8:0::1]:99", true, "[2001:db8::1]", NULL);
	expect(r, "host", "169.254.169.254:80", false, NULL, NULL);
	expect(r, "host", "localhost", false, NULL, NULL);
	json_decref(r);
	world_end(&w);
}
END_TEST

START_TEST(lines)
{
	struct world w;
	char *path, *line = NULL;
	json_t *r;

	world_make(&w);
	world_file(&w, "~/.ssh/id", NULL);
	world_file(&w, "~/say \"hi\"", NULL);
	r = world_granted(&w, "{\"write\":[\"{workspace}\"]}");
	path = world_path(&w, "~/.ssh/id");
	ck_assert_int_gt(asprintf(&line, "\"read\": {\"allow\": [\"%s\"]}", path), 0);
	expect(r, "read", path, false, "default", line);
	free(line);
	ck_assert_int_gt(asprintf(&line, "\"write\": [\"%s\"], \"read\": {\"allow\": [\"%s\"]}", path, path), 0);
	expect(r, "write", path, false, "default", line);
	free(line);
	free(path);
	path = world_path(&w, "~/say \"hi\"");
	ck_assert_int_gt(asprintf(&line, "\"write\": [\"%s/say \\\"hi\\\"\"]", w.home), 0);
	expect(r, "write", path, false, "write", line);
	expect(r, "read", path, true, NULL, NULL);
	free(line);
	free(path);
	expect(r, "read", w.state, false, "protected", NULL);
	expect(r, "write", w.run, true, "{run}", NULL);
	expect(r, "socket", "/run/x.sock", false, "unix_sockets",
	       "\"sockets\": [\"/run/x.sock\"], \"unix_sockets\": \"all\"");
	expect(r, "socket", "{toolbelt}", false, "sockets", "\"sockets\": [\"{toolbelt}\"]");
	json_decref(r);
	r = world_granted(&w, "{\"sockets\":[\"{toolbelt}\"]}");
	expect(r, "socket", "{toolbelt}", true, "sockets[0]", NULL);
	json_decref(r);
	world_end(&w);
}
END_TEST

/* A file in a hidden directory can't be had through a link of it either. */
START_TEST(through_links)
{
	struct world w;
	char *path;
	json_t *r, *a;

	world_make(&w);
	world_file(&w, "~/plain/x", NULL);
	world_file(&w, "~/closed/y", NULL);
	world_link(&w, "~/closed/way", "~/plain/x");
	r = world_granted(&w, "{\"read\":{\"deny\":[\"~/closed\"]}}");
	path = world_path(&w, "~/closed/way");
	a = explain(r, "read", path);
	ck_assert(json_is_false(json_object_get(a, "allowed")));
	ck_assert_str_eq(oc_json_text(a, "rule"), "read.deny[0]");
	json_decref(a);
	free(path);
	path = world_path(&w, "~/plain/x");
	expect(r, "read", path, true, NULL, NULL);
	free(path);
	json_decref(r);
	world_end(&w);
}
END_TEST

START_TEST(bad_questions)
{
	static const char *const rows[][2] = { { "read", "x" },         { "read", "/a/../b" }, { "write", "" },
		                               { "host", "" },          { "host", "a..b" },    { "host", "a:0" },
		                               { "host", "http://a/" }, { "colour", "/red" },  { "socket", "run" },
		                               { "read", "{toolbelt}" } };
	struct world w;
	json_t *r, *out = NULL;
	oc_error *err = NULL;

	world_make(&w);
	r = world_granted(&w, "{}");
	for (size_t i = 0; i < OC_COUNT(rows); i++) {
		ck_assert_msg(oc_resolved_explain(r, rows[i][0], rows[i][1], &out, &err) == OC_EINVAL, "%s %s",
		              rows[i][0], rows[i][1]);
		oc_error_free(err);
		err = NULL;
	}
	json_decref(r);
	world_end(&w);
}
END_TEST

START_TEST(needs)
{
	struct world w;
	json_t *r, *n;
	oc_error *err = NULL;
	size_t count = 0;

	world_make(&w);
	world_file(&w, "~/.aws/k", NULL);
	r = world_granted(&w, "{\"write\":[\"{workspace}\"],\"network\":{\"allow\":[\"api.example.com\"]}}");
	n = json_pack("{s:[s,s], s:[s], s:[s,s]}", "hosts", "api.example.com", "api.example.com:22", "read", "~/x",
	              "write", "{workspace}", "{run}/x");
	ck_assert_int_eq(oc_resolved_needs(r, n, &err), 0);
	json_decref(n);
	n = json_pack("{s:[s], s:[s], s:[s]}", "hosts", "other.example.com", "read", "~/.aws/k", "write", "~/x");
	ck_assert_int_eq(oc_resolved_needs(r, n, &err), OC_EREFUSED);
	for (const oc_error *e = err; e; e = oc_error_next(e), count++) {
		ck_assert_str_eq(oc_error_reason(e), "sandbox_denied");
		ck_assert_ptr_nonnull(oc_error_fix(e));
	}
	ck_assert_uint_eq(count, 3);
	ck_assert_str_eq(oc_error_subject(err), "other.example.com");
	oc_error_free(err);
	json_decref(n);
	json_decref(r);
	world_end(&w);
}
END_TEST

SUITE_MAIN("explain", truth_table, hosts, lines, through_links, bad_questions, needs)
