/* SPDX-License-Identifier: Apache-2.0 */
/* Trees, commits and tags.  Everything that git's own check calls an error or, with --strict, a warning is refused; modes
 * too that it would only mention.  Texts are walked with their end in hand: a NUL is never relied on. */
#include "verify.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "oids.h"

int tree_next(struct tree_iter *it, struct tree_entry *e)
{
	const unsigned char *p = it->p, *nul;
	unsigned mode = 0;
	int digits = 0;

	if (p >= it->end)
		return 0;
	e->padded = *p == '0';
	for (; p < it->end && *p >= '0' && *p <= '7' && digits < 7; p++, digits++)
		mode = mode << 3 | (unsigned)(*p - '0');
	if (!digits || p >= it->end || *p != ' ')
		return -1;
	p++;
	nul = memchr(p, 0, (size_t)(it->end - p));
	if (!nul || (size_t)(it->end - nul) <= GIT_OID_RAWSZ)
		return -1;
	e->mode = mode;
	e->name = (const char *)p;
	e->name_len = (size_t)(nul - p);
	memcpy(e->id.id, nul + 1, GIT_OID_RAWSZ);
	it->p = nul + 1 + GIT_OID_RAWSZ;
	return 1;
}

int tree_compare(const char *a, bool a_is_tree, const char *b, bool b_is_tree)
{
	unsigned char ca, cb;
	size_t i = 0;

	while (a[i] && a[i] == b[i])
		i++;
	ca = (unsigned char)a[i];
	cb = (unsigned char)b[i];
	/* A folder's name ends in '/' for the order; nothing more can follow at this place in either. */
	if (!ca && a_is_tree)
		ca = '/';
	if (!cb && b_is_tree)
		cb = '/';
	return ca < cb ? -1 : ca > cb;
}

/* Files whose name is the start of what follows: a folder of the same name may come later, with others between ("a",
 * "a.b", "a/"), and is then a second entry of one name. */
struct open_names {
	const char **v;
	size_t n, cap;
};

static bool name_push(struct open_names *o, const char *name)
{
	if (o->n == o->cap) {
		size_t cap = o->cap ? 2 * o->cap : 16;
		const char **v = realloc(o->v, cap * sizeof(*v));

		if (!v)
			return false;
		o->v = v;
		o->cap = cap;
	}
	o->v[o->n++] = name;
	return true;
}

static const char *check_twice(struct open_names *open, const struct tree_entry *e, bool is_tree)
{
	while (open->n) {
		const char *last = open->v[open->n - 1];
		size_t len = strlen(last);

		if (!strncmp(e->name, last, len)) {
			if (e->name_len == len)
				return "a tree has two entries of one name";
			/* Whatever sorts below '/' may still be followed by the folder. */
			if ((unsigned char)e->name[len] < '/')
				break;
		}
		open->n--;
	}
	return is_tree || name_push(open, e->name) ? NULL : "out of memory";
}

static const char *check_entry(const struct tree_entry *e)
{
	if (e->padded)
		return "a tree has a mode with a leading zero";
	if (e->mode != MODE_FILE && e->mode != MODE_PROGRAM && e->mode != MODE_LINK && e->mode != MODE_TREE &&
	    e->mode != MODE_COMMIT)
		return "a tree has an entry of an unknown mode";
	if (git_oid_is_zero(&e->id))
		return "a tree has an entry that names nothing";
	if (is_gitmodules(e->name) && e->mode == MODE_LINK)
		return "a tree has a .gitmodules that is a link";
	return verify_name(e->name, e->name_len);
}

const char *verify_tree(const void *data, size_t len)
{
	struct tree_iter it = { data, (const unsigned char *)data + len };
	struct tree_entry e, last = { 0 };
	struct open_names open = { 0 };
	const char *wrong = NULL;
	int more;

	while (!wrong && (more = tree_next(&it, &e)) != 0) {
		wrong = more < 0 ? "a tree is cut short or no tree" : check_entry(&e);
		if (!wrong)
			wrong = check_twice(&open, &e, e.mode == MODE_TREE);
		if (!wrong && last.name &&
		    tree_compare(last.name, last.mode == MODE_TREE, e.name, e.mode == MODE_TREE) >= 0)
			wrong = "a tree is not in order";
		last = e;
	}
	free(open.v);
	return wrong;
}

/* A cursor over the header of a commit or a tag; take() steps over a literal. */
struct cursor {
	const char *p, *end;
};

static bool take(struct cursor *c, const char *literal)
{
	size_t len = strlen(literal);

	if ((size_t)(c->end - c->p) < len || memcmp(c->p, literal, len) != 0)
		return false;
	c->p += len;
	return true;
}

static bool take_id(struct cursor *c, git_oid *out)
{
	if (oid_parse(c->p, (size_t)(c->end - c->p), out) < 0)
		return false;
	c->p += GIT_OID_HEXSZ;
	return take(c, "\n");
}

