/* SPDX-License-Identifier: Apache-2.0 */
/* An App's token: both forms of key, its claims, its signature by openssl's judgement, and keys that are none. */
#include <jansson.h>
#include <mbedtls/base64.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "github/github.h"
#include "suite.h"

#define NOW 1790000000LL /* 2026; what a clock says is the caller's */

/* Run in dir.  The exit status. */
static int run(const char *dir, const char *command)
{
	char line[1024];
	char *argv[] = { (char *)"sh", (char *)"-c", line, NULL };
	int status = -1;
	pid_t pid;

	snprintf(line, sizeof(line), "cd '%s' && { %s; } 2>/dev/null >&2", dir, command);
	ck_assert_int_eq(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static char *load(const char *dir, const char *name)
{
	char path[512], *text = calloc(1, 65536);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_gt(fread(text, 1, 65535, f), 0);
	fclose(f);
	return text;
}

static void save(const char *dir, const char *name, const void *data, size_t len)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(data, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
}

/* One part of a token; its bytes. */
static size_t part(const char *from, size_t len, unsigned char out[4096])
{
	char padded[4096];
	size_t n = 0;

	ck_assert_uint_lt(len, sizeof(padded) - 4);
	for (size_t i = 0; i < len; i++) {
		ck_assert(strchr("+/=", from[i]) == NULL);
		padded[i] = (char)(from[i] == '-' ? '+' : from[i] == '_' ? '/' : from[i]);
	}
	while (len % 4)
		padded[len++] = '=';
	ck_assert_int_eq(mbedtls_base64_decode(out, 4095, &n, (unsigned char *)padded, len), 0);
	out[n] = 0;
	return n;
}

static void check_json(const char *text, const char *want)
{
	json_t *is = json_loads(text, 0, NULL), *wanted = json_loads(want, 0, NULL);

	ck_assert_ptr_nonnull(wanted);
	ck_assert_msg(json_equal(is, wanted), "%s", text);
	json_decref(is);
	json_decref(wanted);
}

static bool verified(const char *dir)
{
	return run(dir, "openssl dgst -sha256 -verify pub.pem -signature signature signed") == 0;
}

/* Three parts, of which the last is the key's over the others; not over anything else. */
static void check_token(const char *dir, const char *jwt)
{
	const char *first = strchr(jwt, '.'), *second = first ? strchr(first + 1, '.') : NULL;
	unsigned char bytes[4096];
	size_t len;

	ck_assert_ptr_nonnull(second);
	ck_assert_ptr_null(strchr(second + 1, '.'));
	part(jwt, (size_t)(first - jwt), bytes);
	check_json((char *)bytes, "{\"alg\":\"RS256\",\"typ\":\"JWT\"}");
	part(first + 1, (size_t)(second - first - 1), bytes);
	check_json((char *)bytes, "{\"iat\":1789999940,\"exp\":1790000540,\"iss\":\"123456\"}");
	len = part(second + 1, strlen(second + 1), bytes);
	save(dir, "signature", bytes, len);
	save(dir, "signed", jwt, (size_t)(second - jwt));
	ck_assert(verified(dir));
	bytes[len / 2] ^= 1;
	save(dir, "signature", bytes, len);
	ck_assert(!verified(dir));
}

static void check_key(const char *dir, const char *name)
{
	char *key = load(dir, name), jwt[GITHUB_JWT_MAX];
	const char *why = "";
	int fds = suite_count_fds();

	ck_assert_msg(github_jwt(key, "123456", NOW, jwt, &why) == 0, "%s: %s", name, why);
	ck_assert_ptr_null(why);
	ck_assert_int_eq(suite_count_fds(), fds);
	check_token(dir, jwt);
	free(key);
}

START_TEST(test_signs)
{
	char *dir = suite_mkdir();

	ck_assert_int_eq(run(dir, "openssl genrsa -traditional -out one.pem 2048"), 0);
	ck_assert_int_eq(run(dir, "openssl rsa -in one.pem -pubout -out pub.pem"), 0);
	ck_assert_int_eq(run(dir, "openssl pkcs8 -topk8 -nocrypt -in one.pem -out eight.pem"), 0);
	ck_assert_int_eq(run(dir, "sed 's/$/\\r/' one.pem >lines.pem"), 0);
	ck_assert_int_eq(run(dir, "grep -q 'BEGIN RSA PRIVATE KEY' one.pem && grep -q 'BEGIN PRIVATE KEY' eight.pem"),
	                 0);
	check_key(dir, "one.pem");
	check_key(dir, "eight.pem");
	check_key(dir, "lines.pem");
	ck_assert_int_eq(run(dir, "openssl genrsa -traditional -out one.pem 4096"), 0);
	ck_assert_int_eq(run(dir, "openssl rsa -in one.pem -pubout -out pub.pem"), 0);
	check_key(dir, "one.pem");
	suite_rmdir(dir);
}
END_TEST

static void check_refused(const char *key, const char *want)
{
	char jwt[GITHUB_JWT_MAX] = "";
	const char *why = NULL;

	ck_assert_int_lt(github_jwt(key, "123456", NOW, jwt, &why), 0);
	ck_assert_ptr_nonnull(why);
	ck_assert_msg(strstr(why, want) != NULL, "%s", why);
	ck_assert_str_eq(jwt, "");
}

START_TEST(test_refuses)
{
	static const struct {
		const char *make, *why;
	} keys[] = {
		{ "openssl genrsa -traditional -out k 1024", "2048" },
		{ "openssl ecparam -name prime256v1 -genkey -noout -out k", "RSA" },
		{ "openssl genrsa -traditional -aes128 -passout pass:x -out k 2048", "passphrase" },
		{ "openssl genrsa -aes128 -passout pass:x -out k 2048", "" }, /* 2.28 can't tell of each cipher */
		{ "openssl genrsa -out p 2048 && openssl rsa -in p -pubout -out k", "PEM" },
		{ "openssl genrsa -traditional -out p 2048 && head -n 9 p >k", "PEM" },
		{ "openssl genrsa -traditional -out p 2048 && openssl rsa -in p -outform DER -out d && base64 d >k",
		  "PEM" },
	};
	char *dir = suite_mkdir(), *key;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		ck_assert_int_eq(run(dir, keys[i].make), 0);
		key = load(dir, "k");
		check_refused(key, keys[i].why);
		free(key);
		ck_assert_int_eq(run(dir, "rm -f k p d"), 0);
	}
	check_refused("", "PEM");
	check_refused("-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----\n", "PEM");
	suite_rmdir(dir);
}
END_TEST

SUITE_MAIN("github_jwt", test_signs, test_refuses)
