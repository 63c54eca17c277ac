/* SPDX-License-Identifier: Apache-2.0 */
/* Pins: the plan's text on the disk twice, in runs/<id>/plan.json for the guard and in the store for the
 * record, both under one digest and both written once. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/time.h"
#include "store/chain.h"
#include "store/sql.h"

#define PLAN_FILE "plan.json"

static char *run_path(oc_store *store, const char *run, const char *name)
{
	oc_cleanup(oc_freep) char *runs = oc_path_join(store->dir, "runs");
	oc_cleanup(oc_freep) char *dir = runs ? oc_path_join(runs, run) : NULL;

	if (!dir || !name)
		return oc_steal(dir);
	return oc_path_join(dir, name);
}

const char *oc_store_show_run(char out[80], const char *run)
{
	snprintf(out, 80, "open-conduit runs get %.32s", run);
	return out;
}

static int run_fail(oc_store *store, const char *run, const char *name, int code, int errnum, const char *why,
                    oc_error **err)
{
	oc_cleanup(oc_freep) char *path = run_path(store, run, name);
	char fix[80];

	return oc_error_makef(err, code, errnum, NULL, path, oc_store_show_run(fix, run), "run %s: %s", run, why);
}

int oc_store_run_dir(oc_store *store, const char *run, bool make, oc_error **err)
{
	int runs, fd;
	struct stat st;

	if (!oc_run_id_valid(run))
		return oc_fail(err, OC_EINVAL, 0, "a run id is 8 to 32 of a-z and 0-9");
	runs = openat(store->state_fd, "runs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (runs < 0)
		return run_fail(store, run, NULL, OC_EIO, errno, "the directory of the runs can't be opened", err);
	if (make && mkdirat(runs, run, 0700) == 0)
		fsync(runs);
	else if (make && errno != EEXIST) {
		fd = run_fail(store, run, NULL, OC_EIO, errno, "its directory can't be made", err);
		oc_close(runs);
		return fd;
	}
	fd = openat(runs, run, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		fd = run_fail(store, run, NULL, errno == ENOENT ? OC_ENOTFOUND : OC_EIO, errno,
		              "its directory can't be opened", err);
	else if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077)) {
		oc_close(fd);
		fd = run_fail(store, run, NULL, OC_EIO, EPERM, "its directory is not ours alone", err);
	}
	oc_close(runs);
	return fd;
}

/* 1: there with this digest; 0: there is none; OC_EEXISTS: another. */
static int pin_row(oc_store *store, const char *run, const char *digest, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_freep) char *path = NULL;
	const char *there;
	char fix[80];
	int rc = oc_sql_prepare(store, &st, err, "SELECT digest FROM pins WHERE run = ?", "s", run);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc <= 0)
		return rc;
	there = oc_sql_text(st, 0);
	if (there && strcmp(there, digest) == 0)
		return 1;
	path = run_path(store, run, PLAN_FILE);
	return oc_error_makef(err, OC_EEXISTS, 0, NULL, path, oc_store_show_run(fix, run),
	                      "run %s is pinned to %s already: what needs another plan is a new run", run,
	                      there ? there : "another plan");
}

/* A plan.json without a row is what a crash left between the two: nothing was launched from it, because what
 * launches asks for the row.  It may go unless something in the directory says otherwise. */
