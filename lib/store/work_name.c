/* SPDX-License-Identifier: Apache-2.0 */
/* A Work's id is a directory, a part of a ref and of every path in it, and its key is a person's text, or an issue's: so
 * the id is made of the key's harmless letters for a reader, and of a digest for everything else. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "store/sql.h"
#include "store/works.h"

#define KEY_MAX    128
#define READABLE   20
#define DIGEST_LEN 10

const char *oc_work_key_wrong(const char *key)
{
	size_t n = strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/#@:+=,");

	if (!*key)
		return "it is empty";
	if (key[n])
		return "letters, digits and . _ - / # @ : + = , are what a key is made of";
	if (strlen(key) > KEY_MAX)
		return "it is longer than 128 bytes";
	if (key[0] == '-' || key[0] == '.')
		return "it begins with - or .";
	return NULL;
}

/* The letters and digits, in small letters, each run of others as one "-". */
static size_t readable(const char *key, char *out)
{
	size_t n = 0;

	for (; *key && n < READABLE; key++) {
		if (isalnum((unsigned char)*key))
			out[n++] = (char)tolower((unsigned char)*key);
		else if (n && out[n - 1] != '-')
			out[n++] = '-';
	}
	while (n && out[n - 1] == '-')
		n--;
	return n;
}

/* How many Works had this name before: each gets refs of its own, so that a new one never writes over an old one's. */
static int earlier(oc_store *store, const char *scope, const char *binding, const char *key, int64_t *n, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	int rc = oc_sql_prepare(store, &st, err,
	                        "SELECT count(*) FROM works WHERE scope IS ? AND binding IS ? AND key = ?", "sss",
	                        scope, binding, key);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc > 0)
		*n = sqlite3_column_int64(st, 0);
	return OC_MIN(rc, 0);
}

int oc_work_id(oc_store *store, const char *scope, const char *binding, const char *key, char id[OC_WORK_ID_SIZE],
               oc_error **err)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
	char digest[OC_DIGEST_SIZE];
	struct oc_buf text;
	unsigned byte;
	int64_t serial = 0;
	size_t n = readable(key, id);
	int rc = earlier(store, scope, binding, key, &serial, err);

	if (rc < 0)
		return rc;
	oc_buf_init(&text, 4096);
	/* A newline is in none of the parts. */
	rc = oc_buf_printf(&text, "%s\n%s\n%s\n%lld", scope ? scope : "", binding ? binding : "", key,
	                   (long long)serial);
	if (rc == 0)
		rc = oc_digest(text.data, text.len, digest);
	oc_buf_free(&text);
	if (rc < 0)
		return oc_nomem(err);
	if (n)
		id[n++] = '-';
	for (size_t i = 0; i < DIGEST_LEN; i++) {
		if (sscanf(digest + 7 + 2 * i, "%2x", &byte) != 1)
			return oc_nomem(err);
		id[n++] = alphabet[byte % 32];
	}
	id[n] = '\0';
	return 0;
}
