/* SPDX-License-Identifier: Apache-2.0 */
/* Knuth, Morris and Pratt, once for each value: the state after a byte is how much of the value the stream ends with, so
 * no cut between two reads matters, and the longest of the states is exactly what has to wait.
 *
 *   …emitted… | held: may be the beginning of a value | what comes
 *             0                                       held_len       (positions, from the first byte not yet emitted)
 *
 * Values may overlap, or one hold another: what is covered by any of them is one span, named after the one that begins
 * first, the longest of those; so the cuts don't show in the names either.  A span whose end may still be the beginning of
 * another value is named as soon as its own beginning is decided. */
#include "guard/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE     4096u
#define LABEL_MAX 192
#define FORMS     2u /* of a value: as it is, and as JSON has it */
#define LATER     (OC_REDACT_LATER * FORMS)

struct pattern {
	unsigned char *text;
	uint32_t *fall; /* fall[i]: the longest proper beginning of the value that also ends its first i + 1 bytes */
	size_t len;
	char label[LABEL_MAX];
};
struct oc_redact {
	size_t n, longest;  /* longest: of all there ever were */
	struct pattern v[]; /* the first LATER for what comes later: len 0 where nothing is */
};

struct span {
	size_t from, to;
	const struct pattern *pattern; /* NULL: its name is out already */
};
struct oc_redact_stream {
	const struct oc_redact *r;
	unsigned char *held;
	size_t room; /* for so much is in it, and in spans */
	size_t held_len;
	size_t shown;       /* of what is held, from its beginning: out already */
	struct span *spans; /* in order, apart from each other */
	size_t n_spans;
	size_t state[]; /* of each pattern */
};

static void pattern_free(struct pattern *p)
{
	if (p->text)
		explicit_bzero(p->text, p->len);
	free(p->text);
	free(p->fall);
	p->text = NULL;
	p->fall = NULL;
	p->len = 0;
}

void oc_redact_free(struct oc_redact *r)
{
	size_t i;

	for (i = 0; r && i < r->n; i++)
		pattern_free(&r->v[i]);
	free(r);
}

static void prepare(struct pattern *p)
{
	size_t i, k = 0;

	p->fall[0] = 0;
	for (i = 1; i < p->len; i++) {
		while (k && p->text[i] != p->text[k])
			k = p->fall[k - 1];
		if (p->text[i] == p->text[k])
			k++;
		p->fall[i] = (uint32_t)k;
	}
}

static bool known(const struct oc_redact *r, const unsigned char *text, size_t len)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (r->v[i].len == len && memcmp(r->v[i].text, text, len) == 0)
			return true;
	return false;
}

static int pattern_new(struct pattern *p, const char *name, int name_len, const unsigned char *text, size_t len)
{
	p->text = malloc(len);
	p->fall = calloc(len, sizeof(*p->fall));
	if (!p->text || !p->fall) {
		pattern_free(p);
		return OC_ENOMEM;
	}
	p->len = len;
	memcpy(p->text, text, len);
	snprintf(p->label, sizeof(p->label), "[secret %.*s]", name_len > 160 ? 160 : name_len, name);
	prepare(p);
	return 0;
}

/* As a string of JSON has it: agents write their messages so, and a key of many lines is there in no other form. */
static size_t in_json(const unsigned char *text, size_t len, unsigned char *out)
{
	static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
	size_t i, n = 0;

	for (i = 0; i < len; i++) {
		const char *escape = text[i] ? strchr(from, text[i]) : NULL;

		if (escape) {
			out[n++] = '\\';
			out[n++] = (unsigned char)to[escape - from];
		} else if (text[i] < ' ') {
			n += (size_t)snprintf((char *)out + n, 7, "\\u%04x", text[i]);
		} else {
			out[n++] = text[i];
		}
	}
	return n;
}

/* Both forms, each where it is worth looking for. */
static int forms(struct pattern out[FORMS], const char *name, int name_len, const unsigned char *text, size_t len)
{
	unsigned char *json = malloc(len * 6 + 1);
	size_t n;
	int rc = json ? 0 : OC_ENOMEM;

	if (rc == 0 && len >= OC_REDACT_MIN)
		rc = pattern_new(&out[0], name, name_len, text, len);
	if (rc < 0) {
		free(json);
		return rc;
	}
	n = in_json(text, len, json);
	if (n >= OC_REDACT_MIN && (n != len || memcmp(json, text, n) != 0))
		rc = pattern_new(&out[1], name, name_len, json, n);
	explicit_bzero(json, n);
	free(json);
	if (rc < 0)
		pattern_free(&out[0]);
	return rc;
}

static int add_value(struct oc_redact *r, const struct oc_value *v)
{
	const char *equals = memchr(v->entry, '=', v->len);
	const unsigned char *text = (const unsigned char *)equals + 1;
	size_t len = v->len - (size_t)(equals + 1 - v->entry);
	struct pattern made[FORMS] = { { .text = NULL } };
	int rc;

	/* Shells drop the newlines at its end. */
	while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	rc = forms(made, v->entry, (int)(equals - v->entry), text, len);
	for (size_t i = 0; i < FORMS; i++) {
		if (!made[i].len || known(r, made[i].text, made[i].len)) {
			pattern_free(&made[i]);
			continue;
		}
		r->v[r->n++] = made[i];
		r->longest = OC_MAX(r->longest, made[i].len);
	}
	return rc;
}

