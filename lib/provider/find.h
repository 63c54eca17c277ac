/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OC_PROVIDER_FIND_H
#define OC_PROVIDER_FIND_H

#include "provider/client.h"

bool oc_provider_name_valid(const char *name);
/* The executable's path, new; a refusal where there is none that can be trusted. */
int oc_provider_find(const oc_context *ctx, const char *name, const char *provider_dir, char **out, oc_error **err);

#endif