/* The rest of the line, with its end stepped over; NULL when it never ends. */
static const char *take_line(struct cursor *c, size_t *len)
{
	const char *start = c->p, *nl = memchr(start, '\n', (size_t)(c->end - start));

	if (!nl)
		return NULL;
	*len = (size_t)(nl - start);
	c->p = nl + 1;
	return start;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* " 1700000000 +0100" from p up to the line's end. */
static const char *check_date(const char *p, const char *end)
{
	uint64_t when = 0;

	if (p == end || *p++ != ' ')
		return "a name is not followed by a date";
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (p == end || !is_digit(*p) || (*p == '0' && (end - p < 2 || p[1] != ' ')))
		return "a date is no number";
	for (; p < end && is_digit(*p); p++) {
		if (when > (INT64_MAX - 9) / 10)
			return "a date is too large";
		when = 10 * when + (uint64_t)(*p - '0');
	}
	if (end - p != 6 || p[0] != ' ' || (p[1] != '+' && p[1] != '-') || !is_digit(p[2]) || !is_digit(p[3]) ||
	    !is_digit(p[4]) || !is_digit(p[5]))
		return "a time zone is malformed";
	return NULL;
}

/* "Name <mail> 1700000000 +0100\n" */
static const char *take_person(struct cursor *c)
{
	size_t len;
	const char *line = take_line(c, &len), *end, *p;

	if (!line)
		return "a name is not followed by anything";
	end = line + len;
	for (p = line; p < end && *p != '<'; p++)
		if (*p == '>')
			return "a person's name is malformed";
	if (p == end || p == line || p[-1] != ' ')
		return "a person has no name or no mail address";
	for (p++; p < end && *p != '>'; p++)
		if (*p == '<')
			return "a mail address is malformed";
	if (p == end)
		return "a mail address is malformed";
	return check_date(p + 1, end);
}

/* The header ends with an empty line, or with the last line of all; it has no NUL. */
static const char *check_header(const char *data, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (!data[i])
			return "an object has a NUL in its header";
		if (data[i] == '\n' && i + 1 < len && data[i + 1] == '\n')
			return NULL;
	}
	return len && data[len - 1] == '\n' ? NULL : "an object's header has no end";
}

static bool take_links(struct cursor *c, struct commit_view *out)
{
	git_oid parent;

	out->parents = 0;
	if (!take(c, "tree ") || !take_id(c, &out->tree))
		return false;
	out->first = c->p;
	while (take(c, "parent ")) {
		if (!take_id(c, &parent))
			return false;
		out->parents++;
	}
	return true;
}

int read_commit(const char *data, size_t len, struct commit_view *out)
{
	struct cursor c = { data, data + len };

	return take_links(&c, out) ? 0 : -1;
}

const char *verify_commit(const char *data, size_t len, struct commit_view *out)
{
	struct cursor c = { data, data + len };
	const char *wrong = check_header(data, len);

	if (wrong)
		return wrong;
	if (!take_links(&c, out))
		return "a commit has malformed links";
	if (!take(&c, "author "))
		return "a commit has no author";
	wrong = take_person(&c);
	if (wrong)
		return wrong;
	if (!take(&c, "committer "))
		return "a commit has no committer, or two authors";
	wrong = take_person(&c);
	if (wrong)
		return wrong;
	return memchr(data, 0, len) ? "a commit has a NUL in its text" : NULL;
}

void commit_parent(const struct commit_view *c, size_t i, git_oid *out)
{
	(void)oid_parse(c->first + i * COMMIT_PARENT_LINE + strlen("parent "), GIT_OID_HEXSZ, out);
}

static const char *take_target(struct cursor *c, git_oid *target, git_object_t *type)
{
	static const struct {
		const char *text;
		git_object_t type;
	} types[] = { { "commit\n", GIT_OBJECT_COMMIT },
		      { "tree\n", GIT_OBJECT_TREE },
		      { "blob\n", GIT_OBJECT_BLOB },
		      { "tag\n", GIT_OBJECT_TAG } };
	size_t i;

	if (!take(c, "object ") || !take_id(c, target) || !take(c, "type "))
		return "a tag has malformed links";
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (take(c, types[i].text)) {
			*type = types[i].type;
			return NULL;
		}
	return "a tag is of an unknown type";
}

int read_tag(const char *data, size_t len, git_oid *target, git_object_t *type)
{
	struct cursor c = { data, data + len };

	return take_target(&c, target, type) ? -1 : 0;
}

static const char *check_signature(struct cursor *c)
{
	size_t len;

	if (!take(c, "gpgsig ") && !take(c, "gpgsig-sha256 "))
		return NULL;
	do {
		if (!take_line(c, &len))
			return "a tag's signature has no end";
	} while (take(c, " "));
	return NULL;
}

const char *verify_tag(const char *data, size_t len, git_oid *target, git_object_t *type)
{
	struct cursor c = { data, data + len };
	const char *wrong = check_header(data, len), *name;
	char ref[1100] = "refs/tags/";
	size_t name_len, prefix = strlen(ref);

	if (!wrong)
		wrong = take_target(&c, target, type);
	if (wrong)
		return wrong;
	name = take(&c, "tag ") ? take_line(&c, &name_len) : NULL;
	if (!name)
		return "a tag has no name";
	if (name_len > sizeof(ref) - prefix - 1)
		return "a tag's name is too long";
	memcpy(ref + prefix, name, name_len);
	if (!ref_name_valid(ref, prefix + name_len))
		return "a tag's name is not valid";
	/* Early tags have no tagger. */
	wrong = take(&c, "tagger ") ? take_person(&c) : NULL;
	return wrong ? wrong : check_signature(&c);
}
