/* SPDX-License-Identifier: Apache-2.0 */
/* The schema, as the steps that lead to it.  A step that was released is never changed: what a later version
 * needs is a new step.  PRAGMA user_version tells how many were taken; all that are missing are taken in one
 * transaction, so a process killed inside leaves the older store as it was. */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "store/sql.h"

#define APPLICATION_ID 0x4f437374 /* "OCst": a database of something else is refused, not migrated */

static const char *const version_1[] = {
	"PRAGMA application_id=1329820532",
	"CREATE TABLE runs (id TEXT PRIMARY KEY NOT NULL, kind TEXT NOT NULL, work TEXT, binding TEXT, command TEXT "
	"NOT NULL, "
	"state TEXT NOT NULL, error TEXT, created_ms INTEGER NOT NULL, ended_ms INTEGER, digest TEXT, proved TEXT, "
	"exit TEXT)",
	"CREATE INDEX runs_created ON runs (created_ms)",
	"CREATE TABLE pins (run TEXT PRIMARY KEY NOT NULL REFERENCES runs (id) ON DELETE CASCADE, digest TEXT NOT "
	"NULL, "
	"text TEXT NOT NULL)",
	"CREATE TABLE attempts (run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, number INTEGER NOT NULL, "
	"at_ms INTEGER NOT NULL, PRIMARY KEY (run, number))",
	"CREATE TABLE events (run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, seq INTEGER NOT NULL, "
	"at_ms INTEGER NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run, seq))",
	/* "write-once" is kept by the database too, not by its callers alone */
	"CREATE TRIGGER pins_once BEFORE UPDATE ON pins BEGIN SELECT RAISE(ABORT, 'a pin is written once'); END",
	NULL,
};
static const char *const version_2[] = {
	"CREATE TABLE verdicts (provider TEXT NOT NULL, key TEXT NOT NULL, ok INTEGER NOT NULL, checks TEXT NOT NULL, "
	"at_ms INTEGER NOT NULL, PRIMARY KEY (provider, key))",
	/* recovery walks what is not over, among years of what is */
	"CREATE INDEX runs_unfinished ON runs (state) WHERE state NOT IN ('exited', 'failed', 'run_lost')",
	NULL,
};
static const char *const version_3[] = {
	"CREATE TABLE works (id TEXT PRIMARY KEY NOT NULL, scope TEXT, binding TEXT, key TEXT NOT NULL, own INTEGER "
	"NOT "
	"NULL, checkout TEXT NOT NULL, branch TEXT NOT NULL, base TEXT, author TEXT, baseline TEXT, origin TEXT, "
	"root_dev "
	"INTEGER, root_ino INTEGER, git_dev INTEGER, git_ino INTEGER, state TEXT NOT NULL, created_ms INTEGER NOT "
	"NULL, "
	"finished_ms INTEGER, save TEXT, saved_ms INTEGER, final INTEGER NOT NULL)",
	/* a name is free again when its Work is finished */
	"CREATE UNIQUE INDEX works_open ON works (coalesce(scope, ''), coalesce(binding, ''), key) WHERE state <> "
	"'finished'",
	"CREATE TABLE saves (run TEXT PRIMARY KEY NOT NULL REFERENCES runs (id) ON DELETE CASCADE, work TEXT NOT NULL, "
	"at_ms INTEGER NOT NULL, final INTEGER NOT NULL, result TEXT NOT NULL)",
	"CREATE INDEX runs_work ON runs (work) WHERE work IS NOT NULL",
	NULL,
};
static const char *const version_4[] = {
	"CREATE TABLE work_data (work TEXT NOT NULL REFERENCES works (id) ON DELETE CASCADE, name TEXT NOT NULL, "
	"value TEXT NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (work, name))",
	"CREATE TABLE messages (work TEXT NOT NULL REFERENCES works (id) ON DELETE CASCADE, number INTEGER NOT NULL, "
	"at_ms INTEGER NOT NULL, text TEXT NOT NULL, state TEXT NOT NULL, run TEXT, mark TEXT, PRIMARY KEY (work, "
	"number))",
	NULL,
};
static const char *const version_5[] = {
	"CREATE TABLE calls (run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, attempt INTEGER NOT NULL, "
	"number "
	"INTEGER NOT NULL, at_ms INTEGER NOT NULL, name TEXT NOT NULL, arguments TEXT NOT NULL, outcome TEXT, answer "
	"TEXT, "
	"answered_ms INTEGER, PRIMARY KEY (run, attempt, number))",
	NULL,
};
static const char *const version_6[] = {
	/* null: recorded before there was a chain */
	"ALTER TABLE events ADD COLUMN chain TEXT",
	/* An older program that still has the store open would record what its successor's chain doesn't hold. */
	"CREATE TRIGGER events_chained BEFORE INSERT ON events WHEN NEW.chain IS NULL BEGIN SELECT RAISE(ABORT, 'an "
	"event is recorded with its chain: this store is now of a newer Open Conduit'); END",
	"CREATE TRIGGER events_once BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'an event is written once'); END",
	NULL,
};
static const char *const version_7[] = {
	"CREATE TABLE queue (number INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL UNIQUE, binding TEXT NOT "
	"NULL, "
	"key TEXT, request TEXT NOT NULL, state TEXT NOT NULL, error TEXT, created_ms INTEGER NOT NULL)",
	NULL,
};
static const char *const version_8[] = {
	"CREATE TABLE tokens (run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, id TEXT NOT NULL, state TEXT "
	"NOT NULL, about TEXT NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, ended_ms INTEGER, "
	"detail TEXT, PRIMARY KEY (run, id))",
	/* among those of years, the few that somebody has to end */
	"CREATE INDEX tokens_left ON tokens (run) WHERE ended_ms IS NULL",
	NULL,
};
static const char *const *const versions[OC_STORE_SCHEMA] = { version_1, version_2, version_3, version_4,
	                                                      version_5, version_6, version_7, version_8 };

