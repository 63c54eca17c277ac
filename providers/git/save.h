/* SPDX-License-Identifier: Apache-2.0 */
/* Between the three parts of a save: save.c (the provider itself, which reads nothing of an agent's), save_take.c (the
 * first child: out of the clone into the quarantine) and save_give.c (the second: out of the quarantine into the checkout).
 *
 * The first says what there is to save:
 *   {"tip":"<id>"|null,"whole":true,"refs":[{"suffix","id","what","left":bool}],"lost":[…],"notes":[…],"objects":n} */
#ifndef GIT_SAVE_H
#define GIT_SAVE_H

#include "checkout.h"
#include "refs.h"

struct save {
	const char *dir, *quarantine, *work, *branch, *baseline;
	const json_t *root, *git; /* numbers of the workspace's folder and of its .git */
	bool final;
	struct checkout checkout;
	struct refs refs; /* the checkout's, before anything is changed */
	struct text shallow;
	const json_t *found; /* what the first child said; checked in form */
};

/* Steps for task_run(); arg is a struct save. */
int save_take(void *arg, json_t **reply, struct refusal *r);
int save_give(void *arg, json_t **reply, struct refusal *r);

#define SAVE_REFS "refs/open-conduit/"
/* The suffix of a reference of ours: letters, digits and . _ / + = @ - only, and a name that git takes. */
bool save_suffix_valid(const char *suffix);

#endif
