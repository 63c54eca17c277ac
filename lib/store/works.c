/* SPDX-License-Identifier: Apache-2.0 */
#include "store/works.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/time.h"
#include "base/utf8.h"
#include "store/chain.h"
#include "store/sql.h"

#define LIST_MAX  100000
#define RUNS_MAX  1000
#define FILE_MAX  65536u
#define DIRS_MAX  100000
#define LIVE_SIZE 16
#define COLUMNS                                                                                                        \
	"id, scope, binding, key, own, checkout, branch, base, author, baseline, origin, root_dev, root_ino, "         \
	"git_dev, "                                                                                                    \
	"git_ino, state, created_ms, finished_ms, save, saved_ms, final"
enum {
	ID,
	SCOPE,
	BINDING,
	KEY,
	OWN,
	CHECKOUT,
	BRANCH,
	BASE,
	AUTHOR,
	BASELINE,
	ORIGIN,
	ROOT_DEV,
	ROOT_INO,
	GIT_DEV,
	GIT_INO,
	STATE,
	CREATED,
	FINISHED,
	SAVE,
	SAVED,
	FINAL
};

static int no_work(const char *name, oc_error **err)
{
	return oc_error_makef(err, OC_ENOTFOUND, 0, NULL, name, "open-conduit work list", "there is no Work %s", name);
}

static json_t *column_id(sqlite3_stmt *st, int dev)
{
	if (sqlite3_column_type(st, dev) != SQLITE_INTEGER)
		return json_null();
	return json_pack("{s:I, s:I}", "dev", (json_int_t)sqlite3_column_int64(st, dev), "ino",
	                 (json_int_t)sqlite3_column_int64(st, dev + 1));
}

static json_t *row(sqlite3_stmt *st)
{
	static const struct {
		const char *name;
		int column;
	} texts[] = { { "id", ID },      { "scope", SCOPE },       { "binding", BINDING },
		      { "key", KEY },    { "checkout", CHECKOUT }, { "branch", BRANCH },
		      { "base", BASE },  { "baseline", BASELINE }, { "origin", ORIGIN },
		      { "state", STATE } };
	oc_cleanup(oc_json_decrefp) json_t *out = json_object();
	bool ok = out != NULL;

	for (size_t i = 0; ok && i < OC_COUNT(texts); i++)
		ok = oc_json_set_string(out, texts[i].name, oc_sql_text(st, texts[i].column));
	ok = ok && oc_json_set(out, "own", json_boolean(sqlite3_column_int(st, OWN))) &&
	     oc_json_set(out, "final", json_boolean(sqlite3_column_int(st, FINAL))) &&
	     oc_json_set(out, "author", oc_sql_json(st, AUTHOR)) && oc_json_set(out, "save", oc_sql_json(st, SAVE)) &&
	     oc_json_set(out, "root", column_id(st, ROOT_DEV)) && oc_json_set(out, "git", column_id(st, GIT_DEV)) &&
	     oc_json_set(out, "created", oc_sql_time(st, CREATED)) &&
	     oc_json_set(out, "saved", oc_sql_time(st, SAVED)) &&
	     oc_json_set(out, "finished", oc_sql_time(st, FINISHED));
	return ok ? oc_steal(out) : NULL;
}

/* The next row; 1, 0 at the end. */
static int next_row(oc_store *store, sqlite3_stmt *st, json_t **out, oc_error **err)
{
	int rc = oc_sql_step(store, st, err);

	if (rc <= 0)
		return rc;
	*out = row(st);
	return *out ? 1 : oc_nomem(err);
}

int oc_store_work(oc_store *store, const char *id, json_t **out, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	int rc = oc_sql_prepare(store, &st, err, "SELECT " COLUMNS " FROM works WHERE id = ?", "s", id);

	if (rc == 0)
		rc = next_row(store, st, out, err);
	return rc == 0 ? no_work(id, err) : OC_MIN(rc, 0);
}

int oc_store_work_open(oc_store *store, const char *scope, const char *binding, const char *key, json_t **out,
                       oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	int rc = oc_sql_prepare(store, &st, err,
	                        "SELECT " COLUMNS " FROM works WHERE scope IS ? AND binding IS ? AND key = ? AND "
	                        "state <> 'finished'",
	                        "sss", scope, binding, key);

	*out = NULL;
	if (rc == 0)
		rc = next_row(store, st, out, err);
	return OC_MIN(rc, 0);
}