int oc_redact_new(const struct oc_values *values, struct oc_redact **out, oc_error **err)
{
	struct oc_redact *r;
	size_t i, n = 0;
	int rc = 0;

	*out = NULL;
	for (i = 0; values && i < values->n; i++)
		n += values->v[i].secret ? FORMS : 0;
	if (!n && values)
		return 0;
	r = calloc(1, sizeof(*r) + (LATER + n) * sizeof(r->v[0]));
	if (!r)
		return oc_nomem(err);
	r->n = LATER;
	for (i = 0; rc == 0 && values && i < values->n; i++)
		if (values->v[i].secret)
			rc = add_value(r, &values->v[i]);
	if (rc < 0 || (values && r->n == LATER)) {
		oc_redact_free(r);
		return rc < 0 ? oc_nomem(err) : 0;
	}
	*out = r;
	return 0;
}

/* Room for values of so many bytes; what is held stays. */
static int fit(struct oc_redact_stream *s, size_t longest)
{
	/* Spans are apart, and none is shorter than a value. */
	size_t spans = (longest + SLICE) / OC_REDACT_MIN + 2;
	unsigned char *held;
	struct span *more;

	if (s->held && s->room >= longest)
		return 0;
	held = malloc(longest + 1);
	more = held ? realloc(s->spans, spans * sizeof(*more)) : NULL;
	if (!more) {
		free(held);
		return OC_ENOMEM;
	}
	s->spans = more;
	if (s->held) {
		memcpy(held, s->held, s->held_len);
		explicit_bzero(s->held, s->room);
	}
	free(s->held);
	s->held = held;
	s->room = longest;
	return 0;
}

int oc_redact_stream_new(const struct oc_redact *r, struct oc_redact_stream **out, oc_error **err)
{
	struct oc_redact_stream *s = calloc(1, sizeof(*s) + r->n * sizeof(s->state[0]));

	if (!s)
		return oc_nomem(err);
	s->r = r;
	if (fit(s, r->longest) < 0) {
		oc_redact_stream_free(s);
		return oc_nomem(err);
	}
	*out = s;
	return 0;
}

int oc_redact_later(struct oc_redact *r, size_t slot, const char *name, const char *text, size_t len,
                    struct oc_redact_stream *const *streams, size_t n, oc_error **err)
{
	struct pattern made[FORMS] = { { .text = NULL } };
	size_t i, j, longest = r->longest, at = slot * FORMS;
	int rc = forms(made, name, (int)strlen(name), (const unsigned char *)text, len);

	for (i = 0; i < FORMS; i++)
		longest = OC_MAX(longest, made[i].len);
	for (i = 0; rc == 0 && i < n; i++)
		rc = streams[i] ? fit(streams[i], longest) : 0;
	if (rc < 0) {
		pattern_free(&made[0]);
		pattern_free(&made[1]);
		return oc_nomem(err);
	}
	for (i = 0; i < FORMS; i++) {
		pattern_free(&r->v[at + i]);
		r->v[at + i] = made[i];
		for (j = 0; j < n; j++)
			if (streams[j])
				streams[j]->state[at + i] = 0;
	}
	r->longest = longest;
	return 0;
}

void oc_redact_stream_free(struct oc_redact_stream *s)
{
	if (!s)
		return;
	if (s->held)
		explicit_bzero(s->held, s->room);
	free(s->held);
	free(s->spans);
	free(s);
}

/* The found one and all that it overlaps become one span. */
static void cover(struct oc_redact_stream *s, size_t from, size_t to, const struct pattern *p)
{
	struct span one = { from, to, p };
	size_t first = 0, last;

	while (first < s->n_spans && s->spans[first].to <= from)
		first++;
	for (last = first; last < s->n_spans && s->spans[last].from < to; last++) {
		const struct span *old = &s->spans[last];

		/* Before one.from is set to the least of them; a name that is out is of one that began earlier still. */
		if (!old->pattern || (one.pattern && (old->from < one.from ||
		                                      (old->from == one.from && old->pattern->len > one.pattern->len))))
			one.pattern = old->pattern;
		one.from = OC_MIN(one.from, old->from);
		one.to = OC_MAX(one.to, old->to);
	}
	memmove(&s->spans[first + 1], &s->spans[last], (s->n_spans - last) * sizeof(one));
	s->n_spans = s->n_spans - (last - first) + 1;
	s->spans[first] = one;
}

