/* SPDX-License-Identifier: Apache-2.0 */
/* The little of JSON that the guest reads, from its guard: one pass, nothing allocated, nested at most as deep as a call's
 * answer.  Every function is false where what comes next is not that; then there is nothing more to be had. */
#ifndef OC_GUEST_JSON_H
#define OC_GUEST_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OC_GUEST_JSON_DEPTH 32

struct oc_guest_json {
	const char *at, *end;
	unsigned depth;
};

/* They read the value at hand, all of it. */
typedef bool (*oc_guest_json_member)(struct oc_guest_json *j, const char *key, void *arg);
typedef bool (*oc_guest_json_item)(struct oc_guest_json *j, void *arg);

/* A key longer than any that is asked for comes as its beginning. */
bool oc_guest_json_object(struct oc_guest_json *j, oc_guest_json_member member, void *arg);
bool oc_guest_json_array(struct oc_guest_json *j, oc_guest_json_item item, void *arg);
/* Without U+0000; the whole has to fit, with its end. */
bool oc_guest_json_string(struct oc_guest_json *j, char *out, size_t size);
/* The same, of a longer one the beginning. */
bool oc_guest_json_start(struct oc_guest_json *j, char *out, size_t size);
bool oc_guest_json_number(struct oc_guest_json *j, uint64_t *out); /* whole, not negative */
bool oc_guest_json_bool(struct oc_guest_json *j, bool *out);
bool oc_guest_json_skip(struct oc_guest_json *j);
bool oc_guest_json_end(struct oc_guest_json *j); /* nothing more comes */

#endif
