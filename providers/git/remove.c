/* SPDX-License-Identifier: Apache-2.0 */
/* The method remove.  All that is in a workspace is an agent's: names, modes, depth, and what it may still be doing. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "methods.h"
#include "task.h"
#include "tree.h"
#include "works.h"

struct removing {
	const char *dir;
	const json_t *root;
};

static int refuse_other(struct refusal *r, const char *dir)
{
	cleanup_free char *word = quoted(dir), *fix = word ? format("look at it, then: rm -rf %s", word) : NULL;

	return refuse(r, "workspace_conflict", dir, fix,
	              "%s is not the workspace that was made for this Work: it has another device or inode number",
	              dir);
}

static int refuse_failed(struct refusal *r, const char *dir)
{
	if (errno == EXDEV)
		return refuse(r, "workspace_conflict", dir, "unmount what is mounted beneath it, then try again",
		              "%s can't be removed: another file system is mounted beneath it", dir);
	if (errno == ENOTEMPTY)
		return refuse(r, "workspace_conflict", dir, "end what still writes there, then try again",
		              "%s can't be removed: something goes on writing beneath it", dir);
	return refuse_errno(r, dir, "the workspace can't be removed");
}

/* 1 when it is there and ours, 0 when it isn't there. */
static int look(const struct works *w, const struct removing *a, struct refusal *r)
{
	struct stat st;

	if (w->fd < 0 || (fstatat(w->fd, w->name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT))
		return 0;
	if (fstatat(w->fd, w->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return refuse_errno(r, a->dir, "the workspace can't be looked at");
	return S_ISDIR(st.st_mode) && numbers_match(a->root, &st) ? 1 : refuse_other(r, a->dir);
}

static int remove_step(void *arg, json_t **reply, struct refusal *r)
{
	const struct removing *a = arg;
	struct works w;
	int there = works_open(&w, a->dir, r) ? -1 : look(&w, a, r);

	if (there < 0)
		return -1;
	if (remove_tree(w.fd, WORKS_NEW) || (there && remove_tree(w.fd, w.name)))
		return refuse_failed(r, a->dir);
	fault("git:removed");
	if (fsync(w.fd))
		return refuse_failed(r, a->dir);
	*reply = json_object();
	return *reply ? 0 : no_memory(r);
}

json_t *remove_workspace(const json_t *params, struct refusal *r)
{
	struct removing a = { text_of(params, "dir"), json_object_get(params, "root") };
	struct works w;
	json_t *reply = NULL;

	if (works_open(&w, a.dir, r) == 0 && look(&w, &a, r) >= 0) {
		const struct confine_path paths[] = { { w.parent, CONFINE_WRITE } };

		if (w.fd < 0)
			reply = json_object();
		else
			(void)task_run("remove", paths, COUNT(paths), remove_step, &a, &reply, r);
	}
	works_close(&w);
	return reply;
}
