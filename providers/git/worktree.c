/* SPDX-License-Identifier: Apache-2.0 */
#include "worktree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "beneath.h"
#include "ignore.h"
#include "verify.h"

#define DEPTH_MAX    512
#define NAMES_MAX    1000000u
#define PATTERNS_MAX (4u << 20)
#define LINK_MAX     4096u

struct reading {
	struct walk *w;
	const char *dir;
	int root, gitdir;
	const struct files *tracked;
	const struct report *report;
	struct ignore ignore;
	struct files *out;
};

static void lost(struct reading *r, const char *path, const char *why)
{
	r->report->lost(r->report->arg, *path ? path : ".", why);
}

static const char *why_not(int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		return "it may not be read";
	case -EFBIG:
		return "it is longer than 512 MiB";
	case -EXDEV:
		return "it is on another file system";
	case -ENAMETOOLONG:
		return "its path is too long";
	case -E2BIG:
		return "it has more than 1,000,000 entries";
	case -ENOMEM:
		return "it is too large for the memory";
	default:
		return "it can't be read";
	}
}

static int add_blob(struct reading *r, const char *path, unsigned mode, const struct text *data)
{
	git_oid id;
	int result = walk_put(r->w, GIT_OBJECT_BLOB, data->data ? data->data : "", data->len, &id);

	if (result == -EBADMSG) {
		lost(r, path, "it is made to collide with something else under SHA-1");
		return 0;
	}
	return result ? result : files_add(r->out, path, strlen(path), mode, &id);
}

static int read_file(struct reading *r, const char *path)
{
	cleanup_text struct text data = { 0 };
	struct stat st;
	cleanup_fd int fd = beneath_file(r->root, path, &st);
	int result = fd;

	if (fd >= 0)
		result =
		        st.st_size > (off_t)OBJECT_MAX ? -EFBIG : read_whole(fd, (size_t)st.st_size, OBJECT_MAX, &data);
	if (result == -ENOENT)
		return 0;
	if (result < 0) {
		lost(r, path, why_not(result));
		return 0;
	}
	return add_blob(r, path, st.st_mode & S_IXUSR ? MODE_PROGRAM : MODE_FILE, &data);
}

static int read_link(struct reading *r, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
		                           RESOLVE_NO_XDEV };
	cleanup_fd int fd = (int)syscall(SYS_openat2, r->root, path, &how, sizeof(how));
	char target[LINK_MAX + 1];
	ssize_t n = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof(target));
	struct text data = { target, (size_t)n, sizeof(target) };

	if (n < 0 || n > (ssize_t)LINK_MAX) {
		lost(r, path, n < 0 ? why_not(-errno) : "it is a link that is too long");
		return 0;
	}
	return add_blob(r, path, MODE_LINK, &data);
}

static int read_folder(struct reading *r, const char *path, int depth, bool only_tracked);

/* A working tree that the agent made beside its first one (git worktree add): its commits and its index are saved with the
 * clone's own. */
static bool is_linked(struct reading *r, const char *path)
{
	cleanup_text struct text text = { 0 };
	cleanup_free char *start = format("gitdir: %s/.git/", r->dir);
	size_t len = start ? strlen(start) : 0;
	struct stat st;
	cleanup_fd int fd = -1;

	if (!start || beneath_read(r->root, path, LINK_MAX, &text) < 0 || strncmp(text.data, start, len) != 0 ||
	    strncmp(text.data + len, "worktrees/", 10) != 0)
		return false;
	text.data[strcspn(text.data, "\n")] = 0;
	if (strchr(text.data + len + 10, '/'))
		return false;
	fd = beneath_open(r->gitdir, text.data + len, O_DIRECTORY);
	return fd >= 0 && fstat(fd, &st) == 0;
}

/* A repository of its own in the workspace: its files are saved as files, its history can't be. */
static void found_repository(struct reading *r, const char *path)
{
	if (is_linked(r, path))
		return;
	lost(r, path, "it is a repository of its own, whose history is not part of this one");
}

