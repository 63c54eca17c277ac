/* SPDX-License-Identifier: Apache-2.0 */
#include "odb.h"

#include <errno.h>
#include <fcntl.h>
#include <git2/sys/odb_backend.h>
#include <mbedtls/sha1.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "util.h"

#define HEAD_MAX  32u   /* "commit 12345678901234567890" */
#define RATIO_MAX 1032u /* no deflated byte becomes more */

struct loose {
	git_odb_backend backend;
	int dir;
};

/* One file, and what inflating it is at. */
struct reading {
	const unsigned char *data;
	size_t len;
	z_stream z;
	char head[HEAD_MAX];
	size_t head_len; /* with its NUL */
	size_t got;      /* inflated into head */
	git_object_t type;
	size_t size;
};

static int fail(const char *why)
{
	git_error_set_str(GIT_ERROR_ODB, why);
	return -1;
}

static void path_of(const git_oid *id, char out[GIT_OID_HEXSZ + 2])
{
	char hex[GIT_OID_HEXSZ + 1];

	(void)git_oid_tostr(hex, sizeof(hex), id);
	memcpy(out, hex, 2);
	out[2] = '/';
	memcpy(out + 3, hex + 2, GIT_OID_HEXSZ - 1);
}

static int map(const struct loose *l, const git_oid *id, struct reading *r)
{
	char path[GIT_OID_HEXSZ + 2];
	cleanup_fd int fd = -1;
	struct stat st;
	void *at;

	path_of(id, path);
	fd = openat(l->dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? GIT_ENOTFOUND : fail("an object's file can't be opened");
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
		return fail("an object's file is empty or no file");
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return fail("an object's file can't be read");
	r->data = at;
	r->len = (size_t)st.st_size;
	return 0;
}

/* Into out; less than len only where it ends.  False: no stream. */
static bool inflate_some(struct reading *r, void *out, size_t len, size_t *got, bool *end)
{
	*end = false;
	for (*got = 0; *got < len;) {
		size_t room = len - *got < (1u << 30) ? len - *got : 1u << 30, left;
		int result;

		r->z.next_out = (unsigned char *)out + *got;
		r->z.avail_out = (uInt)room;
		if (!r->z.avail_in) {
			left = r->len - (size_t)(r->z.next_in - r->data);
			r->z.avail_in = (uInt)(left < (1u << 30) ? left : 1u << 30);
		}
		result = inflate(&r->z, Z_NO_FLUSH);
		*got += room - r->z.avail_out;
		*end = result == Z_STREAM_END;
		if (*end)
			return true;
		/* Nothing came of nothing: cut off. */
		if (result != Z_OK || (room == r->z.avail_out && !r->z.avail_in))
			return false;
	}
	return true;
}

static bool parse_head(struct reading *r)
{
	static const struct {
		const char *name;
		git_object_t type;
	} kinds[] = { { "commit ", GIT_OBJECT_COMMIT },
		      { "tree ", GIT_OBJECT_TREE },
		      { "blob ", GIT_OBJECT_BLOB },
		      { "tag ", GIT_OBJECT_TAG } };
	const char *nul = memchr(r->head, 0, r->got), *at = NULL;
	uint64_t size = 0;

	for (size_t i = 0; nul && i < COUNT(kinds); i++)
		if (!strncmp(r->head, kinds[i].name, strlen(kinds[i].name))) {
			r->type = kinds[i].type;
			at = r->head + strlen(kinds[i].name);
		}
	if (!at || at == nul)
		return false;
	for (; at < nul; at++) {
		if (*at < '0' || *at > '9' || size > (UINT64_MAX >> 8))
			return false;
		size = 10 * size + (uint64_t)(*at - '0');
	}
	r->head_len = (size_t)(nul - r->head) + 1;
	r->size = (size_t)size;
	return size <= (uint64_t)r->len * RATIO_MAX + HEAD_MAX;
}

static int begin(struct loose *l, const git_oid *id, struct reading *r)
{
	bool end;
	int rc;

	*r = (struct reading){ .data = NULL };
	rc = map(l, id, r);
	if (rc < 0)
		return rc;
	r->z.next_in = (unsigned char *)(uintptr_t)r->data;
	if (inflateInit(&r->z) == Z_OK) {
		if (inflate_some(r, r->head, sizeof(r->head), &r->got, &end) && parse_head(r))
			return 0;
		(void)inflateEnd(&r->z);
	}
	(void)munmap((void *)(uintptr_t)r->data, r->len);
	return fail("an object's file is no object");
}

static void finish(struct reading *r)
{
	(void)inflateEnd(&r->z);
	(void)munmap((void *)(uintptr_t)r->data, r->len);
}

/* What did not fit the head, then the end of the stream, which has to be there. */
static bool take_rest(struct reading *r, char *out)
{
	size_t first = r->got - r->head_len, more = 0;
	char over;
	bool end = false;

	if (first > r->size)
		return false;
	memcpy(out, r->head + r->head_len, first);
	if (r->size > first && (!inflate_some(r, out + first, r->size - first, &more, &end) || more != r->size - first))
		return false;
	return end || (inflate_some(r, &over, 1, &more, &end) && end && more == 0);
}

/* As libgit2 checks what it reads, but by mbedTLS, which takes two thirds of the time. */
static int verify(const git_oid *id, const void *data, size_t len, git_object_t type)
{
	char head[64];
	int n = snprintf(head, sizeof(head), "%s %zu", git_object_type2string(type), len);
	unsigned char got[GIT_OID_RAWSZ];
	mbedtls_sha1_context sha;

	mbedtls_sha1_init(&sha);
	if (n < 0 || (size_t)n >= sizeof(head) || mbedtls_sha1_starts_ret(&sha) != 0 ||
	    mbedtls_sha1_update_ret(&sha, (unsigned char *)head, (size_t)n + 1) != 0 ||
	    mbedtls_sha1_update_ret(&sha, data, len) != 0 || mbedtls_sha1_finish_ret(&sha, got) != 0)
		return fail("an object can't be hashed");
	mbedtls_sha1_free(&sha);
	return memcmp(got, id->id, sizeof(got)) == 0 ? 0 : fail("an object is another one than its name says");
}

static int loose_read(void **data, size_t *len, git_object_t *type, git_odb_backend *backend, const git_oid *id)
{
	struct reading r;
	int rc = begin((struct loose *)backend, id, &r);
	char *out;

	if (rc < 0)
		return rc;
	out = git_odb_backend_data_alloc(backend, r.size + 1);
	if (!out) {
		rc = -1;
	} else if (take_rest(&r, out)) {
		out[r.size] = '\0';
		rc = verify(id, out, r.size, r.type);
		if (rc < 0) {
			git_odb_backend_data_free(backend, out);
		} else {
			*data = out;
			*len = r.size;
			*type = r.type;
		}
	} else {
		git_odb_backend_data_free(backend, out);
		rc = fail("an object's file is cut off or corrupt");
	}
	finish(&r);
	return rc;
}

static int loose_read_header(size_t *len, git_object_t *type, git_odb_backend *backend, const git_oid *id)
{
	struct reading r;
	int rc = begin((struct loose *)backend, id, &r);

	if (rc < 0)
		return rc;
	*len = r.size;
	*type = r.type;
	finish(&r);
	return 0;
}

static int loose_exists(git_odb_backend *backend, const git_oid *id)
{
	char path[GIT_OID_HEXSZ + 2];

	path_of(id, path);
	return faccessat(((struct loose *)backend)->dir, path, F_OK, 0) == 0;
}

static void loose_free(git_odb_backend *backend)
{
	struct loose *l = (struct loose *)backend;

	(void)close(l->dir);
	free(l);
}

static int add_loose(git_odb *odb, const char *dir)
{
	struct loose *l = calloc(1, sizeof(*l));

	if (!l)
		return fail("out of memory");
	l->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->dir < 0) {
		free(l);
		return fail("an objects directory can't be opened");
	}
	l->backend = (git_odb_backend)GIT_ODB_BACKEND_INIT;
	l->backend.read = loose_read;
	l->backend.read_header = loose_read_header;
	l->backend.exists = loose_exists;
	l->backend.free = loose_free;
	if (git_odb_add_alternate(odb, &l->backend, 1) == 0)
		return 0;
	loose_free(&l->backend);
	return -1;
}

