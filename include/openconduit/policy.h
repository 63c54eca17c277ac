/* SPDX-License-Identifier: Apache-2.0 */
/** @file policy.h "The policy is exactly what runs get." */
#ifndef OPENCONDUIT_POLICY_H
#define OPENCONDUIT_POLICY_H

#include <stddef.h>

#include <openconduit/error.h>

OC_BEGIN_DECLS

typedef struct oc_policy oc_policy;

/** Parse and check a policy's text: grammar, unknown keys (with the nearest known one), hosts and
 * paths.  Nothing on disk is looked at.  Every violation is reported (oc_error_next()), reason
 * `sandbox_config`, subject the field path.
 * @param kind "none" (text NULL or "{}"), "sandbox", "container"; "machine" is known and refused
 * with `sandbox_unavailable`.  A container's policy is checked whole, though no broker runs it yet.
 * @param text what the operator wrote; copied.  @param out *new*; oc_policy_free(). */
OC_API OC_WARN_UNUSED int oc_policy_parse(const char *kind, const char *text, size_t len, oc_policy **out,
                                          oc_error **err);
OC_API const char *oc_policy_kind(const oc_policy *policy); /**< Static. */
OC_API const char *oc_policy_text(const oc_policy *policy); /**< As written.  Borrowed. */
OC_API const char *oc_policy_json(const oc_policy *policy); /**< Normalised, canonical.  Borrowed. */
OC_API void oc_policy_free(oc_policy *policy);              /**< NULL allowed. */

OC_END_DECLS
#endif
