/* SPDX-License-Identifier: Apache-2.0 */
/* Where a provider's executable is.  It decides how runs are confined, so it is judged like any
 * other tool of the host: a regular file that nobody else can change, in a directory where nobody
 * else can put another in its place. */
#include "provider/find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/utf8.h"

#define PREFIX       "open-conduit-provider-"
#define NAME_MAX_LEN 32
#define LIST_MAX     256

bool oc_provider_name_valid(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= NAME_MAX_LEN && name[0] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

static bool changeable_by_others(const struct stat *st)
{
	return (st->st_uid != 0 && st->st_uid != geteuid()) || (st->st_mode & (S_IWGRP | S_IWOTH));
}

static int refuse_writable(const char *path, oc_error **err)
{
	struct oc_buf fix;
	int rc;

	oc_buf_init(&fix, 8192);
	rc = oc_buf_puts(&fix, "chmod go-w ");
	if (!rc)
		rc = oc_shell_quote(&fix, path);
	rc = oc_refuse(err, "sandbox_unavailable", path, rc ? NULL : fix.data,
	               "%s can be changed by another user, so what it confines proves nothing", path);
	oc_buf_free(&fix);
	return rc;
}

static int check_executable(const char *dir, const char *path, oc_error **err)
{
	oc_cleanup(oc_closep) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st, parent;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || stat(dir, &parent) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !(st.st_mode & S_IXUSR))
		return oc_refuse(err, "sandbox_unavailable", path, NULL, "%s is no executable file", path);
	if (changeable_by_others(&st))
		return refuse_writable(path, err);
	/* With the sticky bit others can't replace what isn't theirs. */
	if (changeable_by_others(&parent) && !(parent.st_mode & S_ISVTX))
		return refuse_writable(dir, err);
	return 0;
}

static char *installed_dir(const oc_context *ctx)
{
	return oc_path_join(ctx->libexec_dir, "providers");
}

/* 0 with *out set, 0 without: not in this directory. */
static int look_in(const char *dir, const char *name, char **out, oc_error **err)
{
	struct oc_buf path;
	int rc;

	oc_buf_init(&path, 4096);
	rc = oc_buf_printf(&path, "%s/" PREFIX "%s", dir, name);
	if (!rc) {
		rc = check_executable(dir, path.data, err);
		if (!rc)
			*out = oc_buf_steal(&path);
		else if (rc == -ENOENT || rc == -ENOTDIR)
			rc = 0;
		else if (!err || !*err)
			rc = oc_refuse(err, "sandbox_unavailable", path.data, NULL, "%s can't be used: %s", path.data,
			               rc == -ELOOP ? "it is a symbolic link" : strerror(-rc));
	} else {
		rc = oc_nomem(err);
	}
	oc_buf_free(&path);
	return rc;
}

int oc_provider_find(const oc_context *ctx, const char *name, const char *provider_dir, char **out, oc_error **err)
{
	oc_cleanup(oc_freep) char *installed = installed_dir(ctx);
	int rc = 0;

	*out = NULL;
	if (!installed)
		return oc_nomem(err);
	if (!oc_provider_name_valid(name))
		return oc_refuse(err, "sandbox_config", "provider", NULL,
		                 "a provider's name has at most %d lower-case letters, digits and hyphens",
		                 NAME_MAX_LEN);
	if (provider_dir) {
		if (provider_dir[0] != '/')
			return oc_fail(err, OC_EINVAL, 0, "the provider directory has to be absolute");
		rc = look_in(provider_dir, name, out, err);
	}
	if (!rc && !*out)
		rc = look_in(installed, name, out, err);
	if (rc || *out)
		return rc;
	return oc_refuse(err, "sandbox_unavailable", name, "open-conduit provider list",
	                 "there is no provider \"%s\": looked for " PREFIX "%s in %s%s%s", name, name,
	                 provider_dir ? provider_dir : "", provider_dir ? " and " : "", installed);
}

static int list_dir(const char *dir, json_t *found, oc_error **err)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return errno == ENOENT || errno == ENOTDIR ? 0 : oc_fail(err, OC_EIO, errno, "can't read %s", dir);
	while (!rc && (e = readdir(d)) && json_object_size(found) < LIST_MAX) {
		oc_cleanup(oc_freep) char *path = NULL;
		const char *name = e->d_name + sizeof(PREFIX) - 1;

		if (strncmp(e->d_name, PREFIX, sizeof(PREFIX) - 1) != 0 || !oc_provider_name_valid(name) ||
		    json_object_get(found, name))
			continue;
		path = oc_path_join(dir, e->d_name);
		if (!path || !oc_json_set_string(found, name, path))
			rc = oc_nomem(err);
	}
	closedir(d);
	return rc;
}

int oc_provider_list(oc_context *ctx, const char *provider_dir, json_t **out, oc_error **err)
{
	oc_cleanup(oc_freep) char *installed = installed_dir(ctx);
	oc_cleanup(oc_json_decrefp) json_t *found = json_object(), *sorted = json_array();
	oc_cleanup(oc_freep) char *text = NULL;
	const char *name;
	json_t *path, *ordered;
	int rc;

	if (!installed || !found || !sorted)
		return oc_nomem(err);
	rc = provider_dir ? list_dir(provider_dir, found, err) : 0;
	if (!rc)
		rc = list_dir(installed, found, err);
	if (rc)
		return rc;
	/* jansson keeps insertion order and sorts when it writes: the shortest way to sorted keys. */
	text = json_dumps(found, JSON_SORT_KEYS | JSON_COMPACT);
	ordered = text ? json_loads(text, 0, NULL) : NULL;
	if (!ordered)
		return oc_nomem(err);
	json_object_foreach(ordered, name, path) if (!rc && !oc_json_append(sorted, json_pack("{s:s, s:O}", "name",
	                                                                                      name, "path", path))) rc =
	        oc_nomem(err);
	json_decref(ordered);
	if (!rc)
		*out = oc_steal(sorted);
	return rc;
}
