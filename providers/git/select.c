/* SPDX-License-Identifier: Apache-2.0 */
/* A workspace knows what a fresh clone would: the remote's branches as the checkout last saw them, the checkout's own
 * branches among them where the remote has none of that name, and tags.  Not copied: stashes, notes, other remotes, what
 * others keep beneath refs/, and what earlier Works were saved as. */
#include "select.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "verify.h"

#define REFS_MAX   500000u
#define BRANCH_MAX 200u
#define NAMED_MAX  8u

bool branch_valid(const char *branch)
{
	cleanup_free char *ref = format("refs/heads/%s", branch), *clean = shown(branch);
	const char *at;

	if (!ref || !clean || strcmp(clean, branch) != 0 || strlen(branch) > BRANCH_MAX || !*branch)
		return false;
	if (branch[0] == '-' || !strcmp(branch, "HEAD") || !strcmp(branch, "@") || strpbrk(branch, "\"'`$;&|<>(){}"))
		return false;
	/* Marks that turn the direction of writing, or that nobody sees: U+200B-200F, 202A-202E, 2060-206F, FEFF. */
	for (at = branch; (at = strpbrk(at, "\xe2\xef")); at++)
		if ((!strncmp(at, "\xe2\x80", 2) && (unsigned char)at[2] >= 0x8b &&
		     ((unsigned char)at[2] <= 0x8f ||
		      ((unsigned char)at[2] >= 0xa8 && (unsigned char)at[2] <= 0xae))) ||
		    (!strncmp(at, "\xe2\x81", 2) && (unsigned char)at[2] >= 0xa0) || !strncmp(at, "\xef\xbb\xbf", 3))
			return false;
	return ref_name_valid(ref, strlen(ref));
}

static int refuse_missing(struct closure *k, const struct checkout *c, const char *what, struct refusal *r)
{
	cleanup_free char *refetch = NULL;
	char hex[GIT_OID_HEXSZ + 1];

	(void)git_oid_tostr(hex, sizeof(hex), &k->missing);
	if (k->beyond)
		return checkout_refuse(c, r, "fetch --unshallow",
		                       "is a shallow clone: %s needs history that was never fetched (%s)", what, hex);
	if (!c->partial)
		return checkout_refuse(c, r, "fsck --full", "is damaged: the object %s, which %s needs, %s", hex, what,
		                       k->why);
	refetch = format("fetch --refetch --no-filter %s", c->remote);
	if (!refetch)
		return no_memory(r);
	return checkout_refuse(c, r, refetch, "is a partial clone: %s needs the object %s, which was never fetched",
	                       what, hex);
}

static int load_head(struct selection *s, const struct checkout *c, git_oid *id, bool *detached, struct refusal *r)
{
	cleanup_fd int dir = open(c->gitdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_text struct text text = { 0 };
	char link[REF_NAME_MAX + 1];
	ssize_t len;

	*detached = false;
	if (dir < 0)
		return refuse_errno(r, c->gitdir, "the repository can't be opened");
	len = readlinkat(dir, "HEAD", link, sizeof(link) - 1); /* as very old ones have it */
	if (len > 0) {
		link[len] = '\0';
		s->head = strdup(link);
		return s->head ? 0 : no_memory(r);
	}
	if (read_small(dir, "HEAD", 4096, &text) < 0)
		return refuse_errno(r, c->gitdir, "its HEAD can't be read");
	if (ref_parse(text.data, text.len, id, &s->head) < 0)
		return checkout_refuse(c, r, "symbolic-ref HEAD refs/heads/main",
		                       "has a HEAD that names neither a branch nor a commit");
	*detached = !s->head;
	return 0;
}

static int find_head(struct selection *s, const struct checkout *c, git_oid *id, struct refusal *r)
{
	cleanup_free char *word = quoted(c->path), *fix = NULL;
	const struct ref *ref;
	bool detached;

	if (!word)
		return no_memory(r);
	if (load_head(s, c, id, &detached, r))
		return -1;
	ref = detached ? NULL : refs_find(&s->refs, s->head);
	if (detached || (ref && refs_resolve(&s->refs, ref, id) == 0))
		return 0;
	fix = format("git -C %s commit --allow-empty -m start", word);
	return refuse(r, "sandbox_workspace", c->path, fix,
	              "%s has no commit on %s yet, so there is nothing to begin with", c->path, s->head);
}

/* As git looks a name up; expressions are not taken. */
static int find_base(struct selection *s, const struct checkout *c, const char *base, git_oid *id, struct refusal *r)
{
	static const char *const forms[] = {
		"%s", "refs/%s", "refs/tags/%s", "refs/heads/%s", "refs/remotes/%s", "refs/remotes/%s/HEAD"
	};
	cleanup_free char *word = quoted(c->path), *fix = word ? format("name one of: git -C %s show-ref", word) : NULL;

	if (!fix)
		return no_memory(r);
	if (strlen(base) == GIT_OID_HEXSZ && oid_parse(base, GIT_OID_HEXSZ, id) == 0)
		return 0;
	for (size_t i = 0; i < COUNT(forms) && strlen(base) < REF_NAME_MAX; i++) {
		char name[REF_NAME_MAX + 32];
		const struct ref *ref;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)snprintf(name, sizeof(name), forms[i], base);
#pragma GCC diagnostic pop
		ref = refs_find(&s->refs, name);
		if (ref && refs_resolve(&s->refs, ref, id) == 0)
			return 0;
	}
	return refuse(r, "sandbox_workspace", *base ? base : "base", fix,
	              "%s has no branch, tag or reference \"%s\", and that is no commit's id", c->path, base);
}

