/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy may say, and how everything else is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "base/error.h"
#include "policy/paths.h"
#include "policy/policy.h"
#include "policy/punycode.h"
#include "suite.h"

static int parse(const char *kind, const char *text, oc_policy **out, oc_error **err)
{
	*out = NULL;
	*err = NULL;
	return oc_policy_parse(kind, text, text ? strlen(text) : 0, out, err);
}

static const char full[] =
        "{\"write\":[\"{workspace}\",\"~/.npm\"],\"read\":{\"deny\":[\"~/.config/op\"],\"allow\":[\"~/.ssh/"
        "known_hosts\"]},"
        "\"network\":{\"allow\":[\"API.Example.com.\",\"*.Example.org\",\"127.0.0.1:5432\",\"[2001:DB8:0::1]:443\"]},"
        "\"sockets\":[\"{toolbelt}\"],\"unix_sockets\":\"all\"}";

START_TEST(normal_form)
{
	oc_policy *p;
	oc_error *e;

	ck_assert_int_eq(parse("sandbox", full, &p, &e), 0);
	ck_assert_str_eq(oc_policy_kind(p), "sandbox");
	ck_assert_str_eq(oc_policy_text(p), full);
	ck_assert_str_eq(
	        oc_policy_json(p),
	        "{\"network\":{\"allow\":[\"api.example.com\",\"*.example.org\",\"127.0.0.1:5432\","
	        "\"[2001:db8::1]:443\"]},\"read\":{\"allow\":[\"~/.ssh/known_hosts\"],\"deny\":[\"~/.config/op\"]},"
	        "\"sockets\":[\"{toolbelt}\"],\"unix_sockets\":\"all\",\"write\":[\"{workspace}\",\"~/.npm\"]}");
	oc_policy_free(p);
	ck_assert_int_eq(parse("sandbox", "{}", &p, &e), 0);
	ck_assert_str_eq(oc_policy_json(p),
	                 "{\"network\":{\"allow\":[]},\"read\":{\"allow\":[],\"deny\":[]},\"sockets\":[],"
	                 "\"unix_sockets\":\"none\",\"write\":[]}");
	oc_policy_free(p);
	ck_assert_int_eq(parse("none", NULL, &p, &e), 0);
	ck_assert_str_eq(oc_policy_json(p), "{}");
	oc_policy_free(p);
	ck_assert_int_eq(parse("none", " {} ", &p, &e), 0);
	oc_policy_free(p);
	oc_policy_free(NULL);
}
END_TEST

