/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets in files: any that a reference names, and our own directory of them, $XDG_CONFIG_HOME/open-conduit/secrets, which
 * no run can read.  Files are written beside their name and renamed, so that a full disk or a kill leaves the old one; what
 * goes is overwritten first, as far as the file system does that in place. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "secret/secret.h"

#define PART      ".part-"
#define NAMES_MAX 1000

/* Another user's file, one that others may read, or one that has a second name somewhere, is no place for a secret. */
static const char *judge(int fd, const char **fix)
{
	struct stat st;

	*fix = NULL;
	if (fstat(fd, &st) < 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "it is not a regular file";
	if (st.st_uid != geteuid())
		return "it belongs to another user";
	*fix = st.st_mode & 077 ? "chmod 600 " : NULL;
	if (*fix)
		return "other users have access to it";
	return st.st_nlink > 1 ? "it has another name, a hard link" : NULL;
}

static enum secret_state refuse(struct secret_problem *p, const char *path, const char *why, const char *fix)
{
	secret_problem(p, SECRET_UNUSABLE, "the secret's file ", fix ? fix : "name a file of your own with mode 0600");
	text_puts(&p->message, path);
	text_puts(&p->message, " can't be used: ");
	text_puts(&p->message, why);
	if (fix)
		text_quote(&p->fix, path);
	return SECRET_UNUSABLE;
}

static const char *read_whole(int fd, struct secret_value *out)
{
	ssize_t n = 1;

	out->data = calloc(1, SECRET_MAX + 2);
	if (!out->data)
		return "out of memory";
	/* One more than a value and the newline at its end. */
	while (n && out->len < SECRET_MAX + 2) {
		n = read(fd, out->data + out->len, SECRET_MAX + 2 - out->len);
		if (n < 0 && errno != EINTR)
			return strerror(errno);
		out->len += n > 0 ? (size_t)n : 0;
	}
	/* Editors, echo and `secret set --file` end a file with a newline that is no part of the secret. */
	if (out->len && out->data[out->len - 1] == '\n')
		out->len--;
	return out->len > SECRET_MAX ? "it is longer than 64 KiB" : NULL;
}

static char *secrets_dir(void)
{
	char *config = config_default_path(NULL), *slash = config ? strrchr(config, '/') : NULL, *dir = NULL;

	if (slash && asprintf(&dir, "%.*s/secrets", (int)(slash - config), config) < 0)
		dir = NULL;
	free(config);
	return dir;
}

char *secret_file_path(const char *name)
{
	char *dir = secrets_dir(), *path = NULL;

	if (dir && asprintf(&path, "%s/%s", dir, name) < 0)
		path = NULL;
	free(dir);
	return path;
}

/* One of ours that isn't there can be pasted into being. */
static void how_to_make(struct secret_problem *p, const char *path)
{
	const char *name = strrchr(path, '/');
	char *ours = name && secret_name_valid(name + 1) ? secret_file_path(name + 1) : NULL;

	if (ours && !strcmp(ours, path)) {
		text_free(&p->fix);
		text_puts(&p->fix, "open-conduit secret set --file ");
		text_puts(&p->fix, name + 1);
	}
	free(ours);
}

enum secret_state secret_file_read(const char *path, struct secret_value *out, struct secret_problem *p)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	const char *fix = NULL, *why = fd < 0 && errno == ELOOP ? "it is a symbolic link"
	                               : fd < 0                 ? strerror(errno)
	                                                        : judge(fd, &fix);
	bool absent = fd < 0 && errno == ENOENT;

	if (!why)
		why = read_whole(fd, out);
	if (fd >= 0)
		close(fd);
	if (!why)
		return SECRET_PRESENT;
	secret_value_free(out);
	refuse(p, path, why, fix);
	if (!absent)
		return SECRET_UNUSABLE;
	how_to_make(p, path);
	return SECRET_ABSENT;
}

static bool make_dirs(char *dir)
{
	for (char *slash = strchr(dir + 1, '/');; slash = strchr(slash + 1, '/')) {
		int rc;

		if (slash)
			*slash = 0;
		rc = mkdir(dir, 0700);
		if (slash)
			*slash = '/';
		if (rc < 0 && errno != EEXIST)
			return false;
		if (!slash)
			return true;
	}
}