static int read_entry(struct reading *r, const char *path, unsigned type, int depth, bool only_tracked)
{
	const struct file *tracked = files_find(r->tracked, path);
	bool folder = type == DT_DIR;

	if (!tracked && !(folder && files_beneath(r->tracked, path))) {
		if (only_tracked || ignore_match(&r->ignore, path, folder))
			return 0;
	} else if (folder && tracked && tracked->mode == MODE_COMMIT) {
		cleanup_free char *inside = format("%s/.git", path);
		cleanup_fd int fd = inside ? beneath_open(r->root, inside, 0) : -1;

		if (!inside || fd >= 0)
			found_repository(r, path);
		return files_add(r->out, path, strlen(path), MODE_COMMIT, &tracked->id);
	} else if (folder && !only_tracked) {
		only_tracked = ignore_match(&r->ignore, path, true);
	}
	switch (type) {
	case DT_DIR:
		return read_folder(r, path, depth + 1, only_tracked);
	case DT_REG:
		return read_file(r, path);
	case DT_LNK:
		return read_link(r, path);
	default:
		break;
	}
	cleanup_free char *shown_path = shown(path);
	cleanup_free char *text =
	        shown_path ? format("%s is a FIFO, a socket or a device: there is nothing in it to save", shown_path)
	                   : NULL;

	if (text)
		r->report->note(r->report->arg, text);
	return 0;
}

static unsigned type_of(int dir, const char *name, unsigned said)
{
	struct stat st;

	if (said != DT_UNKNOWN)
		return said;
	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (unsigned)IFTODT(st.st_mode) : DT_UNKNOWN;
}

static int push_patterns(struct reading *r, int dir, const char *folder, const char *file)
{
	cleanup_text struct text text = { 0 };
	int result = beneath_read(dir, file, PATTERNS_MAX, &text);

	/* What can't be read ignores nothing. */
	return ignore_push(&r->ignore, folder, result < 0 ? "" : text.data, result < 0 ? 0 : text.len) ? 0 : -ENOMEM;
}

static int read_names(struct reading *r, int dir, const char *folder, const struct names *names, int depth,
                      bool only_tracked)
{
	size_t i;
	int result = push_patterns(r, dir, folder, ".gitignore");

	for (i = 0; i < names->n && !result; i++) {
		cleanup_free char *path = format("%s%s", folder, names->v[i]);

		if (!path)
			result = -ENOMEM;
		else if (!strcmp(names->v[i], ".git")) {
			if (*folder)
				found_repository(r, path);
		} else {
			result = read_entry(r, path, type_of(dir, names->v[i], names->type[i]), depth, only_tracked);
		}
	}
	if (r->ignore.n)
		ignore_pop(&r->ignore);
	return result;
}

static int read_folder(struct reading *r, const char *path, int depth, bool only_tracked)
{
	cleanup_names struct names names = { 0 };
	cleanup_free char *folder = format("%s%s", path, *path ? "/" : "");
	cleanup_fd int dir = beneath_open(r->root, *path ? path : ".", O_DIRECTORY);
	int result = dir < 0 ? dir : beneath_list(dir, ".", NAMES_MAX, &names);

	if (!folder)
		return -ENOMEM;
	if (result == -ENOENT)
		return 0;
	if (result < 0 || depth > DEPTH_MAX) {
		lost(r, path, result < 0 ? why_not(result) : "it is too deep within other folders");
		return 0;
	}
	return read_names(r, dir, folder, &names, depth, only_tracked);
}

int worktree_read(struct walk *w, const char *dir, int root, int gitdir, const struct files *tracked,
                  const struct report *report, struct files *out)
{
	struct reading r = {
		.w = w, .dir = dir, .root = root, .gitdir = gitdir, .tracked = tracked, .report = report, .out = out
	};
	int result;

	ignore_init(&r.ignore);
	result = push_patterns(&r, gitdir, "", "info/exclude");
	if (!result)
		result = read_folder(&r, "", 0, false);
	ignore_free(&r.ignore);
	files_sort(out);
	return result;
}
