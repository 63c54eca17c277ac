/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256_ni.h"

/* What the processor has, glibc asked when the program began: to ask here takes microseconds in a virtual machine, and to
 * remember it, state of our own. */
#if defined(__x86_64__) && defined(__has_include)
#if __has_include(<sys/platform/x86.h>)
#define HAVE_NI 1
#endif
#endif

#ifdef HAVE_NI
#include <immintrin.h>
#include <sys/platform/x86.h>

static const uint32_t rounds[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

bool oc_sha256_ni(void)
{
	return CPU_FEATURE_ACTIVE(SHA) && CPU_FEATURE_ACTIVE(SSE4_1) && CPU_FEATURE_ACTIVE(SSSE3);
}

#define NI __attribute__((target("sha,sse4.1,ssse3"), always_inline)) static inline

struct halves {
	__m128i abef, cdgh;
};

NI __m128i load(const void *data)
{
	return _mm_loadu_si128((const __m128i *)data);
}

/* The next four words of the schedule, from the sixteen before them. */
NI __m128i next(__m128i a, __m128i b, __m128i c, __m128i d)
{
	return _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(a, b), _mm_alignr_epi8(d, c, 4)), d);
}

/* Four rounds.  Each instruction does two, and gives the one half of the state from the other. */
NI void four(struct halves *s, __m128i words, const uint32_t *constants)
{
	__m128i both = _mm_add_epi32(words, load(constants));

	s->cdgh = _mm_sha256rnds2_epu32(s->cdgh, s->abef, both);
	s->abef = _mm_sha256rnds2_epu32(s->abef, s->cdgh, _mm_shuffle_epi32(both, 0x0e));
}

NI void block(struct halves *s, const unsigned char *data)
{
	const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i a = _mm_shuffle_epi8(load(data), big_endian), b = _mm_shuffle_epi8(load(data + 16), big_endian);
	__m128i c = _mm_shuffle_epi8(load(data + 32), big_endian), d = _mm_shuffle_epi8(load(data + 48), big_endian);
	const struct halves before = *s;

	for (int i = 0;; i += 16) {
		four(s, a, rounds + i);
		four(s, b, rounds + i + 4);
		four(s, c, rounds + i + 8);
		four(s, d, rounds + i + 12);
		if (i == 48)
			break;
		a = next(a, b, c, d);
		b = next(b, c, d, a);
		c = next(c, d, a, b);
		d = next(d, a, b, c);
	}
	s->abef = _mm_add_epi32(s->abef, before.abef);
	s->cdgh = _mm_add_epi32(s->cdgh, before.cdgh);
}

/* The instructions want the state in another order. */
__attribute__((target("sha,sse4.1,ssse3"))) void oc_sha256_ni_blocks(uint32_t state[8], const unsigned char *data,
                                                                     size_t n)
{
	__m128i cdab = _mm_shuffle_epi32(load(state), 0xb1), efgh = _mm_shuffle_epi32(load(state + 4), 0x1b);
	struct halves s = { _mm_alignr_epi8(cdab, efgh, 8), _mm_blend_epi16(efgh, cdab, 0xf0) };

	for (; n; n--, data += 64)
		block(&s, data);
	cdab = _mm_shuffle_epi32(s.abef, 0x1b);
	efgh = _mm_shuffle_epi32(s.cdgh, 0xb1);
	_mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(cdab, efgh, 0xf0));
	_mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(efgh, cdab, 8));
}
#else
bool oc_sha256_ni(void)
{
	return false;
}

void oc_sha256_ni_blocks(uint32_t state[8] OC_UNUSED, const unsigned char *data OC_UNUSED, size_t n OC_UNUSED)
{
}
#endif
