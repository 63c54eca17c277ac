/* SPDX-License-Identifier: Apache-2.0 */
/* What every unit test has in common: one suite of one case, a directory of its own, descriptors counted. */
#ifndef OC_TESTS_SUITE_H
#define OC_TESTS_SUITE_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

/* The exit status of main().  Check's verdict is the last line. */
int suite_run(const char *name, const TTest *const *tests, size_t n);

/* A new, empty directory; removed by suite_rmdir(), which also frees the name. */
char *suite_mkdir(void);
void suite_rmdir(char *dir);

/* Open descriptors of this process. */
int suite_count_fds(void);

/* End a forked child, in the middle of what its parent was doing.  With OC_TEST_LEAKS set by another program's end: what the
 * parent had allocated would count as lost here. */
_Noreturn void suite_exit(int status);

/* Is there pidfd_open(2)?  Not under valgrind 3.19; says on stderr that `what` is not tried then. */
bool suite_has_pidfd(const char *what);

/* The whole of a file that comes with the tests (below $OC_TEST_SOURCE), NUL-terminated; free(). */
char *suite_load(const char *path, size_t *len);

#define SUITE_MAIN(name, ...)                                                                                          \
	int main(void)                                                                                                 \
	{                                                                                                              \
		const TTest *const tests[] = { __VA_ARGS__ };                                                          \
		return suite_run(name, tests, sizeof(tests) / sizeof(tests[0]));                                       \
	}

#endif
