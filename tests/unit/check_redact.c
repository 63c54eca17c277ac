/* SPDX-License-Identifier: Apache-2.0 */
/* Every way of cutting a text must give what a simple search of the whole text gives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "guard/redact.h"
#include "suite.h"

#define VALUES 8
#define TEXT   262144u

static struct oc_values *values_of(const char *const *entries, size_t n)
{
	struct oc_values *v = calloc(1, sizeof(*v) + n * sizeof(v->v[0]));

	for (v->n = 0; v->n < n; v->n++) {
		v->v[v->n].len = strlen(entries[v->n]);
		v->v[v->n].entry = strdup(entries[v->n]);
		v->v[v->n].secret = strncmp(entries[v->n], "PLAIN", 5) != 0;
	}
	return v;
}

static struct oc_redact *make(const char *const *entries, size_t n)
{
	struct oc_values *v = values_of(entries, n);
	struct oc_redact *r = NULL;

	ck_assert_int_eq(oc_redact_new(v, &r, NULL), 0);
	oc_values_free(v);
	return r;
}

struct sink {
	char *text;
	size_t len;
};

static void into(const void *data, size_t len, void *userdata)
{
	struct sink *s = userdata;

	ck_assert_uint_gt(len, 0);
	ck_assert_uint_le(s->len + len, TEXT);
	memcpy(s->text + s->len, data, len);
	s->len += len;
}

/* The definition: positions that a value covers; overlapping occurrences are one, named after the first and longest. */
static size_t whole(const char *const *entries, size_t n, const char *text, size_t len, char *out)
{
	size_t i = 0, at = 0;

	while (i < len) {
		const char *best = NULL;
		size_t end = 0, from, v;

		for (v = 0; v < n; v++) {
			const char *value = strchr(entries[v], '=') + 1;
			size_t m = strlen(value);

			if (m >= 8 && len - i >= m && memcmp(text + i, value, m) == 0 && m > end) {
				best = entries[v];
				end = m;
			}
		}
		if (!best) {
			out[at++] = text[i++];
			continue;
		}
		at += (size_t)snprintf(out + at, TEXT - at, "[secret %.*s]", (int)strcspn(best, "="), best);
		end += i;
		for (from = i + 1; from < end; from++)
			for (v = 0; v < n; v++) {
				const char *value = strchr(entries[v], '=') + 1;
				size_t m = strlen(value);

				if (m >= 8 && len - from >= m && memcmp(text + from, value, m) == 0 && from + m > end)
					end = from + m;
			}
		i = end;
	}
	return at;
}

static void same(const struct sink *got, const char *want, size_t want_len)
{
	ck_assert_msg(got->len == want_len && memcmp(got->text, want, want_len) == 0, "\"%.*s\" is not \"%.*s\"",
	              (int)got->len, got->text, (int)want_len, want);
}

/* Cut at a and b. */
static void cut(struct oc_redact_stream *s, const char *text, size_t len, size_t a, size_t b, struct sink *sink)
{
	sink->len = 0;
	oc_redact_feed(s, text, a, into, sink);
	oc_redact_feed(s, text + a, b - a, into, sink);
	oc_redact_feed(s, text + b, len - b, into, sink);
	oc_redact_end(s, into, sink);
}

static void every_cut(const char *const *entries, size_t n, const char *text)
{
	struct oc_redact *r = make(entries, n);
	struct oc_redact_stream *s = NULL;
	char *want = malloc(TEXT), *got = malloc(TEXT);
	size_t len = strlen(text), want_len = whole(entries, n, text, len, want), a, b;
	struct sink sink = { got, 0 };

	ck_assert_int_eq(oc_redact_stream_new(r, &s, NULL), 0);
	for (a = 0; a <= len; a++)
		for (b = a; b <= len; b++) {
			cut(s, text, len, a, b, &sink);
			same(&sink, want, want_len);
		}
	sink.len = 0;
	for (a = 0; a < len; a++)
		oc_redact_feed(s, text + a, 1, into, &sink);
	oc_redact_end(s, into, &sink);
	same(&sink, want, want_len);
	oc_redact_stream_free(s);
	oc_redact_free(r);
	free(want);
	free(got);
}

