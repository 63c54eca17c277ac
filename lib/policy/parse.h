/* SPDX-License-Identifier: Apache-2.0 */
/* What the parsers of the kinds of policy share. */
#ifndef OC_POLICY_PARSE_H
#define OC_POLICY_PARSE_H

#include "policy/policy.h"
#include "policy/violations.h"

struct oc_parsing {
	struct oc_violations bad;
	bool all;      /* unix_sockets */
	bool loopback; /* a loopback literal with its port may be a host */
};
/* One entry of a list: its normal form is appended to out, or what is wrong with it told. */
typedef void (*oc_entry_fn)(struct oc_parsing *p, const char *field, const char *text, json_t *out);
void oc_parsing_path(struct oc_parsing *p, const char *field, const char *text, json_t *out);
void oc_parsing_host(struct oc_parsing *p, const char *field, const char *text, json_t *out);
/* The normal form of a list (NULL: empty); new, or NULL without memory (told). */
json_t *oc_parsing_list(struct oc_parsing *p, const char *field, const json_t *list, oc_entry_fn fn);
/* oc_json_unpack() with what is wrong told; an absent object is no error. */
void oc_parsing_unpack(struct oc_parsing *p, const json_t *object, const char *path, const struct oc_json_key *keys,
                       size_t n);

/* container.c */
/* The text with each number that has a fraction as a string that no policy can hold otherwise: a fraction is read from
 * its digits, never through binary floating point.  Negative: an error is set. */
int oc_container_quote(const char *text, size_t len, struct oc_buf *out, oc_error **err);
/* The normal form of a container's policy, or NULL (told): image, write, read, network{allow}, provider{context} and
 * limits{nano_cpus, memory, pids}, where 0 means none. */
json_t *oc_container_normalise(struct oc_parsing *p, const json_t *root);

#endif
