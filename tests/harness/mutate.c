/* SPDX-License-Identifier: Apache-2.0 */
#include "mutate.h"

#include <check.h>
#include <openconduit/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MAX 64
#define LIST_MAX 3 /* the first of a list stand for it */

struct trying {
	const struct mutate *m;
	json_t *root;
	size_t tried;
	bool loose;
};

static bool listed(const char *const *list, const char *path)
{
	for (; list && *list; list++)
		if (strcmp(*list, path) == 0)
			return true;
	return false;
}

/* Is it, or something in it, what one of the errors is about? */
static bool names(const oc_error *err, const char *path)
{
	size_t n = strlen(path);

	for (; err; err = oc_error_next(err)) {
		const char *subject = oc_error_subject(err);

		if (subject && strncmp(subject, path, n) == 0 &&
		    (!subject[n] || subject[n] == '.' || subject[n] == '['))
			return true;
	}
	return false;
}

/* The document as it is now must be refused, and `path` (or `parent`) named. */
static void refused(struct trying *t, const char *what, const char *path, const char *parent)
{
	oc_error *err = NULL;
	int rc = t->m->read(t->root, t->m->userdata, &err);

	t->tried++;
	ck_assert_msg(rc < 0, "%s: %s is taken", what, path);
	ck_assert_msg(names(err, path) || (t->loose && names(err, parent)), "%s: %s is not named: \"%s\" (%s)", what,
	              path, oc_error_message(err), oc_error_subject(err) ? oc_error_subject(err) : "no subject");
	oc_error_free(err);
}

static void try_key(struct trying *t, json_t *object, const char *parent, const char *key, const char *other)
{
	json_t *value = json_incref(json_object_get(object, key));
	char path[512];

	snprintf(path, sizeof(path), "%s%s%s", parent, *parent ? "." : "", other);
	if (json_object_get(object, other) || !*other) { /* another key of this object, or none */
		json_decref(value);
		return;
	}
	json_object_del(object, key);
	json_object_set(object, other, value);
	refused(t, "a key with one letter wrong", path, path);
	json_object_del(object, other);
	json_object_set_new(object, key, value);
}

static void try_letters(struct trying *t, json_t *object, const char *parent, const char *key)
{
	size_t len = strlen(key);
	char other[128];

	for (size_t i = 0; i <= len; i++) {
		static const char letters[] = "xs_";

		for (size_t k = 0; k < 4; k++) {
			/* The last of the four doubles a letter, or is the next one of the alphabet. */
			char in = k < 3 ? letters[k] : key[i ? i - 1 : 0];

			snprintf(other, sizeof(other), "%.*s%c%s", (int)i, key, in, key + i);
			try_key(t, object, parent, key, other);
			if (i == len)
				continue;
			in = k < 3 ? letters[k] : key[i] == '_' ? '-' : (char)(key[i] ^ 0x20);
			snprintf(other, sizeof(other), "%.*s%c%s", (int)i, key, in, key + i + 1);
			if (in != key[i])
				try_key(t, object, parent, key, other);
		}
		if (i < len) {
			snprintf(other, sizeof(other), "%.*s%s", (int)i, key, key + i + 1);
			try_key(t, object, parent, key, other);
		}
		if (i + 1 < len && key[i] != key[i + 1]) {
			snprintf(other, sizeof(other), "%.*s%c%c%s", (int)i, key, key[i + 1], key[i], key + i + 2);
			try_key(t, object, parent, key, other);
		}
	}
}

static void try_value(struct trying *t, json_t *object, const char *parent, const char *key, const char *path)
{
	json_t *value = json_incref(json_object_get(object, key));
	json_t *others[] = { json_true(), json_integer(7), json_string("x"), json_array(), json_object() };

	if (!listed(t->m->optional, path)) {
		json_object_del(object, key);
		refused(t, "a key left out", path, path);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		bool same = json_typeof(others[i]) == json_typeof(value) || (i == 0 && json_is_boolean(value));

		if (!same && !(listed(t->m->optional, path) && i == 2)) {
			json_object_set(object, key, others[i]);
			refused(t, "a value of another type", path, parent);
		}
		json_decref(others[i]);
	}
	json_object_set_new(object, key, value);
}

static void walk(struct trying *t, json_t *value, const char *path)
{
	const char *keys[KEYS_MAX], *key;
	json_t *member;
	char at[512];
	size_t n = 0, i;

	json_array_foreach(value, i, member)
	{
		if (i == LIST_MAX)
			break;
		snprintf(at, sizeof(at), "%s[%zu]", path, i);
		walk(t, member, at);
	}
	if (!json_is_object(value) || listed(t->m->free_form, path))
		return;
	json_object_foreach(value, key, member) if (n < KEYS_MAX) keys[n++] = strdup(key);
	for (i = 0; i < n; i++) {
		snprintf(at, sizeof(at), "%s%s%s", path, *path ? "." : "", keys[i]);
		walk(t, json_object_get(value, keys[i]), at);
		try_letters(t, value, path, keys[i]);
		try_value(t, value, path, keys[i], at);
		free((char *)keys[i]);
	}
}

size_t mutate_each(const struct mutate *m, bool loose)
{
	struct trying t = { .m = m, .root = json_deep_copy(m->root), .loose = loose };
	oc_error *err = NULL;

	ck_assert_msg(m->read(t.root, m->userdata, &err) == 0, "control: it is refused as it is: %s (%s)",
	              oc_error_message(err), oc_error_subject(err));
	walk(&t, t.root, "");
	ck_assert_msg(json_equal(t.root, m->root), "control: it is what it was");
	ck_assert_msg(m->read(t.root, m->userdata, &err) == 0, "control: it is taken again");
	json_decref(t.root);
	return t.tried;
}
