/* SPDX-License-Identifier: Apache-2.0 */
/* Two bindings that may write one folder: what a run of one leaves there, the other's runs read. */
#include <string.h>

#include "read.h"

/* One folder that one binding's runs may write. */
struct shared {
	const struct config_binding *b;
	const char *field, *path;
	bool claude; /* its config directory */
};

static void collect(struct reading *r, const struct config_binding *b, struct shared *out, size_t *n, size_t max)
{
	const struct config_pair *dir = pairs_find(&b->config->env, "CLAUDE_CONFIG_DIR");
	const struct node *normal =
	        b->place && b->place->policy ? policy_normal(r, b->kind, b->place->policy, NULL) : NULL;
	const struct config_texts write = policy_list(r, normal, "write");

	for (size_t i = 0; i < write.n && *n < max; i++) {
		const char *path = path_expand(r, write.v[i]);

		if (path && path[0] == '/')
			out[(*n)++] = (struct shared){ b, at(r, "%s.%s.config.write[%zu]", b->field, b->kind, i), path,
				                       dir && path_relation(dir->value, path) != PATHS_APART };
	}
}

static void warn(struct reading *r, const struct shared *first, const struct shared *second)
{
	const char *what = first->claude && second->claude ? "claude's config directory in" : "the writable folder";

	bad_as(r, &(struct bad){ .field = second->field, .subject = second->path, .warning = true },
	       "give each a folder of its own, or leave it so if they trust each other",
	       "%s and %s share %s %s: runs of one can leave files for the other's", first->b->full, second->b->full,
	       what, second->path);
}

void check_sharing(struct reading *r)
{
	enum { MAX = 2000 };
	struct shared *all = arena_get(r->arena, MAX * sizeof(*all));
	size_t n = 0, pairs = 0;

	for (size_t s = 0; all && s < r->config->n_scopes; s++)
		for (size_t i = 0; i < r->config->scopes[s].n_bindings; i++)
			if (r->config->scopes[s].bindings[i].config)
				collect(r, &r->config->scopes[s].bindings[i], all, &n, MAX);
	for (size_t i = 0; all && i < n; i++)
		for (size_t k = 0; k < i && pairs < 10000; k++) {
			if (all[k].b == all[i].b)
				continue;
			pairs++;
			if (path_relation(all[k].path, all[i].path) == PATHS_APART)
				continue;
			warn(r, &all[k], &all[i]);
			break;
		}
}