int oc_store_work_find(oc_store *store, const char *name, json_t **out, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *first = NULL, *second = NULL;
	const char *state;
	int rc;

	if (!name || oc_work_key_wrong(name))
		return oc_error_makef(err, OC_EINVAL, 0, NULL, name, "open-conduit work list",
		                      "\"%s\" names no Work: %s", name ? name : "",
		                      name ? oc_work_key_wrong(name) : "nothing is given");
	rc = oc_sql_prepare(store, &st, err,
	                    "SELECT " COLUMNS
	                    " FROM works WHERE ?1 IN (id, key, scope || '/' || binding || '/' || key) "
	                    "ORDER BY id = ?1 DESC, state = 'finished', created_ms DESC, id LIMIT 2",
	                    "s", name);
	if (rc == 0)
		rc = next_row(store, st, &first, err);
	if (rc == 0)
		return no_work(name, err);
	if (rc > 0)
		rc = next_row(store, st, &second, err);
	if (rc < 0)
		return rc;
	state = oc_json_text(second, "state");
	if (state && strcmp(state, "finished") && strcmp(oc_json_text(first, "id"), name))
		return oc_error_makef(err, OC_EINVAL, 0, NULL, name, "open-conduit work list",
		                      "several Works have the key %s: name one by its id, %s or %s", name,
		                      oc_json_text(first, "id"), oc_json_text(second, "id"));
	*out = oc_steal(first);
	return 0;
}

int oc_store_works(oc_store *store, uint32_t limit, bool finished, json_t **out, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *list = json_array();
	json_t *one = NULL;
	int rc = oc_sql_prepare(store, &st, err,
	                        "SELECT " COLUMNS " FROM works WHERE ?1 OR state <> 'finished' "
	                        "ORDER BY created_ms DESC, id LIMIT ?2",
	                        "ii", (int64_t)finished, (int64_t)(limit ? OC_MIN(limit, LIST_MAX) : LIST_MAX));

	while (rc >= 0 && (rc = next_row(store, st, &one, err)) > 0)
		if (!oc_json_append(list, one))
			return oc_nomem(err);
	if (rc < 0)
		return rc;
	*out = oc_steal(list);
	return *out ? 0 : oc_nomem(err);
}

/* Into the columns of the same names; the caller is in a transaction. */
static int insert(oc_store *store, const json_t *work, oc_error **err)
{
	const json_t *root = json_object_get(work, "root"), *git = json_object_get(work, "git");
	const json_t *author = json_object_get(work, "author");
	oc_cleanup(oc_freep) char *who = json_is_object(author) ? json_dumps(author, JSON_COMPACT) : NULL;
	int rc;

	rc = oc_sql_run(
	        store, err,
	        "INSERT INTO works (id, scope, binding, key, own, checkout, branch, base, author, baseline, origin, "
	        "state, created_ms, final) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, 0) "
	        "ON CONFLICT DO NOTHING",
	        "ssssissssssi", oc_json_text(work, "id"), oc_json_text(work, "scope"), oc_json_text(work, "binding"),
	        oc_json_text(work, "key"), (int64_t)json_is_true(json_object_get(work, "own")),
	        oc_json_text(work, "checkout"), oc_json_text(work, "branch"), oc_json_text(work, "base"), who,
	        oc_json_text(work, "baseline"), oc_json_text(work, "origin"), oc_wall_ms());
	if (rc == 0)
		return oc_fail(err, OC_EEXISTS, 0, "there is a Work of this name already");
	if (rc > 0 && json_is_object(root))
		rc = oc_sql_run(store, err,
		                "UPDATE works SET root_dev = ?, root_ino = ?, git_dev = ?, git_ino = ? WHERE id = ?",
		                "iiiis", oc_json_integer(root, "dev", 0), oc_json_integer(root, "ino", 0),
		                oc_json_integer(git, "dev", 0), oc_json_integer(git, "ino", 0),
		                oc_json_text(work, "id"));
	return rc;
}

int oc_store_work_add(oc_store *store, const json_t *work, oc_error **err)
{
	int rc = oc_sql_begin(store, true, err);

	if (rc >= 0)
		rc = oc_sql_end(store, insert(store, work, err), err);
	return OC_MIN(rc, 0);
}

