/* SPDX-License-Identifier: Apache-2.0 */
/* A provider reads what an agent wrote: what it answers is looked at as if the agent had written that too. */
#include <string.h>

#include "broker/workspace.h"

#define TEXT_MAX  65536 /* of a file's name among other words, each byte of which may be escaped */
#define NOTES_MAX 10000
#define REFS_MAX  100000
#define ID_MAX    ((1LL << 53) - 1)

int oc_reply_wrong(const char *provider, const char *field, const char *why, oc_error **err)
{
	return oc_refuse(err, "provider_failed", field, "open-conduit doctor",
	                 "provider %s answered what the protocol doesn't allow: %s %s", provider, field, why);
}

/* The violations of an unpacking, as one refusal. */
static int unpack(const char *provider, const json_t *object, const char *path, const struct oc_json_key *keys,
                  size_t n, oc_error **err)
{
	oc_error *bad = NULL;
	int rc;

	if (!json_is_object(object))
		return oc_reply_wrong(provider, path, "is no object", err);
	if (oc_json_unpack(object, path, NULL, keys, n, &bad) >= 0)
		return 0;
	rc = oc_error_code(bad) == OC_ENOMEM
	             ? oc_nomem(err)
	             : oc_refuse(err, "provider_failed", oc_error_subject(bad), "open-conduit doctor",
	                         "provider %s answered what the protocol doesn't allow: %s: %s", provider,
	                         oc_error_subject(bad) ? oc_error_subject(bad) : path, oc_error_message(bad));
	oc_error_free(bad);
	return rc;
}

static bool is_oid(const char *text)
{
	size_t n = text ? strspn(text, "0123456789abcdef") : 0;

	return (n == 40 || n == 64) && !text[n];
}

static int check_id(const char *provider, const json_t *object, const char *path, oc_error **err)
{
	int64_t dev = -1, ino = -1;
	const struct oc_json_key keys[] = { { "dev", OC_JSON_INT, true, &dev }, { "ino", OC_JSON_INT, true, &ino } };
	int rc = unpack(provider, object, path, keys, OC_COUNT(keys), err);

	if (rc == 0 && (dev < 0 || ino < 0 || dev > ID_MAX || ino > ID_MAX))
		rc = oc_reply_wrong(provider, path, "is no device and inode", err);
	return rc;
}

static int check_notes(const char *provider, const json_t *notes, oc_error **err)
{
	const json_t *note;
	size_t i;

	if (json_array_size(notes) > NOTES_MAX)
		return oc_reply_wrong(provider, "notes", "is too long a list", err);
	json_array_foreach(notes, i, note) if (json_string_length(note) > TEXT_MAX) return oc_reply_wrong(
	        provider, "notes", "holds too long a text", err);
	return 0;
}

int oc_workspace_check_created(const char *provider, const json_t *work, const json_t *reply, oc_error **err)
{
	json_t *root = NULL, *git = NULL, *notes = NULL;
	const char *branch = NULL, *baseline = NULL, *origin = NULL, *asked = oc_json_text(work, "branch");
	const struct oc_json_key keys[] = {
		{ "root", OC_JSON_OBJECT, true, &root },
		{ "git", OC_JSON_OBJECT, true, &git },
		{ "branch", OC_JSON_STRING, true, &branch },
		{ "baseline", OC_JSON_STRING, true, &baseline },
		{ "origin", OC_JSON_STRING | OC_JSON_NULL_OK, false, &origin },
		{ "notes", OC_JSON_STRINGS, true, &notes },
	};
	int rc = unpack(provider, reply, "", keys, OC_COUNT(keys), err);

	if (rc == 0)
		rc = check_id(provider, root, "root", err);
	if (rc == 0)
		rc = check_id(provider, git, "git", err);
	if (rc == 0)
		rc = check_notes(provider, notes, err);
	if (rc < 0)
		return rc;
	if (!json_object_get(reply, "origin"))
		return oc_reply_wrong(provider, "origin", "is missing", err);
	if (!asked || strcmp(branch, asked))
		return oc_reply_wrong(provider, "branch", "is not the branch that was asked for", err);
	if (!is_oid(baseline))
		return oc_reply_wrong(provider, "baseline", "is no commit", err);
	return origin && strlen(origin) > TEXT_MAX ? oc_reply_wrong(provider, "origin", "is too long", err) : 0;
}

