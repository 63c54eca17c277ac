/* SPDX-License-Identifier: Apache-2.0 */
/* What the guest tells: frames made of printf-like text, always printable ASCII. */
#ifndef OC_GUEST_REPORT_H
#define OC_GUEST_REPORT_H

#include "guest/link.h"

#define OC_DETAIL_MAX 480

void oc_report_fact(struct oc_link *l, const char *name, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void oc_report_result(struct oc_link *l, const char *id, bool ok, uint64_t ns, const char *detail);
void oc_report_ready(struct oc_link *l, uint64_t ns, uint32_t failures);
void oc_report_failed(struct oc_link *l, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void oc_report_exit(struct oc_link *l, int wait_status);

#endif
