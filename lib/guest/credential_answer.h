/* SPDX-License-Identifier: Apache-2.0 */
/* What a run's toolbelt answers to the call of github.git.credential, read as far as that goes.  Pure, bounded, strict: JSON
 * that is none, a member that is there twice, a value that git could take for two is no answer. */
#ifndef OC_GUEST_CREDENTIAL_ANSWER_H
#define OC_GUEST_CREDENTIAL_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#define OC_CREDENTIAL_ANSWER 65536u /* bytes of a line */

enum oc_credential_outcome {
	OC_CREDENTIAL_NONE,    /* no answer to this call */
	OC_CREDENTIAL_GIVEN,   /* username, password, expires */
	OC_CREDENTIAL_REFUSED, /* text: the tool's own words */
	OC_CREDENTIAL_UNKNOWN, /* there is no such tool */
	OC_CREDENTIAL_ERROR    /* text: of another error of the protocol */
};
struct oc_credential_answer {
	char username[256], password[8192]; /* printable, without blanks */
	uint64_t expires;                   /* ms since 1970; 0: it does not say */
	char text[4096];
};

/* line: without its newline. */
enum oc_credential_outcome oc_credential_answer(const char *line, size_t len, struct oc_credential_answer *out);

#endif
