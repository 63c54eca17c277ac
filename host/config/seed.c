/* SPDX-License-Identifier: Apache-2.0 */
/* home_seed: what a Work's home starts with configures its agents, so it is the operator's alone, and holds nothing that a
 * container is kept from. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read.h"

static const char elsewhere[] = "make a directory of its own, and copy what the agent is to have into it";

/* Told when the seed is this one, or contains it: all of it would be copied. */
static bool holds(struct reading *r, const char *field, const char *seed, const char *theirs, const char *what)
{
	enum path_relation relation = path_relation(seed, theirs);

	if (relation != PATHS_SAME && relation != PATHS_SECOND_INSIDE)
		return false;
	bad_as(r, &(struct bad){ .field = field, .subject = seed }, elsewhere, "%s %s %s", seed,
	       relation == PATHS_SAME ? "is" : "contains", what);
	return true;
}

static bool holds_ours(struct reading *r, const char *field, const char *seed)
{
	const char *own = r->world.claude_config_dir;

	return holds(r, field, seed, at(r, "%s/.claude", r->world.home), "your own ~/.claude") ||
	       (own && own[0] == '/' && holds(r, field, seed, own, "your own CLAUDE_CONFIG_DIR")) ||
	       holds(r, field, seed, r->world.state_dir, "Open Conduit's state") ||
	       holds(r, field, seed, r->config->dir, "Open Conduit's config");
}

/* Who else could change what is there; by convention a user's own group has no other member. */
static const char *others(const struct stat *st, bool above)
{
	bool sticky = above && (st->st_mode & S_ISVTX), own_group = st->st_gid == getegid() && st->st_gid == geteuid();

	if (st->st_uid != geteuid() && !(above && !st->st_uid))
		return "belongs to another user";
	if ((st->st_mode & S_IWOTH) && !sticky)
		return "is writable by every user";
	return (st->st_mode & S_IWGRP) && !sticky && !own_group && st->st_gid ? "is writable by its group" : NULL;
}

/* Whoever may write a directory on the way to it can put another there. */
static void check_others(struct reading *r, const char *field, const char *seed)
{
	const char *path = seed;

	for (bool above = false; path; above = true) {
		const char *slash = strrchr(path, '/'), *why;
		struct stat st;

		why = stat(path, &st) < 0 ? strerror(errno) : others(&st, above);
		if (why) {
			bad_as(r, &(struct bad){ .field = field, .subject = path },
			       strncmp(why, "belongs", 7) ? at(r, "chmod go-w '%s'", path) : elsewhere,
			       "the agent's home would start with it, and %s %s", path, why);
			return;
		}
		path = path[1] ? at(r, "%.*s", slash == path ? 1 : (int)(slash - path), path) : NULL;
	}
}

void check_seed(struct reading *r, const struct config_binding *b)
{
	const char *field = at(r, "%s.config.home_seed", b->field), *seed = b->config->home_seed;
	struct stat st;

	if (!seed)
		return;
	if (!b->container) {
		bad(r, field, "remove it", "only a container has a home of its own to seed");
		return;
	}
	if (r->world.no_disk)
		return;
	if (stat(seed, &st) < 0 || !S_ISDIR(st.st_mode))
		bad_as(r, &(struct bad){ .field = field, .subject = seed }, quoted_mkdir(r, seed),
		       "there is no directory %s", seed);
	else if (!holds_ours(r, field, seed))
		check_others(r, field, seed);
}

/* A run that may write there decides what the next Work's agent is. */
static void check_grants(struct reading *r, const struct config_binding *seeded, const struct config_binding *b)
{
	const struct node *normal =
	        b->place && b->place->policy ? policy_normal(r, b->kind, b->place->policy, NULL) : NULL;
	const struct config_texts write = policy_list(r, normal, "write");

	for (size_t i = 0; i < write.n; i++) {
		const char *path = path_expand(r, write.v[i]);

		if (path && path[0] == '/' && path_relation(seeded->config->home_seed, path) != PATHS_APART)
			bad_as(r,
			       &(struct bad){ .field = at(r, "%s.%s.config.write[%zu]", b->field, b->kind, i),
			                      .reason = "sandbox_denied",
			                      .subject = path },
			       "take it out of write, or keep the home_seed elsewhere",
			       "%s lets a run write into %s, the home_seed of %s", b->full, seeded->config->home_seed,
			       seeded->full);
	}
}

static void check_all(struct reading *r, const struct config_binding *seeded)
{
	for (size_t s = 0; s < r->config->n_scopes; s++)
		for (size_t i = 0; i < r->config->scopes[s].n_bindings; i++)
			check_grants(r, seeded, &r->config->scopes[s].bindings[i]);
}

void check_seeds(struct reading *r)
{
	for (size_t s = 0; s < r->config->n_scopes && !r->world.no_disk; s++)
		for (size_t i = 0; i < r->config->scopes[s].n_bindings; i++) {
			const struct config_binding *b = &r->config->scopes[s].bindings[i];

			if (b->config && b->config->home_seed && b->container)
				check_all(r, b);
		}
}
