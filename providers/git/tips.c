/* SPDX-License-Identifier: Apache-2.0 */
/* An agent names its references; in the checkout they get names that no file system and no terminal takes for something
 * else.  A name that is plain and free is kept, any other becomes odd-<start of the id>. */
#include "tips.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "leftover.h"
#include "save.h"
#include "verify.h"

#define NAMED_MAX 500u
#define LOST_MAX  500u
#define NOTES_MAX 100u
#define WHAT_MAX  500u

int tips_init(struct tips *t, struct walk *w, const struct refs *known, const char *work)
{
	*t = (struct tips){ .w = w, .known = known, .work = work };
	t->refs = json_array();
	t->lost = json_array();
	t->notes = json_array();
	oids_init(&t->used, 100000);
	return t->refs && t->lost && t->notes ? 0 : -ENOMEM;
}

void tips_free(struct tips *t)
{
	json_decref(t->refs);
	json_decref(t->lost);
	json_decref(t->notes);
	oids_free(&t->used);
	free(t->over);
}

/* As it can be shown, and no longer than there is room for hundreds of them in an answer. */
static char *brief(const char *text, size_t max)
{
	char *clean = shown(text);

	if (!clean || strlen(clean) <= max + 3)
		return clean;
	while (max && ((unsigned char)clean[max] & 0xc0u) == 0x80u)
		max--;
	memcpy(clean + max, "...", 4);
	return clean;
}

void tips_lost(struct tips *t, const char *what, const char *why)
{
	cleanup_free char *a = brief(what, WHAT_MAX), *b = brief(why, WHAT_MAX);

	if (json_array_size(t->lost) >= LOST_MAX || !a || !b ||
	    json_array_append_new(t->lost, json_pack("{s:s, s:s}", "what", a, "why", b)) < 0)
		t->lost_more++;
}

void tips_note(struct tips *t, const char *text)
{
	cleanup_free char *a = brief(text, 2 * WHAT_MAX);

	if (a && json_array_size(t->notes) < NOTES_MAX)
		(void)json_array_append_new(t->notes, json_string(a));
}

bool save_suffix_valid(const char *suffix)
{
	size_t len = strlen(suffix), i;
	cleanup_free char *ref = format("refs/x/%s", suffix);

	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)suffix[i]) && !strchr("._/+=@-", suffix[i]))
			return false;
	return len && len <= 200 && ref && ref_name_valid(ref, strlen(ref));
}

/* The suffix up to a length, in one case: file systems fold. */
static int hash_of(const char *suffix, size_t len, git_oid *out)
{
	char folded[256];
	size_t i;

	for (i = 0; i < len && i < sizeof(folded); i++)
		folded[i] = (char)tolower((unsigned char)suffix[i]);
	return git_odb_hash(out, folded, i, GIT_OBJECT_BLOB);
}

/* Neither a name that is taken, nor one beneath or above one. */
static bool is_free(struct tips *t, const char *suffix)
{
	const char *slash = suffix;
	git_oid id;

	if (hash_of(suffix, strlen(suffix), &id) < 0 || oids_get(&t->used, &id) != OIDS_NONE)
		return false;
	while ((slash = strchr(slash, '/')) != NULL) {
		if (hash_of(suffix, (size_t)(slash - suffix), &id) < 0 || oids_get(&t->used, &id) == 1)
			return false;
		slash++;
	}
	return true;
}

static int occupy(struct tips *t, const char *suffix)
{
	const char *slash = suffix;
	git_oid id;
	int result = hash_of(suffix, strlen(suffix), &id);

	if (!result)
		result = oids_put(&t->used, &id, 1);
	while (!result && (slash = strchr(slash, '/')) != NULL) {
		(void)hash_of(suffix, (size_t)(slash - suffix), &id);
		result = oids_put(&t->used, &id, 2);
		slash++;
	}
	return result;
}

static char *suffix_for(struct tips *t, const char *kind, const char *name, const git_oid *id)
{
	cleanup_free char *plain = name ? format("%s/%s", kind, name) : strdup(kind);
	char *odd;

	if (!plain)
		return NULL;
	/* "odd-" is ours. */
	if (save_suffix_valid(plain) && !strstr(plain, "/odd-") && is_free(t, plain))
		return strdup(plain);
	odd = format("%s/odd-%.16s", kind, git_oid_tostr_s(id));
	if (odd && name && is_free(t, odd)) {
		cleanup_free char *text = format("%s is saved as %s", name, odd);

		if (text)
			tips_note(t, text);
	}
	return odd;
}

