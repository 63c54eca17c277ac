/* SPDX-License-Identifier: Apache-2.0 */
/* Works as an embedder sees them: found or begun by name, and shown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/utf8.h"
#include "broker/workspace.h"

#define TEXT_MAX   4096
#define OPEN_TRIES 3

int oc_work_whole(oc_store *store, json_t *work, oc_error **err)
{
	const char *id = oc_json_text(work, "id");
	oc_cleanup(oc_freep) char *path = id ? oc_store_work_path(store, id, OC_WORKSPACE) : NULL;
	json_t *runs = NULL, *unsaved = NULL, *data = NULL;
	int rc;

	if (!path || !oc_json_set_string(work, "workspace", path))
		return oc_nomem(err);
	rc = oc_store_work_unsaved(store, id, &unsaved, err);
	if (rc == 0 && !oc_json_set(work, "unsaved", unsaved))
		rc = oc_nomem(err);
	if (rc == 0)
		rc = oc_store_work_data(store, id, &data, err);
	if (rc == 0 && !oc_json_set(work, "data", data))
		rc = oc_nomem(err);
	if (rc == 0)
		rc = oc_store_work_runs(store, id, &runs, err);
	return rc == 0 && !oc_json_set(work, "runs", runs) ? oc_nomem(err) : rc;
}

static int dump(const json_t *json, char **text, oc_error **err)
{
	*text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
	return *text ? 0 : oc_nomem(err);
}

static int bad_option(const char *name, const char *why, oc_error **err)
{
	return oc_error_makef(err, OC_EINVAL, 0, NULL, name, NULL, "oc_work_options.%s %s", name, why);
}

static int check_options(const oc_work_options *o, oc_error **err)
{
	const struct {
		const char *name, *text;
	} texts[] = { { "scope", o->scope }, { "binding", o->binding },         { "branch", o->branch },
		      { "base", o->base },   { "author_name", o->author_name }, { "author_email", o->author_email } };

	if (o->flags)
		return oc_fail(err, OC_EVERSION, 0, "oc_work_options.flags must be 0");
	if (!o->checkout || !oc_path_clean(o->checkout) || !oc_utf8_valid(o->checkout, strlen(o->checkout)))
		return bad_option("checkout", "must be an absolute, clean path in UTF-8", err);
	if (!o->scope != !o->binding || !o->author_name != !o->author_email)
		return bad_option(!o->scope != !o->binding ? "binding" : "author_email", "goes with its other half",
		                  err);
	for (size_t i = 0; i < OC_COUNT(texts); i++)
		if (texts[i].text &&
		    (!*texts[i].text || strlen(texts[i].text) > TEXT_MAX ||
		     !oc_utf8_valid(texts[i].text, strlen(texts[i].text)) || strchr(texts[i].text, '\n')))
			return bad_option(texts[i].name, "must be one line of UTF-8", err);
	if (o->key && oc_work_key_wrong(o->key))
		return oc_refuse(err, "sandbox_config", "key", "choose another key, for example issue-12",
		                 "the key of a Work can't be this: %s", oc_work_key_wrong(o->key));
	return 0;
}

/* Another checkout under the same name: saving would go where nobody expects it. */
static int same_checkout(const json_t *work, const oc_work_options *o, oc_error **err)
{
	const char *checkout = oc_json_text(work, "checkout");
	char fix[120];

	if (checkout && !strcmp(checkout, o->checkout))
		return 0;
	snprintf(fix, sizeof(fix), "open-conduit work finish %s", oc_json_text(work, "id"));
	return oc_refuse(err, "workspace_conflict", oc_json_text(work, "id"), fix,
	                 "the Work %s was cloned from %s, and %s is asked for now", oc_json_text(work, "key"), checkout,
	                 o->checkout);
}

