/* SPDX-License-Identifier: Apache-2.0 */
#include "common/checks.h"

#include <time.h>

int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool checks_add(json_t *checks, const char *id, const char *title, bool ok, const char *detail, const char *fix,
                int64_t ms)
{
	json_t *check = json_pack("{s:s, s:s, s:b, s:s?, s:s?, s:I}", "id", id, "title", title, "ok", ok, "detail",
	                          detail, "fix", ok ? NULL : fix, "ms", (json_int_t)ms);

	return check && json_array_append_new(checks, check) == 0;
}

bool checks_add_step(json_t *checks, const char *id, const char *title, int rc, struct refusal *r, const char *detail,
                     int64_t begin)
{
	bool added = checks_add(checks, id, title, rc == 0, rc == 0 ? detail : r->message, r->fix, now_ms() - begin);

	refusal_clear(r);
	return added;
}