static const struct {
	const char *text, *subject, *word; /* word: in message or fix */
} refusals[] = {
	{ "", "policy", "" },
	{ "[]", "policy", "object" },
	{ "nul", "policy", "" },
	{ "{\"write\":[],\"write\":[]}", "policy", "" },
	{ "{\"write\":[],\"\\u0077rite\":[]}", "policy", "" },
	{ "{\"write\":[\"/a\"]} x", "policy", "" },
	{ "{\"write\":\"/a\"}", "write", "" },
	{ "{\"write\":[1]}", "write[0]", "" },
	{ "{\"write\":[null]}", "write[0]", "" },
	{ "{\"read\":[]}", "read", "" },
	{ "{\"read\":{\"deny\":{}}}", "read.deny", "" },
	{ "{\"network\":{\"allowed\":[\"example.test\"]}}", "network.allowed", "allow" },
	{ "{\"limits\":{\"mem\":\"1g\"}}", "limits", "" },
	{ "{\"reads\":[]}", "reads", "read" },
	{ "{\"unix_sockets\":\"any\"}", "unix_sockets", "all" },
	{ "{\"unix_sockets\":true}", "unix_sockets", "" },
	{ "{\"write\":[\"\"]}", "write[0]", "empty" },
	{ "{\"write\":[\"~\"]}", "write[0]", "absolute" },
	{ "{\"write\":[\"~/\"]}", "write[0]", "empty component" },
	{ "{\"write\":[\"~root/.ssh\"]}", "write[0]", "another user" },
	{ "{\"write\":[\"src\"]}", "write[0]", "{workspace}/src" },
	{ "{\"write\":[\"./x\"]}", "write[0]", "relative" },
	{ "{\"read\":{\"deny\":[\"..\"]}}", "read.deny[0]", "relative" },
	{ "{\"read\":{\"deny\":[\"/a\",\"{workspace}/..\"]}}", "read.deny[1]", "\"..\"" },
	{ "{\"write\":[\"{workspace}/../other\"]}", "write[0]", "\"..\"" },
	{ "{\"write\":[\"/a/./b\"]}", "write[0]", "\".\"" },
	{ "{\"read\":{\"deny\":[\"/home/u//.aws/\"]}}", "read.deny[0]", "/home/u/.aws" },
	{ "{\"write\":[\"/a/\"]}", "write[0]", "write \"/a\"" },
	{ "{\"write\":[\"{workspace}x\"]}", "write[0]", "placeholder" },
	{ "{\"write\":[\"{home}/x\"]}", "write[0]", "placeholder" },
	{ "{\"write\":[\"/a/{workspace}\"]}", "write[0]", "placeholder" },
	{ "{\"write\":[\"{toolbelt}\"]}", "write[0]", "placeholder" },
	{ "{\"write\":[\"/srv/*.env\"]}", "write[0]", "glob" },
	{ "{\"write\":[\"/srv/a?\"]}", "write[0]", "glob" },
	{ "{\"write\":[\"/a\\u0000b\"]}", NULL, "" },
	{ "{\"network\":{\"allow\":[\"https://github.com\"]}}", "network.allow[0]", "URL" },
	{ "{\"network\":{\"allow\":[\"*\"]}}", "network.allow[0]", "star" },
	{ "{\"network\":{\"allow\":[\"*.com\"]}}", "network.allow[0]", "two labels" },
	{ "{\"network\":{\"allow\":[\"github.com/path\"]}}", "network.allow[0]", "path" },
	{ "{\"network\":{\"allow\":[\" github.com\"]}}", "network.allow[0]", "" },
	{ "{\"network\":{\"allow\":[\"b\\u00fccher.example\"]}}", "network.allow[0]", "xn--bcher-kva.example" },
	{ "{\"network\":{\"allow\":[\"localhost:80\"]}}", "network.allow[0]", "127.0.0.1:5432" },
	{ "{\"network\":{\"allow\":[\"127.0.0.1\"]}}", "network.allow[0]", "port" },
	{ "{\"network\":{\"allow\":[\"169.254.169.254\"]}}", "network.allow[0]", "metadata" },
	{ "{\"sockets\":[\"/run/x.sock\"]}", "sockets[0]", "\"unix_sockets\": \"all\"" },
	{ "{\"sockets\":[\"{toolbelt}/x\"],\"unix_sockets\":\"all\"}", "sockets[0]", "placeholder" },
};

START_TEST(refused)
{
	for (size_t i = 0; i < OC_COUNT(refusals); i++) {
		oc_policy *p;
		oc_error *e;
		const char *fix;
		int rc = parse("sandbox", refusals[i].text, &p, &e);

		ck_assert_msg(rc == OC_EREFUSED && !p, "%s: %d", refusals[i].text, rc);
		ck_assert_str_eq(oc_error_reason(e), "sandbox_config");
		if (refusals[i].subject)
			ck_assert_msg(strcmp(oc_error_subject(e), refusals[i].subject) == 0, "%s: subject %s",
			              refusals[i].text, oc_error_subject(e));
		fix = oc_error_fix(e);
		ck_assert_msg(fix && *fix, "%s: no fix", refusals[i].text);
		ck_assert_msg(strstr(oc_error_message(e), refusals[i].word) || strstr(fix, refusals[i].word),
		              "%s: \"%s\" (%s)", refusals[i].text, oc_error_message(e), fix);
		oc_error_free(e);
	}
}
END_TEST

