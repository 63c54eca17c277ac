/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/violations.h"

#define MOUNTS_MAX (8u << 20)

/* The kernel writes space, tab, newline and backslash as \ooo. */
static char *unescape(const char *s, size_t len)
{
	char *out = malloc(len + 1);
	size_t n = 0;

	if (!out)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '\\' && len - i > 3) {
			out[n++] = (char)((s[i + 1] - '0') << 6 | (s[i + 2] - '0') << 3 | (s[i + 3] - '0'));
			i += 3;
		} else {
			out[n++] = s[i];
		}
	}
	out[n] = '\0';
	return out;
}

static int add_mount(struct oc_mounts *m, uint64_t dev, char *root, char *point)
{
	if (!root || !point)
		goto fail;
	if (m->n == m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 64;
		struct oc_mount *v = reallocarray(m->v, cap, sizeof(*v));

		if (!v)
			goto fail;
		m->v = v;
		m->cap = cap;
	}
	m->v[m->n++] = (struct oc_mount){ dev, root, point };
	return 0;
fail:
	free(root);
	free(point);
	return OC_ENOMEM;
}

/* A number of the kernel's, and what stands after it. */
static bool number(const char **at, char after, unsigned int *out)
{
	uint64_t value = 0;
	const char *p = *at;

	for (; *p >= '0' && *p <= '9' && value <= UINT_MAX; p++)
		value = value * 10 + (uint64_t)(*p - '0');
	if (p == *at || value > UINT_MAX || *p != after)
		return false;
	*at = p + 1;
	*out = (unsigned int)value;
	return true;
}

/* "36 35 98:0 /root /point rw,… - type source opts" */
static int parse_line(struct oc_mounts *m, const char *line)
{
	unsigned int major, minor, ignored;
	const char *root, *point, *end;

	if (!number(&line, ' ', &ignored) || !number(&line, ' ', &ignored) || !number(&line, ':', &major) ||
	    !number(&line, ' ', &minor))
		return OC_EPROTO;
	root = line;
	point = strchr(root, ' ');
	if (!point)
		return OC_EPROTO;
	end = strchrnul(point + 1, ' ');
	return add_mount(m, makedev(major, minor), unescape(root, (size_t)(point - root)),
	                 unescape(point + 1, (size_t)(end - point - 1)));
}

int oc_mounts_load(struct oc_mounts *mounts, oc_error **err)
{
	struct oc_buf text;
	int rc;

	memset(mounts, 0, sizeof(*mounts));
	oc_buf_init(&text, MOUNTS_MAX);
	rc = oc_read_file(AT_FDCWD, "/proc/self/mountinfo", MOUNTS_MAX, &text);
	if (rc < 0) {
		oc_buf_free(&text);
		return oc_fail(err, OC_EIO, -rc, "can't read /proc/self/mountinfo, so bind mounts can't be told apart");
	}
	for (char *line = text.data, *end; rc == 0 && line && *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			break;
		*end = '\0';
		rc = parse_line(mounts, line);
	}
	oc_buf_free(&text);
	mounts->seen = oc_seen_new();
	if (rc == 0 && !mounts->seen)
		rc = OC_ENOMEM;
	if (rc == 0)
		return 0;
	oc_mounts_free(mounts);
	return rc == OC_ENOMEM ? oc_nomem(err)
	                       : oc_fail(err, rc, 0, "/proc/self/mountinfo has a line of an unknown form");
}

void oc_mounts_free(struct oc_mounts *mounts)
{
	for (size_t i = 0; i < mounts->n; i++) {
		free(mounts->v[i].root);
		free(mounts->v[i].point);
	}
	free(mounts->v);
	oc_seen_free(mounts->seen);
	memset(mounts, 0, sizeof(*mounts));
}

static const char *beneath(const char *ancestor, const char *path)
{
	size_t len = strlen(ancestor);

	return len == 1 ? (path[1] ? path : "") : path + len;
}

static char *glue(const char *dir, const char *rest)
{
	return *rest == '\0' ? strdup(dir) : oc_policy_format("%s%s", dir[1] ? dir : "", rest);
}

static int add_spot(struct oc_place *p, uint64_t dev, char *root)
{
	struct oc_mount *v = root ? reallocarray(p->spots, p->n_spots + 1, sizeof(*v)) : NULL;

	if (!v) {
		free(root);
		return OC_ENOMEM;
	}
	p->spots = v;
	v[p->n_spots++] = (struct oc_mount){ dev, root, NULL };
	return 0;
}

