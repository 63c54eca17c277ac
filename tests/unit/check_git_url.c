/* SPDX-License-Identifier: Apache-2.0 */
/* What of a remote's URL an agent may read: a table, and the rule that no secret in it ever comes through. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "url.h"

#define SECRET "s3cr3t"

static const struct {
	const char *url, *want; /* NULL: refused */
} table[] = {
	{ "https://github.com/acme/web.git", "https://github.com/acme/web.git" },
	{ "https://github.com:8443/acme/web", "https://github.com:8443/acme/web" },
	{ "https://x-access-token:" SECRET "@github.com/acme/web", "https://github.com/acme/web" },
	{ "https://" SECRET "@github.com/acme/web", "https://github.com/acme/web" },
	{ "https://" SECRET ":@github.com/acme/web", "https://github.com/acme/web" },
	{ "https://a:" SECRET "@b@github.com/acme/web", "https://github.com/acme/web" },
	{ "https://a%40b:" SECRET "@github.com/acme/web", "https://github.com/acme/web" },
	{ "HTTPS://u:" SECRET "@GitHub.com/acme/web", "https://GitHub.com/acme/web" },
	{ "http://u:" SECRET "@[::1]:8080/x", "http://[::1]:8080/x" },
	{ "https://github.com/acme/web?access_token=" SECRET, "https://github.com/acme/web" },
	{ "https://github.com/acme/web#" SECRET, "https://github.com/acme/web" },
	{ "https://github.com?" SECRET, "https://github.com" },
	{ "https://u:" SECRET "@github.com", "https://github.com" },
	{ "https://github.com/@scope/web", "https://github.com/@scope/web" },
	{ "https://user:" SECRET "/x@github.com/acme/web", NULL },
	{ "https://user:" SECRET "#x@github.com/acme/web", NULL },
	{ "https://user%3A" SECRET "%40github.com/acme/web", NULL },
	{ "https://%75ser:" SECRET "@github.com/x", "https://github.com/x" },
	{ "https://proxy.example/https://u:" SECRET "@github.com/x", NULL },
	{ "https://proxy.example/https%3A%2F%2Fu%3A" SECRET "%40github.com/x", NULL },
	{ "https://proxy.example/https%253A%252F%252Fu%253A" SECRET "%2540github.com/x", NULL },
	{ "https://proxy.example/u:" SECRET "@github.com/x", NULL },
	{ "https:///u:" SECRET "@github.com/x", NULL },
	{ "https:u:" SECRET "@github.com/x", NULL },
	{ "https://github.com\\@" SECRET "/x", NULL },
	{ "https://git hub.com/" SECRET, NULL },
	{ "https://github.com:" SECRET "/x", NULL },
	{ "ssh://git@github.com/acme/web.git", "ssh://git@github.com/acme/web.git" },
	{ "ssh://git:" SECRET "@github.com:22/acme/web", "ssh://git@github.com:22/acme/web" },
	{ "ssh://GHP" SECRET "@github.com/acme/web", "ssh://github.com/acme/web" },
	{ "ssh://a123456789012345678901234567890123" SECRET "@github.com/x", "ssh://github.com/x" },
	{ "ssh://github.com/x?" SECRET, NULL },
	{ "git+ssh://git@github.com/x", "git+ssh://git@github.com/x" },
	{ "git://github.com/x", "git://github.com/x" },
	{ "git@github.com:acme/web.git", "git@github.com:acme/web.git" },
	{ "github.com:acme/web.git", "github.com:acme/web.git" },
	{ "git@[::1]:x", "git@[::1]:x" },
	{ "git:" SECRET "@github.com:acme/web.git", NULL },
	{ "GHP_" SECRET "@github.com:acme/web.git", "github.com:acme/web.git" },
	{ "git@github.com:" SECRET "@x", NULL },
	{ "git@github.com:https://u:" SECRET "@x", NULL },
	{ "git%3A" SECRET "@github.com:acme/web.git", "github.com:acme/web.git" },
	{ "ext::sh -c " SECRET, NULL },
	{ "fd::17", NULL },
	{ "codecommit://profile@" SECRET, NULL },
	{ "file://u:" SECRET "@host/x", NULL },
	{ "file:///srv/git/web.git", "file:///srv/git/web.git" },
	{ "/srv/git/web.git", "/srv/git/web.git" },
	{ "/home/alice@corp.example/web.git", "/home/alice@corp.example/web.git" },
	{ "https://" SECRET "/x@github.com/acme/web", NULL },
	{ "/srv/a:" SECRET "@b/web.git", NULL },
	{ "../up.git", "/base/../up.git" },
	{ "", NULL },
	{ "--upload-pack=" SECRET, NULL },
	{ "-oProxyCommand=" SECRET ":x", NULL },
	{ "https://-x/" SECRET, NULL },
	{ "https://u:" SECRET "@github.com/a\nb", NULL },
};

static void check_row(const char *url, const char *want)
{
	char *out = NULL;
	enum url_result result = url_strip(url, "/base", &out);

	ck_assert_int_ne(result, URL_NOMEM);
	if (!want) {
		ck_assert_msg(result == URL_REFUSED && !out, "%s gave %s", url, out ? out : "nothing");
		return;
	}
	ck_assert_msg(out && !strcmp(out, want), "%s gave %s, not %s", url, out ? out : "nothing", want);
	ck_assert_msg(!strstr(out, SECRET), "%s let it through", url);
	ck_assert_int_eq(result, strcmp(url, out) && url[0] != '.' ? URL_STRIPPED : URL_SAME);
	free(out);
}

START_TEST(test_table)
{
	for (size_t i = 0; i < COUNT(table); i++)
		check_row(table[i].url, table[i].want);
}
END_TEST

/* Every place of a login in every form of a URL, with each byte that could end an authority early. */
START_TEST(test_everywhere)
{
	static const char *const starts[] = { "https://", "HTTP://", "ssh://",  "git://", "",
		                              "https:/",  "ftp://",  "file://", "//" };
	static const char *const logins[] = { "u:%s@", "%s@", ":%s@", "u%%3a%s@", "u:%s%%40", "u:%s@@", "u:%%2f%s@" };
	static const char *const between[] = { "", "/", "?", "#", "\\", "%2f", "@", ":", "\t" };
	size_t n = 0, kept = 0;

	for (size_t s = 0; s < COUNT(starts); s++)
		for (size_t l = 0; l < COUNT(logins); l++)
			for (size_t b = 0; b < COUNT(between); b++) {
				char secret[64], login[128], url[256], *out = NULL;

				(void)snprintf(secret, sizeof(secret), "K3Y%sK3Y", between[b]);
				(void)snprintf(login, sizeof(login), logins[l], secret);
				(void)snprintf(url, sizeof(url), "%s%sexample.test/acme/web", starts[s], login);
				ck_assert_int_ne(url_strip(url, "/base", &out), URL_NOMEM);
				n++;
				/* A bare relative path is one, whatever is in its name. */
				if (out && out[0] != '/' && strncmp(out, "file:///", 8) != 0) {
					ck_assert_msg(!strstr(out, "K3Y"), "%s gave %s", url, out);
					kept++;
				}
				free(out);
			}
	ck_assert_uint_gt(n, 500);
	ck_assert_uint_gt(kept, 20); /* the control: not all are simply refused */
}
END_TEST

SUITE_MAIN("git_url", test_table, test_everywhere)