/* Ours alone, and by one process at a time.  -1: said why. */
static int open_dir(bool make, struct secret_problem *p)
{
	char *dir = secrets_dir();
	struct stat st;
	const char *why = NULL;
	int fd = -1;

	if (!dir) {
		secret_problem(p, SECRET_FAILED, "out of memory", NULL);
		return -1;
	}
	if (make && !make_dirs(dir))
		why = strerror(errno);
	else if ((fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 || fstat(fd, &st) < 0)
		why = strerror(errno);
	else if (st.st_uid != geteuid())
		why = "it belongs to another user";
	else if (st.st_mode & 077)
		why = "other users have access to it";
	if (!why && make && flock(fd, LOCK_EX) < 0)
		why = strerror(errno);
	if (why) {
		secret_problem(p, SECRET_UNUSABLE, "the directory of secrets ", "chmod 700 ");
		text_puts(&p->message, dir);
		text_puts(&p->message, " can't be used: ");
		text_puts(&p->message, why);
		text_quote(&p->fix, dir);
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	free(dir);
	return fd;
}

/* Zeros over it: its blocks are given back with nothing in them, where the file system writes in place. */
static void overwrite(int fd)
{
	static const char zeros[4096];
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > 2 * SECRET_MAX)
		return;
	for (off_t at = 0; at < st.st_size; at += (off_t)sizeof(zeros)) {
		size_t n = st.st_size - at < (off_t)sizeof(zeros) ? (size_t)(st.st_size - at) : sizeof(zeros);

		if (pwrite(fd, zeros, n, at) < 0)
			return;
	}
	(void)fdatasync(fd);
}

static bool wipe_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0) {
		overwrite(fd);
		close(fd);
	}
	return unlinkat(dir, name, 0) == 0;
}

/* What a process that was killed left: nobody else writes here, since we hold the lock. */
static void remove_parts(int dir)
{
	DIR *d = fdopendir(fcntl(dir, F_DUPFD_CLOEXEC, 0));
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, PART, strlen(PART)))
			(void)wipe_file(dir, e->d_name);
	if (d)
		closedir(d);
}

/* A newline that reading takes off again, so that a value which ends with one stays as it is. */
static bool write_part(int dir, const char *part, const struct secret_value *v)
{
	int fd = openat(dir, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	size_t done = 0;
	bool good = fd >= 0 && fchmod(fd, 0600) == 0;
	int saved;

	while (good && done < v->len) {
		ssize_t n = write(fd, v->data + done, v->len - done);

		good = n > 0 || (n < 0 && errno == EINTR);
		done += n > 0 ? (size_t)n : 0;
	}
	good = good && write(fd, "\n", 1) == 1 && fsync(fd) == 0;
	saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
	return good;
}

static const char *replace(int dir, const char *name, const struct secret_value *v)
{
	const char *why = NULL;
	char part[64];
	unsigned number = 0;
	int old;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return strerror(errno);
	remove_parts(dir);
	snprintf(part, sizeof(part), PART "%08x", number);
	old = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (!write_part(dir, part, v) || renameat(dir, part, dir, name) < 0 || fsync(dir) < 0) {
		why = strerror(errno);
		(void)wipe_file(dir, part);
	} else if (old >= 0) {
		overwrite(old);
	}
	if (old >= 0)
		close(old);
	return why;
}

enum secret_state secret_file_store(const char *name, const struct secret_value *v, struct secret_problem *p)
{
	int dir = open_dir(true, p);
	const char *why = dir < 0 ? NULL : replace(dir, name, v);

	if (dir < 0)
		return SECRET_UNUSABLE;
	close(dir);
	if (!why)
		return SECRET_PRESENT;
	secret_problem(p, SECRET_FAILED, "the secret was not written, and what was there is as it was: ",
	               "make room on the disk of the configuration directory");
	text_puts(&p->message, why);
	return SECRET_FAILED;
}

enum secret_state secret_file_remove(const char *name, struct secret_problem *p)
{
	int dir = open_dir(true, p);
	bool gone;

	if (dir < 0)
		return SECRET_UNUSABLE;
	remove_parts(dir);
	errno = 0;
	gone = faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 && wipe_file(dir, name) && fsync(dir) == 0;
	if (!gone) {
		bool absent = errno == ENOENT;

		secret_problem(p, SECRET_FAILED, absent ? "there is no such file of a secret" : strerror(errno),
		               "open-conduit secret list");
		close(dir);
		return absent ? SECRET_ABSENT : SECRET_FAILED;
	}
	close(dir);
	return SECRET_PRESENT;
}

json_t *secret_file_names(void)
{
	json_t *names = json_array();
	char *path = secrets_dir();
	DIR *d = path ? opendir(path) : NULL;
	const struct dirent *e;

	while (d && (e = readdir(d)) && json_array_size(names) < NAMES_MAX)
		if (secret_name_valid(e->d_name))
			json_array_append_new(names, json_string(e->d_name));
	if (d)
		closedir(d);
	free(path);
	return names;
}
