/* SPDX-License-Identifier: Apache-2.0 */
/* What srt hides by name, the host can bring back by name: a file written anew and renamed over a
 * denied one is a new file, and the mount that hid the old one is gone with it.  And what is not
 * there yet can't be hidden at all.  So only directories are hidden.  A denied directory is
 * hidden itself; for a denied file, a link, or a name that is absent, the nearest existing
 * directory above it is (often the home directory), and every entry that it has now, but the
 * denied ones, is given back.  Whatever appears later, under whatever name, isn't there for the run.
 *
 * Two places can't be hidden so: a directory the run may write (its new files would vanish), and
 * the root.  There a denied file that exists is hidden by itself, and an absent one is refused,
 * except where only root could make it.
 *
 * srt gives what may be written back first and what may be read after that, so an entry above a
 * write grant would bury the grant, read-only: in place of such a directory its own entries are
 * given back, down to the grant.
 *
 * Links: srt would give an entry back at its own name from where it leads: a second way to the same
 * files that no deny lies on, and read-only where they may be written.  So the guest makes them again as links,
 * in the empty directory that the run sees; they lead as far as their target may be reached. */
#include "hide.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct rule {
	const char *path;
	bool deny, absolute; /* absolute: no other rule lifts it */
};

struct answer {
	char *path, *real;
};

struct hider {
	const json_t *resolved;
	struct rule *rules;
	size_t n_rules;
	struct list roots;  /* directories whose entries are given back one by one */
	struct list covers; /* directories hidden whole because of the sockets in them */
	struct hidden *out;
	struct refusal *r;
	unsigned odd;
	struct answer answers[4];
	size_t next_answer;
};

/* ---- what the rules say ---- */

static bool add_rule(struct hider *h, const char *path, bool deny, bool absolute)
{
	struct rule *v = realloc(h->rules, (h->n_rules + 1) * sizeof(*v));

	if (!v)
		return false;
	h->rules = v;
	v[h->n_rules++] = (struct rule){ path, deny, absolute };
	return true;
}

static int load_rules(struct hider *h)
{
	const json_t *e;
	size_t i;

	json_array_foreach(json_object_get(h->resolved, "read"), i,
	                   e) if (!text_of(e, "path") ||
	                          !json_is_boolean(json_object_get(
	                                  e, "allow"))) return refuse(h->r, "provider_failed", "resolved.read", NULL,
	                                                              "a read rule lacks its path");
	else if (!add_rule(h, text_of(e, "path"), !json_is_true(json_object_get(e, "allow")), false)) return no_memory(
	        h->r);
	json_array_foreach(json_object_get(h->resolved, "protected"), i, e) if (!text_of(e, "path")) return refuse(
	        h->r, "provider_failed", "resolved.protected", NULL, "a protected entry lacks its path");
	else if (!add_rule(h, text_of(e, "path"), true, true)) return no_memory(h->r);
	json_array_foreach(
	        json_object_get(h->resolved, "hidden"), i,
	        e) if (!text_of(e, "path") ||
	               !list_add(&h->covers, text_of(e, "path"))) return refuse(h->r, "provider_failed",
	                                                                        "resolved.hidden", NULL,
	                                                                        "a hidden entry lacks its path");
	return 0;
}

/* The most specific rule decides, at the same path the one that allows; protected beats all. */
static bool denied(const struct hider *h, const char *path)
{
	const struct rule *best = NULL;
	size_t i;

	for (i = 0; i < h->n_rules; i++) {
		const struct rule *rule = &h->rules[i];
		size_t len = strlen(rule->path);

		if (!path_within(rule->path, path))
			continue;
		if (rule->absolute)
			return true;
		if (!best || len > strlen(best->path) || (len == strlen(best->path) && !rule->deny))
			best = rule;
	}
	return best && best->deny;
}

/* By a grant of what lies within root? */
static bool written_in(const struct hider *h, const char *root, const char *path)
{
	const json_t *e;
	size_t i;

	json_array_foreach(json_object_get(h->resolved, "write"), i, e)
	{
		const char *grant = text_of(e, "path");

		if (path_within(grant, path) && path_within(root, grant))
			return true;
	}
	return false;
}

static bool written(const struct hider *h, const char *path)
{
	return written_in(h, "/", path);
}

