/* SPDX-License-Identifier: Apache-2.0 */
/* A home, a workspace beside it and a state directory, to resolve policies against. */
#ifndef OC_TESTS_WORLD_H
#define OC_TESTS_WORLD_H

#include "policy/policy.h"

struct world {
	char *root, *home, *workspace, *state, *config, *run;
	char *environ[8];
	size_t n_environ;
	struct oc_strv tools;
	enum oc_git_mode git;
	const char *work;
	const char *libexec;
	const char *kind;       /* of the policies; "sandbox" */
	const char *agent_home; /* a container's */
};
void world_make(struct world *w);
void world_end(struct world *w);

/* "~/x", "{workspace}/x", "{state}/x", "{root}/x" or absolute; new */
char *world_path(const struct world *w, const char *name);
void world_dir(const struct world *w, const char *name);                    /* parents too */
void world_file(const struct world *w, const char *name, const char *text); /* NULL: its own path */
void world_link(const struct world *w, const char *name, const char *to);   /* to: as above, or relative */
void world_env(struct world *w, const char *name, const char *path);

/* Parse and resolve; policy text may hold {root} and {state}. */
int world_resolve(const struct world *w, const char *policy, json_t **resolved, oc_error **err);
json_t *world_granted(const struct world *w, const char *policy); /* must succeed */
/* Must be refused: with this reason, some link of the chain naming `word` in subject, message or fix. */
void world_refused(const struct world *w, const char *policy, const char *reason, const char *word);
bool world_read(const struct world *w, const json_t *resolved, const char *name);
bool world_write(const struct world *w, const json_t *resolved, const char *name);
/* The entry of a list (write, read, hidden, …) with this path, or NULL; whether there is one. */
const json_t *world_entry(const json_t *resolved, const char *list, const char *path);
bool world_listed(const struct world *w, const json_t *resolved, const char *list, const char *name);
void world_repository(const struct world *w, const char *git); /* what git takes for one */
void world_clone(const struct world *w);                       /* a clone of Open Conduit's in the workspace */

#endif
