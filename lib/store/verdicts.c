/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of provider checks: green is believed for a day, red until a check is green. */
#include <string.h>

#include "base/time.h"
#include "store/sql.h"

#define GREEN_MS (24 * 3600 * 1000LL)
#define SKEW_MS  60000 /* a verdict from the future: the clock was set back, so its age is unknown */
#define KEEP     64    /* verdicts of a provider; identities change with each update and boot */

int oc_store_verdict(oc_store *store, const char *provider, const char *key, bool *found, bool *ok, char **checks,
                     oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	int64_t age;
	bool green;
	int rc =
	        oc_sql_prepare(store, &st, err, "SELECT ok, checks, at_ms FROM verdicts WHERE provider = ? AND key = ?",
	                       "ss", provider, key);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc < 0)
		return rc;
	green = rc > 0 && sqlite3_column_int64(st, 0) == 1;
	age = rc > 0 ? oc_wall_ms() - sqlite3_column_int64(st, 2) : 0;
	if (rc == 0 || (green && (age >= GREEN_MS || age < -SKEW_MS))) {
		*found = *ok = false;
		*checks = NULL;
		return 0;
	}
	*checks = strdup(oc_sql_text(st, 1) ? oc_sql_text(st, 1) : "[]");
	if (!*checks)
		return oc_nomem(err);
	*found = true;
	*ok = green;
	return 0;
}

int oc_store_verdict_put(oc_store *store, const char *provider, const char *key, bool ok, const char *checks,
                         oc_error **err)
{
	int rc = oc_sql_begin(store, true, err);

	if (rc < 0)
		return rc;
	rc = oc_sql_run(store, err,
	                "INSERT INTO verdicts (provider, key, ok, checks, at_ms) VALUES (?, ?, ?, ?, ?) "
	                "ON CONFLICT (provider, key) DO UPDATE SET ok = excluded.ok, checks = excluded.checks, at_ms = "
	                "excluded.at_ms",
	                "ssisi", provider, key, (int64_t)(ok ? 1 : 0), checks ? checks : "[]", oc_wall_ms());
	if (rc >= 0)
		rc = oc_sql_run(store, err,
		                "DELETE FROM verdicts WHERE provider = ? AND key NOT IN "
		                "(SELECT key FROM verdicts WHERE provider = ? ORDER BY at_ms DESC LIMIT ?)",
		                "ssi", provider, provider, (int64_t)KEEP);
	rc = oc_sql_end(store, rc, err);
	return rc < 0 ? rc : 0;
}