/* Strictly above something that may be written? */
static bool above_grant(const struct hider *h, const char *path)
{
	const json_t *e;
	size_t i;

	json_array_foreach(json_object_get(h->resolved, "write"), i,
	                   e) if (strcmp(path, text_of(e, "path")) != 0 &&
	                          path_within(path, text_of(e, "path"))) return true;
	return false;
}

/* Is it beneath a directory hidden for its sockets, and nothing names it or what holds it? */
static bool covered(const struct hider *h, const char *path)
{
	const char *workspace = text_of(h->resolved, "workspace"), *cover = NULL;
	size_t i;

	for (i = 0; i < h->covers.n; i++)
		if (path_within(h->covers.v[i], path) && (!cover || strlen(h->covers.v[i]) > strlen(cover)))
			cover = h->covers.v[i];
	if (!cover || written(h, path))
		return false;
	if (workspace && path_within(cover, workspace) && path_within(workspace, path))
		return false;
	for (i = 0; i < h->n_rules; i++)
		if (!h->rules[i].deny && path_within(cover, h->rules[i].path) && path_within(h->rules[i].path, path))
			return false;
	return true;
}

static bool visible(const struct hider *h, const char *path)
{
	return !denied(h, path) && !covered(h, path);
}

/* ---- hiding ---- */

static int add_deny(struct hider *h, const char *path)
{
	return list_add(&h->out->deny, path) ? 0 : no_memory(h->r);
}

/* realpath() of a directory; NULL: it isn't there, or is none.  What is denied lies in the same few, so that the last few
 * answers are kept while a plan is made. */
static char *real_dir(struct hider *h, const char *path)
{
	struct answer *a = h->answers;
	struct stat st;
	size_t i;

	for (i = 0; i < COUNT(h->answers); i++)
		if (a[i].path && !strcmp(a[i].path, path))
			return a[i].real ? strdup(a[i].real) : NULL;
	i = h->next_answer++ % COUNT(h->answers);
	free(a[i].path);
	free(a[i].real);
	a[i].path = strdup(path);
	a[i].real = realpath(path, NULL);
	if (a[i].real && (stat(a[i].real, &st) < 0 || !S_ISDIR(st.st_mode))) {
		free(a[i].real);
		a[i].real = NULL;
	}
	return a[i].real ? strdup(a[i].real) : NULL;
}

/* srt can't make what hides a directory read-only, so there what may be written around it may be, and is lost. */
static int hide_dir(struct hider *h, const char *path)
{
	cleanup_free char *note = NULL;

	if (written(h, path)) {
		note = format("%s is denied within a write grant: what the run writes there is lost", path);
		if (!note || !list_add(&h->out->notes, note))
			return no_memory(h->r);
	}
	return add_deny(h, path);
}

/* The nearest directory above path that exists, resolved; the rest of path is appended to it in *real. */
static char *existing_above(struct hider *h, const char *path, char **real)
{
	char *at = path_parent(path);

	while (at) {
		char *resolved = real_dir(h, at), *up;

		if (resolved) {
			*real = format("%s%s", resolved[1] ? resolved : "", path + (at[1] ? strlen(at) : 0));
			free(at);
			return resolved;
		}
		if (!at[1])
			break;
		up = path_parent(at);
		free(at);
		at = up;
	}
	free(at);
	return NULL;
}

static int refuse_absent(struct hider *h, const char *path)
{
	bool file = strchr(strrchr(path, '/'), '.') != NULL;
	cleanup_free char *fix = format("%s '%s'", file ? "touch" : "mkdir -p", path);

	return refuse(h->r, "sandbox_config", path, strchr(path, '\'') ? NULL : fix,
	              "%s is denied and isn't there yet, in a directory that the run may write: srt can't deny it "
	              "until it exists",
	              path);
}

/* A denied file where its directory can't be hidden. */
static int hide_itself(struct hider *h, const char *path, const char *dir)
{
	struct stat st, above;
	cleanup_free char *note = NULL;

	if (lstat(path, &st) == 0) {
		if (S_ISLNK(st.st_mode))
			return 0; /* where it leads has a rule of its own */
		note = format("%s is hidden as a file: renaming another over it on the host would show that one", path);
		if (!note || !list_add(&h->out->notes, note))
			return no_memory(h->r);
		return add_deny(h, path);
	}
	if (!written(h, dir) && stat(dir, &above) == 0 && above.st_uid == 0 && access(dir, W_OK) < 0)
		return 0; /* only root can make it */
	return refuse_absent(h, path);
}

