/* SPDX-License-Identifier: Apache-2.0 */
/* What programs switch on in a terminal and leave on, and what undoes it, byte by byte and all at once. */
#include <string.h>

#include "modes.h"
#include "suite.h"

struct sample {
	const char *shown, *undone;
};

static const struct sample SAMPLES[] = {
	{ "", "" },
	{ "plain\n", "" },
	{ "\033[31mred\033[0m\033[m\r\n", "" },
	{ "prompt", "\r\n" },
	{ "\033[1;31m", "\033[0m" },
	{ "\033[31m\033[0m", "" },
	{ "\033[?25l", "\033[?25h" },
	{ "\033[?25l\033[?25h", "" },
	{ "\033[?25h\033[?7h", "" },
	{ "\033[?7l", "\033[?7h" },
	{ "\033[?1049h", "\033[?1049l" },
	{ "\033[?1049h\033[?25l", "\033[?25h\033[?1049l" }, /* the screen last */
	{ "\033[?1049h\033[?1000;1006h\033[?1049l", "\033[?1000l\033[?1006l" },
	{ "\033[?1000;1006;2004h\033[?1006;1000;2004l", "" },
	{ "\033[?12h\033[?9999h\033[?1048h", "" }, /* what has no default that is known everywhere */
	{ "\033[?h\033[?;h", "" },
	{ "\033[?;1004h", "\033[?1004l" },
	{ "\033[4h\033[1049h", "" }, /* not private: other modes */
	{ "\033=", "\033>" },
	{ "\033=\033>", "" },
	{ "\033(0", "\033(B" },
	{ "\033(0\033(B", "" },
	{ "\016", "\017" },
	{ "\016\017", "" },
	{ "\033[2;5r", "\0337\033[r\0338" },
	{ "\033[2;5r\033[r", "" },
	{ "\033[>1u\033[>5u", "\033[<u\033[<u" },
	{ "\033[>1u\033[>5u\033[<u", "\033[<u" },
	{ "\033[>1u\033[<99u\033[<u", "" },
	{ "\033[>4;2m", "\033[>4m" },
	{ "\033[>4;2m\033[>4;0m", "" },
	{ "\033[>4;2m\033[>4m", "" },
	/* Text within strings is none of ours, and one that isn't ended would swallow what comes. */
	{ "\033]0;\033[?1049h\007\n", "\033[?1049l" }, /* ESC ends a string, as in terminals */
	{ "\033]0;[?1049h title\007", "" },
	{ "\033Pq[?25l\033\\", "" },
	{ "\033]52;c;AAAA", "\033\\" },
	{ "\033]0;x\033", "\033\\" },
	{ "\033[?104", "\030" },
	{ "\033[", "\030" },
	{ "\033", "\030" },
	{ "\033[?1049\030h\r\n", "" },      /* CAN ended it */
	{ "\033[?1049\nh", "\033[?1049l" }, /* a control within it is carried out */
	{ "\033[?1049h\033c", "" },         /* reset as a whole */
	{ "\033[31m\033[?25l\033[!p", "" },
	{ "\033[?2004h\033[?1000000000000000000000000000000000000000000000000000000000000000000049h", "\033[?2004l" },
	{ "\033#8\033%G\n", "" },
};

static void check(const struct sample *s, size_t piece)
{
	struct modes m = { 0 };
	struct text out = { 0 };
	size_t len = strlen(s->shown);

	for (size_t at = 0; at < len; at += piece)
		modes_read(&m, s->shown + at, len - at < piece ? len - at : piece);
	modes_undo(&m, &out);
	ck_assert_msg(!strcmp(out.data ? out.data : "", s->undone), "sample %d", (int)(s - SAMPLES));
	/* What undoes it leaves nothing to undo. */
	modes_read(&m, out.data ? out.data : "", out.len);
	text_free(&out);
	modes_undo(&m, &out);
	ck_assert_msg(!out.len, "sample %d: still: %s", (int)(s - SAMPLES), out.data);
	text_free(&out);
}

START_TEST(test_samples)
{
	for (size_t i = 0; i < sizeof(SAMPLES) / sizeof(SAMPLES[0]); i++)
		for (size_t piece = 1; piece <= 64; piece = piece == 1 ? 3 : piece * 21)
			check(&SAMPLES[i], piece);
}
END_TEST

/* Any bytes at all: bounded, and what is undone is short. */
START_TEST(test_any_bytes)
{
	struct modes m = { 0 };
	struct text out = { 0 };
	unsigned seed = 1;
	char data[4096];

	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof(data); i++) {
			static const char likely[] = "\033\033[?;0123456789hlmru<>=!p\007\\]P(B\n";

			seed = seed * 1103515245u + 12345u;
			data[i] = seed >> 30 ? likely[(seed >> 16) % (sizeof(likely) - 1)] : (char)(seed >> 16);
		}
		modes_read(&m, data, sizeof(data));
		if (round % 2) {
			modes_undo(&m, &out);
			ck_assert_uint_lt(out.len, 400);
			text_free(&out);
		}
	}
}
END_TEST

SUITE_MAIN("modes", test_samples, test_any_bytes)
