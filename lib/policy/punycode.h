/* SPDX-License-Identifier: Apache-2.0 */
/* The xn-- form of a name, for the fix of a refusal: nothing is ever looked up by it. */
#ifndef OC_POLICY_PUNYCODE_H
#define OC_POLICY_PUNYCODE_H

/* name is UTF-8.  New, or NULL: no memory, no valid name, or nothing to convert. */
char *oc_punycode_name(const char *name);

#endif
