/* SPDX-License-Identifier: Apache-2.0 */
/* Only descriptors: a run wrote into {run}, and a name in it may lead anywhere. */
#include "guard/live.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

static int open_parent(const char *live, bool make)
{
	oc_cleanup(oc_freep) char *parent = oc_path_parent(live);
	int rc = parent ? 0 : -ENOMEM;

	if (rc == 0)
		rc = oc_open_dir(parent);
	if (rc != -ENOENT || !make)
		return rc;
	rc = oc_mkdirs(parent, 0700);
	return rc < 0 ? rc : oc_open_dir(parent);
}

int oc_live_remove(const char *live)
{
	oc_cleanup(oc_closep) int parent = open_parent(live, false);
	int rc = parent < 0 ? parent : oc_remove_tree(parent, oc_path_base(live));

	return rc == -ENOENT ? 0 : rc;
}

static int make(int dir, const char *name)
{
	struct stat st;
	int fd;

	if (mkdirat(dir, name, 0700) < 0)
		return -errno;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* Made under whatever mask: the mode is what counts. */
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || ((st.st_mode & 07777) != 0700 && fchmod(fd, 0700) < 0)) {
		int rc = errno ? -errno : -EPERM;

		oc_close(fd);
		return rc;
	}
	return fd;
}

static int make_each(int dir, const char *const *names)
{
	for (; *names; names++) {
		oc_cleanup(oc_closep) int fd = make(dir, *names);

		if (fd < 0)
			return fd;
	}
	return 0;
}

static int make_all(int parent, const char *name, bool container)
{
	static const char *const ours[] = { "cwd", "t", "home", NULL };
	static const char *const containers[] = { "cwd", "channel", "gate", "etc", NULL };
	static const char *const runs[] = { "tmp", NULL };
	static const char *const container_runs[] = { "tmp", "home", NULL };
	oc_cleanup(oc_closep) int live = make(parent, name);
	oc_cleanup(oc_closep) int run = -1;
	int rc = live < 0 ? live : make_each(live, container ? containers : ours);

	if (rc < 0)
		return rc;
	run = make(live, "run");
	return run < 0 ? run : make_each(run, container ? container_runs : runs);
}

int oc_live_make(const char *live, bool container, oc_error **err)
{
	oc_cleanup(oc_closep) int parent = open_parent(live, true);
	int rc = parent;

	if (rc >= 0)
		rc = oc_remove_tree(parent, oc_path_base(live));
	if (rc == 0 || rc == -ENOENT)
		rc = make_all(parent, oc_path_base(live), container);
	if (rc < 0)
		return oc_refuse(err, "sandbox_unavailable", live,
		                 "Check the owner and the free space of the state directory",
		                 "The run's private directories can't be made at %s: %s", live, strerror(-rc));
	return 0;
}

static int put_file(int dir, const char *name, const char *text)
{
	oc_cleanup(oc_closep) int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : oc_write_all(fd, text, strlen(text));
}

int oc_live_files(const char *live, const json_t *files, oc_error **err)
{
	oc_cleanup(oc_freep) char *path = oc_path_join(live, "run");
	oc_cleanup(oc_closep) int dir = path ? oc_open_dir(path) : -ENOMEM;
	const json_t *file;
	size_t i;
	int rc = dir;

	json_array_foreach(files, i, file)
	{
		const char *name = oc_json_text(file, "name"), *text = oc_json_text(file, "text");

		if (rc >= 0)
			rc = name && text && !strchr(name, '/') ? put_file(dir, name, text) : -EINVAL;
		if (rc < 0)
			return oc_refuse(err, "sandbox_unavailable", name ? name : live,
			                 "Check the free space of the state directory",
			                 "A file of the run's own directory can't be made: %s", strerror(-rc));
	}
	return 0;
}
