/* SPDX-License-Identifier: Apache-2.0 */
/* The provider's own part of a save: it finds the checkout, makes the quarantine, and runs the two children.  What the
 * first one says is taken only in the form it should have: it had read an agent's files. */
#include "save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "methods.h"
#include "oids.h"
#include "take.h"
#include "task.h"
#include "tree.h"
#include "verify.h"
#include "works.h"

#define CHECKOUT_REFS_MAX 2000000u
#define FOUND_MAX         2000u
#define SHALLOW_MAX       (16u << 20)

static bool id_valid(const char *text)
{
	git_oid id;

	return text && strlen(text) == GIT_OID_HEXSZ && oid_parse(text, GIT_OID_HEXSZ, &id) == 0;
}

static bool all_of(const json_t *array, size_t max, bool (*valid)(const json_t *))
{
	const json_t *value;
	size_t i;

	if (!json_is_array(array) || json_array_size(array) > max)
		return false;
	json_array_foreach(array, i, value)
	{
		if (!valid(value))
			return false;
	}
	return true;
}

static bool ref_found(const json_t *v)
{
	const char *suffix = text_of(v, "suffix");

	return json_object_size(v) == 4 && suffix && save_suffix_valid(suffix) && id_valid(text_of(v, "id")) &&
	       text_of(v, "what") && json_is_boolean(json_object_get(v, "left"));
}

static bool lost_found(const json_t *v)
{
	return json_object_size(v) == 2 && text_of(v, "what") && text_of(v, "why");
}

static bool note_found(const json_t *v)
{
	return json_is_string(v);
}

static bool found_valid(const json_t *found)
{
	const json_t *tip = json_object_get(found, "tip");

	return json_object_size(found) == 6 && (json_is_null(tip) || id_valid(json_string_value(tip))) &&
	       json_is_boolean(json_object_get(found, "whole")) && json_is_integer(json_object_get(found, "objects")) &&
	       all_of(json_object_get(found, "refs"), FOUND_MAX, ref_found) &&
	       all_of(json_object_get(found, "lost"), FOUND_MAX, lost_found) &&
	       all_of(json_object_get(found, "notes"), FOUND_MAX, note_found);
}

/* One component of a reference and of a path. */
static bool work_valid(const char *work)
{
	return strlen(work) <= 100 && save_suffix_valid(work) && !strchr(work, '/') && work[0] != '-';
}

static int take_texts(struct save *s, const json_t *params, struct refusal *r)
{
	cleanup_free char *ref = NULL;
	struct works w;
	int rc;

	s->dir = text_of(params, "dir");
	s->quarantine = text_of(params, "quarantine");
	s->work = text_of(params, "work");
	s->branch = text_of(params, "branch");
	s->baseline = text_of(params, "baseline");
	s->root = json_object_get(params, "root");
	s->git = json_object_get(params, "git");
	s->final = json_is_true(json_object_get(params, "final"));
	ref = format("refs/heads/%s", s->branch);
	if (!ref)
		return no_memory(r);
	if (!work_valid(s->work))
		return refuse(r, "provider_failed", "work", NULL, "%s can't be a part of a reference's name", s->work);
	if (!ref_name_valid(ref, strlen(ref)) || s->branch[0] == '-')
		return refuse(r, "sandbox_workspace", "branch", "git check-ref-format --branch NAME",
		              "%s can't be the name of a branch", s->branch);
	if (s->baseline && !id_valid(s->baseline))
		return refuse(r, "provider_failed", "baseline", NULL, "%s is no commit's id", s->baseline);
	rc = works_open(&w, s->dir, r);
	works_close(&w);
	return rc;
}