START_TEST(kinds)
{
	static const struct {
		const char *kind, *text, *reason;
	} rows[] = {
		{ "container", "{}", "sandbox_config" },
		{ "container", NULL, "sandbox_config" },
		{ "machine", "{}", "sandbox_unavailable" },
		{ "sandbox", NULL, "sandbox_config" },
		{ "srt", "{}", "sandbox_config" },
		{ "", "{}", "sandbox_config" },
		{ "none", "{\"write\":[]}", "sandbox_config" },
	};
	oc_policy *p;
	oc_error *e;

	for (size_t i = 0; i < OC_COUNT(rows); i++) {
		ck_assert_int_eq(parse(rows[i].kind, rows[i].text, &p, &e), OC_EREFUSED);
		ck_assert_str_eq(oc_error_reason(e), rows[i].reason);
		oc_error_free(e);
	}
	ck_assert_int_eq(parse(NULL, "{}", &p, &e), OC_EINVAL);
	oc_error_free(e);
	ck_assert_int_lt(oc_policy_parse("sandbox", "[", 1, &p, NULL), 0);
}
END_TEST

START_TEST(all_at_once)
{
	oc_policy *p;
	oc_error *e;
	size_t n = 0;

	ck_assert_int_eq(parse("sandbox",
	                       "{\"wite\":[],\"read\":{\"deny\":[\"..\",\"/ok\",\"a//\"],\"alow\":[]},"
	                       "\"network\":{\"allow\":[\"*\",\"ok.example\"]},\"sockets\":[\"/x\"]}",
	                       &p, &e),
	                 OC_EREFUSED);
	for (const oc_error *at = e; at; at = oc_error_next(at))
		n++;
	ck_assert_uint_eq(n, 6);
	oc_error_free(e);
}
END_TEST

START_TEST(bounded)
{
	enum { SIZE = 40000 };
	char *text = malloc(SIZE);
	size_t at = 0;
	oc_policy *p;
	oc_error *e;

	ck_assert_ptr_nonnull(text);
	for (int n = 1000; n <= 1001; n++) {
		at = (size_t)snprintf(text, SIZE, "{\"read\":{\"deny\":[");
		for (int i = 0; i < n; i++)
			at += (size_t)snprintf(text + at, SIZE - at, "%s\"/d/%d\"", i ? "," : "", i);
		memcpy(text + at, "]}}", 4);
		if (n == 1000) {
			ck_assert_int_eq(parse("sandbox", text, &p, &e), 0);
			oc_policy_free(p);
			continue;
		}
		ck_assert_int_eq(parse("sandbox", text, &p, &e), OC_EREFUSED);
		ck_assert_str_eq(oc_error_subject(e), "read.deny");
		ck_assert_ptr_nonnull(strstr(oc_error_message(e), "1001"));
		ck_assert_ptr_nonnull(strstr(oc_error_message(e), "1000"));
		oc_error_free(e);
	}
	free(text);
}
END_TEST

static const struct {
	const char *key, *shape; /* %s: the key */
} known[] = {
	{ "write", "{\"%s\":[]}" },
	{ "read", "{\"%s\":{}}" },
	{ "network", "{\"%s\":{}}" },
	{ "sockets", "{\"%s\":[]}" },
	{ "unix_sockets", "{\"%s\":\"all\"}" },
	{ "deny", "{\"read\":{\"%s\":[]}}" },
	{ "allow", "{\"read\":{\"%s\":[]}}" },
	{ "allow", "{\"network\":{\"%s\":[]}}" },
};

static void expect_unknown(size_t i, const char *key)
{
	char text[128], near[64];
	const char *said;
	oc_policy *p;
	oc_error *e;
	size_t len = (size_t)snprintf(text, sizeof(text), known[i].shape, key);

	ck_assert_uint_lt(len, sizeof(text));
	if (strcmp(key, known[i].key) == 0)
		return;
	ck_assert_msg(parse("sandbox", text, &p, &e) == OC_EREFUSED, "%s was accepted", text);
	ck_assert_str_eq(oc_error_reason(e), "sandbox_config");
	ck_assert_msg(strstr(oc_error_subject(e), key) != NULL, "%s: subject %s", text, oc_error_subject(e));
	snprintf(near, sizeof(near), "%s", known[i].key);
	said = oc_error_fix(e) ? oc_error_fix(e) : "";
	ck_assert_msg(strstr(said, near) || strstr(oc_error_message(e), near), "%s: \"%s\" (%s)", text,
	              oc_error_message(e), said);
	oc_error_free(e);
}

