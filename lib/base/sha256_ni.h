/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256's compression by the processor's own instructions, where it has them: a run's preflight digests whole programs,
 * and mbedTLS 2.28 does that in plain C, at a fifth of the speed. */
#ifndef OC_BASE_SHA256_NI_H
#define OC_BASE_SHA256_NI_H

#include <stdint.h>

#include "base/util.h"

bool oc_sha256_ni(void);
/* n blocks of 64 bytes.  Only where the processor has it. */
void oc_sha256_ni_blocks(uint32_t state[8], const unsigned char *data, size_t n);

#endif
