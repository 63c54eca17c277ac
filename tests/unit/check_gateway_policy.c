/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"
#include "suite.h"

#define HEAD "open-conduit-gateway 1\nlisten 10.213.8.2 3128\nresolver 127.0.0.11\n"

static enum gw_reading read_text(const char *text, struct gw_policy *p, char err[GW_ERROR_SIZE])
{
	/* Its own memory, so that a byte too far is found. */
	size_t len = strlen(text);
	char *copy = malloc(len ? len : 1);
	enum gw_reading reading;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, len);
	err[0] = '\0';
	reading = gw_policy_read(copy, len, p, err);
	free(copy);
	return reading;
}

START_TEST(whole)
{
	static const char text[] =
	        HEAD "listen fd00::2 3128\nallow github.com\nallow *.example.com\nallow nas.example.com:443\n"
	             "allow [2606:4700::1111]:443\nprivate nas.example.com\nnever 10.213.8.1\ngo\n";
	struct gw_policy p;
	char err[GW_ERROR_SIZE];

	ck_assert_msg(read_text(text, &p, err) == GW_READING_DONE, "%s", err);
	ck_assert_uint_eq(p.n_listen, 2);
	ck_assert_int_eq(p.listen[0].at.any.sa_family, AF_INET);
	ck_assert_uint_eq(ntohs(p.listen[1].at.in6.sin6_port), 3128);
	ck_assert_uint_eq(ntohs(p.resolver.at.in.sin_port), 53);
	ck_assert_uint_eq(p.n_rules, 4);
	ck_assert_uint_eq(p.n_names, 1);
	ck_assert_uint_eq(p.n_never, 1);
	gw_policy_free(&p);
}
END_TEST

/* Every prefix but the whole is not there yet, and what comes after `go` is wrong. */
START_TEST(prefixes)
{
	static const char text[] = HEAD "allow github.com\ngo\n";
	struct gw_policy p;
	char err[GW_ERROR_SIZE], copy[sizeof(text) + 1];

	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		memcpy(copy, text, n);
		copy[n] = '\0';
		ck_assert_msg(read_text(copy, &p, err) == GW_READING_MORE, "%zu: %s", n, err);
	}
	ck_assert_int_eq(read_text(text, &p, err), GW_READING_DONE);
	gw_policy_free(&p);
	snprintf(copy, sizeof(copy), "%s%s", text, "x");
	ck_assert_int_eq(read_text(copy, &p, err), GW_READING_WRONG);
}
END_TEST

START_TEST(refusals)
{
	static const char *const wrong[] = {
		"open-conduit-gateway 2\nlisten 10.0.0.2 1\nresolver 127.0.0.11\ngo\n",
		"listen 10.0.0.2 1\nresolver 127.0.0.11\ngo\n",
		"open-conduit-gateway 1\nresolver 127.0.0.11\ngo\n",
		"open-conduit-gateway 1\nlisten 10.0.0.2 1\ngo\n",
		HEAD "resolver 127.0.0.11\ngo\n",
		HEAD "resolver localhost\ngo\n",
		HEAD "listen 10.0.0.2\ngo\n",
		HEAD "listen 10.0.0.2 0\ngo\n",
		HEAD "listen 10.0.0.2 65536\ngo\n",
		HEAD "listen 10.0.0.2 03128\ngo\n",
		HEAD "listen 10.0.0.2  3128\ngo\n",
		HEAD "listen [::1] 3128\ngo\n",
		HEAD "listen gateway 3128\ngo\n",
		HEAD "allow\ngo\n",
		HEAD "allow \ngo\n",
		HEAD "allow *\ngo\n",
		HEAD "allow github.com \ngo\n",
		HEAD "allow  github.com\ngo\n",
		HEAD "allow localhost\ngo\n",
		HEAD "allow 127.0.0.1:80\ngo\n",
		HEAD "allow 169.254.169.254\ngo\n",
		HEAD "allow github.com\r\ngo\n",
		HEAD "allow b\303\274cher.example\ngo\n",
		HEAD "private nas.example.com\ngo\n",
		HEAD "allow *.example.com\nprivate nas.example.com\ngo\n",
		HEAD "allow nas.example.com\nprivate *.example.com\ngo\n",
		HEAD "allow 10.0.0.5\nprivate 10.0.0.5\ngo\n",
		HEAD "allow nas.example.com\nprivate nas.example.com:443\ngo\n",
		HEAD "never 10.213.8\ngo\n",
		HEAD "never 10.213.8.0/24\ngo\n",
		HEAD "deny github.com\ngo\n",
		HEAD "Allow github.com\ngo\n",
		HEAD "\ngo\n",
		HEAD "go\nallow github.com\ngo\n",
	};
	struct gw_policy p;
	char err[GW_ERROR_SIZE];

	for (size_t i = 0; i < OC_COUNT(wrong); i++) {
		ck_assert_msg(read_text(wrong[i], &p, err) == GW_READING_WRONG, "%s", wrong[i]);
		ck_assert_msg(strncmp(err, "policy: line ", 13) == 0 && !strchr(err, '\n'), "%s", err);
		ck_assert_ptr_null(p.rules);
	}
}
END_TEST

