/* SPDX-License-Identifier: Apache-2.0 */
/* A process that links the library keeps its signals, children, descriptors, threads and locale. */
#include <check.h>
#include <dlfcn.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "embed.h"

static void whole_run(struct embed *e, const char *script, const char *output, const char *status)
{
	struct embed_run r = { 0 };

	embed_start(e, &r, script);
	embed_wait(e, &r);
	ck_assert_msg(r.ended, "%s: %s", r.state, r.error);
	ck_assert_str_eq(r.output, output);
	ck_assert_msg(strstr(r.record, status) != NULL, "%s has no %s", r.record, status);
	embed_finish(&r);
}

START_TEST(a_run_from_start_to_record)
{
	struct embed e;

	embed_open(&e);
	whole_run(&e, "echo hello; exit 3", "hello\n", "\"status\":3");
	whole_run(&e, "kill -9 $$", "", "\"signal\":9");
	embed_close(&e);
}
END_TEST

static void spoil(const struct embed *e, const char *id, const char *text, size_t len)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof(path), "%s/runs/%s/exit.json", e->state, id);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(text, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
}

/* What is in the place of the record and isn't this run's record is not handed out as one. */
START_TEST(a_damaged_record)
{
	static const char half[] = "{\"run\":",
	                  other[] = "{\"digest\":\"sha256:0\",\"run\":\"abcdefgh\",\"state\":\"exited\"}";
	static const struct {
		const char *text;
		size_t len;
	} cases[] = {
		{ "", 0 }, { "\0\0\0\0", 4 }, { half, sizeof(half) - 1 }, { other, sizeof(other) - 1 }, { "[]", 2 }
	};
	struct embed e;
	struct embed_run first = { 0 };
	char id[64];

	embed_open(&e);
	embed_start(&e, &first, "exit 3");
	embed_wait(&e, &first);
	snprintf(id, sizeof(id), "%s", oc_run_id(first.run));
	embed_finish(&first);
	for (size_t i = 0; i <= sizeof(cases) / sizeof(cases[0]); i++) {
		struct embed_run r = { 0 };

		/* First as it is: the control. */
		if (i)
			spoil(&e, id, cases[i - 1].text, cases[i - 1].len);
		embed_reopen(&e, &r, id);
		embed_wait(&e, &r);
		ck_assert_msg(r.ended == !i && r.failed == !!i, "case %zu: %s", i, r.record);
		oc_run_free(r.run);
	}
	embed_close(&e);
}
END_TEST

START_TEST(descriptors_are_as_before)
{
	struct embed e;
	int before;

	embed_fds_cloexec();
	before = embed_count_fds();
	embed_open(&e);
	ck_assert_int_gt(embed_count_fds(), before); /* the count can see a difference */
	for (int i = 0; i < 3; i++)
		whole_run(&e, "echo x", "x\n", "\"status\":0");
	ck_assert(embed_fds_cloexec());
	embed_close(&e);
	ck_assert_int_eq(embed_count_fds(), before);
}
END_TEST

/* The agent sees 0, 1, 2 whatever its host had open. */
START_TEST(nothing_is_inherited)
{
	struct embed e;
	int leak = dup2(1, 17);

	ck_assert_int_eq(leak, 17);
	embed_open(&e);
	whole_run(&e, "cd /proc/self/fd && for f in *; do [ \"$f\" -le 2 ] || [ ! -e \"$f\" ] || echo leak $f; done",
	          "", "\"status\":0");
	embed_close(&e);
	close(leak);
}
END_TEST

static pid_t guard_pid(const struct embed *e, const char *id)
{
	char path[512], text[1024] = "";
	const char *at;
	FILE *f;

	snprintf(path, sizeof(path), "%s/runs/%s/guard.json", e->state, id);
	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, f), 0);
	fclose(f);
	at = strstr(text, "\"pid\":");
	ck_assert_ptr_nonnull(at);
	return atoi(at + 6);
}

