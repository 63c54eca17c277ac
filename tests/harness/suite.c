/* SPDX-License-Identifier: Apache-2.0 */
#include "suite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/os.h"

int suite_run(const char *name, const TTest *const *tests, size_t n)
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	SRunner *runner;
	int failed;

	/* Valgrind and two busy processors are slow; a hang is still found. */
	tcase_set_timeout(tcase, 120);
	for (size_t i = 0; i < n; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

char *suite_mkdir(void)
{
	const char *base = getenv("TMPDIR");
	char *dir = NULL;

	ck_assert_int_gt(asprintf(&dir, "%s/oc-test-XXXXXX", base && *base ? base : "/tmp"), 0);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	return dir;
}

void suite_rmdir(char *dir)
{
	ck_assert_int_eq(oc_remove_tree(AT_FDCWD, dir), 0);
	free(dir);
}

int suite_count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

_Noreturn void suite_exit(int status)
{
	char command[32];

	snprintf(command, sizeof(command), "exit %d", status & 0xff);
	if (getenv("OC_TEST_LEAKS"))
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(status);
}

bool suite_has_pidfd(const char *what)
{
	int fd = oc_os_pidfd_open(getpid());

	oc_close(fd);
	if (fd >= 0)
		return true;
	ck_assert_int_eq(fd, -ENOSYS);
	fprintf(stderr, "no pidfd_open(2) here: %s is not tried\n", what);
	return false;
}

char *suite_load(const char *path, size_t *len)
{
	const char *base = getenv("OC_TEST_SOURCE");
	char *full = NULL, *text;
	struct oc_buf b;

	ck_assert_msg(base != NULL, "OC_TEST_SOURCE is not set: run this by meson test");
	ck_assert_int_gt(asprintf(&full, "%s/%s", base, path), 0);
	oc_buf_init(&b, 16u << 20);
	ck_assert_msg(oc_read_file(AT_FDCWD, full, 16u << 20, &b) == 0, "cannot read %s", full);
	*len = b.len;
	text = oc_buf_steal(&b);
	free(full);
	return text;
}
