/* SPDX-License-Identifier: Apache-2.0 */
/* The guard without memory: what it reads, checks and writes either is whole or is an error.  Never a plan half read, a
 * check left out, or a record half written. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "base/fd.h"
#include "guard/guard.h"
#include "guard/live.h"
#include "guard/plan_view.h"
#include "guard/preflight.h"
#include "guard/record.h"
#include "plan_fixture.h"
#include "suite.h"

#define RUN "abcdefgh2345"

static struct fixture f;
static oc_plan *plan;
static char *dir;
static int run_dir;

static void put(const char *name, const char *text)
{
	ck_assert_int_eq(oc_write_file(run_dir, name, text, strlen(text), 0600), 0);
}

static bool there(const char *name)
{
	return faccessat(run_dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The plan of the fixture names a guest of any digest; preflight wants the real one. */
static void begin(const char *kind)
{
	struct oc_plan_input in;
	char digest[OC_DIGEST_SIZE];
	int fd;

	fixture_open(&f);
	oc_plan_free(fixture_plan(&f, RUN));
	fd = open("/usr/bin/env", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(oc_digest_fd(fd, digest), 0);
	oc_close(fd);
	ck_assert(oc_json_set_string(f.provider, "digest", digest));
	in = f.in;
	in.guest_digest = digest;
	if (!strcmp(kind, "none"))
		in = (struct oc_plan_input){ .request = &f.request,
			                     .kind = "none",
			                     .run = RUN,
			                     .guest = "/usr/bin/env",
			                     .guest_digest = digest,
			                     .state_dir = f.state,
			                     .home = f.home,
			                     .environ = f.env };
	OK(oc_plan_build(&in, &plan, &err));
	dir = suite_mkdir();
	run_dir = oc_open_dir(dir);
	put(OC_GUARD_PLAN, plan->text);
	ck_assert_int_eq(mkdir(f.state, 0700) < 0 && errno != EEXIST, 0);
}

static void end(void)
{
	oc_plan_free(plan);
	oc_close(run_dir);
	suite_rmdir(dir);
	fixture_close(&f);
}

static int read_plan(void *userdata)
{
	struct oc_plan_view view;
	oc_error *err = NULL;
	int rc = oc_plan_view_load(run_dir, plan->digest, &view, &err);

	if (rc == 0) {
		/* A parser may cope; what it read must be the plan all the same. */
		*(bool *)userdata &= json_equal(view.json, plan->json) == 1;
		oc_plan_view_free(&view);
	}
	oc_error_free(err);
	return rc;
}

void *__real_malloc(size_t size);
void __real_free(void *p);

/* Our own allocations.  Not jansson's: its scanner reads past the end of a string whose closing quote it could not keep. */
START_TEST(test_plan)
{
	bool same = true;
	long n, failed = 0;

	begin("sandbox");
	for (n = 0;; n++) {
		int rc, reached;

		alloc_fail_arm(n);
		json_set_alloc_funcs(__real_malloc, __real_free);
		rc = read_plan(&same);
		reached = alloc_fail_disarm();
		ck_assert_msg(same, "allocation %ld failing: another plan was read", n);
		failed += rc < 0;
		if (!reached) {
			ck_assert_int_eq(rc, 0);
			break;
		}
	}
	ck_assert_int_gt(failed, 0);
	end();
}
END_TEST

static int check_all(void *userdata)
{
	oc_error *err = NULL;
	int rc = oc_preflight(run_dir, userdata, &err);

	oc_error_free(err);
	return rc;
}

/* Whatever fails: no pass.  A file outside with a link in the workspace must be refused however little memory there is. */
START_TEST(test_preflight)
{
	struct oc_plan_view view;
	char path[600], link_[600];
	long n;

	begin("sandbox");
	OK(oc_plan_view_load(run_dir, plan->digest, &view, &err));
	ck_assert_int_gt(alloc_fail_each(check_all, &view, 1), 10);
	snprintf(path, sizeof(path), "%s/outside", f.dir);
	snprintf(link_, sizeof(link_), "%s/link", f.ws);
	ck_assert_int_eq(oc_write_file(AT_FDCWD, path, "x", 1, 0600), 0);
	ck_assert_int_eq(link(path, link_), 0);
	for (n = 0;; n++) {
		int rc, reached;

		alloc_fail_arm(n);
		rc = check_all(&view);
		reached = alloc_fail_disarm();
		ck_assert_msg(rc < 0, "allocation %ld failing, a hard link passes", n);
		if (!reached)
			break;
	}
	ck_assert_int_gt(n, 10);
	oc_plan_view_free(&view);
	end();
}
END_TEST

static int check_quick(void *userdata)
{
	return oc_preflight_quick(run_dir, userdata) ? 0 : OC_ENOMEM;
}

static bool in_live(const char *name)
{
	char path[700];

	snprintf(path, sizeof(path), "%s/live/%s/%s", f.state, RUN, name);
	return access(path, F_OK) == 0;
}

/* The quick one says yes or nothing: to what the long one refuses, to what takes long, and to what ran before it says nothing,
 * and then it has made nothing. */
START_TEST(test_preflight_quick)
{
	struct oc_plan_view view;
	char path[600], link_[600], name[600];
	int i;

	begin("sandbox");
	OK(oc_plan_view_load(run_dir, plan->digest, &view, &err));
	put(OC_GUARD_STARTED, "{}");
	ck_assert(!oc_preflight_quick(run_dir, &view));
	ck_assert(!in_live("run/tmp"));
	ck_assert_int_eq(unlinkat(run_dir, OC_GUARD_STARTED, 0), 0);
	ck_assert_int_gt(alloc_fail_each(check_quick, &view, 1), 10);
	ck_assert(in_live("run/tmp"));
	ck_assert(oc_preflight_quick(run_dir, &view));
	snprintf(path, sizeof(path), "%s/outside", f.dir);
	snprintf(link_, sizeof(link_), "%s/link", f.ws);
	ck_assert_int_eq(oc_write_file(AT_FDCWD, path, "x", 1, 0600), 0);
	ck_assert_int_eq(link(path, link_), 0);
	ck_assert(!oc_preflight_quick(run_dir, &view));
	ck_assert_int_eq(unlink(link_), 0);
	ck_assert(oc_preflight_quick(run_dir, &view));
	for (i = 0; i < 1001; i++) {
		snprintf(name, sizeof(name), "%s/f%d", f.ws, i);
		ck_assert_int_eq(oc_close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), -1);
	}
	ck_assert(!oc_preflight_quick(run_dir, &view));
	OK(oc_preflight(run_dir, &view, &err));
	oc_plan_view_free(&view);
	end();
}
END_TEST

