/* SPDX-License-Identifier: Apache-2.0 */
/* How the check judges what its run told, and what it takes for a dead check's. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act.h"
#include "leftover.h"
#include "reach.h"
#include "suite.h"

#define TRY_A "tcp:192.0.2.1,80"
#define TRY_B "name:example.com"
#define READ  "read:/x/nonce yes abc\n"
#define PROXY "proxy:p yes HTTP/1.1 403 blocked\n"
#define GOOD  READ PROXY TRY_A " no ENETUNREACH\n" TRY_B " no of 1 resolvers\nend\n"

static struct act_result told(const char *text)
{
	struct act_result a = { .told = strdup(text),
		                .nonce = strdup("abc"),
		                .read_try = strdup("read:/x/nonce"),
		                .proxy_try = strdup("proxy:p") };

	a.file.st_uid = geteuid();
	a.file.st_gid = getegid();
	ck_assert(list_add(&a.forbidden, TRY_A) && list_add(&a.forbidden, TRY_B));
	return a;
}

static const struct {
	const char *told, *owner, *network; /* NULL: fine, else in the message */
} cases[] = {
	{ GOOD, NULL, NULL },
	{ "", "reads otherwise", "can't reach its gateway" },
	{ "read:/x/nonce no ENOENT\n" PROXY TRY_A " no ENETUNREACH\n" TRY_B " no of 1 resolvers\nend\n",
	  "reads otherwise", NULL },
	{ "read:/x/nonce yes abcd\n" PROXY TRY_A " no EPERM\n" TRY_B " no of 1 resolvers\nend\n", "reads otherwise",
	  NULL },
	{ READ "proxy:p no ECONNREFUSED\n" TRY_A " no EPERM\n" TRY_B " no of 1 resolvers\nend\n", NULL,
	  "can't reach its gateway" },
	{ READ "proxy:p yes HTTP/1.1 200 OK\n" TRY_A " no EPERM\n" TRY_B " no of 1 resolvers\nend\n", NULL,
	  "no refusal" },
	{ READ PROXY TRY_A " yes connected\n" TRY_B " no of 1 resolvers\nend\n", NULL,
	  "leads out past its gateway: " TRY_A },
	{ READ PROXY TRY_A " no ETIMEDOUT\n" TRY_B " no of 1 resolvers\nend\n", NULL,
	  "leads out past its gateway: " TRY_A },
	{ READ PROXY TRY_A " error\n" TRY_B " no of 1 resolvers\nend\n", NULL, "leads out past its gateway: " TRY_A },
	{ READ PROXY TRY_A " no ENETUNREACH\n" TRY_B " yes of 1 resolvers\nend\n", NULL,
	  "leads out past its gateway: " TRY_B },
	{ READ PROXY TRY_A " no ENETUNREACH\nend\n", NULL, TRY_B ": no answer" },
	{ READ PROXY TRY_A "0 no ENETUNREACH\n" TRY_B " no of 1 resolvers\nend\n", NULL, TRY_A ": no answer" },
};

static void same(int rc, const char *want, struct refusal *r)
{
	ck_assert_msg(rc == (want ? -1 : 0), "%s", r->message ? r->message : want);
	if (want) {
		ck_assert_msg(strstr(r->message, want) != NULL, "%s", r->message);
		ck_assert_ptr_nonnull(r->fix);
		ck_assert_str_eq(r->reason, "sandbox_unavailable");
	}
	refusal_clear(r);
}

START_TEST(judged)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct act_result a = told(cases[i].told);
		struct refusal r = { 0 };

		same(act_judge_owner(&a, &r), cases[i].owner, &r);
		same(act_judge_network(&a, &r), cases[i].network, &r);
		act_clear(&a);
	}
}
END_TEST

START_TEST(whose)
{
	struct act_result a = told(GOOD);
	struct refusal r = { 0 };

	a.file.st_uid++;
	same(act_judge_owner(&a, &r), "belongs to", &r);
	a.file.st_uid--;
	a.file.st_gid++;
	same(act_judge_owner(&a, &r), "belongs to", &r);
	act_clear(&a);
}
END_TEST

/* A folder with this plan, as if a check had been killed.  spec NULL: killed before it had one. */
static char *dead(const char *live, const char *name, const char *spec)
{
	char *dir = format("%s/%s", live, name);
	cleanup_free char *path = format("%s/check.json", dir);
	FILE *f;

	ck_assert_int_eq(mkdir(dir, 0700), 0);
	if (spec) {
		f = fopen(path, "we");
		ck_assert_int_ge(fputs(spec, f), 0);
		fclose(f);
	}
	return dir;
}

START_TEST(leftovers)
{
	char name[LEFTOVER_NAME], *live = suite_mkdir(), *mine = NULL;
	cleanup_free char *other = dead(live, "checkabcdefghijk2x", NULL), *run = dead(live, "abcdefgh", NULL),
	                  *empty = dead(live, "checkabcdefghijk2", ""), *fresh = dead(live, "checkabcdefghijk3", NULL),
	                  *bad = NULL;
	struct refusal r = { 0 };
	int lock = leftover_begin(live, name, &mine, &r);

	ck_assert_int_ge(lock, 0);
	ck_assert_int_eq(leftover_keep(lock, "not a plan", &r), 0);
	ck_assert_msg(leftover_sweep(live, &r) == 0, "%s", r.message);
	ck_assert_int_lt(access(empty, F_OK), 0);
	/* Not a check's; one that may just begin; one that lives. */
	ck_assert_int_eq(access(other, F_OK), 0);
	ck_assert_int_eq(access(run, F_OK), 0);
	ck_assert_int_eq(access(fresh, F_OK), 0);
	ck_assert_int_eq(access(mine, F_OK), 0);
	ck_assert_int_eq(leftover_end(lock, mine, NULL, &r), 0);
	ck_assert_int_lt(access(mine, F_OK), 0);
	/* What can't be understood can't be taken for removed. */
	bad = dead(live, "checkabcdefghijk4", "not a plan");
	ck_assert_int_lt(leftover_sweep(live, &r), 0);
	ck_assert_int_eq(access(bad, F_OK), 0);
	refusal_clear(&r);
	free(mine);
	suite_rmdir(live);
}
END_TEST

START_TEST(reaches)
{
	struct reach reach = { .listener = -1 };
	struct refusal r = { 0 };

	ck_assert_int_eq(reach_open(&reach, &r), 0);
	ck_assert_int_ge(reach.listener, 0);
	ck_assert_uint_gt(reach.port, 0);
	for (size_t i = 0; i < reach.addresses.n; i++)
		ck_assert_msg(strncmp(reach.addresses.v[i], "127.", 4) != 0 &&
		                      strncmp(reach.addresses.v[i], "fe80", 4) != 0,
		              "%s", reach.addresses.v[i]);
	reach_close(&reach);
	ck_assert_int_lt(reach.listener, 0);
}
END_TEST

SUITE_MAIN("docker_act", judged, whose, leftovers, reaches)
