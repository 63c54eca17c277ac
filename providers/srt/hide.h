/* SPDX-License-Identifier: Apache-2.0 */
/* From the rules about reading to what srt has to hide and give back. */
#ifndef SRT_HIDE_H
#define SRT_HIDE_H

#include "common/files.h"

#define HIDE_LINKS_MAX 4000u
/* Entries of denyRead, allowRead and what is given back writable: three words of bwrap's 9,000 each. */
#define HIDE_MAX 2000u

struct hidden {
	struct list deny, allow; /* denyRead, allowRead */
	struct list write;       /* what a grant above a hidden directory covers: given back writable */
	json_t *links;           /* path: target, of links that the guest makes again */
	struct list notes;
};
/* `lifts`: what this run itself has to read, whatever hides it (its TMPDIR, the guest, srt's helper). */
int hide(const json_t *resolved, const struct list *lifts, struct hidden *out, struct refusal *r);
void hidden_clear(struct hidden *h);

#endif