/* A ref of this Work: beneath its own namespace, or its branch. */
static bool is_ref(const json_t *work, const char *ref)
{
	static const char ours[] = "refs/open-conduit/", heads[] = "refs/heads/";
	const char *id = oc_json_text(work, "id"), *branch = oc_json_text(work, "branch");
	size_t n = id ? strlen(id) : 0;

	if (!ref || !id || !branch || strlen(ref) > TEXT_MAX)
		return false;
	if (!strncmp(ref, heads, sizeof(heads) - 1))
		return !strcmp(ref + sizeof(heads) - 1, branch);
	ref += !strncmp(ref, ours, sizeof(ours) - 1) ? sizeof(ours) - 1 : strlen(ref);
	return !strncmp(ref, id, n) && ref[n] == '/' && ref[n + 1];
}

static int check_refs(const char *provider, const json_t *work, const json_t *list, const char *name, oc_error **err)
{
	const char *ref = NULL, *commit = NULL, *what = NULL;
	bool leftover = !strcmp(name, "leftover");
	const struct oc_json_key keys[] = {
		{ "ref", OC_JSON_STRING, true, &ref },
		{ "commit", OC_JSON_STRING, true, &commit },
		{ "what", OC_JSON_STRING, leftover, &what }, /* last: only leftovers say what they are */
	};
	const json_t *one;
	char path[64];
	size_t i;
	int rc = 0;

	if (json_array_size(list) > REFS_MAX)
		return oc_reply_wrong(provider, name, "is too long a list", err);
	json_array_foreach(list, i, one)
	{
		snprintf(path, sizeof(path), "%s[%zu]", name, i);
		rc = unpack(provider, one, path, keys, OC_COUNT(keys) - !leftover, err);
		if (rc == 0 && !is_ref(work, ref))
			rc = oc_reply_wrong(provider, path, "names a ref that is not of this Work", err);
		if (rc == 0 && !is_oid(commit))
			rc = oc_reply_wrong(provider, path, "names no commit", err);
		if (rc == 0 && what && strlen(what) > TEXT_MAX)
			rc = oc_reply_wrong(provider, path, "is too long", err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int check_lost(const char *provider, const json_t *list, oc_error **err)
{
	const char *what = NULL, *why = NULL;
	const struct oc_json_key keys[] = { { "what", OC_JSON_STRING, true, &what },
		                            { "why", OC_JSON_STRING, true, &why } };
	const json_t *one;
	char path[64];
	size_t i;
	int rc = 0;

	if (json_array_size(list) > REFS_MAX)
		return oc_reply_wrong(provider, "lost", "is too long a list", err);
	json_array_foreach(list, i, one)
	{
		snprintf(path, sizeof(path), "lost[%zu]", i);
		rc = unpack(provider, one, path, keys, OC_COUNT(keys), err);
		if (rc == 0 && (strlen(what) > TEXT_MAX || strlen(why) > TEXT_MAX))
			rc = oc_reply_wrong(provider, path, "is too long", err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static bool is_outcome(const char *outcome)
{
	static const char *const known[] = { "unchanged", "kept", "moved", "checked_out", "diverged" };

	for (size_t i = 0; i < OC_COUNT(known); i++)
		if (!strcmp(outcome, known[i]))
			return true;
	return false;
}

int oc_workspace_check_saved(const char *provider, const json_t *work, const json_t *reply, oc_error **err)
{
	json_t *saved = NULL, *leftover = NULL, *lost = NULL, *notes = NULL;
	const char *tip = NULL, *outcome = NULL;
	const struct oc_json_key keys[] = {
		{ "tip", OC_JSON_STRING | OC_JSON_NULL_OK, false, &tip },
		{ "saved", OC_JSON_ARRAY, true, &saved },
		{ "outcome", OC_JSON_STRING, true, &outcome },
		{ "leftover", OC_JSON_ARRAY, true, &leftover },
		{ "lost", OC_JSON_ARRAY, true, &lost },
		{ "notes", OC_JSON_STRINGS, true, &notes },
	};
	int rc = unpack(provider, reply, "", keys, OC_COUNT(keys), err);

	if (rc == 0 && (!json_object_get(reply, "tip") || (tip && !is_oid(tip))))
		rc = oc_reply_wrong(provider, "tip", "is no commit", err);
	if (rc == 0 && (!outcome || !is_outcome(outcome)))
		rc = oc_reply_wrong(provider, "outcome", "is not one of the known", err);
	if (rc == 0)
		rc = check_refs(provider, work, saved, "saved", err);
	if (rc == 0)
		rc = check_refs(provider, work, leftover, "leftover", err);
	if (rc == 0)
		rc = check_lost(provider, lost, err);
	return rc < 0 ? rc : check_notes(provider, notes, err);
}

int oc_workspace_check_removed(const char *provider, const json_t *reply, oc_error **err)
{
	return unpack(provider, reply, "reply", NULL, 0, err);
}
