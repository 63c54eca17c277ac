/* SPDX-License-Identifier: Apache-2.0 */
/* Where a checkout's objects are: its own directory, and those that it borrows from, which may borrow in turn.  What is
 * borrowed is copied like the rest: a workspace borrows nothing. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkout.h"

#define ALTERNATES_MAX (64u << 10)
#define DEPTH_MAX      5 /* as git */

static int load(struct checkout *c, const char *dir, int depth, struct refusal *r);

/* A line may be quoted as in C: of the escapes git writes, those that a path is likely to have. */
static char *unquoted(const char *line)
{
	size_t len = strlen(line), n = 0;
	char *out = malloc(len + 1);

	if (!out)
		return NULL;
	if (line[0] != '"' || len < 2 || line[len - 1] != '"') {
		memcpy(out, line, len + 1);
		return out;
	}
	for (size_t i = 1; i < len - 1; i++) {
		if (line[i] != '\\') {
			out[n++] = line[i];
		} else if (line[i + 1] >= '0' && line[i + 1] <= '3' && i + 3 < len - 1) {
			out[n++] = (char)((line[i + 1] - '0') << 6 | (line[i + 2] - '0') << 3 | (line[i + 3] - '0'));
			i += 3;
		} else {
			i++;
			out[n++] = line[i] == 'n' ? '\n' : line[i] == 't' ? '\t' : line[i];
		}
	}
	out[n] = '\0';
	return out;
}

static int refuse_gone(struct checkout *c, const char *from, const char *path, struct refusal *r)
{
	cleanup_free char *word = quoted(c->path);
	cleanup_free char *fix =
	        word ? format("bring back %s, then to keep its objects: git -C %s repack -a -d", path, word) : NULL;

	return refuse(
	        r, "sandbox_workspace", c->path, fix,
	        "%s borrows objects from %s (objects/info/alternates of %s), and that is no directory that can be read",
	        c->path, path, from);
}

static int load_line(struct checkout *c, const char *dir, char *line, int depth, struct refusal *r)
{
	cleanup_free char *name = unquoted(line);
	cleanup_free char *path = !name ? NULL : name[0] == '/' ? strdup(name) : format("%s/%s", dir, name);
	cleanup_free char *real = NULL;

	if (!path)
		return no_memory(r);
	if (*line == '\0' || *line == '#')
		return 0;
	real = realpath(path, NULL);
	if (!real)
		return refuse_gone(c, dir, path, r);
	for (size_t i = 0; i < c->nobjects; i++)
		if (!strcmp(c->objects[i], real))
			return 0;
	if (depth >= DEPTH_MAX)
		return 0;
	return load(c, real, depth + 1, r);
}

static int load(struct checkout *c, const char *dir, int depth, struct refusal *r)
{
	cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_text struct text text = { 0 };
	char *line, *rest;

	if (fd < 0)
		return refuse_gone(c, c->common, dir, r);
	if (c->nobjects == OBJECT_DIRS)
		return checkout_refuse(c, r, "repack -a -d", "borrows objects from more than %d repositories",
		                       OBJECT_DIRS);
	c->objects[c->nobjects] = strdup(dir);
	if (!c->objects[c->nobjects])
		return no_memory(r);
	c->nobjects++;
	if (read_small(fd, "info/alternates", ALTERNATES_MAX, &text) < 0)
		return errno == ENOENT ? 0 : refuse_errno(r, dir, "info/alternates of it can't be read");
	for (line = text.data; line && *line; line = rest) {
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = '\0';
		if (load_line(c, dir, line, depth, r))
			return -1;
	}
	return 0;
}

int alternates_load(struct checkout *c, struct refusal *r)
{
	cleanup_free char *path = format("%s/objects", c->common);
	cleanup_free char *real = path ? realpath(path, NULL) : NULL;

	if (!path)
		return no_memory(r);
	return real ? load(c, real, 0, r) : refuse_errno(r, path, "the objects of the checkout can't be found");
}
