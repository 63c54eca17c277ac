/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/fd.h"

/* No struct of ours comes near this; a larger size is an uninitialised member. */
#define SIZED_MAX 4096

void oc_freep(void *pointer_to_pointer)
{
	void *p;

	memcpy(&p, pointer_to_pointer, sizeof(p));
	free(p);
}

void oc_closep(int *fd)
{
	oc_close(*fd);
}

void oc_json_decrefp(struct json_t **json)
{
	json_decref(*json);
}

bool oc_copy_sized(void *dst, size_t dst_size, const void *src)
{
	const unsigned char *bytes = src;
	size_t size;

	memcpy(&size, src, sizeof(size));
	if (size < sizeof(size) || size > SIZED_MAX)
		return false;
	for (size_t i = dst_size; i < size; i++)
		if (bytes[i])
			return false;
	memset(dst, 0, dst_size);
	memcpy(dst, src, OC_MIN(size, dst_size));
	memcpy(dst, &dst_size, sizeof(dst_size));
	return true;
}

static int random_bytes(unsigned char *out, size_t n)
{
	while (n) {
		ssize_t got = getrandom(out, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		out += got;
		n -= (size_t)got;
	}
	return 0;
}

int oc_random_id(char *out, size_t n)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
	int rc = random_bytes((unsigned char *)out, n);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		out[i] = alphabet[(unsigned char)out[i] % 32];
	out[n] = '\0';
	return 0;
}

bool oc_run_id_valid(const char *id)
{
	size_t n = id ? strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789") : 0;

	return n >= 8 && n < OC_RUN_ID_SIZE && id[n] == '\0';
}

bool oc_kind_plain(const char *kind)
{
	return kind && (strcmp(kind, "none") == 0 || strcmp(kind, OC_KIND_ATTACH) == 0);
}

bool oc_kind_container(const char *kind)
{
	return kind && strcmp(kind, OC_KIND_CONTAINER) == 0;
}

bool oc_kind_valid(const char *kind)
{
	return oc_kind_plain(kind) || oc_kind_container(kind) || (kind && strcmp(kind, "sandbox") == 0);
}

bool oc_work_id_valid(const char *id)
{
	size_t n = id ? strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;

	return n > 0 && n < OC_WORK_ID_SIZE && id[n] == '\0' && id[0] != '-' && id[n - 1] != '-';
}
