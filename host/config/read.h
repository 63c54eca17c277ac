/* SPDX-License-Identifier: Apache-2.0 */
/* From a document to structs, by the table; and what the checks after it share. */
#ifndef HOST_CONFIG_READ_H
#define HOST_CONFIG_READ_H

#include "config.h"
#include "doc.h"
#include "table.h"

#define GRAMMARS 16 /* there are fewer */
struct compiled;

struct reading {
	struct arena *arena;
	const struct doc *doc;
	struct report *report;
	struct config_world world; /* every member set, but for claude_config_dir */
	struct config *config;
	struct compiled *compiled; /* of the grammars used so far; read_end() frees them */
	size_t n_compiled;
};

/* Fill *out (zeroed, of record->size) from the object at `node`; what is wrong is told. */
void read_record(struct reading *r, const struct record *record, const struct node *node, const char *path, void *out);

void read_end(struct reading *r);

/* Something is wrong with a field: an error of reason sandbox_config.  Its place is found by its path. */
void bad(struct reading *r, const char *field, const char *fix, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));
/* All of it: another reason, a subject that isn't the field, a warning. */
struct bad {
	const char *field, *reason, *subject;
	bool warning;
};
void bad_as(struct reading *r, const struct bad *what, const char *fix, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));
/* Each of the library's errors; their subjects are fields beneath `field` where `beneath` says so. */
void bad_errors(struct reading *r, const char *field, bool beneath, const oc_error *err);
/* A path as text of the arena; never NULL. */
const char *at(struct reading *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The command that makes a directory, to paste. */
const char *quoted_mkdir(struct reading *r, const char *path);
/* 'write "…"', or NULL when no candidate is like the word. */
const char *did_you_mean(struct reading *r, const char *word, const char *const *candidates);

const struct config_pair *pairs_find(const struct config_pairs *pairs, const char *name);

/* checks.c and others: what one record can't tell alone. */
void check_connections(struct reading *r);
void check_scopes(struct reading *r);
void check_settings(struct reading *r);
/* binding.c */
void check_binding(struct reading *r, const struct config_scope *scope, const char *scope_field,
                   struct config_binding *b);
/* place.c: sandbox, container, machine */
/* The normal form of a policy, or NULL: refused (told, where `field` isn't NULL) or no memory.  jansson leaves out
 * characters where it has no memory, without a word: the arena says so. */
const struct node *policy_normal(struct reading *r, const char *kind, const char *text, const char *field);
struct config_texts policy_list(struct reading *r, const struct node *normal, const char *path); /* no list: empty */
void check_place(struct reading *r, struct config_binding *b);
/* claude.c: the config directory of a sandboxed Claude Code; `write` NULL: not known */
void check_claude(struct reading *r, const struct config_binding *b, const struct config_texts *write);
/* github.c: the repository that the binding acts on, how its git signs in, and what stands in the way of that */
void check_github(struct reading *r, struct config_binding *b);
/* git_config.c: warns of what a git configuration that a run reads has of the operator's own */
void check_git_config(struct reading *r, const struct config_binding *b, const struct node *normal);
/* rules.c: rules of a policy that can never matter */
void check_rules(struct reading *r, const char *field, const struct node *normal);
/* seed.c: what a Work's home starts with; and that no run of any binding may write it */
void check_seed(struct reading *r, const struct config_binding *b);
void check_seeds(struct reading *r);
/* seed_paths.c: warns of what its files name of this machine */
void check_seed_paths(struct reading *r, const struct config_binding *b, const struct node *normal);
/* share.c: warns where two bindings share what they may write */
void check_sharing(struct reading *r);

/* files.c */
/* `path` with ~/ put in; NULL without memory. */
const char *path_expand(struct reading *r, const char *path);
/* NULL, or what of it is not clean ("." and ".." are no names). */
const char *path_check(const char *path);
enum path_relation { PATHS_APART, PATHS_SAME, PATHS_FIRST_INSIDE, PATHS_SECOND_INSIDE };
/* By device and inode along the whole way, links resolved; by name where nothing is there. */
enum path_relation path_relation(const char *a, const char *b);

#endif
