/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of the toolbelt, and the toolsets that stand for several. */
#ifndef HOST_CONFIG_OPERATIONS_H
#define HOST_CONFIG_OPERATIONS_H

#include "config.h"
#include "doc.h"

/* A set of operations; which bit is which is known to operations.c alone. */
typedef uint64_t operation_set;

operation_set operation_expand(const char *name); /* of an operation or a toolset; 0: there is none such */
operation_set operation_expand_all(const struct config_texts *names);
/* The names of a set, sorted. */
struct config_texts operation_list(struct arena *a, operation_set set);
/* The first of a set, or NULL. */
const char *operation_first(operation_set set);
bool operation_needs_connection(operation_set set);
/* The toolset that has this operation and is shortest, or NULL. */
const char *operation_toolset(const char *operation);

#endif
