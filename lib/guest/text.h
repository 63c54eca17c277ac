/* SPDX-License-Identifier: Apache-2.0 */
/* The little that the guest needs of what lib/base has: it links nothing but libc, so that one
 * small static file runs in every sandbox. */
#ifndef OC_GUEST_TEXT_H
#define OC_GUEST_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t oc_now_ns(void);
/* Overwrite so that no optimiser leaves it out. */
void oc_wipe(void *p, size_t len);
/* "EACCES"; numbers that have no name here come as "errno 123" in buf (16 bytes or more). */
const char *oc_errno_name(int err, char *buf, size_t size);
/* In place: what is not printable ASCII becomes '?', so that a report can be shown on a terminal as it is. */
void oc_printable(char *s);
/* A decimal number without sign, nothing before or after it. */
bool oc_parse_u64(const char *s, uint64_t *out);
/* The first size-1 bytes of a small file (of /proc), terminated; their number or -errno. */
long oc_read_small(const char *path, char *buf, size_t size);

#endif