static int load_refs(struct selection *s, struct checkout *c, struct refusal *r)
{
	cleanup_fd int dir = open(c->common, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (dir < 0)
		return refuse_errno(r, c->common, "the repository can't be opened");
	rc = refs_load(dir, REFS_MAX, &s->refs);
	if (rc == -E2BIG)
		return checkout_refuse(c, r, "for-each-ref", "has more than %u references", REFS_MAX);
	if (rc < 0)
		return errno = -rc, refuse_errno(r, c->common, "its references can't be read");
	for (size_t i = 0; i < s->refs.nbad; i++)
		if (checkout_note(c, r, "%s of the checkout was left out: %s", s->refs.bad[i].name, s->refs.bad[i].why))
			return -1;
	return 0;
}

int select_base(struct selection *s, struct closure *k, struct checkout *c, const char *base, struct refusal *r)
{
	git_oid head = { { 0 } }, id;
	int rc;
	bool detached;

	*s = (struct selection){ 0 };
	if (load_refs(s, c, r))
		return -1;
	if (!base || !strcmp(base, "HEAD")) {
		if (find_head(s, c, &id, r))
			return -1;
	} else if (load_head(s, c, &head, &detached, r) || find_base(s, c, base, &id, r)) {
		return -1;
	}
	if (closure_peel(k, &id, &s->base) != 0)
		return refuse_missing(k, c, base ? base : "HEAD", r);
	rc = closure_add(k, &s->base, r);
	return rc > 0 ? refuse_missing(k, c, base ? base : "HEAD", r) : rc;
}

static bool beneath(const char *folder, const char *name)
{
	size_t len = strlen(folder);

	return !strncmp(folder, name, len) && name[len] == '/';
}

static int check_clash(const struct checkout *c, const char *branch, const char *other, struct refusal *r)
{
	cleanup_free char *word = quoted(c->path), *name = quoted(other);
	cleanup_free char *fix = word && name ? format("git -C %s branch -m %s %s-old", word, name, name) : NULL;
	bool twin = c->ignores_case && strcmp(branch, other) != 0 && !strcasecmp(branch, other);

	if (!beneath(other, branch) && !beneath(branch, other) && !twin)
		return 0;
	return refuse(r, "sandbox_workspace", branch, fix,
	              "the branch %s can't be made in %s, as there is a branch %s: a name can't be both a branch and a "
	              "folder of "
	              "branches%s",
	              branch, c->path, other, twin ? ", and its file system takes both for one" : "");
}

int select_branch(struct selection *s, struct closure *k, struct checkout *c, const char *branch, struct refusal *r)
{
	cleanup_free char *own = format("refs/heads/%s", branch), *word = quoted(c->path), *name = quoted(branch),
	                  *fix = NULL;
	bool leads = false;
	const struct ref *ref;
	git_oid tip;

	if (!own || !word || !name)
		return no_memory(r);
	for (size_t i = 0; i < s->refs.n; i++)
		if (!strncmp(s->refs.v[i].name, "refs/heads/", 11) && check_clash(c, branch, s->refs.v[i].name + 11, r))
			return -1;
	if (s->head && !strcmp(s->head, own) &&
	    checkout_note(c, r, "the branch %s is checked out in the checkout: a save will not move it there", branch))
		return -1;
	ref = refs_find(&s->refs, own);
	if (!ref)
		return 0;
	if (refs_resolve(&s->refs, ref, &tip) == 0 && closure_leads(k, &tip, &s->base, &leads) < 0)
		return no_memory(r);
	if (leads)
		return 0;
	fix = format("begin with it (\"base\": \"refs/heads/%s\"), or: git -C %s branch -m %s %s-old", branch, word,
	             name, name);
	return refuse(r, "workspace_conflict", branch, fix,
	              "%s has a branch %s already, with commits that the Work would not begin with: what it saves "
	              "could never be "
	              "joined to it",
	              c->path, branch);
}

static int add(struct selection *s, char *name, const git_oid *id)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 64;
		struct selected *v = realloc(s->v, cap * sizeof(*v));

		if (!v)
			return free(name), -1;
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n++] = (struct selected){ .name = name, .id = *id };
	return 0;
}

