/* SPDX-License-Identifier: Apache-2.0 */
#include "common/files.h"

#include <errno.h>
#include <fcntl.h>
#include <mbedtls/md.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool list_add(struct list *l, const char *text)
{
	if (l->n + 1 >= l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 16;
		char **v = realloc(l->v, cap * sizeof(*v));

		if (!v)
			return false;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n] = strdup(text);
	if (!l->v[l->n])
		return false;
	l->v[++l->n] = NULL;
	return true;
}

bool list_has(const struct list *l, const char *text)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (!strcmp(l->v[i], text))
			return true;
	return false;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void list_sort_unique(struct list *l)
{
	size_t i, kept = 0;

	if (l->n < 2)
		return;
	qsort(l->v, l->n, sizeof(*l->v), by_text);
	for (i = 0; i < l->n; i++) {
		if (kept && !strcmp(l->v[kept - 1], l->v[i]))
			free(l->v[i]);
		else
			l->v[kept++] = l->v[i];
	}
	l->n = kept;
	l->v[kept] = NULL;
}

void list_free(struct list *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct list){ 0 };
}

bool path_within(const char *ancestor, const char *path)
{
	size_t len = strlen(ancestor);

	if (len == 1)
		return path[0] == '/';
	return !strncmp(ancestor, path, len) && (path[len] == '\0' || path[len] == '/');
}

char *path_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return strdup("/");
	return strndup(path, (size_t)(slash - path));
}

bool is_dir(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool is_executable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *read_small(const char *path, size_t max)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t len = 0;
	struct stat st;
	char *text = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		/* Those of /proc say 0. */
		if (st.st_size > 0 && (size_t)st.st_size < max)
			max = (size_t)st.st_size;
		text = malloc(max + 1);
	}
	while (text && len < max) {
		ssize_t n = read(fd, text + len, max - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			free(text);
			text = NULL;
		}
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	if (text)
		text[len] = '\0';
	return text;
}

json_t *read_json(const char *path)
{
	cleanup_free char *text = read_small(path, 256 * 1024);
	json_t *json = text ? json_loads(text, 0, NULL) : NULL;

	if (json && !json_is_object(json)) {
		json_decref(json);
		return NULL;
	}
	return json;
}

static char *hex_of(const char *prefix, const unsigned char sum[32])
{
	size_t len = strlen(prefix);
	char *out = malloc(len + 64 + 1);

	if (!out)
		return NULL;
	memcpy(out, prefix, len + 1);
	for (size_t i = 0; i < 32; i++)
		(void)snprintf(out + len + 2 * i, 3, "%02x", sum[i]);
	return out;
}

char *digest_text(const char *text)
{
	unsigned char sum[32];

	if (mbedtls_md(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), (const unsigned char *)text, strlen(text), sum))
		return NULL;
	return hex_of("", sum);
}

char *digest_of(const char *path)
{
	unsigned char data[32768], sum[32];
	mbedtls_md_context_t md;
	char *out = NULL;
	ssize_t n = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), failed;
	off_t total = 0;

	if (fd < 0)
		return NULL;
	mbedtls_md_init(&md);
	failed = mbedtls_md_setup(&md, mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), 0) || mbedtls_md_starts(&md);
	while (!failed && (n = read(fd, data, sizeof(data))) > 0 && (total += n) <= 16 << 20)
		failed = mbedtls_md_update(&md, data, (size_t)n);
	if (!failed && n == 0 && !mbedtls_md_finish(&md, sum))
		out = hex_of("sha256:", sum);
	mbedtls_md_free(&md);
	close(fd);
	return out;
}
