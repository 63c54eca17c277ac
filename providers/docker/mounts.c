/* SPDX-License-Identifier: Apache-2.0 */
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files.h"

#define TMP_BYTES_MAX (1LL << 30)
#define ID_MASK       ((1ull << 53) - 1) /* as in a resolved policy: what JSON can carry */

void mounts_clear(struct mounts *m)
{
	json_decref(m->list);
	json_decref(m->sources);
	*m = (struct mounts){ 0 };
}

json_t *mounts_read_only(const char *source, const char *target)
{
	return json_pack("{s:s, s:s, s:s, s:b, s:{s:s, s:b}}", "Type", "bind", "Source", source, "Target", target,
	                 "ReadOnly", 1, "BindOptions", "Propagation", "rprivate", "ReadOnlyForceRecursive", 1);
}

static json_t *read_write(const char *path)
{
	return json_pack("{s:s, s:s, s:s, s:{s:s}}", "Type", "bind", "Source", path, "Target", path, "BindOptions",
	                 "Propagation", "rprivate");
}

static json_t *find(const json_t *list, const char *target)
{
	json_t *mount;
	size_t i;

	json_array_foreach(list, i, mount) if (!strcmp(text_of(mount, "Target"), target)) return mount;
	return NULL;
}

/* The engine refuses two mounts at one path, and says less about it. */
static int add(struct mounts *m, json_t *mount_taken, struct refusal *r)
{
	cleanup_json json_t *mount = mount_taken;
	json_t *there = mount ? find(m->list, text_of(mount, "Target")) : NULL;

	if (there && !json_equal(there, mount))
		return refuse(r, "sandbox_denied", text_of(mount, "Target"),
		              "remove the grant from the binding's policy",
		              "%s would be mounted twice in the container, and not in the same way",
		              text_of(mount, "Target"));
	if (there)
		return 0;
	return mount && json_array_append(m->list, mount) == 0 ? 0 : no_memory(r);
}

static int add_source(struct mounts *m, const char *path, const json_t *entry, struct refusal *r)
{
	const json_t *dev = json_object_get(entry, "dev"), *ino = json_object_get(entry, "ino");
	/* {run} is made for the run, and has no number yet. */
	bool known = json_integer_value(ino) > 0;

	if (json_array_append_new(m->sources, json_pack("{s:s, s:I, s:I}", "path", path, "dev",
	                                                known ? json_integer_value(dev) : (json_int_t)-1, "ino",
	                                                known ? json_integer_value(ino) : (json_int_t)-1)) < 0)
		return no_memory(r);
	return 0;
}

static int add_grant(struct mounts *m, const json_t *entry, const char *path, bool write, struct refusal *r)
{
	if (add(m, write ? read_write(path) : mounts_read_only(path, path), r) < 0)
		return -1;
	return add_source(m, path, entry, r);
}

/* What a container has of its own, and no grant may stand in for. */
static const char *own_of_container(const char *path)
{
	static const char *const whole[] = { "/proc", "/sys", "/dev", MOUNTS_OURS };
	static const char *const exact[] = { "/", "/tmp", "/etc/passwd", "/etc/group" };
	size_t i;

	for (i = 0; i < COUNT(whole); i++)
		if (path_within(whole[i], path))
			return whole[i];
	for (i = 0; i < COUNT(exact); i++)
		if (!strcmp(exact[i], path))
			return exact[i];
	return NULL;
}

static int check_grant(const struct mounts_input *in, const char *path, const char *rule, struct refusal *r)
{
	const char *sockets[] = { in->socket, "/var/run/docker.sock", "/run/docker.sock" };
	const char *own = own_of_container(path);
	size_t i;

	if (own)
		return refuse(r, "sandbox_denied", path, "remove the grant from the binding's policy",
		              "%s grants %s, and a container has %s of its own", rule, path, own);
	for (i = 0; i < COUNT(sockets); i++) {
		cleanup_free char *real = sockets[i] ? realpath(sockets[i], NULL) : NULL;

		if ((sockets[i] && path_within(path, sockets[i])) || (real && path_within(path, real)))
			return refuse(
			        r, "sandbox_denied", path, "grant a path that doesn't hold the socket",
			        "%s grants %s, which holds the engine's socket %s: with it a run could do anything "
			        "on this machine",
			        rule, path, sockets[i]);
	}
	return 0;
}

static int add_grants(struct mounts *m, const struct mounts_input *in, const char *list, bool write, struct refusal *r)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(in->resolved, list), i, entry)
	{
		const char *path = text_of(entry, "path"), *rule = text_of(entry, "rule");

		if (!path || !rule)
			return refuse(r, "provider_failed", list, NULL, "resolved.%s has an entry without a path",
			              list);
		/* The rule of all that isn't granted; and what may be written is among what may be read. */
		if (!write && (!json_is_true(json_object_get(entry, "allow")) || find(m->list, path)))
			continue;
		if (check_grant(in, path, rule, r) < 0 || add_grant(m, entry, path, write, r) < 0)
			return -1;
	}
	return 0;
}

/* The grant that a path is in, or NULL. */
static const char *granted(const struct mounts *m, const char *path)
{
	const char *target;
	json_t *mount;
	size_t i;

	json_array_foreach(m->list, i, mount)
	{
		target = text_of(mount, "Target");
		if (!strcmp(text_of(mount, "Type"), "bind") && path_within(target, path))
			return target;
	}
	return NULL;
}

