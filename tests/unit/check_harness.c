/* SPDX-License-Identifier: Apache-2.0 */
/* The controls of the tests' own tools: what they are to find, they find. */
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "suite.h"

static int leaks(void *userdata)
{
	char *volatile a = malloc(1), *volatile b = malloc(1);

	(void)userdata;
	/* Leaves a where b could not be had. */
	if (a && !b)
		return -1;
	free(a);
	free(b);
	return a && b ? 0 : -1;
}

static int ignores(void *userdata)
{
	/* volatile: the pair would be optimized away. */
	void *volatile p = malloc(1);

	(void)userdata;
	free(p);
	return 0;
}

static int always_fails(void *userdata)
{
	(void)userdata;
	return -1;
}

static int is_right(void *userdata)
{
	char *volatile a = malloc(1), *volatile b = a ? strdup("x") : NULL;

	(void)userdata;
	free(a);
	free(b);
	return b ? 0 : -1;
}

static int (*probed_fn)(void *userdata);
static int probed_may_cope;

START_TEST(inner)
{
	alloc_fail_each(probed_fn, NULL, probed_may_cope);
}
END_TEST

/* A suite inside a process of its own, its verdict thrown away but for the status. */
static int verdict(int (*fn)(void *userdata), int may_cope)
{
	int status = -1, null;
	pid_t pid = fork();

	if (pid == 0) {
		const TTest *const tests[] = { inner };

		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		dup2(null, 1);
		probed_fn = fn;
		probed_may_cope = may_cope;
		_exit(suite_run("inner", tests, 1));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

START_TEST(test_alloc_fail_finds)
{
	ck_assert_int_eq(verdict(is_right, 0), 0);
	ck_assert_int_ne(verdict(leaks, 0), 0);
	ck_assert_int_ne(verdict(ignores, 0), 0);
	ck_assert_int_eq(verdict(ignores, 1), 0);
	ck_assert_int_ne(verdict(always_fails, 1), 0);
}
END_TEST

static void *by_malloc(void)
{
	return malloc(1);
}

static void *by_calloc(void)
{
	return calloc(1, 1);
}

static void *by_realloc(void)
{
	return realloc(NULL, 1);
}

static void *by_reallocarray(void)
{
	return reallocarray(NULL, 1, 1);
}

static void *by_strdup(void)
{
	return strdup("x");
}

static void *by_strndup(void)
{
	return strndup("xy", 1);
}

START_TEST(test_every_function_fails)
{
	void *(*const functions[])(void) = { by_malloc, by_calloc, by_realloc, by_reallocarray, by_strdup, by_strndup };

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *first, *second;

		alloc_fail_arm(1);
		first = functions[i]();
		second = functions[i]();
		ck_assert_int_eq(alloc_fail_disarm(), 1);
		ck_assert_msg(first && !second, "function %zu", i);
		free(first);
	}
	alloc_fail_arm(0);
	json_t *json = json_object();
	ck_assert_int_eq(alloc_fail_disarm(), 1);
	ck_assert_ptr_null(json);
}
END_TEST

START_TEST(test_count_fds)
{
	int before = suite_count_fds(), fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(suite_count_fds(), before + 1);
	close(fd);
	ck_assert_int_eq(suite_count_fds(), before);
}
END_TEST

SUITE_MAIN("harness", test_alloc_fail_finds, test_every_function_fails, test_count_fds)