static int new_work(oc_store *store, const oc_work_options *o, const char *key, json_t **out, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *work = json_object();
	char id[OC_WORK_ID_SIZE], branch[OC_WORK_ID_SIZE + 16];
	int rc = 0;

	/* The key of one that is its run's own was drawn by lot: nothing is clearer by a digest. */
	if (o->key)
		rc = oc_work_id(store, o->scope, o->binding, key, id, err);
	else
		snprintf(id, sizeof(id), "%s", key);
	if (rc < 0)
		return rc;
	snprintf(branch, sizeof(branch), "open-conduit/%s", id);
	if (!oc_json_set_string(work, "id", id) || !oc_json_set_string(work, "scope", o->scope) ||
	    !oc_json_set_string(work, "binding", o->binding) || !oc_json_set_string(work, "key", key) ||
	    !oc_json_set(work, "own", json_boolean(!o->key)) || !oc_json_set_string(work, "checkout", o->checkout) ||
	    !oc_json_set_string(work, "branch", o->branch ? o->branch : branch) ||
	    !oc_json_set_string(work, "base", o->base) ||
	    !oc_json_set(work, "author",
	                 o->author_name ? json_pack("{s:s, s:s}", "name", o->author_name, "email", o->author_email)
	                                : json_null()))
		return oc_nomem(err);
	rc = oc_store_work_add(store, work, err);
	return rc < 0 ? rc : oc_store_work(store, id, out, err);
}

static int find_or_make(oc_store *store, const oc_work_options *o, const char *key, json_t **work, oc_error **err)
{
	int rc = OC_EEXISTS;

	/* Two hosts may begin the same Work at the same moment: one makes it, the other finds it. */
	for (int tries = 0; rc == OC_EEXISTS && tries < OPEN_TRIES; tries++) {
		oc_error *error = NULL;

		rc = oc_store_work_open(store, o->scope, o->binding, key, work, &error);
		if (rc == 0 && *work) {
			rc = same_checkout(*work, o, &error);
		} else if (rc == 0) {
			rc = new_work(store, o, key, work, &error);
		}
		if (rc < 0 && (rc != OC_EEXISTS || tries + 1 == OPEN_TRIES) && err)
			*err = oc_steal(error);
		oc_error_free(error);
	}
	return rc;
}

int oc_work_open(oc_store *store, const oc_work_options *options, char **json, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *work = NULL;
	oc_work_options o = OC_WORK_OPTIONS_INIT;
	char own[24] = "run-";
	int rc;

	if (!store || !options || !json)
		return oc_fail(err, OC_EINVAL, 0, "oc_work_open needs a store, options and somewhere to answer");
	if (!oc_copy_sized(&o, sizeof(o), options))
		return oc_fail(err, OC_EVERSION, 0, "oc_work_options has a member set that this library does not know");
	rc = oc_context_check(store->ctx, err);
	if (rc == 0)
		rc = check_options(&o, err);
	if (rc == 0)
		rc = oc_store_works_restore(store, err);
	if (rc == 0 && !o.key && (rc = oc_random_id(own + 4, 12)) < 0)
		return oc_fail(err, OC_EIO, -rc, "no random bytes for a Work's key");
	if (rc == 0)
		rc = find_or_make(store, &o, o.key ? o.key : own, &work, err);
	if (rc == 0)
		rc = oc_work_whole(store, work, err);
	return rc < 0 ? rc : dump(work, json, err);
}

int oc_work_get(oc_store *store, const char *name, char **json, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *work = NULL;
	int rc;

	if (!store || !json)
		return oc_fail(err, OC_EINVAL, 0, "oc_work_get: store and json must not be NULL");
	rc = oc_context_check(store->ctx, err);
	if (rc == 0)
		rc = oc_store_works_restore(store, err);
	if (rc == 0)
		rc = oc_store_work_find(store, name, &work, err);
	if (rc == 0)
		rc = oc_work_whole(store, work, err);
	return rc < 0 ? rc : dump(work, json, err);
}

int oc_work_list(oc_store *store, uint32_t limit, int finished, char **json, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *list = NULL;
	json_t *work;
	size_t i;
	int rc;

	if (!store || !json)
		return oc_fail(err, OC_EINVAL, 0, "oc_work_list: store and json must not be NULL");
	rc = oc_context_check(store->ctx, err);
	if (rc == 0)
		rc = oc_store_works_restore(store, err);
	if (rc == 0)
		rc = oc_store_works(store, limit, finished != 0, &list, err);
	if (rc < 0)
		return rc;
	json_array_foreach(list, i, work)
	{
		rc = oc_work_whole(store, work, err);
		if (rc < 0)
			return rc;
		(void)json_object_del(work, "runs");
	}
	return dump(list, json, err);
}