/* Each known key with one letter changed, left out, doubled, swapped: refused, with the key it was meant to be. */
START_TEST(one_letter)
{
	for (size_t i = 0; i < OC_COUNT(known); i++) {
		const char *key = known[i].key;
		size_t len = strlen(key);
		char m[32], text[64];
		oc_policy *p;
		oc_error *e;

		snprintf(text, sizeof(text), known[i].shape, key);
		ck_assert_msg(parse("sandbox", text, &p, &e) == 0, "control: %s", text);
		oc_policy_free(p);
		for (size_t at = 0; at < len; at++) {
			memcpy(m, key, len + 1);
			m[at] = m[at] == 'q' ? 'z' : 'q';
			expect_unknown(i, m);
			m[at] = (char)(key[at] ^ 0x20); /* the other case */
			if (key[at] != '_')
				expect_unknown(i, m);
			memcpy(m, key, at);
			memcpy(m + at, key + at + 1, len - at);
			expect_unknown(i, m);
			memcpy(m, key, at + 1);
			memcpy(m + at + 1, key + at, len - at + 1);
			expect_unknown(i, m);
			if (at + 1 == len)
				continue;
			memcpy(m, key, len + 1);
			m[at] = key[at + 1];
			m[at + 1] = key[at];
			expect_unknown(i, m);
		}
	}
}
END_TEST

START_TEST(punycode)
{
	static const char *const rows[][2] = {
		{ "b\xc3\xbc"
		  "cher.example",
		  "xn--bcher-kva.example" },
		{ "B\xc3\x9c"
		  "CHER.example",
		  "xn--bcher-kva.example" },
		{ "\xe4\xbe\x8b\xe3\x81\x88.jp", "xn--r8jz45g.jp" },
		{ "\xd0\xbf\xd1\x80\xd0\xb8\xd0\xbc\xd0\xb5\xd1\x80.\xd1\x80\xd1\x84", "xn--e1afmkfd.xn--p1ai" },
		{ "ma\xc3\xb1"
		  "ana.com",
		  "xn--maana-pta.com" },
	};

	for (size_t i = 0; i < OC_COUNT(rows); i++) {
		char *got = oc_punycode_name(rows[i][0]);

		ck_assert_ptr_nonnull(got);
		ck_assert_str_eq(got, rows[i][1]);
		free(got);
	}
	ck_assert_ptr_null(oc_punycode_name("\xff"));
}
END_TEST

START_TEST(expanding)
{
	char *got = oc_policy_path_expand("{workspace}/a", "/h", "/w", "/r");

	ck_assert_str_eq(got, "/w/a");
	free(got);
	got = oc_policy_path_expand("~/a", "/", "/w", "/r");
	ck_assert_str_eq(got, "/a");
	free(got);
	got = oc_policy_path_expand("{run}", "/h", "/w", "/r");
	ck_assert_str_eq(got, "/r");
	free(got);
	got = oc_policy_path_expand("/", "/h", "/w", "/r");
	ck_assert_str_eq(got, "/");
	free(got);
}
END_TEST

static int parse_quietly(void *text)
{
	oc_policy *p = NULL;
	oc_error *e = NULL;
	int rc = oc_policy_parse("sandbox", text, strlen(text), &p, &e);

	oc_policy_free(p);
	oc_error_free(e);
	return rc;
}

static int refuse_quietly(void *text)
{
	int rc = parse_quietly(text);

	return rc == OC_EREFUSED ? 0 : rc;
}

START_TEST(out_of_memory)
{
	char bad[] = "{\"wite\":[],\"write\":[\"/a/\"],\"network\":{\"allow\":[\"b\xc3\xbc.example\"]}}",
	     good[sizeof(full)];

	memcpy(good, full, sizeof(full));
	/* jansson's scanner drops a character, and says nothing, where its buffer can't grow: hence may_cope. */
	ck_assert_int_gt(alloc_fail_each(parse_quietly, good, 1), 20);
	ck_assert_int_gt(alloc_fail_each(refuse_quietly, bad, 1), 20);
}
END_TEST

SUITE_MAIN("policy", normal_form, refused, kinds, all_at_once, bounded, one_letter, punycode, expanding, out_of_memory)
