/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc_fail.h"

#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ROUNDS_MAX 100000

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
void __wrap_free(void *p);

static struct {
	bool armed, reached;
	long left, live;
} state;

static bool fails(void)
{
	if (!state.armed || state.reached || state.left-- > 0)
		return false;
	state.reached = true;
	errno = ENOMEM;
	return true;
}

static void *count(void *p)
{
	state.live += p != NULL;
	return p;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : count(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : count(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	if (fails())
		return NULL;
	return p ? __real_realloc(p, size) : count(__real_realloc(NULL, size));
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size) {
		errno = ENOMEM;
		return NULL;
	}
	return __wrap_realloc(p, n * size);
}

char *__wrap_strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *out = __wrap_malloc(len + 1);

	if (out) {
		memcpy(out, s, len);
		out[len] = '\0';
	}
	return out;
}

char *__wrap_strdup(const char *s)
{
	return __wrap_strndup(s, SIZE_MAX);
}

void __wrap_free(void *p)
{
	state.live -= p != NULL;
	__real_free(p);
}

void alloc_fail_arm(long n)
{
	json_set_alloc_funcs(__wrap_malloc, __wrap_free);
	state.left = n;
	state.reached = false;
	state.armed = true;
}

int alloc_fail_disarm(void)
{
	state.armed = false;
	return state.reached;
}

long alloc_fail_live(void)
{
	return state.live;
}

long alloc_fail_each(int (*fn)(void *userdata), void *userdata, int may_cope)
{
	for (long n = 0; n < ROUNDS_MAX; n++) {
		long before, after;
		int rc, reached;

		alloc_fail_arm(n);
		before = alloc_fail_live();
		rc = fn(userdata);
		after = alloc_fail_live();
		reached = alloc_fail_disarm();
		ck_assert_msg(before == after, "allocation %ld failing: %ld blocks are left", n, after - before);
		if (!reached) {
			ck_assert_msg(rc == 0, "undisturbed, it still returns %d", rc);
			return n;
		}
		ck_assert_msg(rc < 0 || (may_cope && rc == 0), "allocation %ld failing: returns %d", n, rc);
	}
	ck_abort_msg("no end after %d allocations", ROUNDS_MAX);
	return -1;
}
