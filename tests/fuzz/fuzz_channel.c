/* SPDX-License-Identifier: Apache-2.0 */
/* Channel frames from a peer that sends anything, cut anywhere (the first byte says how): the reader never hands
 * out more than came, and what the guest takes as orders stays within its bounds and is what it says. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "guest/channel.h"
#include "guest/orders.h"

static char *own[] = { (char *)"HTTP_PROXY=http://x", (char *)"=odd", (char *)"A=1", (char *)"NOVALUE", NULL };

static void check_orders(const struct oc_orders *o)
{
	FUZZ_CHECK(o->strings <= OC_GUEST_STRINGS + 1 && o->bytes <= OC_GUEST_BYTES);
	FUZZ_CHECK(!o->prepared || (o->hello && o->have_options && o->args.n && o->cwd[0] == '/'));
	for (size_t i = 0; i < o->writable.n; i++)
		FUZZ_CHECK(o->writable.v[i][0] == '/');
}

static void check_environment(const struct oc_orders *o)
{
	char **env = oc_orders_environment(o, own);

	for (char **e = env; e && *e; e++) {
		size_t len = strcspn(*e, "=");

		FUZZ_CHECK(len && (*e)[len] == '=');
		for (char **other = env; other != e; other++)
			FUZZ_CHECK(strncmp(*other, *e, len + 1) != 0);
	}
	free(env);
}

/* The cursor over a payload, as every reader of one uses it. */
static void read_payload(const struct oc_frame *f)
{
	struct oc_cursor c = { f->data, f->data + f->len };
	const char *s;
	size_t len, sum = 0;
	uint64_t v64;
	uint32_t v32;
	uint8_t v8;

	if (oc_get_u8(&c, &v8) && oc_get_u64(&c, &v64))
		oc_get_u32(&c, &v32);
	while (c.p != c.end && oc_get_string(&c, false, &s, &len))
		sum += len + 1;
	FUZZ_CHECK(sum <= f->len && c.p <= c.end);
	if (oc_get_string(&c, true, &s, &len))
		FUZZ_CHECK(c.p == c.end && !memchr(s, 0, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct oc_frame_reader r;
	struct oc_orders o;
	struct oc_frame f;
	const char *why = NULL;
	size_t step = size ? data[0] + 1u : 1, fed = 0, taken = 0;
	int result = 0;

	oc_frame_reader_init(&r);
	oc_orders_init(&o);
	for (size_t at = 1; at < size && result >= 0; at += step) {
		size_t len = size - at < step ? size - at : step;

		FUZZ_CHECK(oc_frame_feed(&r, data + at, len) == 0);
		fed += len;
		while ((result = oc_frame_next(&r, &f)) > 0) {
			taken += OC_FRAME_HEADER + f.len;
			FUZZ_CHECK(taken <= fed && f.len <= OC_FRAME_MAX);
			read_payload(&f);
			if (o.prepared || oc_orders_take(&o, &f, &why))
				result = -1;
			check_orders(&o);
			if (result < 0)
				break;
		}
	}
	if (o.prepared)
		check_environment(&o);
	oc_orders_free(&o);
	oc_frame_reader_free(&r);
	return 0;
}
