/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include <errno.h>
#include <mbedtls/base64.h>
#include <mbedtls/sha256.h>
#include <mbedtls/version.h>
#include <openconduit/error.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* mbedTLS 3 gave the checked functions the plain names. */
#if MBEDTLS_VERSION_NUMBER < 0x03000000
#define sha256_starts mbedtls_sha256_starts_ret
#define sha256_update mbedtls_sha256_update_ret
#define sha256_finish mbedtls_sha256_finish_ret
#else
#define sha256_starts mbedtls_sha256_starts
#define sha256_update mbedtls_sha256_update
#define sha256_finish mbedtls_sha256_finish
#endif

static void to_text(const unsigned char raw[32], char out[OC_DIGEST_SIZE])
{
	static const char hex[] = "0123456789abcdef";
	char *p = out + 7;

	memcpy(out, "sha256:", 7);
	for (int i = 0; i < 32; i++) {
		*p++ = hex[raw[i] >> 4];
		*p++ = hex[raw[i] & 15];
	}
	*p = '\0';
}

int oc_digest(const void *data, size_t len, char out[OC_DIGEST_SIZE])
{
	mbedtls_sha256_context ctx;
	unsigned char raw[32];
	int rc;

	mbedtls_sha256_init(&ctx);
	rc = sha256_starts(&ctx, 0);
	if (rc == 0)
		rc = sha256_update(&ctx, data, len);
	if (rc == 0)
		rc = sha256_finish(&ctx, raw);
	mbedtls_sha256_free(&ctx);
	if (rc)
		return -EIO;
	to_text(raw, out);
	return 0;
}

static int update_from(mbedtls_sha256_context *ctx, int fd)
{
	unsigned char block[32768];
	off_t at = 0;

	for (;;) {
		ssize_t n = pread(fd, block, sizeof(block), at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		if (sha256_update(ctx, block, (size_t)n))
			return -EIO;
		at += n;
	}
}

int oc_digest_fd(int fd, char out[OC_DIGEST_SIZE])
{
	mbedtls_sha256_context ctx;
	unsigned char raw[32];
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	mbedtls_sha256_init(&ctx);
	rc = sha256_starts(&ctx, 0) ? -EIO : update_from(&ctx, fd);
	if (rc == 0 && sha256_finish(&ctx, raw))
		rc = -EIO;
	mbedtls_sha256_free(&ctx);
	if (rc == 0)
		to_text(raw, out);
	return rc;
}

char *oc_base64_encode(const void *data, size_t len)
{
	size_t size, n;
	char *out;

	if (len > SIZE_MAX / 4)
		return NULL;
	size = (len + 2) / 3 * 4 + 1;
	out = malloc(size);
	if (!out)
		return NULL;
	out[0] = '\0';
	if (len && mbedtls_base64_encode((unsigned char *)out, size, &n, data, len)) {
		free(out);
		return NULL;
	}
	return out;
}

/* mbedTLS skips spaces and line ends; one text for one value is what we want. */
static bool canonical_base64(const char *text, size_t len)
{
	size_t pad = 0;

	if (len % 4)
		return false;
	while (pad < 2 && pad < len && text[len - 1 - pad] == '=')
		pad++;
	for (size_t i = 0; i < len - pad; i++) {
		unsigned char c = (unsigned char)text[i], lower = c | 0x20;

		if (!((lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/'))
			return false;
	}
	return true;
}

int oc_base64_decode(const char *text, size_t len, void **out, size_t *n)
{
	oc_cleanup(oc_freep) unsigned char *data = NULL;
	oc_cleanup(oc_freep) char *again = NULL;
	size_t got = 0;

	if (!canonical_base64(text, len))
		return OC_EPROTO;
	data = malloc(len / 4 * 3 + 1);
	if (!data)
		return OC_ENOMEM;
	if (len && mbedtls_base64_decode(data, len / 4 * 3, &got, (const unsigned char *)text, len))
		return OC_EPROTO;
	/* Bits beyond the last byte must be zero: only the last group can have them. */
	if (len) {
		again = oc_base64_encode(data + (got - 1) / 3 * 3, got - (got - 1) / 3 * 3);
		if (!again)
			return OC_ENOMEM;
		if (memcmp(again, text + len - 4, 4) != 0)
			return OC_EPROTO;
	}
	data[got] = '\0';
	*n = got;
	*out = oc_steal(data);
	return 0;
}
