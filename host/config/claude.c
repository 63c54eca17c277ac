/* SPDX-License-Identifier: Apache-2.0 */
/* "A sandboxed Claude Code binding needs a config directory of its own": what a run writes there, such as a hook, would
 * otherwise run as the operator in every session they start. */
#include <string.h>
#include <sys/stat.h>

#include "read.h"

static const char fix[] = "set CLAUDE_CONFIG_DIR in config.env to an absolute directory that no claude of yours uses, "
                          "create it, and grant it in write";

/* Told when the directory is this one of the operator's, or contains it, or is in it. */
static bool is_theirs(struct reading *r, const char *field, const char *dir, const char *theirs, const char *what)
{
	enum path_relation relation = path_relation(dir, theirs);

	if (relation == PATHS_APART)
		return false;
	bad_as(r, &(struct bad){ .field = field, .subject = dir }, fix, "%s %s %s%s", dir,
	       relation == PATHS_SAME           ? "is"
	       : relation == PATHS_FIRST_INSIDE ? "is inside"
	                                        : "contains",
	       what, relation == PATHS_SAME ? ", also by another name" : "");
	return true;
}

/* Does a write grant cover the directory?  Placeholders lead to no directory of the operator's. */
static bool is_granted(struct reading *r, const char *dir, const struct config_texts *write)
{
	for (size_t i = 0; i < write->n; i++) {
		const char *grant = path_expand(r, write->v[i]);
		enum path_relation relation;

		if (!grant || grant[0] != '/')
			continue;
		relation = path_relation(dir, grant);
		if (relation == PATHS_SAME || relation == PATHS_FIRST_INSIDE)
			return true;
	}
	return false;
}

void check_claude(struct reading *r, const struct config_binding *b, const struct config_texts *write)
{
	const struct config_pair *set = pairs_find(&b->config->env, "CLAUDE_CONFIG_DIR");
	const char *field = at(r, "%s.config.env.CLAUDE_CONFIG_DIR", b->field), *why;
	bool theirs;
	struct stat st;

	if (!set) {
		bad(r, field, fix, "a sandboxed Claude Code binding needs a config directory of its own");
		return;
	}
	why = set->value[0] == '/' ? path_check(set->value) : "is not absolute";
	if (why) {
		bad(r, field, fix, "CLAUDE_CONFIG_DIR %s", why);
		return;
	}
	if (r->world.no_disk)
		return;
	theirs = is_theirs(r, field, set->value, at(r, "%s/.claude", r->world.home), "your own ~/.claude") ||
	         is_theirs(r, field, set->value, at(r, "%s/.claude.json", r->world.home), "your own ~/.claude.json");
	if (!theirs && r->world.claude_config_dir && r->world.claude_config_dir[0] == '/')
		theirs = is_theirs(r, field, set->value, r->world.claude_config_dir, "your own CLAUDE_CONFIG_DIR");
	if (theirs)
		return;
	if (stat(set->value, &st) < 0 || !S_ISDIR(st.st_mode))
		bad_as(r, &(struct bad){ .field = field, .subject = set->value }, quoted_mkdir(r, set->value),
		       "there is no directory %s", set->value);
	else if (write && !is_granted(r, set->value, write))
		bad_as(r, &(struct bad){ .field = at(r, "%s.sandbox.config.write", b->field), .subject = set->value },
		       at(r, "add \"%s\" to write", set->value), "claude's config directory %s is not granted in write",
		       set->value);
}
