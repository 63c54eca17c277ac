/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <openconduit/error.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

#define LINKS_MAX 40 /* as the kernel */

bool oc_path_clean(const char *path)
{
	if (!path || path[0] != '/')
		return false;
	if (path[1] == '\0')
		return true;
	for (const char *p = path + 1;; p++) {
		size_t n = strcspn(p, "/");

		if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		p += n;
		if (*p == '\0')
			return true;
	}
}

bool oc_path_within(const char *ancestor, const char *path)
{
	size_t n = strlen(ancestor);

	if (n == 1 && ancestor[0] == '/')
		return path[0] == '/';
	return strncmp(ancestor, path, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

char *oc_path_join(const char *dir, const char *name)
{
	size_t n = strlen(dir), m = strlen(name);
	bool slash = n == 0 || dir[n - 1] != '/';
	char *out = malloc(n + slash + m + 1);

	if (!out)
		return NULL;
	memcpy(out, dir, n);
	if (slash)
		out[n] = '/';
	memcpy(out + n + slash, name, m + 1);
	return out;
}

char *oc_path_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash != path ? strndup(path, (size_t)(slash - path)) : strdup("/");
}

const char *oc_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* A walk as the kernel's, which goes on where nothing exists: so a link that points nowhere yet
 * resolves to where it points, and not to its own name. */
struct walk {
	struct oc_buf done, todo; /* done: real, no trailing slash, "" for the root */
	int links;
	bool missing;
};

static void pop(struct oc_buf *b)
{
	const char *slash = b->len ? strrchr(b->data, '/') : NULL;

	if (slash) {
		b->len = (size_t)(slash - b->data);
		b->data[b->len] = '\0';
	}
}

static int follow(struct walk *w, size_t parent_len)
{
	char target[PATH_MAX];
	ssize_t n = readlink(w->done.data, target, sizeof(target) - 1);
	struct oc_buf todo;
	int rc;

	if (n < 0)
		return -errno;
	if (n == 0 || (size_t)n >= sizeof(target) - 1 || ++w->links > LINKS_MAX)
		return -ELOOP;
	target[n] = '\0';
	w->done.len = target[0] == '/' ? 0 : parent_len;
	w->done.data[w->done.len] = '\0';
	oc_buf_init(&todo, w->todo.max);
	rc = oc_buf_printf(&todo, "%s/%s", target, w->todo.len ? w->todo.data : "");
	oc_buf_free(&w->todo);
	w->todo = todo;
	return rc == 0 ? 0 : rc == OC_ENOMEM ? -ENOMEM : -ENAMETOOLONG;
}

static int step(struct walk *w, const char *name)
{
	size_t parent_len = w->done.len;
	struct stat st;

	if (strcmp(name, ".") == 0 || *name == '\0')
		return 0;
	if (strcmp(name, "..") == 0) {
		if (w->missing)
			return -ENOENT;
		pop(&w->done);
		return 0;
	}
	switch (oc_buf_printf(&w->done, "/%s", name)) {
	case 0:
		break;
	case OC_ENOMEM:
		return -ENOMEM;
	default:
		return -ENAMETOOLONG;
	}
	if (w->missing)
		return 0;
	if (lstat(w->done.data, &st) < 0) {
		w->missing = errno == ENOENT;
		return w->missing ? 0 : -errno;
	}
	if (S_ISLNK(st.st_mode))
		return follow(w, parent_len);
	return !S_ISDIR(st.st_mode) && w->todo.len ? -ENOTDIR : 0;
}

static int walk(struct walk *w)
{
	char name[NAME_MAX + 1];

	while (w->todo.len) {
		size_t n = strcspn(w->todo.data, "/");
		int rc;

		if (n > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, w->todo.data, n);
		name[n] = '\0';
		oc_buf_consume(&w->todo, n + strspn(w->todo.data + n, "/"));
		rc = step(w, name);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int oc_path_resolve(const char *path, char **out, bool *missing)
{
	struct walk w = { 0 };
	char *text = NULL;
	int rc = -EINVAL;

	if (!oc_path_clean(path))
		return rc;
	oc_buf_init(&w.done, PATH_MAX - 1);
	oc_buf_init(&w.todo, 2 * PATH_MAX);
	rc = oc_buf_puts(&w.todo, path);
	rc = rc == 0 ? walk(&w) : rc == OC_ENOMEM ? -ENOMEM : -ENAMETOOLONG;
	if (rc == 0) {
		text = w.done.len ? oc_buf_steal(&w.done) : strdup("/");
		rc = text ? 0 : -ENOMEM;
	}
	if (rc == 0) {
		*out = text;
		if (missing)
			*missing = w.missing;
	}
	oc_buf_free(&w.done);
	oc_buf_free(&w.todo);
	return rc;
}
