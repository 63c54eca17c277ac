/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of a policy that can never matter, as far as its own text tells: whoever wrote one meant something else.  What
 * only this machine can tell (an allow where nothing denies) is asked of the library by `config check`. */
#include <string.h>

#include "read.h"

#define SOCKET_MAX 107 /* sun_path, without the NUL at its end */

/* Is the path `inner` at or beneath `outer`?  Both as written. */
static bool within(const char *inner, const char *outer)
{
	size_t n = strlen(outer);

	return !strncmp(inner, outer, n) && (!inner[n] || inner[n] == '/' || (n && outer[n - 1] == '/'));
}

struct list {
	const char *name;
	struct config_texts items;
};

static const char *item(const struct list *l, size_t i)
{
	return l->items.v[i];
}

static void dead(struct reading *r, const char *field, const struct list *l, size_t i, const char *why,
                 const char *other)
{
	bad(r, at(r, "%s.%s[%zu]", field, l->name, i), "remove it, or write what it was meant to be",
	    "\"%.100s\" can never matter: %s \"%.100s\"", item(l, i), why, other);
}

/* The same twice, in their normal form. */
static bool repeated(struct reading *r, const char *field, const struct list *l, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(item(l, i), item(l, k))) {
			dead(r, field, l, i, "it says the same as", at(r, "%s[%zu]", l->name, k));
			return true;
		}
	return false;
}

/* A path beneath another of the same list. */
static void nested(struct reading *r, const char *field, const struct list *l)
{
	for (size_t i = 0; i < l->items.n; i++) {
		if (repeated(r, field, l, i))
			continue;
		for (size_t k = 0; k < l->items.n; k++)
			if (k != i && strcmp(item(l, i), item(l, k)) != 0 && within(item(l, i), item(l, k))) {
				dead(r, field, l, i, "it is beneath", item(l, k));
				break;
			}
	}
}

/* Does the entry `wide` allow all that `narrow` does?  An exact name also reaches the private address it has, which a
 * wildcard doesn't: it matters beside one. */
static bool covers(const char *wide, const char *narrow)
{
	size_t n = strlen(wide), m = strlen(narrow);

	if (!strncmp(wide, "*.", 2))
		return !strncmp(narrow, "*.", 2) && m > n && !strcmp(narrow + m - (n - 1), wide + 1);
	return m > n && !strncmp(narrow, wide, n) && narrow[n] == ':' && (*wide != '[' || wide[n - 1] == ']');
}

static void covered(struct reading *r, const char *field, const struct list *l)
{
	for (size_t i = 0; i < l->items.n; i++) {
		if (repeated(r, field, l, i))
			continue;
		for (size_t k = 0; k < l->items.n; k++)
			if (k != i && covers(item(l, k), item(l, i))) {
				dead(r, field, l, i, "it is part of", item(l, k));
				break;
			}
	}
}

/* At the same path read.allow wins; a deny beneath another denies nothing more, unless an allow lies between. */
static void denies(struct reading *r, const char *field, const struct list *deny, const struct list *allow)
{
	for (size_t i = 0; i < deny->items.n; i++) {
		const char *above = NULL;
		bool lifted = false;

		if (repeated(r, field, deny, i))
			continue;
		for (size_t k = 0; k < deny->items.n; k++)
			if (k != i && strcmp(item(deny, i), item(deny, k)) != 0 &&
			    within(item(deny, i), item(deny, k)) && (!above || strlen(item(deny, k)) > strlen(above)))
				above = item(deny, k);
		for (size_t k = 0; k < allow->items.n; k++) {
			const char *a = item(allow, k);

			if (!strcmp(a, item(deny, i))) {
				dead(r, field, deny, i, "at the same path read.allow wins, and it has", a);
				above = NULL;
				break;
			}
			lifted = lifted || (above && within(item(deny, i), a) && within(a, above));
		}
		if (above && !lifted)
			bad_as(r,
			       &(struct bad){ .field = at(r, "%s.%s[%zu]", field, deny->name, i),
			                      .subject = item(deny, i),
			                      .warning = true },
			       "remove it", "\"%.100s\" is denied anyway, by \"%.100s\"", item(deny, i), above);
	}
}

void check_rules(struct reading *r, const char *field, const struct node *normal)
{
	const struct list write = { "write", policy_list(r, normal, "write") };
	const struct list mounts = { "read", policy_list(r, normal, "read") };
	const struct list deny = { "read.deny", policy_list(r, normal, "read.deny") };
	const struct list allow = { "read.allow", policy_list(r, normal, "read.allow") };
	const struct list hosts = { "network.allow", policy_list(r, normal, "network.allow") };
	const struct list sockets = { "sockets", policy_list(r, normal, "sockets") };

	nested(r, field, &write);
	nested(r, field, &mounts);
	covered(r, field, &hosts);
	denies(r, field, &deny, &allow);
	for (size_t i = 0; i < allow.items.n; i++)
		repeated(r, field, &allow, i);
	for (size_t i = 0; i < sockets.items.n; i++)
		if (!repeated(r, field, &sockets, i) && strlen(path_expand(r, item(&sockets, i))) > SOCKET_MAX)
			dead(r, field, &sockets, i, "the name of a socket has at most 107 bytes", "sun_path");
	for (size_t i = 0; i < mounts.items.n; i++)
		for (size_t k = 0; k < write.items.n; k++)
			/* Beneath a write it makes a part of that read-only. */
			if (!strcmp(item(&mounts, i), item(&write, k))) {
				dead(r, field, &mounts, i, "it is writable already, by write", item(&write, k));
				break;
			}
	for (size_t i = 0; i < write.items.n; i++)
		if (within(item(&write, i), "{run}"))
			dead(r, field, &write, i, "always writable is", "{run}");
}
