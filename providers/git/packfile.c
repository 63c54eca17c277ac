/* SPDX-License-Identifier: Apache-2.0 */
#include "packfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "be32.h"
#include "setref.h"

#define BUFFER 262144u
/* git prune removes old files of this start: what a killed save leaves doesn't stay. */
#define PACK_TEMP "tmp_pack_open-conduit"
#define IDX_TEMP  "tmp_idx_open-conduit"
#define SHA1      20u

static int flush(struct packfile *p)
{
	if (p->used && write_all(p->fd, p->buffer, p->used))
		return -errno;
	p->used = 0;
	return 0;
}

/* Bytes that count for the hash; for the pack itself also for its size. */
static int put(struct packfile *p, const void *data, size_t len)
{
	const unsigned char *at = data;

	if (mbedtls_md_update(&p->hash, at, len))
		return -EIO;
	while (len) {
		size_t room = BUFFER - p->used, some = len < room ? len : room;

		memcpy(p->buffer + p->used, at, some);
		p->used += some;
		at += some;
		len -= some;
		if (p->used == BUFFER && flush(p) < 0)
			return -errno;
	}
	return 0;
}

static int open_temp(struct packfile *p, const char *name)
{
	struct stat st;

	/* One that a killed save left is read-only already. */
	(void)unlinkat(p->dir, name, 0);
	p->fd = openat(p->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (p->fd < 0 || fstat(p->dir, &st) < 0)
		return -errno;
	p->mode = st.st_mode & 0444;
	return mbedtls_md_starts(&p->hash) ? -EIO : 0;
}

int packfile_open(struct packfile *p, int dir, uint32_t count)
{
	unsigned char head[12] = { 'P', 'A', 'C', 'K', 0, 0, 0, 2 };
	int result;

	*p = (struct packfile){ .dir = dir, .fd = -1, .count = count };
	mbedtls_md_init(&p->hash);
	p->buffer = malloc(BUFFER);
	p->entries = calloc((size_t)count + 1, sizeof(*p->entries));
	if (!p->buffer || !p->entries || mbedtls_md_setup(&p->hash, mbedtls_md_info_from_type(MBEDTLS_MD_SHA1), 0))
		return -ENOMEM;
	result = open_temp(p, PACK_TEMP);
	be32_write(head + 8, count);
	if (!result)
		result = packfile_write(p, head, sizeof(head));
	return result;
}

int packfile_entry(struct packfile *p, const git_oid *id)
{
	if (p->n == p->count)
		return -EBADMSG;
	p->entries[p->n++] = (struct placed){ *id, (uint32_t)crc32(0, NULL, 0), p->size };
	return 0;
}

int packfile_write(struct packfile *p, const void *data, size_t len)
{
	p->size += len;
	if (p->n)
		p->entries[p->n - 1].crc = (uint32_t)crc32(p->entries[p->n - 1].crc, data, (unsigned)len);
	return put(p, data, len);
}

/* The hash of all so far is the last that is written; the file is then on the disk. */
static int seal(struct packfile *p, unsigned char hash[SHA1])
{
	int result = mbedtls_md_finish(&p->hash, hash) ? -EIO : flush(p);

	if (!result && write_all(p->fd, hash, SHA1))
		result = -errno;
	if (!result && (fchmod(p->fd, p->mode) || fsync(p->fd)))
		result = -errno;
	closep(&p->fd);
	return result;
}

static int by_id(const void *a, const void *b)
{
	return git_oid_cmp(&((const struct placed *)a)->id, &((const struct placed *)b)->id);
}

static int put32(struct packfile *p, uint32_t v)
{
	unsigned char b[4];

	be32_write(b, v);
	return put(p, b, sizeof(b));
}

static int put_offsets(struct packfile *p)
{
	uint32_t far = 0, i;
	int result = 0;

	for (i = 0; i < p->n && !result; i++)
		result = put32(p, p->entries[i].offset < 0x80000000u ? (uint32_t)p->entries[i].offset
		                                                     : 0x80000000u | far++);
	for (i = 0; i < p->n && !result; i++)
		if (p->entries[i].offset >= 0x80000000u) {
			result = put32(p, (uint32_t)(p->entries[i].offset >> 32));
			if (!result)
				result = put32(p, (uint32_t)p->entries[i].offset);
		}
	return result;
}

static int write_index(struct packfile *p, const unsigned char pack[SHA1])
{
	unsigned char hash[SHA1];
	uint32_t i, byte;
	int result = open_temp(p, IDX_TEMP);

	qsort(p->entries, p->n, sizeof(*p->entries), by_id);
	if (!result)
		result = put(p, "\377tOc\0\0\0\2", 8);
	for (byte = 0, i = 0; byte < 256 && !result; byte++) {
		while (i < p->n && p->entries[i].id.id[0] <= byte)
			i++;
		result = put32(p, i);
	}
	for (i = 0; i < p->n && !result; i++)
		result = put(p, p->entries[i].id.id, GIT_OID_RAWSZ);
	for (i = 0; i < p->n && !result; i++)
		result = put32(p, p->entries[i].crc);
	if (!result)
		result = put_offsets(p);
	if (!result)
		result = put(p, pack, SHA1);
	return result ? result : seal(p, hash);
}

int packfile_finish(struct packfile *p, char name[64])
{
	unsigned char hash[SHA1];
	char hex[2 * SHA1 + 1], file[80];
	git_oid id;
	int result = p->n == p->count ? seal(p, hash) : -EBADMSG;

	if (!result)
		result = write_index(p, hash);
	if (result)
		return result;
	memcpy(id.id, hash, SHA1);
	git_oid_tostr(hex, sizeof(hex), &id);
	(void)snprintf(name, 64, "pack-%s", hex);
	fault("save:pack-written");
	(void)snprintf(file, sizeof(file), "%s.pack", name);
	if (renameat(p->dir, PACK_TEMP, p->dir, file))
		return -errno;
	fault("save:pack-named");
	(void)snprintf(file, sizeof(file), "%s.idx", name);
	if (renameat(p->dir, IDX_TEMP, p->dir, file) || fsync(p->dir))
		return -errno;
	return 0;
}

void packfile_close(struct packfile *p)
{
	closep(&p->fd);
	if (p->buffer) {
		(void)unlinkat(p->dir, PACK_TEMP, 0);
		(void)unlinkat(p->dir, IDX_TEMP, 0);
	}
	free(p->buffer);
	free(p->entries);
	mbedtls_md_free(&p->hash);
	*p = (struct packfile){ .fd = -1 };
}
