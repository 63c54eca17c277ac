/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of a provider against one that misbehaves: every fault ends in an answer within its
 * time, says what happened, and leaves no process and no descriptor behind. */
#include <fcntl.h>
#include <openconduit/context.h>
#include <openconduit/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "provider/client.h"
#include "suite.h"

static const char *const pass[] = { "OC_FAULT", NULL };

struct answer {
	int count;
	bool fine;
	char *reason, *message;
	struct oc_provider *free_inside;
};

static void on_answer(const json_t *result, const oc_error *err, void *userdata)
{
	struct answer *a = userdata;

	a->count++;
	ck_assert(!result != !err);
	a->fine = json_is_true(json_object_get(result, "fine"));
	if (err) {
		free(a->reason);
		free(a->message);
		a->reason = oc_error_reason(err) ? strdup(oc_error_reason(err)) : NULL;
		a->message = strdup(oc_error_message(err));
	}
	if (a->free_inside)
		oc_provider_free(a->free_inside);
}

static void clear(struct answer *a)
{
	free(a->reason);
	free(a->message);
	*a = (struct answer){ 0 };
}

static oc_context *new_context(void)
{
	oc_context_options o = OC_CONTEXT_OPTIONS_INIT;
	oc_context *ctx = NULL;

	o.state_dir = "/nonexistent/state";
	o.libexec_dir = getenv("OC_TEST_LIBEXEC");
	ck_assert_ptr_nonnull(o.libexec_dir);
	ck_assert_int_eq(oc_context_new(&o, &ctx, NULL), 0);
	return ctx;
}

static struct oc_provider *new_provider(oc_context *ctx)
{
	struct oc_provider *p = NULL;
	oc_error *err = NULL;

	if (oc_provider_new(ctx, "faulty", getenv("OC_TEST_PROVIDERS"), pass, &p, &err) < 0)
		ck_abort_msg("%s", oc_error_message(err));
	return p;
}

static void wait_for(oc_context *ctx, struct answer *a, int count, int64_t ms)
{
	int64_t end = oc_mono_ms() + ms;

	while (a->count < count && oc_mono_ms() < end)
		ck_assert_int_ge(oc_context_wait(ctx, 100, NULL), 0);
	ck_assert_int_eq(a->count, count);
}

static void ask(oc_context *ctx, struct oc_provider *p, struct answer *a, int timeout_ms)
{
	int before = a->count;

	ck_assert_int_eq(oc_provider_call(p, "plan", json_object(), timeout_ms, on_answer, a, NULL), 0);
	ck_assert_int_eq(a->count, before); /* never inside the call */
	wait_for(ctx, a, before + 1, timeout_ms + 15000);
}

static void no_child_left(void)
{
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}

static const struct fault {
	const char *name, *says;
} faults[] = {
	{ "die-at-start", "status 6" },
	{ "die-at-hello", "status 7" },
	{ "die", "status 3" },
	{ "die-talking", "no more \\x1b[31mmemory" },
	{ "kill", "signal 9" },
	{ "hang", "in time" },
	{ "flood-and-die", "last words" },
	{ "half", "" },
	{ "huge", "broke the protocol" },
	{ "garbage", "broke the protocol" },
	{ "notify", "nobody asked for" },
	{ "duplicate-keys", "broke the protocol" },
	{ "not-an-object", "no object" },
	{ "null", "no object" },
	{ "other-protocol", "something else" },
	{ "other-name", "something else" },
	{ "unknown-field", "something else" },
	{ "strange-reason", "known reason" },
};

START_TEST(test_fault)
{
	const struct fault *fault = &faults[_i];
	int fds = suite_count_fds();
	struct answer a = { 0 };
	struct oc_provider *p;
	oc_context *ctx;

	setenv("OC_FAULT", fault->name, 1);
	ctx = new_context();
	p = new_provider(ctx);
	ask(ctx, p, &a, 1000);
	ck_assert_msg(a.reason && !strcmp(a.reason, "provider_failed"), "%s: %s", fault->name, a.reason);
	ck_assert_msg(strstr(a.message, fault->says), "%s: %s", fault->name, a.message);
	oc_provider_free(p);
	oc_context_free(ctx);
	clear(&a);
	no_child_left();
	ck_assert_int_eq(suite_count_fds(), fds);
}
END_TEST

START_TEST(test_control)
{
	static const char *const well[] = { "none", "flood", "twice" };
	struct answer a = { 0 };
	struct oc_provider *p;
	oc_context *ctx;

	setenv("OC_FAULT", well[_i], 1);
	ctx = new_context();
	p = new_provider(ctx);
	ck_assert_ptr_null(oc_provider_version(p));
	ck_assert_int_eq(strncmp(oc_provider_file_digest(p), "sha256:", 7), 0);
	ask(ctx, p, &a, 5000);
	ck_assert_msg(a.fine, "%s: %s", well[_i], a.message);
	ck_assert_str_eq(oc_provider_version(p), "9");
	oc_provider_free(p);
	oc_context_free(ctx);
	clear(&a);
	no_child_left();
}
END_TEST

START_TEST(test_refusal_passes)
{
	struct answer a = { 0 };
	struct oc_provider *p;
	oc_context *ctx;

	setenv("OC_FAULT", "refuse", 1);
	ctx = new_context();
	p = new_provider(ctx);
	ask(ctx, p, &a, 5000);
	ck_assert_str_eq(a.reason, "sandbox_config");
	ck_assert_str_eq(a.message, "m");
	oc_provider_free(p);
	oc_context_free(ctx);
	clear(&a);
}
END_TEST