static int open_quarantine(const char *path, struct refusal *r)
{
	struct works w;
	struct stat st;
	cleanup_fd int fd = -1;
	int rc = works_open(&w, path, r);

	if (!rc && (w.fd < 0 || (mkdirat(w.fd, w.name, 0700) < 0 && errno != EEXIST)))
		rc = refuse_errno(r, path, "the quarantine can't be made");
	if (!rc)
		fd = openat(w.fd, w.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (!rc && (fd < 0 || fstat(fd, &st) < 0))
		rc = refuse_errno(r, path, "the quarantine can't be opened");
	if (!rc && (st.st_uid != geteuid() || (st.st_mode & 077)))
		rc = refuse(r, "workspace_conflict", path, "remove it", "%s is not a folder of our own", path);
	works_close(&w);
	return rc;
}

static int open_checkout(struct save *s, const json_t *params, struct refusal *r)
{
	cleanup_fd int common = -1;
	struct stat st;
	int result;

	if (checkout_open(&s->checkout, text_of(params, "checkout"), r))
		return -1;
	common = open(s->checkout.common, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (common < 0)
		return refuse_errno(r, s->checkout.common, "the checkout can't be opened");
	if (fstatat(common, "reftable", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return refuse(r, "sandbox_workspace", s->checkout.path, "git refs migrate --ref-format=files",
		              "%s keeps its references in a format (reftable) that can't be written here",
		              s->checkout.path);
	result = refs_load(common, CHECKOUT_REFS_MAX, &s->refs);
	if (result)
		return errno = -result, refuse_errno(r, s->checkout.common, "the checkout's references can't be read");
	if (read_small(common, "shallow", SHALLOW_MAX, &s->shallow) < 0 && errno != ENOENT)
		return refuse_errno(r, s->checkout.common,
		                    "the checkout's list of where its history ends can't be read");
	return 0;
}

static int run_take(struct save *s, json_t **found, struct refusal *r)
{
	struct confine_path paths[OBJECT_DIRS + 2] = { { s->dir, CONFINE_READ }, { s->quarantine, CONFINE_WRITE } };
	size_t n = 2;

	for (size_t i = 0; i < s->checkout.nobjects; i++)
		paths[n++] = (struct confine_path){ s->checkout.objects[i], CONFINE_READ };
	if (task_run("take", paths, n, save_take, s, found, r))
		return -1;
	if (found_valid(*found))
		return 0;
	return refuse(r, "provider_failed", "take", NULL, "the step \"take\" said something that it never says");
}

/* What there is of the three folders; what isn't can't be written then. */
static size_t writable(const struct save *s, char *const names[3], struct confine_path *paths)
{
	size_t n = 0;
	struct stat st;

	for (size_t i = 0; i < 3; i++)
		if (lstat(names[i], &st) == 0)
			paths[n++] = (struct confine_path){ names[i], CONFINE_WRITE };
	paths[n++] = (struct confine_path){ s->checkout.common, CONFINE_READ };
	paths[n++] = (struct confine_path){ s->quarantine, CONFINE_READ };
	for (size_t i = 0; i < s->checkout.nobjects; i++)
		paths[n++] = (struct confine_path){ s->checkout.objects[i], CONFINE_READ };
	return n;
}

static int run_give(struct save *s, json_t **given, struct refusal *r)
{
	struct confine_path paths[OBJECT_DIRS + 5];
	char *names[3] = { format("%s/objects", s->checkout.common), format("%s/refs", s->checkout.common),
		           format("%s/logs", s->checkout.common) };
	int rc = names[0] && names[1] && names[2] ? 0 : no_memory(r);

	if (!rc)
		rc = task_run("give", paths, writable(s, names, paths), save_give, s, given, r);
	for (size_t i = 0; i < 3; i++)
		free(names[i]);
	return rc;
}

static json_t *reply_of(const json_t *found, json_t *given, struct refusal *r)
{
	json_t *reply = json_pack("{s:O, s:O, s:O, s:O, s:O, s:O}", "tip", json_object_get(found, "tip"), "saved",
	                          json_object_get(given, "saved"), "outcome", json_object_get(given, "outcome"),
	                          "leftover", json_object_get(given, "leftover"), "lost",
	                          json_object_get(found, "lost"), "notes", json_object_get(found, "notes"));

	if (!reply || json_array_extend(json_object_get(reply, "notes"), json_object_get(given, "notes")) < 0) {
		json_decref(reply);
		no_memory(r);
		return NULL;
	}
	return reply;
}

static void clear(struct save *s)
{
	cleanup_free char *take = s->quarantine ? format("%s/" TAKE_NAME, s->quarantine) : NULL;

	if (take)
		(void)unlink(take);
	refs_free(&s->refs);
	text_clear(&s->shallow);
	checkout_close(&s->checkout);
}

json_t *save_workspace(const json_t *params, struct refusal *r)
{
	struct save s = { 0 };
	cleanup_json json_t *found = NULL, *given = NULL;
	json_t *reply = NULL;
	int rc = take_texts(&s, params, r);

	if (rc)
		return NULL;
	if (!open_quarantine(s.quarantine, r) && !open_checkout(&s, params, r) && !run_take(&s, &found, r)) {
		fault("save:taken");
		s.found = found;
		if (!run_give(&s, &given, r))
			reply = reply_of(found, given, r);
	}
	clear(&s);
	return reply;
}