/* Does the remote have a branch of this name, or one that can't be beside it? */
static bool taken(const struct selection *s, const char *prefix, const char *branch)
{
	cleanup_free char *name = format("%s%s", prefix, branch);
	size_t low = 0, high = s->refs.n, len;

	if (!name || refs_find(&s->refs, name))
		return true;
	for (char *slash = name + strlen(prefix); (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (refs_find(&s->refs, name))
			return true;
		*slash = '/';
	}
	len = strlen(name);
	while (low < high) { /* the first not before "name/" */
		size_t middle = (low + high) / 2;
		int order = strncmp(s->refs.v[middle].name, name, len);

		if (order < 0 || (order == 0 && (unsigned char)s->refs.v[middle].name[len] < '/'))
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->refs.n && beneath(name, s->refs.v[low].name);
}

/* The name a reference has in the workspace: new, or NULL (*failed: no memory). */
static char *new_name(const struct selection *s, const char *prefix, const char *name, bool *failed)
{
	char *out = NULL;
	bool wanted = true;

	if (!strncmp(name, "refs/tags/", 10))
		out = strdup(name);
	else if (!strncmp(name, prefix, strlen(prefix)) && strcmp(name + strlen(prefix), "HEAD") != 0)
		out = format("refs/remotes/origin/%s", name + strlen(prefix));
	else if (!strncmp(name, "refs/heads/", 11) && strcmp(name + 11, "HEAD") != 0 && !taken(s, prefix, name + 11))
		out = format("refs/remotes/origin/%s", name + 11);
	else
		wanted = false;
	*failed = wanted && !out;
	return out;
}

static void peel_tag(struct closure *k, struct selected *v)
{
	if ((oids_get(&k->set, &v->id) & CLOSURE_TYPE) == GIT_OBJECT_TAG)
		v->tag = closure_target(k, &v->id, &v->peeled) != GIT_OBJECT_INVALID;
}

struct left_out {
	struct text names;
	size_t n;
};

static int leave_out(struct left_out *l, const char *name, struct refusal *r)
{
	if (l->n++ >= NAMED_MAX)
		return 0;
	return text_puts(&l->names, l->n > 1 ? ", " : "") && text_puts(&l->names, name) ? 0 : no_memory(r);
}

static int select_one(struct selection *s, struct closure *k, const char *prefix, const struct ref *ref,
                      struct left_out *l, struct refusal *r)
{
	bool failed;
	char *name = new_name(s, prefix, ref->name, &failed);
	git_oid id;
	int rc;

	if (!name)
		return failed ? no_memory(r) : 0;
	rc = refs_resolve(&s->refs, ref, &id) < 0 ? 1 : closure_add(k, &id, r);
	if (rc == 0) {
		if (add(s, name, &id) < 0)
			return no_memory(r);
		peel_tag(k, &s->v[s->n - 1]);
		return 0;
	}
	free(name);
	return rc < 0 ? rc : leave_out(l, ref->name, r);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct selected *)a)->name, ((const struct selected *)b)->name);
}

/* What the remote's HEAD was when it was last looked at, where that branch came along. */
static int select_origin_head(struct selection *s, const char *prefix, struct refusal *r)
{
	cleanup_free char *name = format("%sHEAD", prefix);
	const struct ref *ref = name ? refs_find(&s->refs, name) : NULL;
	struct selected key = { 0 };

	if (!name)
		return no_memory(r);
	if (!ref || !ref->symbolic || strncmp(ref->symbolic, prefix, strlen(prefix)) != 0)
		return 0;
	key.name = format("refs/remotes/origin/%s", ref->symbolic + strlen(prefix));
	if (!key.name)
		return no_memory(r);
	if (s->n && bsearch(&key, s->v, s->n, sizeof(*s->v), by_name))
		s->origin_head = key.name;
	else
		free(key.name);
	return 0;
}

int select_others(struct selection *s, struct closure *k, struct checkout *c, struct refusal *r)
{
	cleanup_free char *prefix = format("refs/remotes/%s/", c->remote);
	struct left_out l = { 0 };
	int rc = prefix ? 0 : no_memory(r);

	for (size_t i = 0; !rc && i < s->refs.n; i++)
		rc = select_one(s, k, prefix, &s->refs.v[i], &l, r);
	if (!rc && s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_name);
	if (!rc)
		rc = select_origin_head(s, prefix, r);
	if (!rc && l.n)
		rc = checkout_note(c, r, "left out, as the checkout does not have all of their history: %s%s",
		                   l.names.data, l.n > NAMED_MAX ? " and more" : "");
	text_clear(&l.names);
	return rc;
}

void select_close(struct selection *s)
{
	refs_free(&s->refs);
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].name);
	free(s->v);
	free(s->head);
	free(s->origin_head);
	*s = (struct selection){ 0 };
}