/* One value in a slice whose first byte is at position `at`; how much of the value the slice ends with. */
static size_t scan(struct oc_redact_stream *s, const struct pattern *p, size_t k, const unsigned char *data, size_t len,
                   size_t at)
{
	size_t i = 0;

	while (i < len) {
		if (k == 0) {
			const unsigned char *first = memchr(data + i, p->text[0], len - i);

			if (!first)
				return 0;
			i = (size_t)(first - data);
		}
		while (k && p->text[k] != data[i])
			k = p->fall[k - 1];
		if (p->text[k] == data[i])
			k++;
		i++;
		if (k == p->len) {
			cover(s, at + i - p->len, at + i, p);
			k = p->fall[k - 1];
		}
	}
	return k;
}

struct emission {
	struct oc_redact_stream *s;
	const unsigned char *data; /* at position s->held_len */
	size_t done;               /* all before it is out */
	oc_redact_fn fn;
	void *userdata;
};

static void plain(struct emission *e, size_t to)
{
	size_t held = e->s->held_len;

	if (e->done < held && e->done < to) {
		e->fn(e->s->held + e->done, OC_MIN(to, held) - e->done, e->userdata);
		e->done = OC_MIN(to, held);
	}
	if (e->done < to)
		e->fn(e->data + (e->done - held), to - e->done, e->userdata);
	e->done = OC_MAX(e->done, to);
}

/* Everything before `limit` is decided.  Spans that begin before it are named and dropped; plain text is left for one
 * piece as long as can be. */
static void decide(struct emission *e, size_t limit)
{
	struct oc_redact_stream *s = e->s;
	size_t i;

	for (i = 0; i < s->n_spans && s->spans[i].from < limit; i++) {
		struct span *one = &s->spans[i];

		plain(e, one->from);
		if (one->pattern)
			e->fn(one->pattern->label, strlen(one->pattern->label), e->userdata);
		one->pattern = NULL;
		e->done = OC_MAX(e->done, OC_MIN(one->to, limit));
		if (one->to > limit) {
			one->from = limit;
			break;
		}
	}
	memmove(s->spans, &s->spans[i], (s->n_spans - i) * sizeof(s->spans[0]));
	s->n_spans -= i;
}

/* Keep what is not decided: [limit, total), of what was held and what came. */
static void hold(struct emission *e, size_t limit, size_t total)
{
	struct oc_redact_stream *s = e->s;
	size_t old = limit < s->held_len ? s->held_len - limit : 0, i;

	if (old)
		memmove(s->held, s->held + limit, old);
	if (total > limit + old)
		memcpy(s->held + old, e->data + (limit + old - s->held_len), total - limit - old);
	s->held_len = total - limit;
	s->shown = e->done - limit;
	for (i = 0; i < s->n_spans; i++) {
		s->spans[i].from -= limit;
		s->spans[i].to -= limit;
	}
}

void oc_redact_feed(struct oc_redact_stream *s, const void *data, size_t len, oc_redact_fn fn, void *userdata)
{
	struct emission e = { s, data, s->shown, fn, userdata };
	size_t at, limit = 0, i;

	if (!len)
		return;
	for (at = 0; at < len; at += SLICE) {
		size_t n = OC_MIN(len - at, (size_t)SLICE), longest = 0;

		for (i = 0; i < s->r->n; i++) {
			if (s->r->v[i].len)
				s->state[i] = scan(s, &s->r->v[i], s->state[i], e.data + at, n, s->held_len + at);
			longest = OC_MAX(longest, s->state[i]);
		}
		limit = s->held_len + at + n - longest;
		decide(&e, limit);
	}
	plain(&e, limit);
	hold(&e, limit, s->held_len + len);
}

void oc_redact_idle(struct oc_redact_stream *s, oc_redact_fn fn, void *userdata)
{
	/* A span that waits is a value already. */
	if (s->n_spans || s->held_len > OC_REDACT_SHOWN || s->shown == s->held_len)
		return;
	fn(s->held + s->shown, s->held_len - s->shown, userdata);
	s->shown = s->held_len;
}

void oc_redact_end(struct oc_redact_stream *s, oc_redact_fn fn, void *userdata)
{
	struct emission e = { s, NULL, s->shown, fn, userdata };

	decide(&e, s->held_len);
	plain(&e, s->held_len);
	s->held_len = s->shown = s->n_spans = 0;
	memset(s->state, 0, s->r->n * sizeof(s->state[0]));
}

struct text {
	struct oc_buf *out;
	int rc;
};

static void gather(const void *data, size_t len, void *userdata)
{
	struct text *t = userdata;

	t->rc = t->rc < 0 ? t->rc : oc_buf_add(t->out, data, len);
}

int oc_redact_text(const struct oc_redact *r, const void *data, size_t len, struct oc_buf *out)
{
	struct oc_redact_stream *s = NULL;
	struct text t = { out, 0 };
	size_t before = out->len;

	if (!r)
		return len ? oc_buf_add(out, data, len) : 0;
	if (oc_redact_stream_new(r, &s, NULL) < 0)
		return OC_ENOMEM;
	oc_redact_feed(s, data, len, gather, &t);
	oc_redact_end(s, gather, &t);
	oc_redact_stream_free(s);
	if (t.rc < 0 && out->data)
		out->data[out->len = before] = '\0';
	return t.rc;
}
