/* SPDX-License-Identifier: Apache-2.0 */
/* The files by which others know what happened, each durable before the step it announces. */
#ifndef OC_GUARD_RECORD_H
#define OC_GUARD_RECORD_H

#include "base/json.h"

struct oc_guard;

/* May a guard be started in this directory at all?  A run that is over, or one whose end nobody settled, is refused. */
int oc_record_check_earlier(int run_dir, oc_error **err);
int oc_record_guard(struct oc_guard *g, oc_error **err); /* guard.json */
/* Room for the exit record and a reserve beside it; what an earlier attempt left is removed. */
int oc_record_reserve(struct oc_guard *g, oc_error **err);
int oc_record_started(struct oc_guard *g, oc_error **err); /* of the launch process */
int oc_record_proved(struct oc_guard *g, oc_error **err);
json_t *oc_record_exit_json(const struct oc_guard *g); /* new, or NULL */
int oc_record_exit(struct oc_guard *g, oc_error **err);

#endif
