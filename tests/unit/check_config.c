/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of the config without memory, and what it hands on.  What it takes and refuses: tests/host/config.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "config/config.h"
#include "config/template.h"
#include "suite.h"
#include "text.h"

static const struct config_world world = { .home = "/home/u", .config_dir = "/c", .state_dir = "/s", .no_disk = true };

static char *text;
static size_t len;

static int read_good(void *userdata)
{
	struct report report = { 0 };
	struct config *config = NULL;
	int rc = config_read(text, len, "config.json", &world, &config, &report);

	(void)userdata;
	config_free(config);
	report_free(&report);
	return rc;
}

START_TEST(out_of_memory)
{
	text = suite_load("host/config/full.json", &len);
	ck_assert_int_gt(alloc_fail_each(read_good, NULL, 0), 50);
	free(text);
}
END_TEST

START_TEST(model)
{
	struct report report = { 0 };
	struct config *c = NULL;
	const struct config_binding *b;
	const char *nearest = NULL;
	size_t line, column;

	text = suite_load("host/config/full.json", &len);
	ck_assert_int_eq(config_read(text, len, "config.json", &world, &c, &report), 0);
	b = config_binding(c, "web/agent", NULL);
	ck_assert_ptr_nonnull(b);
	ck_assert_str_eq(b->kind, "sandbox");
	ck_assert_str_eq(b->field, "scopes[0].bindings[0]");
	ck_assert_str_eq(b->link->config->base_url, "https://github.example.com");
	ck_assert_uint_eq(b->granted.n, 2);
	ck_assert_str_eq(b->granted.v[0], "github.git.credential");
	ck_assert_uint_eq(b->n_secrets, 2);
	ck_assert_str_eq(b->secrets[0].variable, "CLAUDE_CODE_OAUTH_TOKEN");
	ck_assert_str_eq(b->secrets[1].ref, "file:/home/u/gh-token");
	/* The policy is the file's own bytes. */
	ck_assert_ptr_nonnull(strstr(text, b->place->policy));
	ck_assert_int_eq(b->place->policy[0], '{');
	ck_assert_ptr_null(config_binding(c, "web/agnet", &nearest));
	ck_assert_str_eq(nearest, "web/agent");
	ck_assert_str_eq(config_pass_env(c, "docker")[0], "XDG_RUNTIME_DIR");
	ck_assert_ptr_null(config_pass_env(c, "srt")[0]);
	b = config_binding(c, "web/job", NULL);
	ck_assert_uint_eq(b->config->command.n, 3);
	ck_assert_ptr_null(b->config->command.v[3]);
	ck_assert_str_eq(b->kind, "none");
	ck_assert_ptr_null(b->place);
	b = config_binding(c, "web/boxed", NULL);
	ck_assert_str_eq(b->kind, "container");
	ck_assert_str_eq(b->link->config->base_url, "https://github.com");
	ck_assert_str_eq(b->link->config->git, "user");
	ck_assert(config_find(c, "scopes[0].bindings[0].sandbox.config.write[1]", &line, &column));
	ck_assert_uint_gt(line, 40);
	ck_assert(!config_find(c, "scopes[0].bindings[0].sandbox.config.write[9]", &line, &column));
	config_free(c);
	report_free(&report);
	free(text);
}
END_TEST

static const char *value(const char *name, size_t n, void *userdata)
{
	(void)userdata;
	return n == 1 && *name == 'a' ? "1" : n == 3 && !strncmp(name, "b.c", 3) ? "{x}" : NULL;
}

START_TEST(templates)
{
	static const struct {
		const char *template, *filled, *piece; /* filled NULL: refused, because of `piece` */
	} rows[] = {
		{ "", "", NULL },           { "x", "x", NULL },
		{ "{a}", "1", NULL },       { "x{a}{a}y", "x11y", NULL },
		{ "{{a}}", "{a}", NULL },   { "{b.c}", "{x}", NULL },
		{ "{{{a}}}", "{1}", NULL }, { "{d}", NULL, "{d}" },
		{ "x{a}{d}", NULL, "{d}" }, { "{", NULL, "{" },
		{ "x}", NULL, "}" },        { "{}", NULL, "{" },
		{ "{A}", NULL, "{" },       { "{1}", NULL, "{" },
		{ "{a.}", NULL, "{" },      { "{.a}", NULL, "{" },
		{ "{a b}", NULL, "{a" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct text out = { 0 };
		size_t at = 0, n = 0;
		const char *why = template_fill(&out, rows[i].template, value, NULL, &at, &n);

		ck_assert_msg(!why == !!rows[i].filled, "%s: %s", rows[i].template, why);
		if (rows[i].filled)
			ck_assert_str_eq(out.data, rows[i].filled);
		else
			ck_assert_msg(n == strlen(rows[i].piece) && !strncmp(rows[i].template + at, rows[i].piece, n),
			              "%s: %zu at %zu", rows[i].template, n, at);
		text_free(&out);
	}
}
END_TEST

SUITE_MAIN("config", model, templates, out_of_memory)
