/* SPDX-License-Identifier: Apache-2.0 */
/* Names of images, by digest and nothing else. */
#include <string.h>

#include "image.h"
#include "suite.h"

#define HEX    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DIGEST "@sha256:" HEX

static const char *const good[] = {
	"alpine" DIGEST,
	"acme/agent" DIGEST,
	"registry.example.com/acme/agent" DIGEST,
	"localhost:5000/agent" DIGEST,
	"127.0.0.1:5000/a/b/c-d__e" DIGEST,
};
static const char *const bad[] = {
	"",
	"alpine",
	"alpine:3",
	"alpine@sha256:",
	"alpine@sha256:" HEX "0",
	"alpine@sha512:" HEX,
	"alpine@sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
	"alpine:3" DIGEST,
	"localhost:5000/agent:1" DIGEST,
	DIGEST,
	"/alpine" DIGEST,
	"alpine/" DIGEST,
	"a//b" DIGEST,
	"a/../b" DIGEST,
	"a/./b" DIGEST,
	"../containers" DIGEST,
	"a?x=1" DIGEST,
	"a b" DIGEST,
	"a;b" DIGEST,
	"a%2fb" DIGEST,
	"a@b" DIGEST,
	"-a" DIGEST,
	"sha256:" HEX,
};

START_TEST(names)
{
	for (size_t i = 0; i < COUNT(good); i++)
		ck_assert_msg(image_name_valid(good[i]), "%s", good[i]);
	for (size_t i = 0; i < COUNT(bad); i++)
		ck_assert_msg(!image_name_valid(bad[i]), "%s", bad[i]);
}
END_TEST

START_TEST(architecture)
{
	const char *name = image_architecture();

	ck_assert_ptr_nonnull(name);
#ifdef __x86_64__
	ck_assert_str_eq(name, "amd64");
#elif defined(__aarch64__)
	ck_assert_str_eq(name, "arm64");
#endif
}
END_TEST

SUITE_MAIN("docker_image", names, architecture)
