/* SPDX-License-Identifier: Apache-2.0 */
/* How the reader and the checks tell what is wrong. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "opt.h"
#include "read.h"
#include "text.h"

const char *at(struct reading *r, const char *fmt, ...)
{
	char text[4096];
	const char *copy;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	copy = arena_text(r->arena, text);
	return copy ? copy : "";
}

const char *did_you_mean(struct reading *r, const char *word, const char *const *candidates)
{
	const char *near = opt_nearest(word, candidates);

	return near ? at(r, "write \"%s\"", near) : NULL;
}

const char *quoted_mkdir(struct reading *r, const char *path)
{
	struct text t = { 0 };
	const char *fix;

	text_puts(&t, "mkdir -p ");
	text_quote(&t, path);
	fix = t.failed ? "" : arena_text(r->arena, t.data);
	text_free(&t);
	return fix;
}

static struct report_place place_of(struct reading *r, const struct bad *what)
{
	struct report_place place = { .field = what->field, .subject = what->subject, .warning = what->warning };
	const char *field = what->field;
	const struct node *n = r->doc->root ? doc_find(r->doc->root, &field) : NULL;

	if (n)
		doc_place(r->doc, n->key ? n->key_at : n->at, &place.line, &place.column);
	return place;
}

void bad_as(struct reading *r, const struct bad *what, const char *fix, const char *fmt, ...)
{
	struct report_place place = place_of(r, what);
	char message[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	report_add(r->report, &place, what->reason ? what->reason : "sandbox_config", fix, "%s", message);
}

void bad(struct reading *r, const char *field, const char *fix, const char *fmt, ...)
{
	const struct bad what = { .field = field };
	char message[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	bad_as(r, &what, fix, "%s", message);
}

void bad_errors(struct reading *r, const char *field, bool beneath, const oc_error *err)
{
	for (; err; err = oc_error_next(err)) {
		const char *subject = oc_error_subject(err);
		bool whole = !subject || !strcmp(subject, "policy");
		struct bad what = { .field = beneath && !whole ? at(r, "%s.%s", field, subject) : field,
			            .subject = beneath ? NULL : subject };
		struct report_place place = place_of(r, &what);

		report_add_error(r->report, &place, err);
	}
}

bool texts_have(const struct config_texts *list, const char *word)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->v[i], word))
			return true;
	return false;
}

const struct config_pair *pairs_find(const struct config_pairs *pairs, const char *name)
{
	for (size_t i = 0; i < pairs->n; i++)
		if (!strcmp(pairs->v[i].name, name))
			return &pairs->v[i];
	return NULL;
}
