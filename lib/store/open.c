/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the store.  Two rules decide everything here: the directory is ours alone, and "can't be read" is
 * never taken for "there is nothing".  SQLite would make a new database of a missing or an empty file, so a
 * marker (store.lock, not empty) says that one was made here before. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/utf8.h"
#include "store/sql.h"

#define BUSY_MS 10000

static int fix_line(const char *command, const char *path, char **out)
{
	struct oc_buf b;

	oc_buf_init(&b, 65536);
	if (oc_buf_puts(&b, command) < 0 || oc_buf_puts(&b, " ") < 0 || oc_shell_quote(&b, path) < 0) {
		oc_buf_free(&b);
		return OC_ENOMEM;
	}
	*out = oc_buf_steal(&b);
	return *out ? 0 : OC_ENOMEM;
}

static int dir_refused(const char *path, const char *command, int errnum, const char *why, oc_error **err)
{
	oc_cleanup(oc_freep) char *fix = NULL;

	if (fix_line(command, path, &fix) < 0)
		return oc_nomem(err);
	return oc_error_makef(err, OC_EIO, errnum, NULL, path, fix, "the state directory %s", why);
}

/* A link to the state directory is followed when it is our own: somebody else's could be turned later. */
static int check_link(const char *path, oc_error **err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : dir_refused(path, "ls -ld", errno, "can't be looked at", err);
	if (S_ISLNK(st.st_mode) && st.st_uid != geteuid())
		return dir_refused(path, "ls -ld", EPERM, "is a link that another user made", err);
	return 0;
}

static int check_dir(int fd, const char *path, oc_error **err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return dir_refused(path, "ls -ld", errno, "can't be looked at", err);
	if (st.st_uid != geteuid())
		return dir_refused(path, "ls -ld", EPERM, "belongs to another user: choose one of your own", err);
	if (st.st_mode & 077)
		return dir_refused(path, "chmod 700", EPERM, "is open to other users", err);
	if ((st.st_mode & 0700) != 0700)
		return dir_refused(path, "chmod 700", EACCES, "is not readable and writable by its owner", err);
	return 0;
}

static int open_dir(oc_store *store, const char *path, oc_error **err)
{
	bool missing = false;
	int rc = check_link(path, err);

	if (rc < 0)
		return rc;
	rc = oc_path_resolve(path, &store->dir, &missing);
	if (rc < 0)
		return rc == -ENOMEM ? oc_nomem(err) : dir_refused(path, "ls -ld", -rc, "can't be resolved", err);
	rc = oc_mkdirs(store->dir, 0700);
	if (rc < 0)
		return dir_refused(store->dir, "mkdir -p", -rc, "can't be made", err);
	store->state_fd = oc_open_dir(store->dir);
	if (store->state_fd < 0)
		return dir_refused(store->dir, "ls -ld", -store->state_fd, "is not a directory that can be opened",
		                   err);
	return check_dir(store->state_fd, store->dir, err);
}

static int file_fail(oc_store *store, const char *name, int errnum, const char *why, oc_error **err)
{
	oc_cleanup(oc_freep) char *path = oc_path_join(store->dir, name);
	oc_cleanup(oc_freep) char *fix = NULL;

	if (!path || fix_line("ls -la", store->dir, &fix) < 0)
		return oc_nomem(err);
	return oc_error_makef(err, OC_EIO, errnum, NULL, path, fix, "%s", why);
}