START_TEST(test_cuts)
{
	static const char *const one[] = { "TOKEN=hunter2-hunter3" };
	static const char *const two[] = { "A=abcdefgh", "B=efghijklmnop" };
	static const char *const inside[] = { "OUTER=xx-abcdefgh-yy", "INNER=abcdefgh" };
	static const char *const longer[] = { "SHORT=abcdefgh", "LONG=abcdefghabcdefghi" };
	static const char *const itself[] = { "SAME=aaaaaaaa", "PERIOD=abababab" };

	every_cut(one, 1, "hunter2-hunter3");
	every_cut(one, 1, "a hunter2-hunter2-hunter3 hunter2-hunter3hunter2-hunter3\nhunter2-hunter");
	every_cut(two, 2, "abcdefghijklmnop abcdefgh efghijklmnop abcdefghijklmno abcdefghabcdefghijklmnop");
	every_cut(inside, 2, "xx-abcdefgh-yy xx-abcdefgh-yx abcdefgh xx-xx-abcdefgh-yyabcdefgh");
	every_cut(longer, 2, "abcdefghabcdefghabcdefghi abcdefghabcdefghx abcdefghi");
	every_cut(itself, 2, "aaaaaaa aaaaaaaa aaaaaaaaaaaaaaaaaaa abababa ababababa bababababaaaaaaaaa");
}
END_TEST

/* Two letters, so that values begin, end and hold each other all the time. */
START_TEST(test_random)
{
	unsigned seed = 1;

	for (int round = 0; round < 400; round++) {
		char entry[VALUES][64], text[600];
		const char *entries[VALUES];
		size_t n = 1 + (size_t)rand_r(&seed) % VALUES, len = 1 + (size_t)rand_r(&seed) % (sizeof(text) - 1), at;
		char *want = malloc(TEXT), *got = malloc(TEXT);
		struct sink sink = { got, 0 };
		struct oc_redact_stream *s = NULL;
		struct oc_redact *r;

		for (size_t i = 0; i < n; i++) {
			size_t m = 8 + (size_t)rand_r(&seed) % 12, p = (size_t)snprintf(entry[i], 64, "V%zu=", i), k;

			for (k = 0; k < m; k++)
				entry[i][p + k] = "ab"[rand_r(&seed) % 3 == 0];
			entry[i][p + m] = '\0';
			entries[i] = entry[i];
			for (k = 0; k < i; k++) /* of two that are one, either name is right: not tried here */
				if (!strcmp(strchr(entry[k], '='), strchr(entry[i], '=')))
					entry[i][p] ^= 3;
		}
		for (size_t i = 0; i < len; i++)
			text[i] = "ab"[rand_r(&seed) % 3 == 0];
		r = make(entries, n);
		ck_assert_int_eq(oc_redact_stream_new(r, &s, NULL), 0);
		for (at = 0; at < len;) {
			size_t piece = 1 + (size_t)rand_r(&seed) % 40;

			piece = piece < len - at ? piece : len - at;
			oc_redact_feed(s, text + at, piece, into, &sink);
			at += piece;
		}
		oc_redact_end(s, into, &sink);
		same(&sink, want, whole(entries, n, text, len, want));
		oc_redact_stream_free(s);
		oc_redact_free(r);
		free(want);
		free(got);
	}
}
END_TEST

/* Reads of 64 KiB, a value of 64 KiB, the cut anywhere in it. */
START_TEST(test_long)
{
	char *entry = malloc(65536 + 8), *text = malloc(TEXT), *got = malloc(TEXT);
	const char *entries[] = { entry };
	struct sink sink = { got, 0 };
	struct oc_redact_stream *s = NULL;
	struct oc_redact *r;
	unsigned seed = 7;

	memcpy(entry, "KEY=", 4);
	for (size_t i = 0; i < 65536; i++)
		entry[4 + i] = (char)('A' + rand_r(&seed) % 26);
	entry[4 + 65536] = '\0';
	r = make(entries, 1);
	ck_assert_int_eq(oc_redact_stream_new(r, &s, NULL), 0);
	memset(text, '.', 140000);
	memcpy(text + 1000, entry + 4, 65536);
	memcpy(text + 66536, entry + 4, 65535); /* all but its last byte: no secret */
	for (size_t first = 0; first < 140000; first += 4999) {
		cut(s, text, 140000, first, first + (140000 - first) / 2, &sink);
		ck_assert_uint_eq(sink.len, 140000 - 65536 + strlen("[secret KEY]"));
		ck_assert(memcmp(got + 1000, "[secret KEY]", 12) == 0);
		ck_assert(memcmp(got + 1012, text + 66536, 140000 - 66536) == 0);
	}
	oc_redact_stream_free(s);
	oc_redact_free(r);
	free(entry);
	free(text);
	free(got);
}
END_TEST

