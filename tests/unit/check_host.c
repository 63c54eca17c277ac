/* SPDX-License-Identifier: Apache-2.0 */
/* The reference vectors (entries and requests), and what they leave out. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/host.h"
#include "suite.h"

static json_t *vectors;

static void load(void)
{
	size_t len;
	json_error_t e;
	char *text = suite_load("unit/vectors/allowlist_vectors.json", &len);

	vectors = json_loadb(text, len, JSON_ALLOW_NUL, &e);
	ck_assert_msg(vectors != NULL, "%s", e.text);
	free(text);
}

static void show(const struct oc_host_rule *r, char *out, size_t size)
{
	char port[8] = "";

	if (r->port)
		snprintf(port, sizeof(port), ":%u", r->port);
	snprintf(out, size, "%s%s%s", r->wildcard ? "*." : "", r->host, port);
}

START_TEST(entries)
{
	json_t *v;
	size_t i, refused = 0;

	load();
	json_array_foreach(json_object_get(vectors, "entries"), i, v)
	{
		const json_t *entry = json_object_get(v, "entry");
		const char *want = json_string_value(json_object_get(v, "want"));
		struct oc_host_rule rule;
		char got[300];
		const char *why = oc_host_rule_parse(json_string_value(entry), json_string_length(entry), false, &rule);

		refused += why != NULL;
		ck_assert_msg((why == NULL) == (want != NULL), "entry %zu %s: %s", i, json_string_value(entry),
		              why ? why : "accepted");
		if (!why) {
			show(&rule, got, sizeof(got));
			ck_assert_str_eq(got, want);
		}
	}
	ck_assert_uint_eq(i, 57);
	ck_assert_uint_eq(refused, 45);
	json_decref(vectors);
}
END_TEST

static const json_t *resolve(const json_t *request, const char *host, json_t **fresh)
{
	const json_t *dns = json_object_get(json_object_get(request, "dns"), host);

	if (!dns)
		dns = json_object_get(json_object_get(vectors, "dns"), host);
	if (!dns)
		dns = *fresh = json_pack("[s]", json_string_value(json_object_get(vectors, "default_address")));
	return dns;
}

static const char *dial(const json_t *list, bool exact, unsigned port, char *out, size_t size)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *a = json_string_value(item);

		if (!oc_address_allowed(oc_address_classify(a), exact))
			continue;
		snprintf(out, size, strchr(a, ':') ? "[%s]:%u" : "%s:%u", a, port);
		return "allow";
	}
	return "deny";
}

/* The gateway's decision, whole. */
static const char *decide(const json_t *request, char *out, size_t size)
{
	struct oc_host_rule rules[16];
	struct oc_target t;
	json_t *item, *fresh = NULL;
	size_t n = 0, i;
	char head[4096];
	int len, hit;
	const json_t *raw = json_object_get(request, "head");
	const char *verdict;

	out[0] = '\0';
	json_array_foreach(
	        json_object_get(request, "allow"), i,
	        item) if (!oc_host_rule_parse(json_string_value(item), json_string_length(item), false, &rules[n])) n++;
	len = (int)json_string_length(raw);
	ck_assert_int_lt(len, 4000);
	memcpy(head, json_string_value(raw), (size_t)len);
	memcpy(head + len, "\r\n\r\n", 4);
	if (oc_target_parse(head, (size_t)len + 4, &t))
		return "bad";
	hit = oc_host_match(rules, n, t.host, t.address, t.port);
	if (hit < 0)
		return "deny";
	if (t.address)
		fresh = json_pack("[s]", t.host);
	verdict = dial(t.address ? fresh : resolve(request, t.host, &fresh), !rules[hit].wildcard, t.port, out, size);
	json_decref(fresh);
	return verdict;
}

START_TEST(requests)
{
	json_t *v;
	size_t i, counts[3] = { 0, 0, 0 };

	load();
	json_array_foreach(json_object_get(vectors, "requests"), i, v)
	{
		const char *want = json_string_value(json_object_get(v, "want"));
		const char *where = json_string_value(json_object_get(v, "dial"));
		char got[300];
		const char *verdict = decide(v, got, sizeof(got));

		counts[verdict[0] == 'a' ? 0 : verdict[0] == 'd' ? 1 : 2]++;
		ck_assert_msg(strcmp(verdict, want) == 0, "request %zu (%s): %s, not %s", i,
		              json_string_value(json_object_get(v, "note")), verdict, want);
		if (where)
			ck_assert_str_eq(got, where);
	}
	ck_assert_uint_eq(i, 103);
	for (i = 0; i < 3; i++)
		ck_assert_uint_gt(counts[i], 10);
	json_decref(vectors);
}
END_TEST

/* The one exception of process sandboxes is a literal with its port, and no wider. */
START_TEST(loopback)
{
	static const struct {
		const char *entry;
		bool ok;
	} rows[] = {
		{ "127.0.0.1:5432", true },
		{ "[::1]:5432", true },
		{ "[::ffff:127.0.0.1]:80", true },
		{ "127.8.9.1:1", true },
		{ "127.0.0.1", false },
		{ "[::1]", false },
		{ "localhost:5432", false },
		{ "x.localhost:80", false },
		{ "0.0.0.0:80", false },
		{ "169.254.169.254:80", false },
		{ "[64:ff9b::7f00:1]:80", false },
		{ "[2002:7f00:1::]:80", false },
		{ "100.100.100.200:80", false },
		{ "[fd00:ec2::254]:80", false },
		{ "[ff02::1]:80", false },
	};
	struct oc_host_rule r;

	for (size_t i = 0; i < OC_COUNT(rows); i++) {
		ck_assert_msg((oc_host_rule_parse(rows[i].entry, strlen(rows[i].entry), true, &r) == NULL) ==
		                      rows[i].ok,
		              "%s", rows[i].entry);
		ck_assert_msg(oc_host_rule_parse(rows[i].entry, strlen(rows[i].entry), false, &r) != NULL, "%s",
		              rows[i].entry);
	}
}
END_TEST