/* A mount of its own keeps .git from being renamed away with its read-only parts. */
static int add_git(struct mounts *m, const json_t *resolved, struct refusal *r)
{
	const json_t *git = json_object_get(resolved, "git"), *part;
	const char *path = text_of(git, "path");
	bool write = path && !strcmp(text_of(git, "mode") ? text_of(git, "mode") : "", "clone");
	size_t i;

	if (path && granted(m, path) && !find(m->list, path) && add_grant(m, git, path, write, r) < 0)
		return -1;
	json_array_foreach(json_object_get(resolved, "readonly"), i, part)
	{
		path = text_of(part, "path");
		if (path && granted(m, path) &&
		    strcmp(text_of(part, "what") ? text_of(part, "what") : "", "read") != 0 && !find(m->list, path) &&
		    add_grant(m, NULL, path, false, r) < 0)
			return -1;
	}
	return 0;
}

static int add_ours(struct mounts *m, const struct mounts_input *in, struct refusal *r)
{
	cleanup_free char *channel = format("%s/channel", in->live), *passwd = format("%s/etc/passwd", in->live),
	                  *group = format("%s/etc/group", in->live);
	/* What is in a tmpfs counts as the container's memory. */
	json_int_t size = in->memory && in->memory / 2 < TMP_BYTES_MAX ? in->memory / 2 : TMP_BYTES_MAX;

	if (!channel || !passwd || !group)
		return no_memory(r);
	if (add(m, mounts_read_only(in->guest, MOUNTS_GUEST), r) < 0 ||
	    add(m, mounts_read_only(channel, MOUNTS_OURS "/channel"), r) < 0 ||
	    add(m, mounts_read_only(passwd, "/etc/passwd"), r) < 0 ||
	    add(m, mounts_read_only(group, "/etc/group"), r) < 0)
		return -1;
	return add(m,
	           json_pack("{s:s, s:s, s:{s:I, s:i, s:[[s]]}}", "Type", "tmpfs", "Target", "/tmp", "TmpfsOptions",
	                     "SizeBytes", size, "Mode", 01777, "Options", "exec"),
	           r);
}

static char *clean(const char *volume)
{
	char *path = strdup(volume), *to = path;

	for (const char *from = path; from && *from; from++)
		if (*from != '/' || (from[1] != '/' && from[1] != '\0'))
			*to++ = *from;
	if (to)
		*to = '\0';
	return path;
}

static bool has_dots(const char *path)
{
	for (; (path = strchr(path, '/')); path++) {
		size_t n = strcspn(path + 1, "/");

		if ((n == 1 || n == 2) && !strncmp(path + 1, "..", n))
			return true;
	}
	return false;
}

/* An image's volume would be a writable directory on the engine's disk that no request can turn off. */
static int add_volumes(struct mounts *m, const struct mounts_input *in, struct refusal *r)
{
	const char *name;
	json_t *unused;

	json_object_foreach((json_t *)in->volumes, name, unused)
	{
		cleanup_free char *path = clean(name);
		const char *grant;

		if (!path)
			return no_memory(r);
		if (find(m->list, path))
			continue;
		if (path[0] != '/' || has_dots(path) || own_of_container(path))
			return refuse(r, "sandbox_unavailable", name, "build the image without this VOLUME",
			              "the image declares the volume %s, which can't be covered", name);
		grant = granted(m, path);
		if (grant)
			return refuse(r, "sandbox_unavailable", path, "build the image without this VOLUME",
			              "the image declares the volume %s, which lies in the grant %s", path, grant);
		if (add(m, json_pack("{s:s, s:s, s:b}", "Type", "tmpfs", "Target", path, "ReadOnly", 1), r) < 0)
			return -1;
	}
	return 0;
}

/* By target, so that what lies in a mount comes after it. */
static int sort(struct mounts *m, struct refusal *r)
{
	json_t *sorted = json_array(), *mount;
	size_t i, at;

	json_array_foreach(m->list, i, mount)
	{
		for (at = i; at > 0; at--)
			if (strcmp(text_of(json_array_get(sorted, at - 1), "Target"), text_of(mount, "Target")) <= 0)
				break;
		if (json_array_insert(sorted, at, mount) < 0)
			no_memory(r);
	}
	json_decref(m->list);
	m->list = sorted;
	return sorted && !r->reason ? 0 : no_memory(r);
}

int mounts_plan(const struct mounts_input *in, struct mounts *out, struct refusal *r)
{
	*out = (struct mounts){ .list = json_array(), .sources = json_array() };
	if (!out->list || !out->sources)
		no_memory(r);
	else if (add_grants(out, in, "write", true, r) == 0 && add_grants(out, in, "read", false, r) == 0 &&
	         add_git(out, in->resolved, r) == 0 && add_ours(out, in, r) == 0 && add_volumes(out, in, r) == 0 &&
	         sort(out, r) == 0)
		return 0;
	mounts_clear(out);
	return -1;
}

int mounts_verify(const json_t *sources, struct refusal *r)
{
	const json_t *source;
	size_t i;

	json_array_foreach(sources, i, source)
	{
		const char *path = text_of(source, "path");
		json_int_t dev = json_integer_value(json_object_get(source, "dev"));
		json_int_t ino = json_integer_value(json_object_get(source, "ino"));
		struct stat st;

		if (!path || lstat(path, &st) < 0 || S_ISLNK(st.st_mode))
			return refuse(r, "sandbox_denied", path, "plan the run again",
			              "%s can't be mounted: it is gone, or a link now", path ? path : "a grant");
		if (ino >= 0 && ((json_int_t)(st.st_dev & ID_MASK) != dev || (json_int_t)(st.st_ino & ID_MASK) != ino))
			return refuse(r, "sandbox_denied", path, "plan the run again",
			              "%s is another file than when the run was planned", path);
	}
	return 0;
}
