/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CONFIG_SCHEMA_H
#define HOST_CONFIG_SCHEMA_H

#include <jansson.h>

/* The config as a JSON Schema (draft 2020-12), made from the table that the reader uses.  New, or NULL. */
json_t *config_schema(void);

#endif
