/* SPDX-License-Identifier: Apache-2.0 */
/* The part of JSON Schema that a tool's arguments are described and checked with: "type" (object, array, string, integer,
 * boolean), "properties", "required", "additionalProperties" (true or false), "items", "enum", "minLength", "maxLength",
 * "minimum", "maximum"; "title", "description" and "default" say nothing.  What else a schema says would not be checked, so
 * a schema that says more is refused. */
#ifndef OC_WIRE_SCHEMA_H
#define OC_WIRE_SCHEMA_H

#include "base/json.h"

#define OC_SCHEMA_DEPTH 8

/* Every violation is chained, reason `reason`, with the path in the schema after `path` as subject. */
int oc_schema_check(const json_t *schema, const char *path, const char *reason, oc_error **err);

/* Does the value fit the schema (one that oc_schema_check took)?  0; OC_EINVAL and what is wrong with it in `why`, a
 * sentence for whoever wrote the value, each path beginning with `name`; or OC_ENOMEM.  A text with U+0000 fits nothing.
 * What `why` may hold bounds what is told; texts of the value are in it in part and escaped. */
int oc_schema_fits(const json_t *schema, const json_t *value, const char *name, struct oc_buf *why);

#endif
