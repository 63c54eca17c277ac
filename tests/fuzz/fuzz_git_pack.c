/* SPDX-License-Identifier: Apache-2.0 */
/* A pack of an agent, gone through from its first entry, and its bytes taken for a delta.  Whatever comes out of it has
 * the id that it was asked by, or nothing does. */
#include <git2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "pack.h"

static void as_delta(const uint8_t *data, size_t size)
{
	char text[] = "the base of every delta here";
	struct object base = { .type = GIT_OBJECT_BLOB, .data = text, .len = sizeof(text) - 1 }, out = { 0 };

	/* A length that is allowed, and would make this slow. */
	if (size > 4 && data[1] & 0x80 && data[2] & 0x80 && data[3] & 0x80)
		return;
	if (delta_apply(&base, data, size, &out) == 0)
		FUZZ_CHECK(out.data && out.type == GIT_OBJECT_BLOB && !out.data[out.len]);
	object_free(&out);
}

static void as_pack(const uint8_t *data, size_t size)
{
	struct store s = { .objects = -1 };
	struct object out = { 0 };
	git_oid wanted = { { 1 } };

	s.packs = calloc(1, sizeof(*s.packs));
	FUZZ_CHECK(s.packs && inflateInit(&s.z) == Z_OK);
	s.z_ready = true;
	s.npacks = 1;
	s.packs[0] = (struct pack){
		.fd = memfd_create("pack", MFD_CLOEXEC), .count = 64, .size = size, .index = strdup("x")
	};
	FUZZ_CHECK(s.packs[0].fd >= 0 && write(s.packs[0].fd, data, size) == (ssize_t)size);
	FUZZ_CHECK(store_read(&s, &wanted, &out) < 0 && !out.data);
	for (size_t i = 0; i < s.packs[0].found.cap; i++) {
		const struct oid_entry *e = &s.packs[0].found.table[i];
		git_oid got;

		if (e->value == OIDS_NONE)
			continue;
		FUZZ_CHECK(store_read(&s, &e->id, &out) == 0);
		FUZZ_CHECK(git_odb_hash(&got, out.data, out.len, out.type) == 0 && git_oid_equal(&got, &e->id));
		object_free(&out);
	}
	store_close(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int ready;

	if (!ready)
		ready = git_libgit2_init();
	FUZZ_CHECK(ready > 0);
	as_delta(data, size);
	as_pack(data, size);
	return 0;
}
