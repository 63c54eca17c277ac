/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's checkout: where its parts are, and what of its configuration matters.  Found once, by real paths; whatever
 * this provider can't clone whole is refused by name, with the command that mends it. */
#ifndef GIT_CHECKOUT_H
#define GIT_CHECKOUT_H

#include <git2.h>

#include "util.h"

#define OBJECT_DIRS 32

struct checkout {
	char *path;                 /* as it was said, real */
	char *gitdir;               /* where its HEAD is */
	char *common;               /* where its references and objects are; often the same */
	char *objects[OBJECT_DIRS]; /* its own, then those it borrows from */
	size_t nobjects;
	bool bare, shallow, linked, partial;
	/* From its configuration: */
	char *remote;       /* its name in the checkout: "origin", else the only one */
	char *origin;       /* its URL without credentials; or NULL */
	char *name, *email; /* the operator's, or NULL */
	bool ignores_case;
	json_t *notes;
};

/* The shape of what is at path. */
int checkout_open(struct checkout *c, const char *path, struct refusal *r);
/* Its configuration with the operator's own, from the files where git has them (config.c). */
int checkout_configure(struct checkout *c, struct refusal *r);
void checkout_close(struct checkout *c);
/* sandbox_workspace, with "git -C <its path> <command>" for a fix. */
int checkout_refuse(const struct checkout *c, struct refusal *r, const char *command, const char *fmt, ...)
        PRINTF_LIKE(4, 5);
int checkout_note(struct checkout *c, struct refusal *r, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The objects directories of common, with those it borrows from. */
int alternates_load(struct checkout *c, struct refusal *r);

#endif