static int write_file(oc_store *store, const json_t *work, oc_error **err)
{
	oc_cleanup(oc_closep) int dir = oc_store_work_dir(store, oc_json_text(work, "id"), true, err);
	oc_cleanup(oc_freep) char *text = NULL;
	int rc;

	if (dir < 0)
		return dir;
	text = json_dumps(work, JSON_COMPACT | JSON_SORT_KEYS);
	rc = text ? oc_write_file(dir, OC_WORK_FILE, text, strlen(text), 0600) : -ENOMEM;
	if (rc < 0)
		return oc_fail(err, OC_EIO, -rc, "the record of Work %s can't be written", oc_json_text(work, "id"));
	return 0;
}

int oc_store_work_made(oc_store *store, json_t *work, const json_t *reply, oc_error **err)
{
	static const char *const members[] = { "root", "git", "baseline", "origin", "branch" };
	const json_t *root = json_object_get(reply, "root"), *git = json_object_get(reply, "git");
	int rc;

	for (size_t i = 0; i < OC_COUNT(members); i++)
		if (!oc_json_set(work, members[i], json_incref(json_object_get(reply, members[i]))))
			return oc_nomem(err);
	rc = write_file(store, work, err);
	oc_fault("work:filed");
	if (rc == 0)
		rc = oc_sql_begin(store, true, err);
	if (rc < 0)
		return rc;
	rc = oc_sql_run(
	        store, err,
	        "UPDATE works SET root_dev = ?, root_ino = ?, git_dev = ?, git_ino = ?, baseline = ?, origin = ?, "
	        "branch = ? WHERE id = ?",
	        "iiiissss", oc_json_integer(root, "dev", 0), oc_json_integer(root, "ino", 0),
	        oc_json_integer(git, "dev", 0), oc_json_integer(git, "ino", 0), oc_json_text(reply, "baseline"),
	        oc_json_text(reply, "origin"), oc_json_text(reply, "branch"), oc_json_text(work, "id"));
	rc = oc_sql_end(store, rc == 0 ? no_work(oc_json_text(work, "id"), err) : rc, err);
	return OC_MIN(rc, 0);
}

/* A run whose agent may have worked, that is over, and of which no save is recorded. */
#define UNSAVED                                                                                                        \
	"work = ?1 AND (state IN ('exited', 'run_lost') OR (state = 'failed' AND proved IS NOT NULL)) "                \
	"AND id NOT IN (SELECT run FROM saves)"

static int saved_events(oc_store *store, const json_t *runs, bool last, const char *digest, int64_t now, oc_error **err)
{
	const json_t *run;
	int rc = 0;
	size_t i;

	json_array_foreach(runs, i, run)
	{
		if (rc >= 0)
			rc = oc_store_chain(
			        store, json_string_value(run), "saved",
			        json_pack("{s:I, s:b, s:s}", "at_ms", (json_int_t)now, "final", last, "result", digest),
			        err);
	}
	return rc;
}

static int saved(oc_store *store, const char *id, bool last, const char *text, const char *digest, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *runs = NULL;
	int64_t now = oc_wall_ms();
	int rc = oc_store_work_unsaved(store, id, &runs, err);

	if (rc >= 0)
		rc = oc_sql_run(
		        store, err,
		        "INSERT INTO saves (run, work, at_ms, final, result) SELECT id, ?1, ?2, ?3, ?4 FROM runs "
		        "WHERE " UNSAVED,
		        "siis", id, now, (int64_t)last, text);
	if (rc >= 0)
		rc = saved_events(store, runs, last, digest, now, err);
	if (rc >= 0)
		rc = oc_sql_run(
		        store, err,
		        "UPDATE works SET save = ?, saved_ms = ?, final = ? WHERE id = ? AND state <> 'finished'",
		        "siis", text, now, (int64_t)last, id);
	return rc == 0 ? no_work(id, err) : rc;
}

int oc_store_work_saved(oc_store *store, const char *id, bool last, const json_t *result, oc_error **err)
{
	oc_cleanup(oc_freep) char *text = json_dumps(result, JSON_COMPACT | JSON_SORT_KEYS);
	char digest[OC_DIGEST_SIZE];
	int rc = text ? oc_chain_digest(result, digest, err) : oc_nomem(err);

	if (rc >= 0)
		rc = oc_sql_begin(store, true, err);
	if (rc >= 0)
		rc = oc_sql_end(store, saved(store, id, last, text, digest, err), err);
	return OC_MIN(rc, 0);
}

