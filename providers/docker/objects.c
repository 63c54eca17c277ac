/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX  (64 * 1024)
#define VALUE_MAX 128

static const char *const names[KINDS] = { "container", "gateway", "network", "egress" };

const char *kind_name(enum kind kind)
{
	return names[kind];
}

/* What may be in a name or an id of ours: nothing of it needs quoting, neither here nor in a URL. */
static bool value_valid(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n > 0 && n <= VALUE_MAX && !s[n];
}

static void forget(struct objects *o, enum kind kind)
{
	free(o->v[kind].name);
	free(o->v[kind].id);
	o->v[kind].name = o->v[kind].id = NULL;
}

/* One line, as far as it is known to be whole.  Wrong: a line that we don't write. */
static bool apply(struct objects *o, char *line)
{
	char *rest = NULL, *what = strtok_r(line, " ", &rest), *kind = strtok_r(NULL, " ", &rest);
	const char *value = strtok_r(NULL, "", &rest);
	enum kind k = 0;

	if (!what || !kind || !value || !value_valid(value))
		return false;
	while (k < KINDS && strcmp(names[k], kind) != 0)
		k++;
	if (k == KINDS)
		return false;
	if (!strcmp(what, "intend")) {
		forget(o, k);
		o->v[k].name = strdup(value);
		return o->v[k].name != NULL;
	}
	if (!strcmp(what, "made")) {
		free(o->v[k].id);
		o->v[k].id = strdup(value);
		return o->v[k].id != NULL;
	}
	if (strcmp(what, "gone") != 0)
		return false;
	forget(o, k);
	return true;
}

static int replay(struct objects *o, char *text, size_t len, const char *path, struct refusal *r)
{
	char *end, *line = text;

	for (; (end = memchr(line, '\n', len - (size_t)(line - text))); line = end + 1) {
		*end = '\0';
		if (!apply(o, line))
			return refuse(r, "sandbox_unavailable", path, NULL,
			              "%s holds a line that was not written by this program", path);
	}
	if (o->fd >= 0 && !o->looked && line < text + len && ftruncate(o->fd, line - text) < 0)
		return refuse(r, "sandbox_unavailable", path, NULL, "%s can't be mended: %s", path, strerror(errno));
	return 0;
}

static int load(struct objects *o, const char *path, struct refusal *r)
{
	cleanup_free char *text = malloc(FILE_MAX);
	size_t len = 0;
	struct stat st;
	ssize_t n = 0;

	if (!text)
		return no_memory(r);
	if (fstat(o->fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return refuse(r, "sandbox_unavailable", path, NULL, "%s is no file of ours", path);
	while (len < FILE_MAX && (n = pread(o->fd, text + len, FILE_MAX - len, (off_t)len)) > 0)
		len += (size_t)n;
	if (n < 0 || len == FILE_MAX)
		return refuse(r, "sandbox_unavailable", path, NULL, "%s can't be read: %s", path,
		              n < 0 ? strerror(errno) : "it is too long");
	return replay(o, text, len, path, r);
}

/* A file that is lost with its directory entry has recorded nothing. */
static int sync_dir(const char *live)
{
	int fd = open(live, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = fd < 0 ? -1 : fsync(fd);

	if (fd >= 0)
		close(fd);
	return rc;
}

static int open_file(const char *live, int flags, struct objects *out, struct refusal *r)
{
	cleanup_free char *path = format("%s/objects", live);

	if (!path)
		return no_memory(r);
	out->fd = open(path, O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);
	if (out->fd < 0 && errno == ENOENT && !(flags & O_CREAT))
		return 0;
	if (out->fd < 0 || ((flags & O_CREAT) && sync_dir(live) < 0))
		refuse(r, "sandbox_unavailable", path, NULL, "%s can't be opened: %s", path, strerror(errno));
	else if (load(out, path, r) == 0)
		return 0;
	objects_close(out);
	return -1;
}

int objects_open(const char *live, bool create, struct objects *out, struct refusal *r)
{
	*out = (struct objects){ .fd = -1 };
	return open_file(live, O_RDWR | (create ? O_CREAT : 0), out, r);
}

int objects_look(const char *live, struct objects *out, struct refusal *r)
{
	*out = (struct objects){ .fd = -1, .looked = true };
	return open_file(live, O_RDONLY, out, r);
}

void objects_close(struct objects *o)
{
	enum kind k;

	for (k = 0; k < KINDS; k++)
		forget(o, k);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

bool objects_empty(const struct objects *o)
{
	enum kind k;

	for (k = 0; k < KINDS; k++)
		if (o->v[k].name || o->v[k].id)
			return false;
	return true;
}

static int put(struct objects *o, const char *what, enum kind kind, const char *value, struct refusal *r)
{
	cleanup_free char *line = format("%s %s %s\n", what, names[kind], value);

	if (!line)
		return no_memory(r);
	if (!value_valid(value))
		return refuse(r, "provider_failed", value, NULL, "the engine calls a %s %s, which is no id",
		              names[kind], value);
	if (write_all(o->fd, line, strlen(line)) < 0 || fdatasync(o->fd) < 0)
		return refuse(r, "sandbox_unavailable", "objects", NULL,
		              "what the run makes in the engine can't be recorded: %s", strerror(errno));
	line[strlen(line) - 1] = '\0';
	return apply(o, line) ? 0 : no_memory(r);
}

int objects_intend(struct objects *o, enum kind kind, const char *name, struct refusal *r)
{
	return put(o, "intend", kind, name, r);
}

int objects_made(struct objects *o, enum kind kind, const char *id, struct refusal *r)
{
	return put(o, "made", kind, id, r);
}

int objects_gone(struct objects *o, enum kind kind, struct refusal *r)
{
	const char *last = o->v[kind].id ? o->v[kind].id : o->v[kind].name;

	if (!last)
		return 0;
	/* apply() frees what it is given the name of. */
	cleanup_free char *value = strdup(last);

	return value ? put(o, "gone", kind, value, r) : no_memory(r);
}

int objects_refused(struct objects *o, enum kind kind, long status, struct refusal *r)
{
	return status >= 400 && status < 500 ? objects_gone(o, kind, r) : 0;
}