/* The guard dies while we write to it: with SIGPIPE at its default this process would die too. */
START_TEST(sigpipe_at_its_default)
{
	struct embed_run r = { 0 };
	struct embed e;
	char junk[4096];

	signal(SIGPIPE, SIG_DFL);
	memset(junk, 'x', sizeof(junk));
	embed_open(&e);
	embed_start(&e, &r, "sleep 1000");
	for (int i = 0; i < 600 && strcmp(r.state, "running") != 0; i++)
		ck_assert_int_ge(oc_context_wait(e.ctx, 100, NULL), 0);
	ck_assert_str_eq(r.state, "running");
	ck_assert_int_eq(kill(guard_pid(&e, oc_run_id(r.run)), SIGKILL), 0);
	for (int i = 0; i < 100; i++)
		(void)!oc_run_write(r.run, junk, sizeof(junk), NULL);
	embed_wait(&e, &r);
	ck_assert(r.failed);
	ck_assert_msg(strstr(r.error, "run_lost") != NULL, "%s", r.error);
	oc_run_free(r.run);
	embed_close(&e);
}
END_TEST

static volatile sig_atomic_t children;

static void on_child(int sig)
{
	(void)sig;
	children++;
}

static void one_run(void)
{
	struct embed e;

	embed_open(&e);
	whole_run(&e, "echo a", "a\n", "\"status\":0");
	embed_close(&e);
}

START_TEST(sigchld_ignored)
{
	signal(SIGCHLD, SIG_IGN);
	one_run();
	ck_assert_ptr_eq(signal(SIGCHLD, SIG_DFL), SIG_IGN);
}
END_TEST

START_TEST(sigchld_handled_and_own_child_kept)
{
	struct sigaction mine = { .sa_handler = on_child, .sa_flags = SA_RESTART }, after;
	int status;
	pid_t child;

	sigaction(SIGCHLD, &mine, NULL);
	child = fork();
	if (!child)
		_exit(42);
	one_run();
	sigaction(SIGCHLD, NULL, &after);
	ck_assert_ptr_eq(after.sa_handler, on_child);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(WEXITSTATUS(status), 42);
	ck_assert_int_ge(children, 1);
}
END_TEST

static void *in_a_thread(void *result)
{
	struct embed e;

	embed_open(&e);
	for (int i = 0; i < 3; i++) {
		struct embed_run r = { 0 };

		embed_start(&e, &r, "echo thread");
		embed_wait(&e, &r);
		if (!r.ended || strcmp(r.output, "thread\n") != 0)
			return NULL;
		embed_finish(&r);
	}
	embed_close(&e);
	return result;
}

START_TEST(two_contexts_in_two_threads)
{
	pthread_t a, b;
	int one = 1, two = 2;
	void *ra = NULL, *rb = NULL;

	ck_assert_int_eq(pthread_create(&a, NULL, in_a_thread, &one), 0);
	ck_assert_int_eq(pthread_create(&b, NULL, in_a_thread, &two), 0);
	pthread_join(a, &ra);
	pthread_join(b, &rb);
	ck_assert_ptr_eq(ra, &one);
	ck_assert_ptr_eq(rb, &two);
}
END_TEST