int oc_store_work_state(oc_store *store, const char *id, const char *state, oc_error **err)
{
	bool finished = strcmp(state, "finished") == 0;
	int rc = oc_sql_begin(store, true, err);

	if (rc >= 0)
		rc = oc_sql_run(
		        store, err,
		        "UPDATE works SET state = ?1, finished_ms = CASE WHEN ?2 THEN coalesce(finished_ms, ?3) END "
		        "WHERE id = ?4",
		        "siis", state, (int64_t)finished, oc_wall_ms(), id);
	rc = oc_sql_end(store, rc == 0 ? no_work(id, err) : rc, err);
	return OC_MIN(rc, 0);
}

int oc_store_work_unsaved(oc_store *store, const char *id, json_t **runs, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *list = json_array();
	int rc = oc_sql_prepare(store, &st, err, "SELECT id FROM runs WHERE " UNSAVED " ORDER BY created_ms, id", "s",
	                        id);

	while (rc >= 0 && (rc = oc_sql_step(store, st, err)) > 0)
		if (!oc_json_append(list, json_string(oc_sql_text(st, 0))))
			return oc_nomem(err);
	if (rc < 0)
		return rc;
	*runs = oc_steal(list);
	return *runs ? 0 : oc_nomem(err);
}

int oc_store_work_live(oc_store *store, const char *id, char run[OC_RUN_ID_SIZE], char state[LIVE_SIZE], oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	/* A pinned run that nobody launched has nothing alive, and may stay so for ever. */
	int rc = oc_sql_prepare(
	        store, &st, err,
	        "SELECT id, state FROM runs WHERE work = ? AND state NOT IN ('planned', 'pinned', 'exited', "
	        "'failed', 'run_lost') ORDER BY state = 'unknown' DESC, created_ms LIMIT 1",
	        "s", id);
	const char *text;

	run[0] = state[0] = '\0';
	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc <= 0)
		return rc;
	text = oc_sql_text(st, 0);
	if (!oc_run_id_valid(text) || !oc_sql_text(st, 1))
		return oc_sql_fail(store, SQLITE_CORRUPT, err);
	memcpy(run, text, strlen(text) + 1);
	text = oc_sql_text(st, 1);
	memcpy(state, text, OC_MIN(strlen(text), (size_t)LIVE_SIZE - 1) + 1);
	state[LIVE_SIZE - 1] = '\0';
	return 0;
}

int oc_store_work_runs(oc_store *store, const char *id, json_t **out, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *list = json_array();
	int rc = oc_sql_prepare(
	        store, &st, err,
	        "SELECT r.id, r.kind, r.state, r.created_ms, s.result FROM runs r LEFT JOIN saves s ON s.run "
	        "= r.id WHERE r.work = ? ORDER BY r.created_ms DESC, r.id LIMIT ?",
	        "si", id, (int64_t)RUNS_MAX);

	while (rc >= 0 && (rc = oc_sql_step(store, st, err)) > 0) {
		oc_cleanup(oc_json_decrefp) json_t *one = json_object();

		if (!oc_json_set_string(one, "id", oc_sql_text(st, 0)) ||
		    !oc_json_set_string(one, "kind", oc_sql_text(st, 1)) ||
		    !oc_json_set_string(one, "state", oc_sql_text(st, 2)) ||
		    !oc_json_set(one, "created", oc_sql_time(st, 3)) || !oc_json_set(one, "save", oc_sql_json(st, 4)) ||
		    !oc_json_append(list, json_incref(one)))
			return oc_nomem(err);
	}
	if (rc < 0)
		return rc;
	*out = oc_steal(list);
	return *out ? 0 : oc_nomem(err);
}

int oc_store_work_attach(oc_store *store, const char *id, const char *kind, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	int rc = oc_sql_prepare(store, &st, err, "SELECT id, kind FROM runs WHERE work = ?", "s", id);

	while (rc >= 0 && (rc = oc_sql_step(store, st, err)) > 0)
		if (!oc_kind_plain(oc_sql_text(st, 1)) &&
		    !(oc_kind_container(oc_sql_text(st, 1)) && oc_kind_container(kind)))
			return oc_refuse(err, "attach_sandboxed", id,
			                 "run it in a container to attach to it; a command of yours: open-conduit work "
			                 "exec KEY -- COMMAND",
			                 "run %s of this Work was confined: on this machine an agent would load the "
			                 "hooks and servers written into its workspace",
			                 oc_sql_text(st, 0));
	return rc < 0 ? rc : 0;
}

char *oc_store_work_path(const oc_store *store, const char *id, const char *name)
{
	oc_cleanup(oc_freep) char *works = oc_path_join(store->dir, OC_WORKS_DIR);
	oc_cleanup(oc_freep) char *dir = works ? oc_path_join(works, id) : NULL;

	return dir && name ? oc_path_join(dir, name) : oc_steal(dir);
}

