/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of oc_workspace share. */
#ifndef OC_BROKER_WORKSPACE_H
#define OC_BROKER_WORKSPACE_H

#include <openconduit/workspace.h>

#include "base/json.h"
#include "store/works.h"

/* provider_failed: a member of an answer that the protocol doesn't allow. */
int oc_reply_wrong(const char *provider, const char *field, const char *why, oc_error **err);
/* What a provider answered, strictly: every member known and of its type, nothing out of bounds, refs and numbers of this
 * Work alone; else `provider_failed`. */
int oc_workspace_check_created(const char *provider, const json_t *work, const json_t *reply, oc_error **err);
int oc_workspace_check_saved(const char *provider, const json_t *work, const json_t *reply, oc_error **err);
int oc_workspace_check_removed(const char *provider, const json_t *reply, oc_error **err);

/* A row with what is computed: "workspace", "unsaved", "runs". */
int oc_work_whole(oc_store *store, json_t *work, oc_error **err);

#endif