START_TEST(bounds)
{
	struct gw_policy p;
	char err[GW_ERROR_SIZE];
	char *text = malloc(GW_POLICY_BYTES + 64);
	size_t n;

	ck_assert_ptr_nonnull(text);
	n = (size_t)snprintf(text, 256, "%s", HEAD);
	for (size_t i = 0; i < GW_POLICY_LINES - 4; i++)
		n += (size_t)snprintf(text + n, 64, "allow h%zu.example.com\n", i);
	snprintf(text + n, 64, "go\n");
	ck_assert_msg(read_text(text, &p, err) == GW_READING_DONE, "%s", err);
	ck_assert_uint_eq(p.n_rules, GW_POLICY_LINES - 4);
	gw_policy_free(&p);
	snprintf(text + n, 64, "allow one.example.com\ngo\n");
	ck_assert_int_eq(read_text(text, &p, err), GW_READING_WRONG);
	memset(text, 'a', GW_POLICY_BYTES);
	text[GW_POLICY_BYTES] = '\0';
	ck_assert_int_eq(read_text(text, &p, err), GW_READING_WRONG);
	text[GW_POLICY_BYTES - 1] = '\0';
	ck_assert_int_eq(read_text(text, &p, err), GW_READING_MORE);
	free(text);
}
END_TEST

static const char *judge(const struct gw_policy *p, const char *host, const char *address)
{
	struct oc_target t = { .connect = true, .port = 443 };
	struct gw_ip ip;
	int rule;

	ck_assert(gw_ip_parse(address, &ip));
	ck_assert_ptr_null(oc_host_normalise(host, strlen(host), t.host, &t.address));
	rule = oc_host_match(p->rules, p->n_rules, t.host, t.address, t.port);
	ck_assert_int_ge(rule, 0);
	return gw_policy_address(p, (size_t)rule, &t, &ip);
}

START_TEST(addresses)
{
	static const struct {
		const char *host, *address, *want;
	} rows[] = {
		{ "github.com", "140.82.112.3", NULL },
		{ "github.com", "2606:4700::1", NULL },
		{ "github.com", "::ffff:140.82.112.3", NULL },
		{ "github.com", "192.168.1.5", "private" },
		{ "github.com", "::ffff:192.168.1.5", "private" },
		{ "github.com", "127.0.0.1", "loopback" },
		{ "github.com", "::1", "loopback" },
		{ "github.com", "169.254.1.1", "link_local" },
		{ "github.com", "169.254.169.254", "metadata" },
		{ "github.com", "64:ff9b::a9fe:a9fe", "metadata" },
		{ "github.com", "0.0.0.0", "special" },
		{ "github.com", "224.0.0.1", "special" },
		{ "nas.example.com", "192.168.1.5", NULL },
		{ "nas.example.com", "169.254.169.254", "metadata" },
		{ "nas.example.com", "10.213.8.1", "own" },
		{ "nas.example.com", "::ffff:10.213.8.1", "own" },
		{ "nas.example.com", "10.213.8.2", NULL },
		{ "x.example.com", "192.168.1.5", "private" },
		{ "10.1.2.3", "10.1.2.3", NULL },
		{ "github.com", "93.184.216.34", "own" },
	};
	struct gw_policy p;
	char err[GW_ERROR_SIZE];

	ck_assert_int_eq(read_text(HEAD "allow github.com\nallow nas.example.com\nallow *.example.com\nallow 10.1.2.3\n"
	                                "private nas.example.com\nnever 10.213.8.1\nnever 93.184.216.34\ngo\n",
	                           &p, err),
	                 GW_READING_DONE);
	for (size_t i = 0; i < OC_COUNT(rows); i++) {
		const char *got = judge(&p, rows[i].host, rows[i].address);

		ck_assert_msg(got == rows[i].want || (got && rows[i].want && strcmp(got, rows[i].want) == 0),
		              "%s at %s: %s", rows[i].host, rows[i].address, got ? got : "allowed");
	}
	gw_policy_free(&p);
}
END_TEST

START_TEST(networks)
{
	struct gw_ip net, in, out;

	ck_assert(gw_ip_parse("10.213.8.0", &net) && gw_ip_parse("10.213.8.7", &in) && gw_ip_parse("10.213.8.8", &out));
	ck_assert(gw_ip_beneath(&in, &net, 29));
	ck_assert(!gw_ip_beneath(&out, &net, 29));
	ck_assert(gw_ip_beneath(&out, &net, 0));
	ck_assert(gw_ip_parse("fd00::8:0", &net) && gw_ip_parse("fd00::8:1", &in) && gw_ip_parse("fd01::8:1", &out));
	ck_assert(gw_ip_beneath(&in, &net, 112));
	ck_assert(!gw_ip_beneath(&out, &net, 112));
	ck_assert(gw_ip_beneath(&net, &net, 128));
	ck_assert(!gw_ip_beneath(&in, &net, 128));
}
END_TEST

/* The interfaces of this machine are added, each with its network. */
START_TEST(own)
{
	struct gw_policy p;
	char err[GW_ERROR_SIZE];
	struct gw_ip loopback;
	bool found = false;

	ck_assert_int_eq(read_text(HEAD "go\n", &p, err), GW_READING_DONE);
	ck_assert_uint_eq(p.n_never, 0);
	ck_assert(gw_policy_add_own(&p));
	ck_assert(gw_ip_parse("127.9.9.9", &loopback));
	for (size_t i = 0; i < p.n_never; i++)
		found |= gw_ip_beneath(&loopback, &p.never[i].ip, p.never[i].bits);
	ck_assert(found);
	gw_policy_free(&p);
}
END_TEST

SUITE_MAIN("gateway_policy", whole, prefixes, refusals, bounds, addresses, networks, own)