static void becomes(const char *entry, const char *text, const char *want)
{
	const char *entries[] = { entry };
	struct oc_redact *r = make(entries, 1);
	struct oc_buf out;

	oc_buf_init(&out, TEXT);
	ck_assert_int_eq(oc_redact_text(r, text, strlen(text), &out), 0);
	ck_assert_str_eq(out.data ? out.data : "", want);
	oc_buf_free(&out);
	oc_redact_free(r);
}

START_TEST(test_forms)
{
	static const char *const none[] = { "SHORT=1234567", "PLAIN=not-a-secret", "EMPTY=" };
	struct oc_redact *r = make(none, 3);

	ck_assert_ptr_null(r);
	becomes("SHORT=1234567", "x1234567x", "x1234567x"); /* no redactor: as it stands */
	becomes("S=12345678", "x12345678x", "x[secret S]x");
	becomes("KEY=-----BEGIN\n\tab\"c\\d\001\n", "{\"k\":\"-----BEGIN\\n\\tab\\\"c\\\\d\\u0001\\n\"}",
	        "{\"k\":\"[secret KEY]\\n\"}");
	becomes("KEY=-----BEGIN\nabc\n", "-----BEGIN\nabc", "[secret KEY]");
	becomes("KEY=-----BEGIN\nabc\n", "-----BEGIN\nabx", "-----BEGIN\nabx");
	becomes("B=\xff\xfe\x80zzzzz", "\xff\xff\xfe\x80zzzzz\xff", "\xff[secret B]\xff");
	becomes("N=12345678", "", "");
}
END_TEST

/* What is no beginning of a value must not wait: a prompt is seen. */
START_TEST(test_nothing_waits)
{
	static const char *const entries[] = { "S=secret-value" };
	struct oc_redact *r = make(entries, 1);
	struct oc_redact_stream *s = NULL;
	char got[256];
	struct sink sink = { got, 0 };

	ck_assert_int_eq(oc_redact_stream_new(r, &s, NULL), 0);
	oc_redact_feed(s, "Continue? ", 10, into, &sink);
	ck_assert_uint_eq(sink.len, 10);
	oc_redact_feed(s, "x sec", 5, into, &sink);
	ck_assert_uint_eq(sink.len, 12); /* "sec" waits */
	oc_redact_feed(s, "tion", 4, into, &sink);
	ck_assert_uint_eq(sink.len, 19);
	oc_redact_feed(s, "secret-valu", 11, into, &sink);
	oc_redact_end(s, into, &sink);
	same(&sink, "Continue? x sectionsecret-valu", 30);
	sink.len = 0;
	oc_redact_feed(s, "e", 1, into, &sink); /* after an end nothing of before counts */
	same(&sink, "e", 1);
	oc_redact_stream_free(s);
	oc_redact_free(r);
}
END_TEST

/* At a terminal what was typed is seen soon, a little of a value too; what follows is judged as if nothing had been let go. */
START_TEST(test_idle)
{
	static const char *const entries[] = { "S=secret-value", "T=token-1234" };
	struct oc_redact *r = make(entries, 2);
	struct oc_redact_stream *s = NULL;
	char got[256];
	struct sink sink = { got, 0 };

	ck_assert_int_eq(oc_redact_stream_new(r, &s, NULL), 0);
	oc_redact_idle(s, into, &sink);
	oc_redact_feed(s, "$ s", 3, into, &sink);
	same(&sink, "$ ", 2); /* the control: it waits */
	oc_redact_idle(s, into, &sink);
	oc_redact_idle(s, into, &sink);
	same(&sink, "$ s", 3);
	oc_redact_feed(s, "e", 1, into, &sink);
	oc_redact_idle(s, into, &sink);
	oc_redact_feed(s, "cr", 2, into, &sink);
	oc_redact_idle(s, into, &sink);
	same(&sink, "$ se", 4); /* more than a little waits */
	oc_redact_feed(s, "et-value!", 9, into, &sink);
	same(&sink, "$ se[secret S]!", 15);
	sink.len = 0;
	oc_redact_feed(s, "tok", 3, into, &sink);
	oc_redact_idle(s, into, &sink);
	oc_redact_feed(s, "tokens", 6, into, &sink);
	oc_redact_idle(s, into, &sink);
	same(&sink, "toktokens", 9);
	sink.len = 0;
	oc_redact_feed(s, "e", 1, into, &sink);
	oc_redact_end(s, into, &sink);
	same(&sink, "e", 1);
	sink.len = 0;
	oc_redact_feed(s, "sec", 3, into, &sink);
	oc_redact_idle(s, into, &sink);
	oc_redact_end(s, into, &sink);
	oc_redact_feed(s, "ret-value", 9, into, &sink);
	oc_redact_end(s, into, &sink);
	same(&sink, "secret-value", 12); /* after an end nothing of before counts */
	oc_redact_stream_free(s);
	oc_redact_free(r);
}
END_TEST