/* What died is started again by the next call, and calls that waited together fail together. */
START_TEST(test_again_and_together)
{
	struct answer a = { 0 };
	struct oc_provider *p;
	oc_context *ctx;
	int i;

	setenv("OC_FAULT", "die", 1);
	ctx = new_context();
	p = new_provider(ctx);
	ask(ctx, p, &a, 2000);
	ask(ctx, p, &a, 2000);
	ck_assert_str_eq(a.reason, "provider_failed");
	clear(&a);
	for (i = 0; i < 5; i++)
		ck_assert_int_eq(oc_provider_call(p, "plan", json_object(), 2000, on_answer, &a, NULL), 0);
	wait_for(ctx, &a, 5, 10000);
	oc_provider_free(p);
	oc_context_free(ctx);
	clear(&a);
	no_child_left();
}
END_TEST

START_TEST(test_freed_inside)
{
	static const char *const how[] = { "die", "none", "garbage", "hang" };
	int fds = suite_count_fds();
	struct answer a = { 0 };
	oc_context *ctx;
	int i;

	setenv("OC_FAULT", how[_i], 1);
	ctx = new_context();
	a.free_inside = new_provider(ctx);
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(oc_provider_call(a.free_inside, "plan", json_object(), 500, on_answer, &a, NULL), 0);
	wait_for(ctx, &a, 1, 10000);
	ck_assert_int_ge(oc_context_wait(ctx, 50, NULL), 0);
	ck_assert_int_eq(a.count, 1); /* the other two are dropped */
	oc_context_free(ctx);
	a.free_inside = NULL;
	clear(&a);
	no_child_left();
	ck_assert_int_eq(suite_count_fds(), fds);
}
END_TEST

/* Freed while the provider hangs before its first word: gone within the bound, and so is the child. */
START_TEST(test_freed_while_hanging)
{
	struct answer a = { 0 };
	struct oc_provider *p;
	oc_context *ctx;
	int64_t begin;

	setenv("OC_FAULT", "hang-at-start", 1);
	ctx = new_context();
	p = new_provider(ctx);
	ck_assert_int_eq(oc_provider_call(p, "plan", json_object(), 60000, on_answer, &a, NULL), 0);
	ck_assert_int_ge(oc_context_wait(ctx, 50, NULL), 0);
	begin = oc_mono_ms();
	oc_provider_free(p);
	ck_assert_int_lt(oc_mono_ms() - begin, 2000);
	ck_assert_int_eq(a.count, 0);
	oc_context_free(ctx);
	no_child_left();
}
END_TEST

static void refused(oc_context *ctx, const char *name, const char *dir, const char *reason, const char *says)
{
	struct oc_provider *p = NULL;
	oc_error *err = NULL;

	ck_assert_int_lt(oc_provider_new(ctx, name, dir, NULL, &p, &err), 0);
	ck_assert_str_eq(oc_error_reason(err), reason);
	ck_assert_msg(strstr(oc_error_message(err), says), "%s", oc_error_message(err));
	oc_error_free(err);
}

static void put(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

START_TEST(test_finding)
{
	char *dir = suite_mkdir(), path[4096], link[4096];
	struct oc_provider *p = NULL;
	json_t *list = NULL;
	oc_context *ctx;

	ctx = new_context();
	refused(ctx, "../faulty", dir, "sandbox_config", "lower-case");
	refused(ctx, "", dir, "sandbox_config", "lower-case");
	refused(ctx, "absent", dir, "sandbox_unavailable", dir);
	(void)snprintf(path, sizeof(path), "%s/open-conduit-provider-x", dir);
	(void)snprintf(link, sizeof(link), "%s/open-conduit-provider-y", dir);
	put(path, 0755);
	ck_assert_int_eq(oc_provider_new(ctx, "x", dir, NULL, &p, NULL), 0);
	ck_assert_str_eq(oc_provider_path(p), path);
	oc_provider_free(p);
	ck_assert_int_eq(symlink(path, link), 0);
	refused(ctx, "y", dir, "sandbox_unavailable", "symbolic link");
	put(path, 0757);
	refused(ctx, "x", dir, "sandbox_unavailable", "another user");
	put(path, 0644);
	refused(ctx, "x", dir, "sandbox_unavailable", "no executable");
	put(path, 0755);
	ck_assert_int_eq(chmod(dir, 0777), 0);
	refused(ctx, "x", dir, "sandbox_unavailable", "another user");
	ck_assert_int_eq(chmod(dir, 0700), 0);
	ck_assert_int_eq(oc_provider_list(ctx, dir, &list, NULL), 0);
	ck_assert_uint_ge(json_array_size(list), 2);
	json_decref(list);
	oc_context_free(ctx);
	suite_rmdir(dir);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("provider");
	TCase *faulty = tcase_create("faults"), *rest = tcase_create("rest");

	tcase_set_timeout(faulty, 60);
	tcase_set_timeout(rest, 60);
	tcase_add_loop_test(faulty, test_fault, 0, (int)OC_COUNT(faults));
	tcase_add_loop_test(rest, test_control, 0, 3);
	tcase_add_loop_test(rest, test_freed_inside, 0, 4);
	tcase_add_test(rest, test_refusal_passes);
	tcase_add_test(rest, test_again_and_together);
	tcase_add_test(rest, test_freed_while_hanging);
	tcase_add_test(rest, test_finding);
	suite_add_tcase(s, faulty);
	suite_add_tcase(s, rest);
	return s;
}

int main(void)
{
	SRunner *runner = srunner_create(suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
