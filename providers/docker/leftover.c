/* SPDX-License-Identifier: Apache-2.0 */
#include "leftover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "common/files.h"
#include "common/tree.h"
#include "spec.h"

#define FILE_NAME  "check.json"
#define BEGINNING  60 /* seconds in which a folder without a plan may be a check's that has just begun */
#define CHECKS_MAX 64

static int refuse_file(struct refusal *r, const char *path)
{
	int error = errno;
	cleanup_free char *word = quoted(path), *fix = word ? format("df -h %s; ls -ld %s", word, word) : NULL;

	return refuse(r, "sandbox_unavailable", path, fix, "the check's own folder can't be used: %s", strerror(error));
}

int leftover_begin(const char *live_dir, char name[LEFTOVER_NAME], char **dir, struct refusal *r)
{
	size_t len = strlen(LEFTOVER_PREFIX);
	cleanup_free char *path = NULL;
	int fd;

	memcpy(name, LEFTOVER_PREFIX, len);
	if (networks_attempt(name + len, r) < 0)
		return -1;
	*dir = format("%s/%s", live_dir, name);
	path = *dir ? format("%s/" FILE_NAME, *dir) : NULL;
	if (!path)
		return no_memory(r);
	if (mkdir(*dir, 0700) < 0)
		return refuse_file(r, *dir);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	refuse_file(r, path);
	if (fd >= 0)
		close(fd);
	return -1;
}

int leftover_keep(int lock, const char *spec, struct refusal *r)
{
	return write_all(lock, spec, strlen(spec)) == 0 && fsync(lock) == 0 ? 0 : refuse_file(r, FILE_NAME);
}

static int clean(const char *dir, const char *spec, struct refusal *r)
{
	bool unasked;

	if (spec && *spec && cleanup_spec(spec, strlen(spec), &unasked, r) < 0)
		return -1;
	return tree_remove(dir) == 0 ? 0 : refuse_file(r, dir);
}

int leftover_end(int lock, const char *dir, const char *spec, struct refusal *r)
{
	int rc = clean(dir, spec, r);

	close(lock);
	return rc;
}

static bool is_old(const char *dir)
{
	struct stat st;

	return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && time(NULL) - st.st_mtime > BEGINNING;
}

/* One that is locked is a check's that lives. */
static int sweep_one(const char *dir, struct refusal *r)
{
	cleanup_free char *path = format("%s/" FILE_NAME, dir), *spec = NULL;
	cleanup_fd int fd = path ? open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) : -1;

	if (!path)
		return no_memory(r);
	if (fd < 0)
		return errno == ENOENT && is_old(dir) ? clean(dir, NULL, r) : 0;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0;
	spec = read_small(path, SPEC_MAX);
	return spec ? clean(dir, spec, r) : refuse_file(r, path);
}

static bool is_check(const char *name)
{
	size_t len = strlen(LEFTOVER_PREFIX);

	return strlen(name) == LEFTOVER_NAME - 1 && !strncmp(name, LEFTOVER_PREFIX, len) &&
	       strspn(name + len, "abcdefghijklmnopqrstuvwxyz234567") == strlen(name + len);
}

int leftover_sweep(const char *live_dir, struct refusal *r)
{
	DIR *all = opendir(live_dir);
	struct dirent *e;
	int rc = 0, n = 0;

	if (!all)
		return errno == ENOENT ? 0 : refuse_file(r, live_dir);
	while (rc == 0 && n < CHECKS_MAX && (e = readdir(all))) {
		cleanup_free char *dir = is_check(e->d_name) ? format("%s/%s", live_dir, e->d_name) : NULL;

		if (!dir)
			continue;
		rc = sweep_one(dir, r);
		n++;
	}
	closedir(all);
	return rc;
}
