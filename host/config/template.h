/* SPDX-License-Identifier: Apache-2.0 */
/* "agent/issue-{number}": text with placeholders, each of which has to be filled. */
#ifndef HOST_CONFIG_TEMPLATE_H
#define HOST_CONFIG_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

struct text;

/* The value of a placeholder (name: a lower case letter, then also digits, _ and inner dots); NULL: there is none. */
typedef const char *(*template_value)(const char *name, size_t len, void *userdata);
/* Append the filled template; "{{" and "}}" are single braces.  NULL, or why not (static); then *at and *len, where
 * not NULL, say what of the template it is. */
const char *template_fill(struct text *out, const char *text, template_value value, void *userdata, size_t *at,
                          size_t *len);
/* May this be a branch: refs/heads/NAME by git's rules, and no option of a command?  NULL, or why not (static). */
const char *branch_name_check(const char *name);

#endif