static int all_of_it(void *userdata)
{
	struct oc_values *v = userdata;
	struct oc_redact_stream *s = NULL;
	struct oc_redact *r = NULL;
	struct oc_buf out;
	int rc = oc_redact_new(v, &r, NULL);

	oc_buf_init(&out, 64);
	rc = rc < 0 ? rc : oc_redact_stream_new(r, &s, NULL);
	rc = rc < 0 ? rc : oc_redact_text(r, "12345678", 8, &out);
	oc_buf_free(&out);
	oc_redact_stream_free(s);
	oc_redact_free(r);
	return rc;
}

START_TEST(test_memory)
{
	static const char *const entries[] = { "A=12345678", "B=\"quoted\"" };
	struct oc_values *v = values_of(entries, 2);
	const char *one[] = { "A=12345678" };
	struct oc_redact *r = make(one, 1);
	struct oc_buf out;

	ck_assert_int_ge(alloc_fail_each(all_of_it, v, 0), 10);
	oc_values_free(v);
	oc_buf_init(&out, 16);
	ck_assert_int_eq(oc_buf_puts(&out, "before"), 0);
	ck_assert_int_eq(oc_redact_text(r, "1234567812345678", 16, &out), OC_ELIMIT);
	ck_assert_str_eq(out.data, "before");
	oc_buf_free(&out);
	oc_redact_free(r);
}
END_TEST

/* One comes while a stream holds what may be the beginning of another; its place is taken by the next. */
START_TEST(test_later)
{
	const char *one[] = { "OWN=secret-value" };
	struct oc_redact *r = make(one, 1);
	struct oc_redact_stream *s = NULL, *streams[2];
	struct sink sink = { calloc(1, TEXT), 0 };
	static const char last[] = "token other \"token other \\\"token";
	static const char wanted[] =
	        "a first-token [secret OWN] [secret token].[secret token].first-token [secret token] "
	        "[secret token]";
	char big[16384];

	memset(big, 'b', sizeof(big));
	ck_assert_int_eq(oc_redact_stream_new(r, &s, NULL), 0);
	streams[0] = NULL;
	streams[1] = s;
	oc_redact_feed(s, "a first-token secret-", 21, into, &sink);
	ck_assert_int_eq(oc_redact_later(r, 0, "token", "first-token", 11, streams, 2, NULL), 0);
	oc_redact_feed(s, "value first-to", 14, into, &sink);
	ck_assert_int_eq(oc_redact_later(r, 63, "token", big, sizeof(big), streams, 2, NULL), 0);
	oc_redact_feed(s, "ken.", 4, into, &sink);
	oc_redact_feed(s, big, sizeof(big) - 1, into, &sink);
	oc_redact_feed(s, "b.first-", 8, into, &sink);
	ck_assert_int_eq(oc_redact_later(r, 0, "token", "other \"token", 12, streams, 2, NULL), 0);
	oc_redact_feed(s, last, strlen(last), into, &sink);
	oc_redact_end(s, into, &sink);
	same(&sink, wanted, strlen(wanted));
	oc_redact_stream_free(s);
	oc_redact_free(r);
	free(sink.text);
}
END_TEST

static int one_later(void *userdata)
{
	struct oc_redact_stream *s = NULL, *const none = NULL;
	struct oc_redact *r = NULL;
	int rc = oc_redact_new(userdata, &r, NULL);

	rc = rc < 0 ? rc : oc_redact_stream_new(r, &s, NULL);
	rc = rc < 0 ? rc : oc_redact_later(r, 1, "token", "to\"ken-to-ken", 13, s ? &s : &none, 1, NULL);
	oc_redact_stream_free(s);
	oc_redact_free(r);
	return rc;
}

START_TEST(test_later_memory)
{
	ck_assert_int_ge(alloc_fail_each(one_later, NULL, 0), 10);
}
END_TEST

SUITE_MAIN("redact", test_cuts, test_random, test_long, test_forms, test_nothing_waits, test_idle, test_memory,
           test_later, test_later_memory)
