/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 3492, encoding only.  Letters of Latin-1, Greek and Cyrillic are lower-cased as IDNA would; other scripts have
 * no case or are left as written. */
#include "policy/punycode.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/utf8.h"

#define LABEL_MAX 63

static uint32_t lower(uint32_t c)
{
	if ((c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7) || (c >= 0x391 && c <= 0x3a9) ||
	    (c >= 0x410 && c <= 0x42f))
		return c + 32;
	return c >= 0x400 && c <= 0x40f ? c + 80 : c;
}

/* One code point of valid UTF-8. */
static const unsigned char *decode(const unsigned char *p, uint32_t *c)
{
	unsigned more = *p < 0x80 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;

	*c = more ? *p & (0x3fu >> more) : *p;
	for (p++; more > 0 && *p; more--)
		*c = *c << 6 | (*p++ & 0x3fu);
	return p;
}

static uint32_t adapt(uint32_t delta, uint32_t points, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / 700 : delta / 2;
	for (delta += delta / points; delta > 455; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

static int put_number(struct oc_buf *out, uint32_t q, uint32_t bias)
{
	static const char digit[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	int rc = 0;

	for (uint32_t k = 36; rc == 0; k += 36) {
		uint32_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;

		if (q < t)
			return oc_buf_add(out, &digit[q], 1);
		rc = oc_buf_add(out, &digit[t + (q - t) % (36 - t)], 1);
		q = (q - t) / (36 - t);
	}
	return rc;
}

static int encode_rest(struct oc_buf *out, const uint32_t *v, uint32_t n, uint32_t basic)
{
	uint32_t point = 128, bias = 72, delta = 0, done = basic;
	int rc = 0;

	while (rc == 0 && done < n) {
		uint32_t next = UINT32_MAX;

		for (uint32_t i = 0; i < n; i++)
			if (v[i] >= point && v[i] < next)
				next = v[i];
		delta += (next - point) * (done + 1);
		for (uint32_t i = 0; rc == 0 && i < n; i++) {
			if (v[i] < next)
				delta++;
			if (v[i] != next)
				continue;
			rc = put_number(out, delta, bias);
			bias = adapt(delta, done + 1, done == basic);
			delta = 0;
			done++;
		}
		delta++;
		point = next + 1;
	}
	return rc;
}

static int put_label(struct oc_buf *out, const unsigned char *p, const unsigned char *end)
{
	uint32_t v[LABEL_MAX], n = 0, basic = 0;
	int rc = 0;

	while (p < end) {
		if (n == LABEL_MAX)
			return OC_ELIMIT;
		p = decode(p, &v[n]);
		v[n] = lower(v[n]);
		basic += v[n++] < 128;
	}
	if (basic < n)
		rc = oc_buf_puts(out, "xn--");
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		char c = (char)v[i];

		if (v[i] < 128)
			rc = oc_buf_add(out, &c, 1);
	}
	if (rc || basic == n)
		return rc;
	if (basic)
		rc = oc_buf_puts(out, "-");
	return rc ? rc : encode_rest(out, v, n, basic);
}

char *oc_punycode_name(const char *name)
{
	struct oc_buf out;
	char *result = NULL;
	int rc = 0;

	if (strlen(name) > 1024 || !oc_utf8_valid(name, strlen(name)))
		return NULL;
	oc_buf_init(&out, 2048);
	while (rc == 0) {
		size_t len = strcspn(name, ".");

		rc = put_label(&out, (const unsigned char *)name, (const unsigned char *)name + len);
		name += len;
		if (*name == '\0')
			break;
		if (rc == 0)
			rc = oc_buf_puts(&out, ".");
		name++;
	}
	if (rc == 0)
		result = oc_buf_steal(&out);
	oc_buf_free(&out);
	return result;
}