const char *oc_store_migration(int version, size_t statement)
{
	return version >= 1 && version <= OC_STORE_SCHEMA ? versions[version - 1][statement] : NULL;
}

static int apply(oc_store *store, const char *sql, oc_error **err)
{
	char text[768];
	bool strict = sqlite3_libversion_number() >= 3037000 && strncmp(sql, "CREATE TABLE", 12) == 0;
	size_t n = strlen(sql);

	if (!strict)
		return oc_sql_run(store, err, sql, "");
	if (n + 8 > sizeof(text))
		return oc_fail(err, OC_EFAILED, 0, "a statement of the schema is too long");
	memcpy(text, sql, n);
	memcpy(text + n, " STRICT", 8);
	return oc_sql_run(store, err, text, "");
}

static int refuse(oc_store *store, int64_t version, oc_error **err)
{
	oc_cleanup(oc_freep) char *path = oc_path_join(store->dir, OC_STORE_FILE);

	if (version < 0)
		return oc_error_makef(
		        err, OC_EIO, EINVAL, NULL, path, "export XDG_STATE_HOME=\"$HOME/.local/state\"",
		        "this is the database of another program; give Open Conduit a state directory of its own");
	return oc_error_makef(
	        err, OC_EVERSION, 0, NULL, path, "open-conduit --version",
	        "the store has schema %lld, written by a newer Open Conduit; this one knows %d: use the newer one",
	        (long long)version, OC_STORE_SCHEMA);
}

static int step_to(oc_store *store, int version, oc_error **err)
{
	char pragma[40] = "PRAGMA user_version=0";
	const char *sql;
	size_t i;
	int rc = 0;

	for (i = 0; rc >= 0 && (sql = oc_store_migration(version, i)); i++)
		rc = apply(store, sql, err);
	pragma[strlen(pragma) - 1] = (char)('0' + version);
	return rc < 0 ? rc : oc_sql_run(store, err, pragma, "");
}

static int all_steps(oc_store *store, oc_error **err)
{
	int64_t version = 0, application = 0, objects = 0;
	int rc = oc_sql_number(store, "PRAGMA user_version", NULL, &version, err);

	/* Read again inside the transaction: another process may have migrated in between. */
	if (rc >= 0)
		rc = oc_sql_number(store, "PRAGMA application_id", NULL, &application, err);
	if (rc >= 0)
		rc = oc_sql_number(store, "SELECT count(*) FROM sqlite_master", NULL, &objects, err);
	if (rc < 0)
		return rc;
	if (version > 0 ? application != APPLICATION_ID : objects > 0)
		return refuse(store, -1, err);
	if (version < 0 || version > OC_STORE_SCHEMA)
		return refuse(store, version, err);
	while (rc >= 0 && version < OC_STORE_SCHEMA)
		rc = step_to(store, (int)++version, err);
	return rc;
}

/* The version says the tables are there; a store where they are not is damaged, not empty. */
static int tables(oc_store *store, oc_error **err)
{
	int64_t n = 0;
	int rc = oc_sql_number(
	        store,
	        "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN "
	        "('runs', 'pins', 'attempts', 'events', 'verdicts', 'works', 'saves', 'work_data', 'messages', "
	        "'calls', 'queue', 'tokens')",
	        NULL, &n, err);

	if (rc >= 0 && n != 12)
		return oc_sql_fail(store, SQLITE_CORRUPT, err);
	return OC_MIN(rc, 0);
}

int oc_store_migrate(oc_store *store, oc_error **err)
{
	int64_t version = 0, application = 0;
	int rc = oc_sql_number(store, "PRAGMA user_version", NULL, &version, err);

	if (rc >= 0)
		rc = oc_sql_number(store, "PRAGMA application_id", NULL, &application, err);
	if (rc >= 0 && (version != OC_STORE_SCHEMA || application != APPLICATION_ID)) {
		rc = oc_sql_begin(store, true, err);
		if (rc >= 0)
			rc = oc_sql_end(store, all_steps(store, err), err);
	}
	return rc < 0 ? rc : tables(store, err);
}
