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

#include "base/sha256_ni.h"

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

/* One digest on its way: by the processor's instructions, or by mbedTLS. */
struct hash {
	bool ni;
	mbedtls_sha256_context plain;
	uint32_t state[8];
	uint64_t len;
	unsigned char tail[64]; /* what is no whole block yet */
};

static int hash_begin(struct hash *h)
{
	static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		                           0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	h->ni = oc_sha256_ni();
	if (!h->ni) {
		mbedtls_sha256_init(&h->plain);
		return sha256_starts(&h->plain, 0);
	}
	memcpy(h->state, first, sizeof(first));
	h->len = 0;
	return 0;
}

static int hash_add(struct hash *h, const unsigned char *data, size_t len)
{
	size_t held = (size_t)(h->len % 64), n;

	if (!h->ni)
		return sha256_update(&h->plain, data, len);
	h->len += len;
	if (held) {
		n = OC_MIN(len, 64 - held);
		memcpy(h->tail + held, data, n);
		if (held + n < 64)
			return 0;
		oc_sha256_ni_blocks(h->state, h->tail, 1);
		data += n;
		len -= n;
	}
	oc_sha256_ni_blocks(h->state, data, len / 64);
	if (len % 64)
		memcpy(h->tail, data + len / 64 * 64, len % 64);
	return 0;
}

static int hash_end(struct hash *h, unsigned char raw[32])
{
	unsigned char end[72] = { 0x80 };
	size_t pad = 64 - (size_t)((h->len + 8) % 64);
	uint64_t bits = h->len * 8;

	if (!h->ni)
		return sha256_finish(&h->plain, raw);
	for (int i = 0; i < 8; i++)
		end[pad + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
	(void)hash_add(h, end, pad + 8);
	for (int i = 0; i < 32; i++)
		raw[i] = (unsigned char)(h->state[i / 4] >> (24 - 8 * (i % 4)));
	return 0;
}

static void hash_free(struct hash *h)
{
	if (!h->ni)
		mbedtls_sha256_free(&h->plain);
}

int oc_digest(const void *data, size_t len, char out[OC_DIGEST_SIZE])
{
	unsigned char raw[32];
	struct hash h;
	int rc = hash_begin(&h);

	if (rc == 0)
		rc = hash_add(&h, data, len);
	if (rc == 0)
		rc = hash_end(&h, raw);
	hash_free(&h);
	if (rc)
		return -EIO;
	to_text(raw, out);
	return 0;
}

static int add_from(struct hash *h, int fd)
{
	unsigned char block[16384];
	off_t at = 0;

	for (;;) {
		ssize_t n = pread(fd, block, sizeof(block), at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		if (hash_add(h, block, (size_t)n))
			return -EIO;
		at += n;
	}
}

int oc_digest_fd(int fd, char out[OC_DIGEST_SIZE])
{
	unsigned char raw[32];
	struct hash h;
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	rc = hash_begin(&h) ? -EIO : add_from(&h, fd);
	if (rc == 0 && hash_end(&h, raw))
		rc = -EIO;
	hash_free(&h);
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