START_TEST(a_forked_child_is_refused)
{
	struct embed e;
	int status;
	pid_t child;

	embed_open(&e);
	child = fork();
	if (!child) {
		oc_error *err = NULL;

		_exit(oc_context_dispatch(e.ctx, &err) == OC_EINVAL && oc_error_code(err) == OC_EINVAL ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	whole_run(&e, "echo parent", "parent\n", "\"status\":0");
	embed_close(&e);
}
END_TEST

START_TEST(freed_inside_its_callbacks)
{
	struct embed e;

	embed_open(&e);
	for (int i = EMBED_FREE_STATE; i <= EMBED_FREE_ENDED; i++) {
		struct embed_run r = { .free_in = (enum embed_free)i };

		embed_start(&e, &r, "echo x");
		embed_wait(&e, &r);
		ck_assert_msg(r.freed, "%d: %s %s", i, r.state, r.error);
		ck_assert_int_eq(r.userdata_freed, 1);
		for (int j = 0; j < 20; j++)
			ck_assert_int_ge(oc_context_wait(e.ctx, 10, NULL), 0);
	}
	embed_close(&e);
}
END_TEST

static void locale_run(const char *name)
{
	if (!setlocale(LC_ALL, name)) {
		printf("skip - odd_locale: locale %s is not installed here\n", name);
		return;
	}
	one_run();
	setlocale(LC_ALL, "C");
}

START_TEST(odd_locale)
{
	locale_run("de_DE.UTF-8");
	locale_run("tr_TR.UTF-8");
}
END_TEST

/* A library loaded, used and unloaded again leaves nothing that runs at exit. */
START_TEST(loaded_and_unloaded)
{
	const char *path = getenv("OC_TEST_LIBRARY");

	ck_assert_ptr_nonnull(path);
	for (int i = 0; i < 3; i++) {
		void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		const char *(*version)(void);

		ck_assert_msg(lib != NULL, "%s", dlerror());
		*(void **)&version = dlsym(lib, "oc_version");
		ck_assert_ptr_nonnull(version);
		ck_assert_str_eq(version(), oc_version());
		ck_assert_ptr_null(dlsym(lib, "oc_json_parse"));
		dlclose(lib);
	}
}
END_TEST

/* Another library exports our names, public and internal ones, into the global scope. */
START_TEST(beside_a_library_with_our_names)
{
	void *clash = dlopen(getenv("OC_TEST_CLASH"), RTLD_NOW | RTLD_GLOBAL);
	int (*calls)(void);

	ck_assert_msg(clash != NULL, "%s", dlerror());
	*(void **)&calls = dlsym(clash, "clash_calls");
	ck_assert_ptr_nonnull(calls);
	one_run();
	ck_assert_int_eq(calls(), 0);
}
END_TEST

/* An embedder that gives nowhere to return to is told so. */
START_TEST(nowhere_to_return)
{
	struct embed e;
	oc_error *err = NULL;

	embed_open(&e);
	ck_assert_int_eq(oc_run_open(e.store, "somerun1", NULL, NULL, NULL, &err), OC_EINVAL);
	oc_error_free(err);
	err = NULL;
	ck_assert_int_eq(oc_run_end(e.store, "somerun1", 0, NULL, NULL, NULL, &err), OC_EINVAL);
	oc_error_free(err);
	embed_close(&e);
}
END_TEST

struct newer_options {
	oc_context_options known;
	uint64_t later;
};

START_TEST(old_and_newer_struct_sizes)
{
	struct newer_options newer = { .known = OC_CONTEXT_OPTIONS_INIT };
	oc_context_options old = OC_CONTEXT_OPTIONS_INIT;
	oc_context *ctx = NULL;
	oc_error *err = NULL;

	old.size = offsetof(oc_context_options, log);
	old.log = (oc_log_fn)1; /* beyond what an old caller had: must not be read */
	ck_assert_int_eq(oc_context_new(&old, &ctx, &err), 0);
	oc_context_free(ctx);
	newer.known.size = sizeof(newer);
	ck_assert_int_eq(oc_context_new((oc_context_options *)&newer, &ctx, &err), 0);
	oc_context_free(ctx);
	newer.later = 1;
	ck_assert_int_eq(oc_context_new((oc_context_options *)&newer, &ctx, &err), OC_EVERSION);
	oc_error_free(err);
	err = NULL;
	old.size = 3;
	ck_assert_int_eq(oc_context_new(&old, &ctx, &err), OC_EVERSION);
	oc_error_free(err);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("embed");
	TCase *t = tcase_create("embed");
	SRunner *runner;
	int failed;

	tcase_set_timeout(t, 300);
	tcase_add_test(t, a_run_from_start_to_record);
	tcase_add_test(t, a_damaged_record);
	tcase_add_test(t, descriptors_are_as_before);
	tcase_add_test(t, nothing_is_inherited);
	tcase_add_test(t, sigpipe_at_its_default);
	tcase_add_test(t, sigchld_ignored);
	tcase_add_test(t, sigchld_handled_and_own_child_kept);
	tcase_add_test(t, two_contexts_in_two_threads);
	tcase_add_test(t, a_forked_child_is_refused);
	tcase_add_test(t, freed_inside_its_callbacks);
	tcase_add_test(t, odd_locale);
	tcase_add_test(t, loaded_and_unloaded);
	tcase_add_test(t, beside_a_library_with_our_names);
	tcase_add_test(t, nowhere_to_return);
	tcase_add_test(t, old_and_newer_struct_sizes);
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