int tips_emit(struct tips *t, const char *what, const char *kind, const char *name, const git_oid *id, bool left)
{
	cleanup_free char *suffix = suffix_for(t, kind, name, id), *seen = brief(what, WHAT_MAX);
	int result;

	if (!suffix || !seen)
		return -ENOMEM;
	if (!is_free(t, suffix))
		return 0; /* an odd one, of the same commit */
	result = occupy(t, suffix);
	if (!result && json_array_append_new(t->refs, json_pack("{s:s, s:s, s:s, s:b}", "suffix", suffix, "id",
	                                                        git_oid_tostr_s(id), "what", seen, "left", left)) < 0)
		result = -ENOMEM;
	t->named++;
	return result;
}

static int keep_over(struct tips *t, const git_oid *id)
{
	if (t->nover == t->cap_over) {
		size_t cap = t->cap_over ? 2 * t->cap_over : 64;
		git_oid *v = realloc(t->over, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		t->over = v;
		t->cap_over = cap;
	}
	t->over[t->nover++] = *id;
	walk_cover(t->w, id);
	return 0;
}

/* Saved by an earlier save under the name it would get now: then it is told of again. */
static bool saved_before(struct tips *t, const char *kind, const char *name, const git_oid *id)
{
	cleanup_free char *full = format(SAVE_REFS "%s/%s%s%s", t->work, kind, name ? "/" : "", name ? name : "");
	const struct ref *ref = full ? refs_find(t->known, full) : NULL;
	git_oid value;

	return ref && refs_resolve(t->known, ref, &value) == 0 && git_oid_equal(&value, id);
}

static int rescue_one(void *arg, const git_oid *good)
{
	struct tips *t = arg;
	cleanup_free char *name = format("%.16s", git_oid_tostr_s(good));
	cleanup_free char *what = format("commit %s, which others that are lost stood on", git_oid_tostr_s(good));
	int result;

	if (git_oid_is_zero(&t->rescued))
		t->rescued = *good;
	if (!name || (!walk_uncovered(t->w, good) && !saved_before(t, "rescued", name, good)))
		return 0;
	if (t->named >= NAMED_MAX)
		return keep_over(t, good);
	result = name && what ? tips_emit(t, what, "rescued", name, good, false) : -ENOMEM;
	walk_cover(t->w, good);
	return result;
}

int tips_add(struct tips *t, const char *what, const char *kind, const char *name, const git_oid *id, bool left,
             bool always)
{
	struct problem p;
	const struct commit *c;
	bool needed;
	int result = walk_any(t->w, id, &p);

	if (result < 0)
		return result;
	t->rescued = (git_oid){ { 0 } };
	if (result == 1) {
		cleanup_free char *why = format("object %s %s", git_oid_tostr_s(&p.id), p.what);

		tips_lost(t, what, why ? why : p.what);
		result = walk_rescue(t->w, id, rescue_one, t);
		return result < 0 ? result : 1;
	}
	c = walk_find(t->w, id);
	needed = c ? walk_uncovered(t->w, id) : oids_get(&t->w->known->tips, id) == OIDS_NONE;
	if (!needed && !always && !saved_before(t, kind, name, id))
		return 0;
	if (needed && !always && t->named >= NAMED_MAX) {
		if (c)
			return keep_over(t, id);
		tips_lost(t, what, "there are more tags than are saved");
		return 0;
	}
	result = tips_emit(t, what, kind, name, id, left);
	walk_cover(t->w, id);
	return result;
}

int tips_finish(struct tips *t)
{
	git_oid id;
	int result = 0;

	if (t->nover) {
		result = keep_together(t->w, "References of the workspace beyond those that were saved by name",
		                       t->over, t->nover, &id);
		if (!result)
			result = tips_emit(t, "further references", "more", NULL, &id, false);
	}
	if (!result && t->lost_more) {
		cleanup_free char *text = format("%zu more", t->lost_more);

		if (!text || json_array_append_new(t->lost, json_pack("{s:s, s:s}", "what", text, "why",
		                                                      "there was no room to name them")) < 0)
			result = -ENOMEM;
	}
	return result;
}
