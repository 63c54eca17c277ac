/* SPDX-License-Identifier: Apache-2.0 */
#include "common/util.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The length of the UTF-8 sequence at p, 0 if there is none. */
static size_t utf8_len(const unsigned char *p)
{
	static const struct {
		unsigned char mask, lead, low, high; /* of the first byte; range of the second */
	} forms[] = {
		{ 0xe0, 0xc0, 0x80, 0xbf }, { 0xff, 0xe0, 0xa0, 0xbf }, { 0xff, 0xed, 0x80, 0x9f },
		{ 0xf0, 0xe0, 0x80, 0xbf }, { 0xff, 0xf0, 0x90, 0xbf }, { 0xff, 0xf4, 0x80, 0x8f },
		{ 0xf8, 0xf0, 0x80, 0xbf },
	};
	static const size_t lengths[] = { 2, 3, 3, 3, 4, 4, 4 };

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	for (size_t i = 0; i < COUNT(forms); i++) {
		if ((p[0] & forms[i].mask) != forms[i].lead)
			continue;
		if (p[1] < forms[i].low || p[1] > forms[i].high)
			return 0;
		for (size_t k = 2; k < lengths[i]; k++)
			if ((p[k] & 0xc0) != 0x80)
				return 0;
		return lengths[i];
	}
	return 0;
}

char *shown(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	struct text t = { 0 };
	bool good = text_puts(&t, "");

	while (good && *p) {
		size_t len = utf8_len(p);
		char hex[5];

		/* C1 controls are two bytes. */
		if (len == 0 || *p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0)) {
			(void)snprintf(hex, sizeof(hex), "\\x%02x", *p);
			good = text_puts(&t, hex);
			p++;
		} else {
			good = text_add(&t, p, len);
			p += len;
		}
	}
	if (good)
		return t.data;
	text_clear(&t);
	return NULL;
}

int refuse(struct refusal *r, const char *reason, const char *subject, const char *fix, const char *fmt, ...)
{
	va_list ap;
	char *message = NULL;

	if (r->reason)
		return -1;
	r->reason = reason;
	r->subject = subject ? shown(subject) : NULL;
	r->fix = fix ? shown(fix) : NULL;
	va_start(ap, fmt);
	if (vasprintf(&message, fmt, ap) < 0)
		message = NULL;
	va_end(ap);
	r->message = message ? shown(message) : NULL;
	free(message);
	return -1;
}

int no_memory(struct refusal *r)
{
	return refuse(r, "provider_failed", NULL, NULL, "out of memory");
}

void refusal_clear(struct refusal *r)
{
	free(r->subject);
	free(r->fix);
	free(r->message);
	*r = (struct refusal){ 0 };
}

char *format(const char *fmt, ...)
{
	va_list ap;
	char *text = NULL;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	return text;
}

char *quoted(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
	struct text t = { 0 };
	bool good;

	if (*text && strspn(text, plain) == strlen(text))
		return strdup(text);
	for (good = text_puts(&t, "'"); good && *text; text++)
		good = *text == '\'' ? text_puts(&t, "'\\''") : text_add(&t, text, 1);
	if (good && text_puts(&t, "'"))
		return t.data;
	text_clear(&t);
	return NULL;
}

void freep(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

void json_freep(json_t **json)
{
	json_decref(*json);
}

void closep(int *fd)
{
	int e = errno;

	if (*fd >= 0)
		close(*fd);
	errno = e;
}

bool text_add(struct text *t, const void *data, size_t len)
{
	if (len >= SIZE_MAX / 2 - t->len)
		return false;
	if (t->len + len + 1 > t->cap) {
		size_t cap = (t->len + len + 1) * 2;
		char *more = realloc(t->data, cap);

		if (!more)
			return false;
		t->data = more;
		t->cap = cap;
	}
	if (len)
		memcpy(t->data + t->len, data, len);
	t->len += len;
	t->data[t->len] = '\0';
	return true;
}

bool text_puts(struct text *t, const char *s)
{
	return text_add(t, s, strlen(s));
}

void text_clear(struct text *t)
{
	free(t->data);
	*t = (struct text){ 0 };
}

int write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}