static int hide_one(struct hider *h, const char *path)
{
	cleanup_free char *real = NULL, *dir = NULL, *parent = path_parent(path);
	struct stat st;
	bool there;

	if (!denied(h, path) && !list_has(&h->covers, path))
		return 0;
	there = lstat(path, &st) == 0;
	if (there && S_ISDIR(st.st_mode))
		return parent && !visible(h, parent) && !written(h, parent) ? 0 : hide_dir(h, path);
	dir = existing_above(h, path, &real);
	if (!parent || !dir || !real)
		return no_memory(h->r);
	if (strcmp(real, path) != 0)
		return denied(h, real) ? hide_one(h, real) : 0;
	if (!visible(h, dir))
		return 0;
	if (!strcmp(dir, "/") || written(h, dir))
		return hide_itself(h, path, dir);
	/* Also by itself: srt gives no entry back that has become a link to something denied since it was looked at. */
	if (there && !S_ISLNK(st.st_mode) && add_deny(h, path) < 0)
		return -1;
	return list_has(&h->roots, dir) || list_add(&h->roots, dir) ? 0 : no_memory(h->r);
}

/* ---- giving back ---- */

static bool is_text(const char *name)
{
	cleanup_json json_t *text = json_string(name); /* NULL when it isn't UTF-8 */

	return text != NULL;
}

/* What isn't UTF-8 can't be written into a plan, and is left out like such a name. */
static int give_link_back(struct hider *h, const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target));

	if (n < 0)
		return 0; /* gone, or another's */
	if (n == 0 || n == (ssize_t)sizeof(target) || !(target[n] = '\0', is_text(target))) {
		h->odd++;
		return 0;
	}
	if (json_object_size(h->out->links) >= HIDE_LINKS_MAX)
		return refuse(h->r, "sandbox_config", path, NULL,
		              "more than %u links lie beside what the policy denies: deny a directory instead of "
		              "single files",
		              HIDE_LINKS_MAX);
	return json_object_set_new(h->out->links, path, json_string(target)) ? no_memory(h->r) : 0;
}

static bool too_many(const struct hidden *out)
{
	return out->allow.n + out->deny.n + out->write.n > HIDE_MAX;
}

static int refuse_too_many(struct hider *h, const char *where)
{
	return refuse(h->r, "sandbox_config", where, NULL,
	              "hiding what the policy denies takes more than the %u entries that srt can be given, most of "
	              "them for %s: deny a directory instead of single files in it",
	              HIDE_MAX, where);
}

static int give_back(struct hider *h, const char *root, const char *dir, const char *name);

/* The entries of `at`, which is the hidden directory `root` or lies beneath it. */
static int give_back_entries(struct hider *h, const char *root, const char *at)
{
	DIR *dir = opendir(at);
	struct dirent *e;
	int rc = 0;

	if (!dir)
		return errno == EACCES ? 0 : /* the run can't read it either */
		               refuse(h->r, "sandbox_unavailable", at, NULL, "%s can't be read: %s", at,
		                      strerror(errno));
	while (!rc && (e = readdir(dir))) {
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			rc = give_back(h, root, at, e->d_name);
		if (!rc && too_many(h->out))
			rc = refuse_too_many(h, at);
	}
	closedir(dir);
	return rc;
}

static int add_allow(struct hider *h, const char *root, const char *path)
{
	/* A directory that is hidden must not be given back whole: that would cancel it.  What may be
	 * written is given back as that: with its grant, or by itself where the grant is of more than was hidden. */
	if (list_has(&h->roots, path) || list_has(&h->out->deny, path) || written_in(h, root, path))
		return 0;
	if (written(h, path))
		return list_add(&h->out->write, path) ? 0 : no_memory(h->r);
	if (above_grant(h, path))
		return give_back_entries(h, root, path);
	return list_add(&h->out->allow, path) ? 0 : no_memory(h->r);
}

