/* SPDX-License-Identifier: Apache-2.0 */
/* What the policy of a container may say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "policy/policy.h"
#include "suite.h"

#define DIGEST "@sha256:3f1c2a9e8b7d6c5f4e3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e"
#define IMAGE  "\"image\":\"registry.example.com/acme/agent" DIGEST "\""

static int parse(const char *text, oc_policy **out, oc_error **err)
{
	*out = NULL;
	*err = NULL;
	return oc_policy_parse("container", text, strlen(text), out, err);
}

static const char full[] = "{" IMAGE ",\"write\":[\"{workspace}\"],\"read\":[\"~/.gitconfig\"],"
                           "\"network\":{\"allow\":[\"API.example.com.\",\"github.com:443\"]},"
                           "\"limits\":{\"cpus\":1.5,\"memory\":\"8g\",\"pids\":2048},"
                           "\"provider\":{\"context\":\"orbstack\"}}";

START_TEST(normal_form)
{
	oc_policy *p;
	oc_error *e;

	ck_assert_int_eq(parse(full, &p, &e), 0);
	ck_assert_str_eq(oc_policy_text(p), full);
	ck_assert_str_eq(oc_policy_kind(p), "container");
	ck_assert_str_eq(oc_policy_json(p),
	                 "{" IMAGE ",\"limits\":{\"memory\":8589934592,\"nano_cpus\":1500000000,\"pids\":2048},"
	                 "\"network\":{\"allow\":[\"api.example.com\",\"github.com:443\"]},"
	                 "\"provider\":{\"context\":\"orbstack\"},\"read\":[\"~/.gitconfig\"],"
	                 "\"write\":[\"{workspace}\"]}");
	oc_policy_free(p);
	ck_assert_int_eq(parse("{" IMAGE "}", &p, &e), 0);
	ck_assert_str_eq(oc_policy_json(p), "{" IMAGE ",\"limits\":{\"memory\":0,\"nano_cpus\":0,\"pids\":4096},"
	                                    "\"network\":{\"allow\":[]},\"provider\":{\"context\":\"default\"},"
	                                    "\"read\":[],\"write\":[]}");
	oc_policy_free(p);
}
END_TEST

static const struct {
	const char *text, *subject, *word;
} refusals[] = {
	{ "{}", "image", "missing" },
	{ "{\"image\":1}", "image", "string" },
	{ "{\"image\":\"agent\"}", "image", "digest" },
	{ "{\"image\":\"agent:latest\"}", "image", "digest" },
	{ "{\"image\":\"agent:1" DIGEST "\"}", "image", "tag" },
	{ "{\"image\":\"r.example.com:5000/a/agent:1" DIGEST "\"}", "image", "tag" },
	{ "{\"image\":\"" DIGEST "\"}", "image", "name" },
	{ "{\"image\":\"agent" DIGEST "0\"}", "image", "digest" },
	{ "{\"image\":\"agent@sha256:3F1C2a9e8b7d6c5f4e3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e\"}", "image",
	  "digest" },
	{ "{\"image\":\"agent@sha512:3f1c2a9e8b7d6c5f4e3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e\"}", "image",
	  "digest" },
	{ "{\"image\":\"Agent" DIGEST "\"}", "image", "lower case" },
	{ "{\"image\":\"a//b" DIGEST "\"}", "image", "name" },
	{ "{\"image\":\"-a" DIGEST "\"}", "image", "name" },
	{ "{\"image\":\"a..b" DIGEST "\"}", "image", "name" },
	{ "{\"image\":\"a/../b" DIGEST "\"}", "image", "name" },
	{ "{\"image\":\"r.example.com:x/a" DIGEST "\"}", "image", "registry" },
	{ "{\"image\":\"--privileged" DIGEST "\"}", "image", "name" },
	{ "{" IMAGE ",\"reads\":[]}", "reads", "read" },
	{ "{" IMAGE ",\"read\":{\"deny\":[]}}", "read", "array" },
	{ "{" IMAGE ",\"sockets\":[]}", "sockets", "unknown" },
	{ "{" IMAGE ",\"network\":{\"allowed\":[\"example.test\"]}}", "network.allowed", "allow" },
	{ "{" IMAGE ",\"network\":{\"allow\":[\"127.0.0.1:5432\"]}}", "network.allow[0]", "loopback" },
	{ "{" IMAGE ",\"network\":{\"allow\":[\"169.254.169.254\"]}}", "network.allow[0]", "metadata" },
	{ "{" IMAGE ",\"limits\":{\"mem\":\"1g\"}}", "limits.mem", "memory" },
	{ "{" IMAGE ",\"limits\":{\"memory\":1}}", "limits.memory", "string" },
	{ "{" IMAGE ",\"limits\":{\"memory\":\"8gb\"}}", "limits.memory", "8g" },
	{ "{" IMAGE ",\"limits\":{\"memory\":\"5m\"}}", "limits.memory", "6m" },
	{ "{" IMAGE ",\"limits\":{\"memory\":\"\"}}", "limits.memory", "8g" },
	{ "{" IMAGE ",\"limits\":{\"memory\":\"-8g\"}}", "limits.memory", "8g" },
	{ "{" IMAGE ",\"limits\":{\"memory\":\"9999999999999g\"}}", "limits.memory", "8g" },
	{ "{" IMAGE ",\"limits\":{\"cpus\":\"4\"}}", "limits.cpus", "number" },
	{ "{" IMAGE ",\"limits\":{\"cpus\":0}}", "limits.cpus", "number" },
	{ "{" IMAGE ",\"limits\":{\"cpus\":-1}}", "limits.cpus", "number" },
	{ "{" IMAGE ",\"limits\":{\"cpus\":0.0001}}", "limits.cpus", "0.01" },
	{ "{" IMAGE ",\"limits\":{\"cpus\":1.0000000001}}", "limits.cpus", "nine digits" },
	{ "{" IMAGE ",\"limits\":{\"cpus\":100001}}", "limits.cpus", "100000" },
	{ "{" IMAGE ",\"limits\":{\"cpus\":true}}", "limits.cpus", "number" },
	{ "{" IMAGE ",\"limits\":{\"cpus\":\"\\u00001.5\"}}", "policy", "U+0000" },
	{ "{" IMAGE ",\"limits\":{\"cpus\":1.5e3}}", "policy", "exponent" },
	{ "{" IMAGE ",\"limits\":{\"cpus\":-1.5}}", "policy", "fraction" },
	{ "{" IMAGE ",\"limits\":{\"cpus\":01.5}}", "policy", "" },
	{ "{" IMAGE ",\"limits\":{\"cpus\":1.5.5}}", "policy", "" },
	{ "{" IMAGE ",\"limits\":{\"cpus\":1.}}", "policy", "" },
	{ "{" IMAGE ",\"limits\":{\"pids\":1.5}}", "limits.pids", "integer" },
	{ "{" IMAGE ",\"limits\":{\"pids\":0}}", "limits.pids", "from 1" },
	{ "{" IMAGE ",\"limits\":{\"pids\":4194305}}", "limits.pids", "from 1" },
	{ "{" IMAGE ",\"write\":[1.5]}", "write[0]", "" },
	{ "{" IMAGE ",\"write\":[\"src\"]}", "write[0]", "{workspace}/src" },
	{ "{" IMAGE ",\"provider\":{\"contxt\":\"x\"}}", "provider.contxt", "context" },
	{ "{" IMAGE ",\"provider\":{\"context\":\"-H tcp://x\"}}", "provider.context", "context" },
	{ "{" IMAGE ",\"provider\":{\"context\":\"\"}}", "provider.context", "context" },
	{ "{" IMAGE ",\"limits\":{\"cpus\":1,\"cpus\":2}}", "policy", "duplicate" },
	{ "{" IMAGE ",\"limits\":{\"cpus\":1.5,\"\\u0063pus\":2.5}}", "policy", "duplicate" },
};

START_TEST(refused)
{
	for (size_t i = 0; i < OC_COUNT(refusals); i++) {
		oc_policy *p;
		oc_error *e;
		int rc = parse(refusals[i].text, &p, &e);

		ck_assert_msg(rc == OC_EREFUSED && !p, "%s: %d", refusals[i].text, rc);
		ck_assert_str_eq(oc_error_reason(e), "sandbox_config");
		ck_assert_msg(strcmp(oc_error_subject(e), refusals[i].subject) == 0, "%s: subject %s", refusals[i].text,
		              oc_error_subject(e));
		ck_assert_msg(oc_error_fix(e) && *oc_error_fix(e), "%s: no fix", refusals[i].text);
		ck_assert_msg(strstr(oc_error_message(e), refusals[i].word) ||
		                      strstr(oc_error_fix(e), refusals[i].word),
		              "%s: \"%s\" (%s)", refusals[i].text, oc_error_message(e), oc_error_fix(e));
		oc_error_free(e);
	}
}
END_TEST

START_TEST(accepted)
{
	static const struct {
		const char *text, *part;
	} rows[] = {
		{ "{\"image\":\"localhost:5000/agent" DIGEST "\"}", "localhost:5000/agent" },
		{ "{\"image\":\"localhost/agent" DIGEST "\"}", "localhost/agent" },
		{ "{\"image\":\"a_b/c__d/e-f--g.h" DIGEST "\"}", "e-f--g.h" },
		{ "{" IMAGE ",\"limits\":{\"cpus\":0.01}}", "\"nano_cpus\":10000000" },
		{ "{" IMAGE ",\"limits\":{\"cpus\":2.000000001}}", "\"nano_cpus\":2000000001" },
		{ "{" IMAGE ",\"limits\":{\"cpus\":4}}", "\"nano_cpus\":4000000000" },
		{ "{" IMAGE ",\"limits\":{\"memory\":\"512M\"}}", "\"memory\":536870912" },
		{ "{" IMAGE ",\"limits\":{\"memory\":\"6291456\"}}", "\"memory\":6291456" },
		{ "{" IMAGE ",\"limits\":{\"memory\":\"6291456b\"}}", "\"memory\":6291456" },
		{ "{" IMAGE ",\"write\":[\"/1.5/a\"]}", "/1.5/a" },
	};

	for (size_t i = 0; i < OC_COUNT(rows); i++) {
		oc_policy *p;
		oc_error *e;

		ck_assert_msg(parse(rows[i].text, &p, &e) == 0, "%s: %s", rows[i].text, oc_error_message(e));
		ck_assert_msg(strstr(oc_policy_json(p), rows[i].part) != NULL, "%s", oc_policy_json(p));
		oc_policy_free(p);
	}
}
END_TEST

/* Each beginning of a text is no policy, and is read only as far as it goes. */
START_TEST(cut_short)
{
	for (size_t n = 0; n < strlen(full); n++) {
		char *exact = malloc(n ? n : 1);
		oc_policy *p = NULL;
		oc_error *e = NULL;

		ck_assert_ptr_nonnull(exact);
		memcpy(exact, full, n);
		ck_assert_int_lt(oc_policy_parse("container", exact, n, &p, &e), 0);
		oc_error_free(e);
		free(exact);
	}
}
END_TEST

static int parse_quietly(void *text)
{
	oc_policy *p = NULL;
	int rc = oc_policy_parse("container", text, strlen(text), &p, NULL);

	oc_policy_free(p);
	return rc;
}

START_TEST(out_of_memory)
{
	char good[sizeof(full)];

	memcpy(good, full, sizeof(full));
	ck_assert_int_gt(alloc_fail_each(parse_quietly, good, 1), 20);
}
END_TEST

SUITE_MAIN("container", normal_form, refused, accepted, cut_short, out_of_memory)