START_TEST(classes)
{
	static const struct {
		const char *address;
		enum oc_address_class c;
	} rows[] = {
		{ "8.8.8.8", OC_ADDRESS_PUBLIC },
		{ "2606:4700::1111", OC_ADDRESS_PUBLIC },
		{ "10.255.255.255", OC_ADDRESS_PRIVATE },
		{ "11.0.0.0", OC_ADDRESS_PUBLIC },
		{ "172.31.255.255", OC_ADDRESS_PRIVATE },
		{ "172.32.0.0", OC_ADDRESS_PUBLIC },
		{ "100.64.0.1", OC_ADDRESS_PRIVATE },
		{ "100.128.0.0", OC_ADDRESS_PUBLIC },
		{ "198.19.255.255", OC_ADDRESS_PRIVATE },
		{ "127.255.0.1", OC_ADDRESS_LOOPBACK },
		{ "::1", OC_ADDRESS_LOOPBACK },
		{ "::ffff:127.0.0.1", OC_ADDRESS_LOOPBACK },
		{ "::ffff:10.0.0.1", OC_ADDRESS_PRIVATE },
		{ "64:ff9b::8.8.8.8", OC_ADDRESS_PUBLIC },
		{ "64:ff9b::a9fe:a9fe", OC_ADDRESS_METADATA },
		{ "64:ff9b:1::1", OC_ADDRESS_SPECIAL },
		{ "2002:a00:1::", OC_ADDRESS_PRIVATE },
		{ "169.254.1.1", OC_ADDRESS_LINK_LOCAL },
		{ "fe80::1", OC_ADDRESS_LINK_LOCAL },
		{ "febf::1", OC_ADDRESS_LINK_LOCAL },
		{ "fec0::1", OC_ADDRESS_PRIVATE },
		{ "fdff::1", OC_ADDRESS_PRIVATE },
		{ "fd00:ec2::254", OC_ADDRESS_METADATA },
		{ "fd20:ce::254", OC_ADDRESS_METADATA },
		{ "168.63.129.16", OC_ADDRESS_METADATA },
		{ "224.0.0.1", OC_ADDRESS_SPECIAL },
		{ "255.255.255.255", OC_ADDRESS_SPECIAL },
		{ "0.1.2.3", OC_ADDRESS_SPECIAL },
		{ "::", OC_ADDRESS_SPECIAL },
		{ "::127.0.0.1", OC_ADDRESS_SPECIAL },
		{ "ff02::1", OC_ADDRESS_SPECIAL },
		{ "127.1", OC_ADDRESS_INVALID },
		{ "name", OC_ADDRESS_INVALID },
		{ "", OC_ADDRESS_INVALID },
	};

	for (size_t i = 0; i < OC_COUNT(rows); i++)
		ck_assert_msg(oc_address_classify(rows[i].address) == rows[i].c, "%s is %d", rows[i].address,
		              oc_address_classify(rows[i].address));
	for (int c = OC_ADDRESS_PUBLIC; c <= OC_ADDRESS_INVALID; c++) {
		ck_assert_int_eq(oc_address_allowed(c, true), c == OC_ADDRESS_PUBLIC || c == OC_ADDRESS_PRIVATE);
		ck_assert_int_eq(oc_address_allowed(c, false), c == OC_ADDRESS_PUBLIC);
	}
}
END_TEST

/* A private name listed exactly stays reachable behind a wildcard that covers it too. */
START_TEST(exact_first)
{
	static const char *const two[] = { "*.example.com", "nas.example.com" };
	struct oc_host_rule r[2];

	for (size_t i = 0; i < 2; i++)
		ck_assert_ptr_null(oc_host_rule_parse(two[i], strlen(two[i]), false, &r[i]));
	ck_assert_int_eq(oc_host_match(r, 2, "nas.example.com", false, 443), 1);
	ck_assert_int_eq(oc_host_match(r, 2, "x.example.com", false, 443), 0);
	ck_assert_int_eq(oc_host_match(r, 2, "example.org", false, 443), -1);
	ck_assert_int_eq(oc_host_match(r, 0, "nas.example.com", false, 443), -1);
}
END_TEST

/* Every prefix and every one-byte change of a good head: an answer each time, and never another target. */
START_TEST(mutations)
{
	static const char head[] = "CONNECT github.com:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
	struct oc_target t;
	size_t accepted = 0;

	ck_assert_ptr_null(oc_target_parse(head, sizeof(head) - 1, &t));
	for (size_t n = 0; n < sizeof(head) - 1; n++) {
		char *copy = malloc(n ? n : 1);

		ck_assert_ptr_nonnull(copy);
		memcpy(copy, head, n);
		ck_assert_ptr_nonnull(oc_target_parse(copy, n, &t));
		free(copy);
	}
	for (size_t at = 0; at < sizeof(head) - 1; at++)
		for (int c = 0; c < 256; c++) {
			char copy[sizeof(head)];

			memcpy(copy, head, sizeof(head));
			copy[at] = (char)c;
			if (oc_target_parse(copy, sizeof(head) - 1, &t))
				continue;
			accepted++;
			if (at < 8 || at > 21)
				ck_assert_str_eq(t.host, "github.com");
		}
	ck_assert_uint_gt(accepted, 100);
}
END_TEST

SUITE_MAIN("host", entries, requests, loopback, classes, exact_first, mutations)