static int drop_orphan(oc_store *store, const char *run, int dir, oc_error **err)
{
	static const char *const signs[] = { "started", "proved", "exit.json", "guard.json", "guard.sock" };
	size_t i;

	for (i = 0; i < OC_COUNT(signs); i++)
		if (faccessat(dir, signs[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
			return run_fail(store, run, signs[i], OC_EEXISTS, 0,
			                "something of another plan was started under this id; choose a new id", err);
	if (unlinkat(dir, PLAN_FILE, 0) < 0)
		return run_fail(store, run, PLAN_FILE, OC_EIO, errno, "an unfinished pin can't be replaced", err);
	return 0;
}

/* The file, equal to text when this returns 0.  `row`: the store has this pin, so a file that differs is damage. */
static int pin_file(oc_store *store, const char *run, int dir, const char *text, bool row, oc_error **err)
{
	struct oc_buf there;
	bool same;
	int rc = oc_create_file(dir, PLAN_FILE, text, strlen(text), 0600);

	if (rc == 0)
		return 0;
	if (rc == -ENOMEM)
		return oc_nomem(err);
	if (rc != -EEXIST)
		return run_fail(store, run, PLAN_FILE, OC_EIO, -rc, "the pin can't be written", err);
	oc_buf_init(&there, OC_JSON_MAX + 1);
	rc = oc_read_file(dir, PLAN_FILE, OC_JSON_MAX, &there);
	if (rc == -ENOMEM) {
		oc_buf_free(&there);
		return oc_nomem(err);
	}
	same = rc == 0 && there.len == strlen(text) && (there.len == 0 || memcmp(there.data, text, there.len) == 0);
	oc_buf_free(&there);
	if (same)
		return 0;
	if (row) {
		oc_cleanup(oc_freep) char *path = run_path(store, run, PLAN_FILE);
		char fix[80];

		return oc_refuse(err, "pin_mismatch", path, oc_store_show_run(fix, run),
		                 "the pinned plan of run %s is not what was pinned: start a new run", run);
	}
	rc = drop_orphan(store, run, dir, err);
	return rc < 0 ? rc : pin_file(store, run, dir, text, true, err);
}

static int pin_rows(oc_store *store, const char *run, const char *text, const char *digest, const json_t *head,
                    oc_error **err)
{
	const json_t *argv = json_object_get(head, "command");
	oc_cleanup(oc_freep) char *command = argv ? json_dumps(argv, JSON_COMPACT) : strdup("[]");
	const char *kind = oc_json_text(head, "kind");
	int64_t now = oc_wall_ms();
	int rc;

	if (!command)
		return oc_nomem(err);
	rc = oc_sql_run(
	        store, err,
	        "INSERT INTO runs (id, kind, work, binding, command, state, created_ms, digest) "
	        "VALUES (?, ?, ?, ?, ?, 'pinned', ?, ?) ON CONFLICT (id) DO UPDATE SET state = 'pinned', digest = "
	        "excluded.digest, "
	        "kind = excluded.kind, work = excluded.work, binding = excluded.binding, command = excluded.command",
	        "sssssis", run, kind ? kind : "none", oc_json_text(head, "work"), oc_json_text(head, "binding"),
	        command, now, digest);
	if (rc >= 0)
		rc = oc_sql_run(store, err, "INSERT INTO pins (run, digest, text) VALUES (?, ?, ?)", "sss", run, digest,
		                text);
	if (rc >= 0)
		rc = oc_store_chain(store, run, "pinned", json_pack("{s:s}", "digest", digest), err);
	return rc < 0 ? rc : 0;
}

static int pin_in(oc_store *store, const char *run, const char *text, const char *digest, const json_t *head, int dir,
                  oc_error **err)
{
	int row = pin_row(store, run, digest, err);
	int rc = row < 0 ? row : pin_file(store, run, dir, text, row == 1, err);

	oc_fault("host:pin-file");
	if (rc < 0 || row == 1)
		return rc;
	return pin_rows(store, run, text, digest, head, err);
}

int oc_store_pin(oc_store *store, const char *run, const char *text, const char *digest, const json_t *head,
                 oc_error **err)
{
	oc_cleanup(oc_closep) int dir = -1;
	char check[OC_DIGEST_SIZE];
	int rc;

	if (!store || !text || !digest || strlen(text) > OC_JSON_MAX)
		return oc_fail(err, OC_EINVAL, 0, "a pin needs a store, a plan's text and its digest");
	rc = oc_digest(text, strlen(text), check);
	if (rc < 0 || strcmp(check, digest) != 0)
		return oc_fail(err, OC_EINVAL, 0, "the digest is not that of the plan's text");
	/* The write lock is held while directory and file are made: who has it and sees one without a row sees a crash. */
	rc = oc_sql_begin(store, true, err);
	if (rc < 0)
		return rc;
	dir = oc_store_run_dir(store, run, true, err);
	rc = oc_sql_end(store, dir < 0 ? dir : pin_in(store, run, text, digest, head, dir, err), err);
	oc_fault("host:pin-row");
	return rc < 0 ? rc : 0;
}

static int remove_orphan(oc_store *store, const char *run, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_closep) int runs = -1;
	int rc = oc_sql_prepare(store, &st, err, "SELECT 1 FROM runs WHERE id = ?", "s", run);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc != 0)
		return rc;
	runs = openat(store->state_fd, "runs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	rc = runs < 0 ? -errno : oc_remove_tree(runs, run);
	if (rc < 0 && rc != -ENOENT)
		return run_fail(store, run, NULL, OC_EIO, -rc, "its directory can't be removed", err);
	return 0;
}

int oc_store_remove_orphan(oc_store *store, const char *run, oc_error **err)
{
	int rc = oc_sql_begin(store, true, err);

	return rc < 0 ? rc : oc_sql_end(store, remove_orphan(store, run, err), err);
}

static int pinned_file(oc_store *store, const char *run, const char *digest, char **text, oc_error **err)
{
	oc_cleanup(oc_closep) int dir = oc_store_run_dir(store, run, false, err);
	oc_cleanup(oc_freep) char *path = run_path(store, run, PLAN_FILE);
	char is[OC_DIGEST_SIZE] = "", fix[80];
	struct oc_buf b;
	int rc;

	if (dir < 0)
		return dir;
	oc_buf_init(&b, OC_JSON_MAX + 1);
	rc = oc_read_file(dir, PLAN_FILE, OC_JSON_MAX, &b);
	if (rc == 0)
		rc = oc_digest(b.data ? b.data : "", b.len, is);
	if (rc == 0 && strcmp(is, digest) == 0 && (*text = oc_buf_steal(&b)))
		return 0;
	oc_buf_free(&b);
	if (rc == -ENOMEM || rc == OC_ENOMEM)
		return oc_nomem(err);
	return oc_refuse(
	        err, "pin_mismatch", path, oc_store_show_run(fix, run),
	        rc < 0 ? "the pinned plan of run %s can't be read (%s): nothing of it is launched; start a new run"
	               : "the pinned plan of run %s is damaged (it is now %s): nothing of it is launched; start a new "
	                 "run",
	        run, rc < 0 ? strerrorname_np(-rc) ? strerrorname_np(-rc) : "error" : is);
}

/* Recorded is the same text that is executed, or the record says something else than what runs. */
static int pinned_text(oc_store *store, const char *run, const char *text, const char *digest, oc_error **err)
{
	oc_cleanup(oc_freep) char *path = oc_path_join(store->dir, "state.db");
	char is[OC_DIGEST_SIZE], fix[80];
	int rc = text ? oc_digest(text, strlen(text), is) : OC_ENOMEM;

	if (rc < 0 || strcmp(is, digest) == 0)
		return rc < 0 ? oc_nomem(err) : 0;
	return oc_refuse(
	        err, "pin_mismatch", path, oc_store_show_run(fix, run),
	        "the plan of run %s in the store is not the one that was pinned (it is now %s): nothing of it is "
	        "launched; start a new run",
	        run, is);
}

int oc_store_pinned(oc_store *store, const char *run, char **text, char digest[], oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_freep) char *out = NULL;
	const char *there;
	int rc = oc_sql_prepare(store, &st, err, "SELECT digest, text FROM pins WHERE run = ?", "s", run ? run : "");

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc < 0)
		return rc;
	there = rc > 0 ? oc_sql_text(st, 0) : NULL;
	if (rc == 0)
		return oc_error_makef(err, OC_ENOTFOUND, 0, NULL, run, "open-conduit runs list",
		                      "there is no pin of run %s", run ? run : "(none)");
	if (!there || strlen(there) >= OC_DIGEST_SIZE)
		return there ? oc_sql_fail(store, SQLITE_CORRUPT, err) : oc_nomem(err);
	rc = pinned_text(store, run, oc_sql_text(st, 1), there, err);
	rc = rc < 0 ? rc : pinned_file(store, run, there, &out, err);
	if (rc < 0)
		return rc;
	memcpy(digest, there, strlen(there) + 1);
	*text = oc_steal(out);
	return 0;
}
