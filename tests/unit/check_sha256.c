/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <openconduit/error.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "base/fd.h"
#include "base/sha256.h"
#include "suite.h"

START_TEST(test_digest)
{
	char out[OC_DIGEST_SIZE], *million = malloc(1000000);

	/* FIPS 180-2, appendix B. */
	ck_assert_int_eq(oc_digest("abc", 3, out), 0);
	ck_assert_str_eq(out, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	ck_assert_int_eq(oc_digest("", 0, out), 0);
	ck_assert_str_eq(out, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	memset(million, 'a', 1000000);
	ck_assert_int_eq(oc_digest(million, 1000000, out), 0);
	ck_assert_str_eq(out, "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(million);
}
END_TEST

START_TEST(test_digest_fd)
{
	char out[OC_DIGEST_SIZE], *million = malloc(1000000);
	int fd, pipes[2];

	memset(million, 'a', 1000000);
	fd = oc_memfd("x", million, 1000000);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(lseek(fd, 5, SEEK_SET), 5);
	ck_assert_int_eq(oc_digest_fd(fd, out), 0);
	ck_assert_str_eq(out, "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), 5);
	oc_close(fd);
	ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
	ck_assert_int_eq(oc_digest_fd(pipes[0], out), -EINVAL);
	oc_close(pipes[0]);
	oc_close(pipes[1]);
	ck_assert_int_eq(oc_digest_fd(-1, out), -EBADF);
	free(million);
}
END_TEST

START_TEST(test_base64)
{
	/* RFC 4648, section 10. */
	static const char *const pairs[][2] = { { "", "" },
		                                { "f", "Zg==" },
		                                { "fo", "Zm8=" },
		                                { "foo", "Zm9v" },
		                                { "foob", "Zm9vYg==" },
		                                { "fooba", "Zm9vYmE=" },
		                                { "foobar", "Zm9vYmFy" } };
	unsigned char all[256];
	char *text;
	void *data;
	size_t n;

	for (size_t i = 0; i < OC_COUNT(pairs); i++) {
		text = oc_base64_encode(pairs[i][0], strlen(pairs[i][0]));
		ck_assert_str_eq(text, pairs[i][1]);
		ck_assert_int_eq(oc_base64_decode(text, strlen(text), &data, &n), 0);
		ck_assert_uint_eq(n, strlen(pairs[i][0]));
		ck_assert_mem_eq(data, pairs[i][0], n);
		free(text);
		free(data);
	}
	for (int i = 0; i < 256; i++)
		all[i] = (unsigned char)i;
	text = oc_base64_encode(all, 256);
	ck_assert_int_eq(oc_base64_decode(text, strlen(text), &data, &n), 0);
	ck_assert_uint_eq(n, 256);
	ck_assert_mem_eq(data, all, 256);
	free(text);
	free(data);
}
END_TEST

START_TEST(test_base64_refused)
{
	static const char *const bad[] = { "Z",       "Zg",    "Zg=",    "Zg=g",     "====", "Z===", "Zh==",
		                           "Zm9=",    "Zm 9v", "Zm9v\n", "Zm9v\r\n", "Zm9_", "Zm-v", "\xff\xff\xff\xff",
		                           "Zg==Zg==" };
	void *data = (void *)bad;
	size_t n = 77;

	for (size_t i = 0; i < OC_COUNT(bad); i++)
		ck_assert_msg(oc_base64_decode(bad[i], strlen(bad[i]), &data, &n) == OC_EPROTO, "%s", bad[i]);
	ck_assert_int_eq(oc_base64_decode("Zm9\0", 4, &data, &n), OC_EPROTO);
	ck_assert_ptr_eq(data, (void *)bad);
	ck_assert_uint_eq(n, 77);
}
END_TEST

static int there_and_back(void *userdata)
{
	char *text = oc_base64_encode(userdata, 5);
	void *data = NULL;
	size_t n;
	int rc = text ? oc_base64_decode(text, 8, &data, &n) : OC_ENOMEM;

	free(text);
	free(data);
	return rc;
}

START_TEST(test_no_memory)
{
	char bytes[] = "12345";

	ck_assert_int_eq(alloc_fail_each(there_and_back, bytes, 0), 3);
}
END_TEST

SUITE_MAIN("sha256", test_digest, test_digest_fd, test_base64, test_base64_refused, test_no_memory)
