/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of oc_resolve(): what its parts share.  Each part adds what it found to `out` and what is wrong to
 * `bad`; none stops at the first violation. */
#ifndef OC_POLICY_RESOLVE_H
#define OC_POLICY_RESOLVE_H

#include "policy/mounts.h"
#include "policy/policy.h"
#include "policy/violations.h"

#define OC_RULE_SIZE 32
struct oc_grant {
	struct oc_place place;
	char rule[OC_RULE_SIZE];
	const char *as;
	struct oc_strv links; /* where each link on its way was */
};

struct oc_guarded { /* a place that no policy reaches */
	struct oc_place place;
	const char *what;
};

struct oc_resolving {
	const struct oc_resolve_input *in;
	char *home, *workspace, *run_dir; /* real */
	char *agent_home;                 /* real; a container's */
	bool own_workspace;               /* it lies in our state, made by us */
	bool container;
	struct oc_mounts mounts;
	struct oc_violations bad;
	struct oc_grant *grants; /* to write */
	struct oc_grant *reads;  /* a container's: to read */
	struct oc_guarded *guarded;
	size_t n_grants, n_reads, n_guarded;
	json_t *out;
};

/* resolve.c */
/* Real path of an absolute one; false when something was wrong with it (told).  subject: the field. */
bool oc_resolving_walk(struct oc_resolving *r, const char *subject, const char *path, char **real, bool *missing,
                       struct oc_strv *links);
/* The same where a circle of links simply leads nowhere, and a name that isn't UTF-8 is the caller's to judge. */
bool oc_resolving_find(struct oc_resolving *r, const char *path, char **real, bool *missing);
char *oc_resolving_expand(struct oc_resolving *r, const char *subject, const char *text);
bool oc_resolving_utf8(struct oc_resolving *r, const char *subject, const char *path);
void oc_resolving_emit(struct oc_resolving *r, const char *list, json_t *entry_taken);
bool oc_resolving_listed(const struct oc_resolving *r, const char *list, const char *path);
const char *oc_resolving_env(const struct oc_resolving *r, const char *name);
/* Refuse a rule whose way leads through a link that a run could have made. */
bool oc_resolving_planted(struct oc_resolving *r, const char *rule, const struct oc_strv *links);
/* One more grant of `list`, which has room for it.  true: it is in order, and there once. */
bool oc_resolving_grant(struct oc_resolving *r, struct oc_grant *list, size_t *n, const char *rule, const char *as);
json_t *oc_policy_id(uint64_t value); /* a device or inode number as JSON can hold it: its lower 53 bits */

/* guard.c */
void oc_resolve_protected(struct oc_resolving *r);
void oc_resolve_guard_grants(struct oc_resolving *r);
bool oc_resolve_guard_path(struct oc_resolving *r, const char *rule, const char *real); /* at or beneath: told */
void oc_resolve_tools(struct oc_resolving *r);

/* reading.c */
void oc_resolve_reading(struct oc_resolving *r);

/* granted.c: what a container has of this machine */
void oc_resolve_granted(struct oc_resolving *r);

/* git.c */
void oc_resolve_git(struct oc_resolving *r);

/* hidden.c */
void oc_resolve_sockets(struct oc_resolving *r);

/* rules.c: the entry of `read` that decides, or NULL */
const json_t *oc_resolved_rule(const json_t *resolved, const char *path);

#endif
