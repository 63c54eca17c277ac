/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OC_BASE_TIME_H
#define OC_BASE_TIME_H

#include "base/util.h"

int64_t oc_mono_ns(void); /* CLOCK_MONOTONIC: durations; does not count suspend */
int64_t oc_mono_ms(void);
int64_t oc_wall_ms(void); /* for display only */
#define OC_TIME_SIZE 25   /* "2026-11-29T19:36:46.123Z" + NUL */
void oc_time_format(int64_t wall_ms, char out[OC_TIME_SIZE]);

#endif