static int find_spots(struct oc_place *p, const struct oc_mounts *m)
{
	const struct oc_mount *own = NULL;
	int rc = 0;

	/* The longest mount point is the one we see; of several at one point the last. */
	for (size_t i = 0; i < m->n; i++)
		if (oc_path_within(m->v[i].point, p->path) && (!own || strlen(m->v[i].point) >= strlen(own->point)))
			own = &m->v[i];
	if (own)
		rc = add_spot(p, own->dev, glue(own->root, beneath(own->point, p->path)));
	for (size_t i = 0; rc == 0 && i < m->n; i++)
		if (strcmp(m->v[i].point, p->path) != 0 && oc_path_within(p->path, m->v[i].point))
			rc = add_spot(p, m->v[i].dev, strdup(m->v[i].root));
	return rc;
}

static int find_chain(struct oc_place *p, struct oc_seen *seen)
{
	char *at = strdup(p->path);
	struct stat st;
	size_t depth = 1;

	for (const char *c = p->path; *c; c++)
		depth += *c == '/';
	p->chain = calloc(depth + 1, sizeof(*p->chain));
	if (!at || !p->chain) {
		free(at);
		return OC_ENOMEM;
	}
	for (;;) {
		char *slash = strrchr(at, '/');
		const char *name = *at ? at : "/";

		if (oc_seen_lstat(seen, name, &st) == 0 && (!S_ISLNK(st.st_mode) || stat(name, &st) == 0)) {
			p->chain[p->n_chain].dev = st.st_dev;
			p->chain[p->n_chain++].ino = st.st_ino;
		}
		if (!slash || !*at)
			break;
		*slash = '\0';
		if (p->path[1] == '\0')
			break;
	}
	free(at);
	return 0;
}

int oc_place_init(struct oc_place *place, const struct oc_mounts *mounts, char *path)
{
	struct stat st;
	int rc;

	memset(place, 0, sizeof(*place));
	if (!path)
		return OC_ENOMEM;
	place->path = path;
	if (oc_seen_lstat(mounts->seen, path, &st) == 0) {
		place->exists = true;
		place->dir = S_ISDIR(st.st_mode);
		place->dev = st.st_dev;
		place->ino = st.st_ino;
		place->mode = st.st_mode;
		place->uid = st.st_uid;
		place->gid = st.st_gid;
	}
	rc = find_chain(place, mounts->seen);
	if (rc == 0)
		rc = find_spots(place, mounts);
	if (rc)
		oc_place_free(place);
	return rc;
}

void oc_place_free(struct oc_place *place)
{
	for (size_t i = 0; i < place->n_spots; i++)
		free(place->spots[i].root);
	free(place->spots);
	free(place->chain);
	free(place->path);
	memset(place, 0, sizeof(*place));
}

static bool in_chain(const struct oc_place *inner, const struct oc_place *outer)
{
	if (!outer->exists)
		return false;
	for (size_t i = 0; i < inner->n_chain; i++)
		if (inner->chain[i].dev == outer->dev && inner->chain[i].ino == outer->ino)
			return true;
	return false;
}

bool oc_place_within(const struct oc_place *inner, const struct oc_place *outer)
{
	if (oc_path_within(outer->path, inner->path) || in_chain(inner, outer))
		return true;
	for (size_t i = 0; inner->n_spots && i < outer->n_spots; i++)
		if (outer->spots[i].dev == inner->spots[0].dev &&
		    oc_path_within(outer->spots[i].root, inner->spots[0].root))
			return true;
	return false;
}

bool oc_place_overlap(const struct oc_place *a, const struct oc_place *b)
{
	if (oc_place_within(a, b) || oc_place_within(b, a))
		return true;
	for (size_t i = 0; i < a->n_spots; i++)
		for (size_t j = 0; j < b->n_spots; j++)
			if (a->spots[i].dev == b->spots[j].dev && (oc_path_within(a->spots[i].root, b->spots[j].root) ||
			                                           oc_path_within(b->spots[j].root, a->spots[i].root)))
				return true;
	return false;
}

static bool same_thing(const struct oc_place *place, const char *path)
{
	struct stat st;

	return place->exists && lstat(path, &st) == 0 && st.st_dev == place->dev && st.st_ino == place->ino;
}

int oc_place_aliases(const struct oc_place *place, const struct oc_mounts *mounts, struct oc_strv *out)
{
	for (size_t i = 0; place->n_spots && i < mounts->n; i++) {
		const struct oc_mount *m = &mounts->v[i];
		const char *root = place->spots[0].root;
		int rc = 0;

		if (m->dev != place->spots[0].dev)
			continue;
		if (oc_path_within(m->root, root)) {
			char *alias = glue(m->point, beneath(m->root, root));

			if (!alias)
				return OC_ENOMEM;
			if (strcmp(alias, place->path) != 0 && same_thing(place, alias) && !oc_strv_has(out, alias))
				rc = oc_strv_add(out, alias);
			free(alias);
		} else if (oc_path_within(root, m->root) && !oc_path_within(place->path, m->point) &&
		           !oc_strv_has(out, m->point)) {
			rc = oc_strv_add(out, m->point);
		}
		if (rc)
			return rc;
	}
	return 0;
}
