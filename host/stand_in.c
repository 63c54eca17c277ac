/* SPDX-License-Identifier: Apache-2.0 */
#include "stand_in.h"

#include <ftw.h>
#include <openconduit/openconduit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

#define NAME   "/open-conduit-check-XXXXXX"
#define PREFIX "{workspace}/"

char *stand_in_make(void)
{
	const char *tmp = getenv("TMPDIR");
	struct text place = { 0 };

	text_puts(&place, tmp && *tmp == '/' ? tmp : "/tmp");
	text_puts(&place, NAME);
	if (place.data && !place.failed && mkdtemp(place.data))
		return place.data;
	text_free(&place);
	return NULL;
}

/* Each part of it; a policy's path has no "..". */
static void make(const char *dir, const char *path)
{
	struct text whole = { 0 };

	text_puts(&whole, dir);
	for (const char *p = path; *p && !whole.failed; p += strspn(p, "/")) {
		size_t n = strcspn(p, "/");

		text_puts(&whole, "/");
		text_add(&whole, p, n);
		if (whole.data && !whole.failed)
			mkdir(whole.data, 0700);
		p += n;
	}
	text_free(&whole);
}

static void fill(const char *dir, const json_t *list)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *path = json_string_value(item);

		if (path && !strncmp(path, PREFIX, sizeof(PREFIX) - 1))
			make(dir, path + sizeof(PREFIX) - 1);
	}
}

void stand_in_fill(const char *dir, const json_t *normal)
{
	const json_t *read = json_object_get(normal, "read");

	fill(dir, json_object_get(normal, "write"));
	if (json_is_array(read))
		fill(dir, read);
}

void stand_in_fill_policy(const char *dir, const char *kind, const char *policy)
{
	oc_policy *parsed = NULL;
	json_t *normal;

	if (!dir || !policy || oc_policy_parse(kind, policy, strlen(policy), &parsed, NULL) < 0)
		return;
	normal = json_loads(oc_policy_json(parsed), 0, NULL);
	stand_in_fill(dir, normal);
	json_decref(normal);
	oc_policy_free(parsed);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	rmdir(path);
	return 0;
}

void stand_in_free(char *dir)
{
	if (dir)
		nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(dir);
}
