/* SPDX-License-Identifier: Apache-2.0 */
/* What a home_seed's JSON files name of this machine and a container of the binding doesn't have: a plugin's folder, a hook, a
 * project.  A program inside would find nothing there, without a word, so it is said here.  Nothing is rewritten. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read.h"

#define DEPTH   8
#define ENTRIES 5000
#define BYTES   (1 << 20)
#define TOLD    10
#define WORD    512

struct seeded {
	struct reading *r;
	const struct config_binding *b;
	const char *field;
	struct config_texts grants[2];
	unsigned entries, told;
};

/* What an image has of its own under the same name is not this machine's. */
static bool image_has(const char *path)
{
	static const char *const tops[] = { "/bin/",  "/dev/",  "/etc/", "/lib/", "/opt/",
		                            "/proc/", "/sbin/", "/sys/", "/tmp/", "/usr/" };

	for (size_t i = 0; i < sizeof(tops) / sizeof(*tops); i++)
		if (!strncmp(path, tops[i], strlen(tops[i])))
			return true;
	return strchr(path + 1, '/') == NULL;
}

static bool mounted(const struct seeded *s, const char *path)
{
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < s->grants[k].n; i++) {
			const char *grant = path_expand(s->r, s->grants[k].v[i]);
			enum path_relation relation =
			        grant && grant[0] == '/' ? path_relation(grant, path) : PATHS_APART;

			if (relation == PATHS_SAME || relation == PATHS_SECOND_INSIDE)
				return true;
		}
	return false;
}

/* The first word: a hook is a command line. */
static void look_at(struct seeded *s, const char *file, const char *text)
{
	char path[WORD];
	size_t len = strcspn(text, " \t\n\"'");
	struct stat st;

	if (text[0] != '/' || len >= sizeof(path) || s->told >= TOLD)
		return;
	memcpy(path, text, len);
	path[len] = '\0';
	if (image_has(path) || lstat(path, &st) < 0 || mounted(s, path))
		return;
	s->told++;
	bad_as(s->r, &(struct bad){ .field = s->field, .subject = path, .warning = true },
	       "take it out of the seed, or add it to read",
	       "%s of the home_seed names %s, which a container of %s doesn't have", file, path, s->b->full);
}

static void look_into(struct seeded *s, const char *file, const json_t *value, int depth)
{
	const char *key;
	json_t *one;
	size_t i;

	if (json_is_string(value))
		look_at(s, file, json_string_value(value));
	if (depth == 0)
		return;
	json_array_foreach(value, i, one) look_into(s, file, one, depth - 1);
	json_object_foreach((json_t *)value, key, one)
	{
		look_at(s, file, key);
		look_into(s, file, one, depth - 1);
	}
}

static void read_file(struct seeded *s, int dir, const char *name, const char *file)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	json_t *json;
	char *text;
	ssize_t n;

	if (fd < 0)
		return;
	text = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < BYTES ? malloc(BYTES) : NULL;
	n = text ? read(fd, text, BYTES) : -1;
	json = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
	if (json)
		look_into(s, file, json, DEPTH);
	json_decref(json);
	free(text);
	close(fd);
}

static void walk(struct seeded *s, int dir, const char *name, const char *under, int depth)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!d && fd >= 0)
		close(fd);
	while (d && s->told < TOLD && s->entries < ENTRIES && (entry = readdir(d))) {
		size_t len = strlen(entry->d_name);
		const char *path = at(s->r, "%s%s%s", under, *under ? "/" : "", entry->d_name);

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		s->entries++;
		if (len > 5 && !strcmp(entry->d_name + len - 5, ".json"))
			read_file(s, dirfd(d), entry->d_name, path);
		else if (depth > 0 && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
			walk(s, dirfd(d), entry->d_name, path, depth - 1);
	}
	if (d)
		closedir(d);
}

void check_seed_paths(struct reading *r, const struct config_binding *b, const struct node *normal)
{
	struct seeded s = { .r = r, .b = b, .field = at(r, "%s.config.home_seed", b->field) };

	if (!b->config || !b->config->home_seed || r->world.no_disk)
		return;
	s.grants[0] = policy_list(r, normal, "read");
	s.grants[1] = policy_list(r, normal, "write");
	walk(&s, AT_FDCWD, b->config->home_seed, "", DEPTH);
}
