/* SPDX-License-Identifier: Apache-2.0 */
/** @file visibility.h Words used in every header.
 *
 * Ownership: *new* (the caller owns it; the free function is named), *borrowed* (valid until
 * what is said), *copied* (the caller may reuse its memory at once), *taken* (the callee owns it
 * on success).  Functions return 0 or more on success and a negative enum oc_code otherwise;
 * outputs are written only on success, `*err` only on failure and only where it is not NULL.
 * One thread at a time per context and everything made from it; contexts share nothing. */
#ifndef OPENCONDUIT_VISIBILITY_H
#define OPENCONDUIT_VISIBILITY_H

#if defined(__GNUC__)
#define OC_API         __attribute__((visibility("default")))
#define OC_WARN_UNUSED __attribute__((warn_unused_result))
#else
#define OC_API
#define OC_WARN_UNUSED
#endif

#ifdef __cplusplus
#define OC_BEGIN_DECLS extern "C" {
#define OC_END_DECLS   }
#else
#define OC_BEGIN_DECLS
#define OC_END_DECLS
#endif

#endif
