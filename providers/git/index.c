/* SPDX-License-Identifier: Apache-2.0 */
#include "index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "be32.h"

#define HEAD   8u
#define FANOUT 1024u
#define SUMS   40u

static int map_file(int dir, const char *name, const char *end, const unsigned char **data, size_t *len)
{
	cleanup_free char *file = format("%s.%s", name, end);
	cleanup_fd int fd = file ? openat(dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	struct stat st;
	void *at;

	if (!file)
		errno = ENOMEM;
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)(12 + 20))
		return errno = EINVAL, -1;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return -1;
	*data = at;
	*len = (size_t)st.st_size;
	return 0;
}

static const char *check(struct pack_map *m)
{
	if (m->index_len < HEAD + FANOUT + SUMS || memcmp(m->index, "\377tOc\0\0\0\2", HEAD) != 0)
		return "has an index of another version than 2";
	m->n = be32(m->index + HEAD + FANOUT - 4);
	if ((m->index_len - HEAD - FANOUT - SUMS) / 28 < m->n)
		return "has an index that is cut off";
	if (memcmp(m->pack, "PACK", 4) != 0 || be32(m->pack + 8) != m->n)
		return "is no pack of as many objects as its index says";
	if (memcmp(m->index + m->index_len - SUMS, m->pack + m->pack_len - 20, 20) != 0)
		return "has the index of another pack";
	return NULL;
}

int pack_map_open(struct pack_map *m, int dir, const char *name, const char **why)
{
	*m = (struct pack_map){ 0 };
	if (map_file(dir, name, "idx", &m->index, &m->index_len) < 0 ||
	    map_file(dir, name, "pack", &m->pack, &m->pack_len) < 0) {
		int e = errno;

		pack_map_close(m);
		errno = e;
		return -1;
	}
	*why = check(m);
	if (!*why)
		return 0;
	pack_map_close(m);
	return 1;
}

void pack_map_close(struct pack_map *m)
{
	if (m->index)
		(void)munmap((void *)(uintptr_t)m->index, m->index_len);
	if (m->pack)
		(void)munmap((void *)(uintptr_t)m->pack, m->pack_len);
	*m = (struct pack_map){ 0 };
}

void pack_map_id(const struct pack_map *m, uint32_t i, git_oid *out)
{
	memcpy(out->id, m->index + HEAD + FANOUT + (size_t)20 * i, 20);
}

uint32_t pack_map_crc(const struct pack_map *m, uint32_t i)
{
	return be32(m->index + HEAD + FANOUT + (size_t)20 * m->n + (size_t)4 * i);
}

uint64_t pack_map_offset(const struct pack_map *m, uint32_t i)
{
	size_t far = HEAD + FANOUT + (size_t)28 * m->n;
	uint64_t offset = be32(m->index + HEAD + FANOUT + (size_t)24 * m->n + (size_t)4 * i);

	if (offset & 0x80000000u) {
		far += (size_t)8 * (offset & 0x7fffffffu);
		if (far + 8 > m->index_len - SUMS)
			return 0;
		offset = (uint64_t)be32(m->index + far) << 32 | be32(m->index + far + 4);
	}
	return offset >= 12 && offset < m->pack_len - 20 ? offset : 0;
}
