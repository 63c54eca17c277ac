/* SPDX-License-Identifier: Apache-2.0 */
/* An App's JSON web token: RS256 by mbedTLS.  It begins a minute ago and ends well before the ten minutes that GitHub allows, so
 * that a clock may be a minute fast or nine slow. */
#include <errno.h>
#include <mbedtls/base64.h>
#include <mbedtls/pem.h>
#include <mbedtls/pk.h>
#include <mbedtls/sha256.h>
#include <mbedtls/version.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "github/github.h"

#define EARLIER  60
#define LATER    540
#define BITS_MIN 2048
#define BITS_MAX 8192
#define SIGN_MAX (BITS_MAX / 8)

static int lots(void *unused, unsigned char *out, size_t len)
{
	(void)unused;
	while (len) {
		ssize_t n = getrandom(out, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return MBEDTLS_ERR_PK_BAD_INPUT_DATA;
		out += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Append a part, as base64 for addresses, without padding.  False: it doesn't fit. */
static bool put_part(char out[GITHUB_JWT_MAX], const void *data, size_t len)
{
	size_t at = strlen(out), n = 0;

	if (at)
		out[at++] = '.';
	if (mbedtls_base64_encode((unsigned char *)out + at, GITHUB_JWT_MAX - at, &n, data, len) != 0)
		return false;
	for (char *c = out + at; *c; c++)
		*c = (char)(*c == '+' ? '-' : *c == '/' ? '_' : *c);
	for (char *c = out + at + n; c > out + at && c[-1] == '='; c--)
		c[-1] = 0;
	return true;
}

/* 2.28 and 3.x differ in whom they ask for random bytes, and in a length. */
static int parse(mbedtls_pk_context *pk, const char *key)
{
#if MBEDTLS_VERSION_MAJOR >= 3
	return mbedtls_pk_parse_key(pk, (const unsigned char *)key, strlen(key) + 1, NULL, 0, lots, NULL);
#else
	return mbedtls_pk_parse_key(pk, (const unsigned char *)key, strlen(key) + 1, NULL, 0);
#endif
}

static int digest(const char *text, unsigned char out[32])
{
#if MBEDTLS_VERSION_MAJOR >= 3
	return mbedtls_sha256((const unsigned char *)text, strlen(text), out, 0);
#else
	return mbedtls_sha256_ret((const unsigned char *)text, strlen(text), out, 0);
#endif
}

static int sign(mbedtls_pk_context *pk, const char *text, unsigned char out[SIGN_MAX], size_t *len)
{
	unsigned char hash[32];
	int rc = digest(text, hash);

	if (rc)
		return rc;
#if MBEDTLS_VERSION_MAJOR >= 3
	return mbedtls_pk_sign(pk, MBEDTLS_MD_SHA256, hash, sizeof(hash), out, SIGN_MAX, len, lots, NULL);
#else
	return mbedtls_pk_sign(pk, MBEDTLS_MD_SHA256, hash, sizeof(hash), out, len, lots, NULL);
#endif
}

static const char *unfit(mbedtls_pk_context *pk, const char *key)
{
	int rc = parse(pk, key);

	if (rc == MBEDTLS_ERR_PK_PASSWORD_REQUIRED || rc == MBEDTLS_ERR_PEM_PASSWORD_REQUIRED)
		return "it is locked with a passphrase";
	if (rc)
		return "it is no private key in the form of PEM";
	if (mbedtls_pk_get_type(pk) != MBEDTLS_PK_RSA)
		return "it is no RSA key";
	if (mbedtls_pk_get_bitlen(pk) < BITS_MIN || mbedtls_pk_get_bitlen(pk) > BITS_MAX)
		return "it has fewer than 2048 bits, or more than 8192";
	return NULL;
}

static int write_jwt(mbedtls_pk_context *pk, const char *app, long long now, char out[GITHUB_JWT_MAX])
{
	static const char head[] = "{\"alg\":\"RS256\",\"typ\":\"JWT\"}";
	unsigned char signature[SIGN_MAX];
	char claims[256];
	size_t len = 0;
	int n = snprintf(claims, sizeof(claims), "{\"iat\":%lld,\"exp\":%lld,\"iss\":\"%s\"}", now - EARLIER,
	                 now + LATER, app);

	out[0] = 0;
	if (n < 0 || (size_t)n >= sizeof(claims) || !put_part(out, head, sizeof(head) - 1) ||
	    !put_part(out, claims, (size_t)n) || sign(pk, out, signature, &len) != 0)
		return -1;
	return put_part(out, signature, len) ? 0 : -1;
}

int github_jwt(const char *key, const char *app, long long now, char out[GITHUB_JWT_MAX], const char **why)
{
	mbedtls_pk_context pk;
	int rc = -1;

	mbedtls_pk_init(&pk);
	*why = unfit(&pk, key);
	if (!*why) {
		rc = write_jwt(&pk, app, now, out);
		*why = rc == 0 ? NULL : "nothing can be signed with it";
	}
	mbedtls_pk_free(&pk);
	return rc;
}
