/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan.h Everything one launch will get, resolved, immutable, with a digest. */
#ifndef OPENCONDUIT_PLAN_H
#define OPENCONDUIT_PLAN_H

#include <openconduit/store.h>

OC_BEGIN_DECLS

typedef struct oc_plan oc_plan;

/** Check a stored plan's text: strict, canonical, every member known.  @param out *new*. */
OC_API OC_WARN_UNUSED int oc_plan_load(const char *text, size_t len, oc_plan **out, oc_error **err);
OC_API const char *oc_plan_json(const oc_plan *plan);   /**< RFC 8785 canonical text.  Borrowed. */
OC_API const char *oc_plan_digest(const oc_plan *plan); /**< "sha256:<64 hex>" of that text.  Borrowed. */
OC_API const char *oc_plan_run(const oc_plan *plan);    /**< Run id.  Borrowed. */
OC_API const char *oc_plan_kind(const oc_plan *plan);   /**< "none" or "sandbox".  Borrowed. */

/** Would it be allowed, by which rule, what line would allow it.
 * @param question "read", "write", "host" or "socket".  @param subject an absolute path, or HOST[:PORT].
 * @param json *new* text: {"question","subject","resolved","allowed","rule","allow_line"}. */
OC_API OC_WARN_UNUSED int oc_plan_explain(const oc_plan *plan, const char *question, const char *subject, char **json,
                                          oc_error **err);
/** What differs: *new* text, [{"path","a","b"}…], empty when the digests are equal. */
OC_API OC_WARN_UNUSED int oc_plan_diff(const oc_plan *a, const oc_plan *b, char **json, oc_error **err);

/** Record the plan durably under its run id, write-once: the same digest again is the same pin,
 * another is OC_EEXISTS.  Nothing is launched without a pin, and what is pinned is what runs. */
OC_API OC_WARN_UNUSED int oc_plan_pin(const oc_plan *plan, oc_store *store, oc_error **err);
OC_API void oc_plan_free(oc_plan *plan); /**< NULL allowed. */

OC_END_DECLS
#endif
