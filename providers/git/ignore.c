/* SPDX-License-Identifier: Apache-2.0 */
#include "ignore.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define EFFORT      1000000000ull
#define PATTERN_MAX 4096u
#define STEPS_MAX   100000u /* for one pattern and one path */

/* [:alpha:] and its like, in the C locale: no other is ever set here. */
static bool class_has(const char *name, size_t len, unsigned char c)
{
	static const struct {
		const char *name;
		int (*is)(int);
	} classes[] = { { "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank }, { "cntrl", iscntrl },
		        { "digit", isdigit }, { "graph", isgraph }, { "lower", islower }, { "print", isprint },
		        { "punct", ispunct }, { "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit } };
	size_t i;

	for (i = 0; i < COUNT(classes); i++)
		if (strlen(classes[i].name) == len && !strncmp(classes[i].name, name, len))
			return classes[i].is(c) != 0;
	return false;
}

/* One character of a set: steps over it; 0 at the pattern's end. */
static unsigned char set_char(const char **p)
{
	if (**p == '\\')
		++*p;
	return **p ? (unsigned char)*(*p)++ : 0;
}

/* A set from behind its '[': the place behind its ']', or NULL when it has none. */
static const char *match_set(const char *p, unsigned char c, bool *hit)
{
	bool negated = *p == '!' || *p == '^', first = true;

	*hit = false;
	for (p += negated; *p != ']' || first; first = false) {
		const char *end;
		unsigned char low, high;

		if (p[0] == '[' && p[1] == ':' && (end = strstr(p + 2, ":]")) != NULL) {
			*hit |= class_has(p + 2, (size_t)(end - p - 2), c);
			p = end + 2;
			continue;
		}
		low = high = set_char(&p);
		if (p[0] == '-' && p[1] && p[1] != ']') {
			p++;
			high = set_char(&p);
		}
		if (!low || !high)
			return NULL;
		*hit |= c >= low && c <= high;
	}
	*hit = *hit != negated;
	return p + 1;
}

static bool glob(const char *start, const char *p, const char *t, uint64_t *effort);

/* "**" between slashes or at an end: any number of folders. */
static bool match_folders(const char *start, const char *p, const char *t, uint64_t *effort)
{
	if (!*p)
		return true;
	for (p++; t; t = strchr(t, '/')) {
		t += *t == '/';
		if (glob(start, p, t, effort))
			return true;
		if (!*t)
			break;
	}
	return false;
}

static bool match_star(const char *start, const char *p, const char *t, uint64_t *effort)
{
	const char *stars = p;

	while (*p == '*')
		p++;
	if (p - stars == 2 && (stars == start || stars[-1] == '/') && (!*p || *p == '/'))
		return match_folders(start, p, t, effort);
	for (;; t++) {
		if (glob(start, p, t, effort))
			return true;
		if (!*t || *t == '/' || !*effort)
			return false;
	}
}

static bool glob(const char *start, const char *p, const char *t, uint64_t *effort)
{
	for (; *p; p++, t++) {
		bool hit;

		if (!*effort)
			return false;
		--*effort;
		if (*p == '*')
			return match_star(start, p, t, effort);
		if (!*t)
			return false;
		if (*p == '?') {
			if (*t == '/')
				return false;
		} else if (*p == '[') {
			p = match_set(p + 1, (unsigned char)*t, &hit);
			if (!p || !hit || *t == '/')
				return false;
			p--;
		} else {
			if (*p == '\\' && !*++p)
				return false;
			if (*p != *t)
				return false;
		}
	}
	return !*t;
}

bool glob_match(const char *pattern, const char *text, uint64_t *effort)
{
	return glob(pattern, pattern, text, effort);
}

void ignore_init(struct ignore *g)
{
	*g = (struct ignore){ .effort = EFFORT };
}

void ignore_pop(struct ignore *g)
{
	struct ignore_level *l = &g->levels[--g->n];
	size_t i;

	for (i = 0; i < l->n; i++)
		free(l->v[i].text);
	free(l->v);
}

void ignore_free(struct ignore *g)
{
	while (g->n)
		ignore_pop(g);
	free(g->levels);
	*g = (struct ignore){ 0 };
}

/* Blanks at the end don't count, unless a backslash is before them. */
static size_t trimmed(const char *line, size_t len)
{
	size_t i, end = 0;

	for (i = 0; i < len; i++) {
		if (line[i] == '\\' && i + 1 < len)
			end = ++i + 1;
		else if (line[i] != ' ')
			end = i + 1;
	}
	return end;
}

/* 1: a pattern; 0: none in this line; -1: no memory. */
static int read_pattern(const char *line, size_t len, struct ignore_pattern *out)
{
	*out = (struct ignore_pattern){ 0 };
	if (len && line[len - 1] == '\r')
		len--;
	if (!len || line[0] == '#' || memchr(line, 0, len))
		return 0;
	len = trimmed(line, len);
	out->negated = len && line[0] == '!';
	line += out->negated;
	len -= out->negated;
	out->folder = len && line[len - 1] == '/';
	len -= out->folder;
	if (!len || len > PATTERN_MAX)
		return 0;
	out->path = memchr(line, '/', len) != NULL;
	if (line[0] == '/') {
		line++;
		len--;
	}
	out->text = strndup(line, len);
	return out->text ? 1 : -1;
}

static bool level_add(struct ignore_level *l, const struct ignore_pattern *p)
{
	/* Room for 8, 16, 32, …: full whenever the count is a power of two from 8 on. */
	if (l->n == 0 || (l->n >= 8 && !(l->n & (l->n - 1)))) {
		struct ignore_pattern *v = realloc(l->v, (l->n ? 2 * l->n : 8) * sizeof(*v));

		if (!v)
			return false;
		l->v = v;
	}
	l->v[l->n++] = *p;
	return true;
}

bool ignore_push(struct ignore *g, const char *folder, const char *text, size_t len)
{
	const char *end = text + len, *nl;
	struct ignore_level *l;

	if (g->n == g->cap) {
		size_t cap = g->cap ? 2 * g->cap : 16;
		struct ignore_level *levels = realloc(g->levels, cap * sizeof(*levels));

		if (!levels)
			return false;
		g->levels = levels;
		g->cap = cap;
	}
	l = &g->levels[g->n++];
	*l = (struct ignore_level){ .base = strlen(folder) };
	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		text += 3;
	for (; text < end; text = nl + 1) {
		struct ignore_pattern p;
		int got;

		nl = memchr(text, '\n', (size_t)(end - text));
		if (!nl)
			nl = end;
		got = read_pattern(text, (size_t)(nl - text), &p);
		if (got < 0 || (got && !level_add(l, &p)))
			return false;
	}
	return true;
}

static bool matches(struct ignore *g, const struct ignore_level *l, const struct ignore_pattern *p, const char *path,
                    bool is_folder)
{
	const char *slash = strrchr(path, '/'), *text = p->path ? path + l->base : slash ? slash + 1 : path;
	uint64_t steps = g->effort < STEPS_MAX ? g->effort : STEPS_MAX, before = steps;
	bool hit;

	if (p->folder && !is_folder)
		return false;
	hit = glob_match(p->text, text, &steps);
	g->effort -= before - steps;
	return hit;
}

bool ignore_match(struct ignore *g, const char *path, bool is_folder)
{
	size_t level, i;

	for (level = g->n; level-- > 0;)
		for (i = g->levels[level].n; i-- > 0;) {
			const struct ignore_level *l = &g->levels[level];

			if (matches(g, l, &l->v[i], path, is_folder))
				return !l->v[i].negated;
		}
	return false;
}