static int make_subdir(oc_store *store, const char *name, oc_error **err)
{
	struct stat st;

	if (mkdirat(store->state_fd, name, 0700) == 0)
		return fsync(store->state_fd) < 0 ? file_fail(store, name, errno, "can't be made durable", err) : 0;
	if (errno != EEXIST)
		return file_fail(store, name, errno, "can't be made", err);
	if (fstatat(store->state_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != geteuid() || (st.st_mode & 022))
		return file_fail(store, name, ENOTDIR, "is not a directory of our own", err);
	return 0;
}

/* The lock that makes opening one at a time.  Bounded, because opening never takes long. */
static int lock_open(oc_store *store, int *out, oc_error **err)
{
	int fd = openat(store->state_fd, OC_STORE_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	int tries;

	if (fd < 0)
		return file_fail(store, OC_STORE_LOCK, errno, "the store's lock can't be opened", err);
	for (tries = 0; tries < BUSY_MS / 10; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			*out = fd;
			return 0;
		}
		if (errno != EWOULDBLOCK && errno != EINTR)
			break;
		usleep(10000);
	}
	oc_close(fd);
	return file_fail(store, OC_STORE_LOCK, EBUSY, "another process is opening the store and doesn't finish", err);
}

/* Is there a database to be opened, may one be made, or is one missing? */
static int check_file(oc_store *store, bool made, oc_error **err)
{
	struct stat st;

	if (fstatat(store->state_fd, OC_STORE_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return file_fail(store, OC_STORE_FILE, errno, "the store can't be looked at", err);
		return made ? oc_sql_fail(store, SQLITE_CORRUPT, err) : 0;
	}
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return file_fail(store, OC_STORE_FILE, EINVAL, "the store is not a plain file of our own with one name",
		                 err);
	/* Never opened here: closing a second descriptor of it would drop the locks of this process's other stores. */
	if (faccessat(store->state_fd, OC_STORE_FILE, R_OK | W_OK, AT_EACCESS) < 0)
		return file_fail(store, OC_STORE_FILE, errno,
		                 "the store can't be read and written: what it holds is unknown, so nothing runs", err);
	return made && st.st_size == 0 ? oc_sql_fail(store, SQLITE_NOTADB, err) : 0;
}

static int open_database(oc_store *store, oc_error **err)
{
	oc_cleanup(oc_freep) char *path = oc_path_join(store->dir, OC_STORE_FILE);
	int rc;

	if (!path)
		return oc_nomem(err);
	rc = sqlite3_open_v2(path, &store->db,
	                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
	                             SQLITE_OPEN_NOFOLLOW,
	                     NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(store->db, BUSY_MS);
	if (rc == SQLITE_OK) /* no extension, no writable schema, no double-quoted strings */
		rc = sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (rc != SQLITE_OK)
		return oc_sql_fail(store, rc, err);
	rc = oc_sql_run(store, err, "PRAGMA journal_mode=WAL", "");
	if (rc >= 0)
		rc = oc_sql_run(store, err, "PRAGMA foreign_keys=ON", "");
	return rc < 0 ? rc : oc_store_migrate(store, err);
}

static int open_files(oc_store *store, int lock, oc_error **err)
{
	struct stat st;
	int rc;

	if (fstat(lock, &st) < 0)
		return file_fail(store, OC_STORE_LOCK, errno, "the store's lock can't be looked at", err);
	rc = check_file(store, st.st_size > 0, err);
	if (rc >= 0)
		rc = make_subdir(store, "runs", err);
	if (rc >= 0)
		rc = make_subdir(store, "live", err);
	if (rc >= 0)
		rc = open_database(store, err);
	if (rc < 0 || st.st_size > 0)
		return rc;
	rc = oc_write_all(lock, "made\n", 5);
	if (rc < 0 || fsync(lock) < 0)
		return file_fail(store, OC_STORE_LOCK, rc < 0 ? -rc : errno, "the store's marker can't be written",
		                 err);
	return 0;
}

int oc_store_open(oc_context *ctx, oc_store **out, oc_error **err)
{
	oc_store *store;
	int lock = -1, rc;

	if (!ctx || !out)
		return oc_fail(err, OC_EINVAL, 0, "oc_store_open: ctx and out must not be NULL");
	rc = oc_context_check(ctx, err);
	if (rc < 0)
		return rc;
	store = calloc(1, sizeof(*store));
	if (!store)
		return oc_nomem(err);
	store->ctx = ctx;
	store->state_fd = store->durable = -1;
	rc = open_dir(store, ctx->state_dir, err);
	if (rc >= 0)
		rc = lock_open(store, &lock, err);
	if (rc >= 0)
		rc = open_files(store, lock, err);
	oc_close(lock);
	if (rc < 0) {
		oc_store_free(store);
		return rc;
	}
	*out = store;
	return 0;
}

void oc_store_free(oc_store *store)
{
	if (!store)
		return;
	oc_sql_forget(store);
	sqlite3_close(store->db);
	oc_close(store->state_fd);
	free(store->dir);
	free(store);
}