static int give_back(struct hider *h, const char *root, const char *dir, const char *name)
{
	cleanup_free char *path = format("%s/%s", dir, name);
	struct stat st;

	if (!path)
		return no_memory(h->r);
	if (!visible(h, path) || lstat(path, &st) < 0)
		return 0;
	if (!is_text(name)) {
		h->odd++;
		return 0;
	}
	return S_ISLNK(st.st_mode) ? give_link_back(h, path) : add_allow(h, root, path);
}

/* The innermost hidden directory around path, or NULL. */
static const char *hidden_around(const struct hider *h, const char *path)
{
	const char *found = NULL;
	size_t i;

	for (i = 0; i < h->out->deny.n; i++)
		if (path_within(h->out->deny.v[i], path) && (!found || strlen(h->out->deny.v[i]) > strlen(found)))
			found = h->out->deny.v[i];
	return found;
}

static int lift(struct hider *h, const char *path)
{
	const char *root = path ? hidden_around(h, path) : NULL;
	struct stat st;

	if (!root || lstat(path, &st) < 0)
		return 0;
	return add_allow(h, root, path);
}

/* What a rule, a socket's grant or the run itself needs from beneath what is hidden. */
static int lift_all(struct hider *h, const struct list *lifts)
{
	const json_t *e;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < h->n_rules; i++)
		if (!h->rules[i].deny && !denied(h, h->rules[i].path))
			rc = lift(h, h->rules[i].path);
	json_array_foreach(json_object_get(h->resolved, "sockets"), i,
	                   e) if (!rc && text_of(e, "path") && !denied(h, text_of(e, "path"))) rc =
	        lift(h, text_of(e, "path"));
	if (!rc && text_of(h->resolved, "workspace") && !denied(h, text_of(h->resolved, "workspace")) &&
	    !written(h, text_of(h->resolved, "workspace")))
		rc = lift(h, text_of(h->resolved, "workspace"));
	for (i = 0; !rc && i < lifts->n; i++)
		rc = lift(h, lifts->v[i]);
	return rc;
}

static int add_notes(struct hider *h)
{
	cleanup_free char *odd = NULL;

	if (!h->odd)
		return 0;
	odd = format("%u names that are not UTF-8 are not there inside", h->odd);
	return odd && list_add(&h->out->notes, odd) ? 0 : no_memory(h->r);
}

static int hide_all(struct hider *h, const struct list *lifts)
{
	size_t i;
	int rc = load_rules(h);

	for (i = 0; !rc && i < h->n_rules; i++)
		if (h->rules[i].deny)
			rc = hide_one(h, h->rules[i].path);
	for (i = 0; !rc && i < h->covers.n; i++)
		rc = hide_one(h, h->covers.v[i]);
	for (i = 0; !rc && i < h->roots.n; i++)
		rc = add_deny(h, h->roots.v[i]);
	if (!rc && h->out->deny.n > HIDE_MAX)
		rc = refuse_too_many(h, h->out->deny.v[0]);
	for (i = 0; !rc && i < h->roots.n; i++)
		rc = give_back_entries(h, h->roots.v[i], h->roots.v[i]);
	if (!rc)
		rc = lift_all(h, lifts);
	return rc ? rc : add_notes(h);
}

int hide(const json_t *resolved, const struct list *lifts, struct hidden *out, struct refusal *r)
{
	struct hider h = { .resolved = resolved, .out = out, .r = r };
	size_t i;
	int rc;

	out->links = json_object();
	rc = out->links ? hide_all(&h, lifts) : no_memory(r);
	list_sort_unique(&out->deny);
	list_sort_unique(&out->allow);
	list_sort_unique(&out->write);
	if (!rc && too_many(out))
		rc = refuse_too_many(&h, out->deny.v[0]);
	for (i = 0; i < COUNT(h.answers); i++) {
		free(h.answers[i].path);
		free(h.answers[i].real);
	}
	free(h.rules);
	list_free(&h.roots);
	list_free(&h.covers);
	return rc;
}

void hidden_clear(struct hidden *h)
{
	list_free(&h->deny);
	list_free(&h->allow);
	list_free(&h->write);
	list_free(&h->notes);
	json_decref(h->links);
	h->links = NULL;
}
