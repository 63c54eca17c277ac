/* SPDX-License-Identifier: Apache-2.0 */
/* What git asks a credential helper, read strictly, and whether it asks for what this run's credential is for.  Pure. */
#ifndef OC_GUEST_CREDENTIAL_PARSE_H
#define OC_GUEST_CREDENTIAL_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#define OC_CREDENTIAL_INPUT 65536u /* bytes of a question */
#define OC_CREDENTIAL_LINE  4096u  /* of one of its lines, with the newline */
#define OC_CREDENTIAL_LINES 256u
#define OC_CREDENTIAL_USER  "x-access-token"

/* A part of the question's text; at is NULL where git said nothing of it. */
struct oc_credential_part {
	const char *at;
	size_t len;
};
struct oc_credential_question {
	struct oc_credential_part protocol, host, path, username;
};

/* key=value lines up to an empty one or the end.  NULL, or what is wrong with it in words that repeat nothing of it. */
const char *oc_credential_parse(const char *text, size_t len, struct oc_credential_question *out);

enum oc_credential_match {
	OC_CREDENTIAL_OURS,
	OC_CREDENTIAL_OTHER,  /* another protocol, host, repository or user */
	OC_CREDENTIAL_NO_PATH /* git does not say which repository */
};
/* base: https://HOST[:PORT]; repository: OWNER/NAME, or NULL: any at that host. */
enum oc_credential_match oc_credential_match(const struct oc_credential_question *question, const char *base,
                                             const char *repository);
bool oc_credential_base_valid(const char *base);
bool oc_credential_repository_valid(const char *repository);

#endif