struct packs {
	git_odb_backend backend;
	git_odb_backend *inner;
};

static git_odb_backend *inner_of(git_odb_backend *backend)
{
	return ((struct packs *)backend)->inner;
}

static int packs_read(void **data, size_t *len, git_object_t *type, git_odb_backend *backend, const git_oid *id)
{
	git_odb_backend *inner = inner_of(backend);
	int rc = inner->read(data, len, type, inner, id);

	if (rc < 0)
		return rc;
	rc = verify(id, *data, *len, *type);
	if (rc < 0)
		git_odb_backend_data_free(inner, *data);
	return rc;
}

static int packs_read_header(size_t *len, git_object_t *type, git_odb_backend *backend, const git_oid *id)
{
	git_odb_backend *inner = inner_of(backend);

	return inner->read_header(len, type, inner, id);
}

static int packs_exists(git_odb_backend *backend, const git_oid *id)
{
	git_odb_backend *inner = inner_of(backend);

	return inner->exists(inner, id);
}

static int packs_refresh(git_odb_backend *backend)
{
	git_odb_backend *inner = inner_of(backend);

	return inner->refresh(inner);
}

static int packs_foreach(git_odb_backend *backend, git_odb_foreach_cb fn, void *payload)
{
	git_odb_backend *inner = inner_of(backend);

	return inner->foreach (inner, fn, payload);
}

static void packs_free(git_odb_backend *backend)
{
	git_odb_backend *inner = inner_of(backend);

	inner->free(inner);
	free(backend);
}

static int add_packs(git_odb *odb, const char *dir)
{
	struct packs *p = calloc(1, sizeof(*p));

	if (!p)
		return fail("out of memory");
	if (git_odb_backend_pack(&p->inner, dir) < 0) {
		free(p);
		return -1;
	}
	p->backend = (git_odb_backend)GIT_ODB_BACKEND_INIT;
	p->backend.read = packs_read;
	p->backend.read_header = packs_read_header;
	p->backend.exists = packs_exists;
	p->backend.refresh = packs_refresh;
	p->backend.foreach = packs_foreach;
	p->backend.free = packs_free;
	if (git_odb_add_alternate(odb, &p->backend, 2) == 0)
		return 0;
	packs_free(&p->backend);
	return -1;
}

int odb_open(git_odb **out, char *const *dirs, size_t n)
{
	git_odb *odb = NULL;
	int rc = git_odb_new(&odb);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = add_packs(odb, dirs[i]);
		if (rc == 0)
			rc = add_loose(odb, dirs[i]);
	}
	if (rc == 0)
		*out = odb;
	else
		git_odb_free(odb);
	return rc == 0 ? 0 : -1;
}