static void guard_init(struct oc_guard *g)
{
	memset(g, 0, sizeof(*g));
	g->run_dir = run_dir;
	g->record = g->reserve = -1;
	memcpy(g->run, RUN, sizeof(RUN));
	memcpy(g->digest, plan->digest, sizeof(g->digest));
	snprintf(g->boot, sizeof(g->boot), "00000000-0000-0000-0000-000000000000");
	g->launch.pid = getpid();
	g->session_id = getsid(0);
	g->start = 1;
	g->started_ms = g->ended_ms = 1;
	g->outcome.state = "exited";
	oc_session_init(&g->session);
	memcpy(g->launch.text, "printed\n", 8);
	g->launch.text_len = 8;
}

struct writing {
	struct oc_guard g;
	int (*write)(struct oc_guard *g, oc_error **err);
	const char *name;
};

static int write_once(void *userdata)
{
	struct writing *w = userdata;
	oc_error *err = NULL;
	int rc = w->write(&w->g, &err);

	oc_error_free(err);
	return rc;
}

static bool whole(const char *name)
{
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	struct oc_buf text;
	bool fine;

	oc_buf_init(&text, 1u << 20);
	fine = oc_read_file(run_dir, name, 1u << 20, &text) == 0 &&
	       oc_json_parse(text.data, text.len, 1u << 20, name, &json, NULL) == 0 && json_is_object(json);
	oc_buf_free(&text);
	return fine;
}

/* With the n-th allocation failing: either the whole file is there and success is told, or there is none and an error. */
static void sweep(int (*write)(struct oc_guard *g, oc_error **err), const char *name, bool reserve)
{
	struct writing w = { .write = write, .name = name };
	long n;

	for (n = 0;; n++) {
		long before, after;
		int rc, reached;

		(void)unlinkat(run_dir, name, 0);
		guard_init(&w.g);
		if (reserve)
			OK(oc_record_reserve(&w.g, &err));
		before = alloc_fail_live();
		alloc_fail_arm(n);
		rc = write_once(&w);
		reached = alloc_fail_disarm();
		after = alloc_fail_live();
		ck_assert_msg(before == after, "%s, allocation %ld failing: %ld blocks are left", name, n,
		              after - before);
		ck_assert_msg(there(name) == (rc == 0), "%s, allocation %ld failing: told %d", name, n, rc);
		ck_assert_msg(rc < 0 || whole(name), "%s, allocation %ld failing: not whole", name, n);
		oc_close(w.g.record);
		oc_close(w.g.reserve);
		if (!reached) {
			ck_assert_int_eq(rc, 0);
			break;
		}
	}
	ck_assert_int_gt(n, 0);
}

START_TEST(test_records)
{
	begin("none");
	sweep(oc_record_guard, OC_GUARD_INFO, false);
	sweep(oc_record_started, OC_GUARD_STARTED, false);
	sweep(oc_record_proved, OC_GUARD_PROVED, false);
	sweep(oc_record_exit, OC_GUARD_EXIT, false);
	sweep(oc_record_exit, OC_GUARD_EXIT, true);
	end();
}
END_TEST

static int check_earlier(void *userdata)
{
	oc_error *err = NULL;
	int rc = oc_record_check_earlier(run_dir, &err);

	(void)userdata;
	oc_error_free(err);
	return rc;
}

/* A run that is over stays over: an earlier record that can't be read for want of memory is not "none". */
START_TEST(test_earlier)
{
	long n;

	begin("none");
	put(OC_GUARD_EXIT, "{\"state\":\"exited\"}");
	for (n = 0;; n++) {
		int rc, reached;

		alloc_fail_arm(n);
		rc = check_earlier(NULL);
		reached = alloc_fail_disarm();
		ck_assert_msg(rc < 0 && there(OC_GUARD_EXIT), "allocation %ld failing: a run that is over may begin",
		              n);
		if (!reached)
			break;
	}
	put(OC_GUARD_EXIT, "{\"state\":\"run_lost\"}"); /* the control: this one may be tried again */
	ck_assert_int_eq(check_earlier(NULL), 0);
	ck_assert(!there(OC_GUARD_EXIT));
	end();
}
END_TEST

SUITE_MAIN("guard_memory", test_plan, test_preflight, test_preflight_quick, test_records, test_earlier)
