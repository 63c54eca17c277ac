/* SPDX-License-Identifier: Apache-2.0 */
/* Is everything still as it was planned?  All checks run, all that fail are reported. */
#ifndef OC_GUARD_PREFLIGHT_H
#define OC_GUARD_PREFLIGHT_H

#include "guard/plan_view.h"

/* 0, or the chain of refusals.  Makes the run's private directories when nothing was refused. */
int oc_preflight(int run_dir, const struct oc_plan_view *plan, oc_error **err);
/* The same where it takes a moment only, and nothing stands against it: true, and the run's directories are made.  false
 * says nothing: ask oc_preflight(). */
bool oc_preflight_quick(int run_dir, const struct oc_plan_view *plan);
/* Are guest and provider still the ones that were planned?  Asked at the launch, not before: a held run may wait long,
 * and what was true when it began to wait says nothing then. */
int oc_preflight_programs(const struct oc_plan_view *plan, oc_error **err);
/* By this guard or an earlier one, as far as can be told. */
bool oc_preflight_started(int run_dir);

#endif
