/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OC_BASE_SHA256_H
#define OC_BASE_SHA256_H

#include "base/util.h"

#define OC_DIGEST_SIZE 72 /* "sha256:" + 64 hex + NUL */
int oc_digest(const void *data, size_t len, char out[OC_DIGEST_SIZE]);
int oc_digest_fd(int fd, char out[OC_DIGEST_SIZE]); /* the whole regular file; 0 or -errno */

char *oc_base64_encode(const void *data, size_t len);                      /* new or NULL */
int oc_base64_decode(const char *text, size_t len, void **out, size_t *n); /* new; 0 or OC_E… */

#endif
