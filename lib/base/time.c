/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"

#include <stdio.h>
#include <time.h>

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts = { 0 };

	/* Fails for an unknown clock only, and these two are everywhere. */
	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t oc_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t oc_mono_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

int64_t oc_wall_ms(void)
{
	return clock_ns(CLOCK_REALTIME) / 1000000;
}

void oc_time_format(int64_t wall_ms, char out[OC_TIME_SIZE])
{
	/* 0001-01-01 and 9999-12-31: beyond, the text would not have its length. */
	const int64_t least = -62135596800000, most = 253402300799999;
	int64_t ms = OC_MAX(least, OC_MIN(most, wall_ms));
	int64_t rest = (ms % 1000 + 1000) % 1000;
	time_t t = (time_t)((ms - rest) / 1000);
	char text[64];
	struct tm tm;

	if (!gmtime_r(&t, &tm))
		tm = (struct tm){ .tm_mday = 1, .tm_year = 70 };
	snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
	         tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)rest);
	snprintf(out, OC_TIME_SIZE, "%.24s", text);
}