static int dir_fail(oc_store *store, const char *id, int code, int errnum, const char *why, oc_error **err)
{
	oc_cleanup(oc_freep) char *path = oc_store_work_path(store, id, NULL);

	return oc_error_makef(err, code, errnum, NULL, path, "open-conduit work list", "the directory of Work %s %s",
	                      id, why);
}

static int open_works(oc_store *store, bool make)
{
	int fd;

	if (make && mkdirat(store->state_fd, OC_WORKS_DIR, 0700) == 0)
		fsync(store->state_fd);
	fd = openat(store->state_fd, OC_WORKS_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int oc_store_work_dir(oc_store *store, const char *id, bool make, oc_error **err)
{
	oc_cleanup(oc_closep) int works = -1;
	oc_cleanup(oc_closep) int fd = -1;
	struct stat st;

	if (!oc_work_id_valid(id))
		return oc_fail(err, OC_EINVAL, 0, "a Work's id is at most 32 of a-z, 0-9 and -");
	works = open_works(store, make);
	if (works < 0)
		return dir_fail(store, id, works == -ENOENT ? OC_ENOTFOUND : OC_EIO, -works, "can't be opened", err);
	if (make && mkdirat(works, id, 0700) == 0)
		fsync(works);
	else if (make && errno != EEXIST)
		return dir_fail(store, id, OC_EIO, errno, "can't be made", err);
	fd = openat(works, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return dir_fail(store, id, errno == ENOENT ? OC_ENOTFOUND : OC_EIO, errno, "can't be opened", err);
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077))
		return dir_fail(store, id, OC_EIO, EPERM, "is not ours alone", err);
	return oc_steal_fd(fd);
}

/* What a file says of its Work, checked as far as a row has to be right. */
static int read_work(oc_store *store, const char *id, json_t **out, oc_error **err)
{
	oc_cleanup(oc_closep) int dir = oc_store_work_dir(store, id, false, err);
	oc_cleanup(oc_buf_free) struct oc_buf text = { 0 };
	oc_cleanup(oc_json_decrefp) json_t *work = NULL;
	static const char *const needed[] = { "key", "checkout", "branch", "baseline" };
	const char *of;
	int rc;

	if (dir < 0)
		return dir;
	oc_buf_init(&text, FILE_MAX + 1);
	rc = oc_read_file(dir, OC_WORK_FILE, FILE_MAX, &text);
	if (rc == -ENOENT) /* its clone was never made: there is nothing that could be lost */
		return 0;
	rc = rc < 0 ? dir_fail(store, id, OC_EIO, rc > -4096 ? -rc : EIO, "has a record that can't be read", err)
	            : oc_json_parse(text.data ? text.data : "", text.len, FILE_MAX, OC_WORK_FILE, &work, err);
	if (rc < 0)
		return rc;
	of = oc_json_text(work, "id");
	if (!of || strcmp(of, id) || !json_is_object(json_object_get(work, "root")) ||
	    !json_is_object(json_object_get(work, "git")))
		return dir_fail(store, id, OC_EPROTO, 0, "has a record of something else", err);
	for (size_t i = 0; i < OC_COUNT(needed); i++)
		if (!oc_json_text(work, needed[i]))
			return dir_fail(store, id, OC_EPROTO, 0, "has a record that is not whole", err);
	*out = oc_steal(work);
	return 1;
}

static int restore_one(oc_store *store, const char *id, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *work = NULL, *there = NULL;
	oc_error *error = NULL;
	int rc = oc_store_work(store, id, &there, &error);

	oc_error_free(error);
	if (rc != OC_ENOTFOUND)
		return 0;
	rc = read_work(store, id, &work, err);
	return rc > 0 ? oc_store_work_add(store, work, err) : rc;
}

int oc_store_works_restore(oc_store *store, oc_error **err)
{
	int fd = open_works(store, false), rc = 0;
	struct dirent *entry;
	unsigned n = 0;
	DIR *list;

	if (fd == -ENOENT)
		return 0;
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		rc = oc_fail(err, OC_EIO, fd < 0 ? -fd : errno, "the directory of the Works can't be read");
		oc_close(fd);
		return rc;
	}
	while (rc >= 0 && (entry = readdir(list)))
		if (oc_work_id_valid(entry->d_name) && ++n < DIRS_MAX)
			rc = restore_one(store, entry->d_name, err);
	closedir(list);
	return OC_MIN(rc, 0);
}
