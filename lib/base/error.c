/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"

/* Defined here, so without the wrappers of the header. */
#undef oc_fail
#undef oc_refuse
#undef oc_nomem
#undef oc_error_make
#undef oc_error_makef
#undef oc_error_from_json

#define TEXT_MAX  4096 /* of one text, escaped */
#define CHAIN_MAX 64

struct oc_error {
	int code, errnum;
	char *reason, *subject, *fix, *message;
	oc_error *next;
	char *json; /* made when asked for */
};

/* What there is when there is no memory for more; never written to, never freed. */
static const oc_error nomem_error = {
	.code = OC_ENOMEM,
	.message = (char *)"out of memory",
	.json = (char *)"{\"reason\":null,\"subject\":null,\"message\":\"out of memory\",\"fix\":null,"
	                "\"code\":-2,\"errno\":0,\"more\":[]}",
};

int oc_nomem(oc_error **err)
{
	if (err)
		*err = (oc_error *)&nomem_error;
	return OC_ENOMEM;
}

static void free_one(oc_error *err)
{
	if (err == &nomem_error)
		return;
	free(err->reason);
	free(err->subject);
	free(err->fix);
	free(err->message);
	free(err->json);
	free(err);
}

void oc_error_free(oc_error *err)
{
	while (err) {
		oc_error *next = err->next;

		free_one(err);
		err = next;
	}
}

/* Longer texts are cut, between characters, and say so. */
static char *bounded_copy(const char *text)
{
	size_t len = strnlen(text, TEXT_MAX + 1);
	bool cut = len > TEXT_MAX;
	struct oc_buf b;
	char *out = NULL;

	if (cut)
		for (len = TEXT_MAX; len > TEXT_MAX - 4 && ((unsigned char)text[len] & 0xc0) == 0x80;)
			len--;
	oc_buf_init(&b, (size_t)TEXT_MAX * 12);
	if (oc_text_escape(&b, text, len, false) == 0 && (!cut || oc_buf_puts(&b, "...") == 0))
		out = oc_buf_steal(&b);
	oc_buf_free(&b);
	return out;
}

static char *format_message(int errnum, const char *fmt, va_list ap)
{
	const char *system = errnum ? strerrordesc_np(abs(errnum)) : NULL;
	struct oc_buf b;
	char *out = NULL;

	oc_buf_init(&b, OC_JSON_MAX);
	if (oc_buf_vprintf(&b, fmt, ap) < 0)
		goto out;
	if (system && !strstr(b.data, system) && oc_buf_printf(&b, ": %s", system) < 0)
		goto out;
	out = bounded_copy(b.data ? b.data : "");
out:
	oc_buf_free(&b);
	return out;
}

static bool copy_into(char **out, const char *text)
{
	*out = text ? bounded_copy(text) : NULL;
	return *out || !text;
}

bool oc_reason_known(const char *reason)
{
	static const char *const known[] = {
		"sandbox_denied",   "sandbox_unavailable", "sandbox_config",     "sandbox_workspace",
		"sandbox_conflict", "container_running",   "secret_missing",     "run_lost",
		"pin_mismatch",     "provider_failed",     "workspace_conflict", "receipt_broken"
	};
	size_t i;

	for (i = 0; reason && i < OC_COUNT(known); i++)
		if (!strcmp(reason, known[i]))
			return true;
	return false;
}

/* No refusal without a line to paste: where nothing better was given, what helps with that reason. */
static const char *default_fix(const char *reason)
{
	static const struct {
		const char *reason, *fix;
	} fixes[] = {
		{ "sandbox_denied", "man 5 open-conduit-policy" },
		{ "sandbox_config", "man 5 open-conduit-policy" },
		{ "sandbox_workspace", "man 5 open-conduit-policy" },
		{ "sandbox_conflict", "man 5 open-conduit-policy" },
		{ "sandbox_unavailable", "open-conduit doctor" },
		{ "provider_failed", "open-conduit doctor" },
		{ "secret_missing", "man open-conduit-exec" },
		{ "run_lost", "open-conduit runs list" },
		{ "pin_mismatch", "open-conduit runs list" },
	};
	size_t i;

	for (i = 0; reason && i < OC_COUNT(fixes); i++)
		if (strcmp(fixes[i].reason, reason) == 0)
			return fixes[i].fix;
	return reason ? "man 7 openconduit-reasons" : NULL;
}

int oc_error_make(oc_error **err, int code, int errnum, const char *reason, const char *subject, const char *fix,
                  const char *fmt, va_list ap)
{
	oc_error *e;

	if (!err)
		return code;
	e = calloc(1, sizeof(*e));
	if (!e)
		goto nomem;
	e->code = code;
	e->errnum = abs(errnum);
	e->message = format_message(errnum, fmt, ap);
	if (!e->message || !copy_into(&e->reason, reason) || !copy_into(&e->subject, subject) ||
	    !copy_into(&e->fix, fix ? fix : default_fix(reason)))
		goto nomem;
	*err = e;
	return code;
nomem:
	oc_error_free(e);
	oc_nomem(err);
	/* The caller still learns what went wrong; only the words are lost. */
	return code;
}

int oc_error_makef(oc_error **err, int code, int errnum, const char *reason, const char *subject, const char *fix,
                   const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	code = oc_error_make(err, code, errnum, reason, subject, fix, fmt, ap);
	va_end(ap);
	return code;
}

int oc_fail(oc_error **err, int code, int errnum, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	code = oc_error_make(err, code, errnum, NULL, NULL, NULL, fmt, ap);
	va_end(ap);
	return code;
}

int oc_refuse(oc_error **err, const char *reason, const char *subject, const char *fix, const char *fmt, ...)
{
	va_list ap;
	int code;

	va_start(ap, fmt);
	code = oc_error_make(err, OC_EREFUSED, 0, reason, subject, fix, fmt, ap);
	va_end(ap);
	return code;
}

static void forget_json(oc_error *err)
{
	free(err->json);
	err->json = NULL;
}

void oc_prefix(oc_error **err, const char *fmt, ...)
{
	oc_error *e = err ? *err : NULL;
	char *message = NULL, *old;
	struct oc_buf b;
	va_list ap;

	if (!e || e == &nomem_error)
		return;
	oc_buf_init(&b, OC_JSON_MAX);
	va_start(ap, fmt);
	if (oc_buf_vprintf(&b, fmt, ap) == 0 && oc_buf_printf(&b, ": %s", e->message) == 0)
		message = bounded_copy(b.data);
	va_end(ap);
	oc_buf_free(&b);
	if (!message)
		return;
	old = e->message;
	e->message = message;
	free(old);
	forget_json(e);
}

void oc_error_append(oc_error **err, oc_error *more)
{
	size_t n = 0;

	if (!err || !more || *err == &nomem_error) {
		oc_error_free(more);
		return;
	}
	if (!*err) {
		*err = more;
		return;
	}
	forget_json(*err);
	for (; *err && n < CHAIN_MAX; n++) {
		if (*err == &nomem_error)
			break;
		err = &(*err)->next;
	}
	if (*err || n == CHAIN_MAX)
		oc_error_free(more);
	else
		*err = more;
}

int oc_error_code(const oc_error *err)
{
	return err ? err->code : OC_OK;
}

int oc_error_errno(const oc_error *err)
{
	return err ? err->errnum : 0;
}

const char *oc_error_reason(const oc_error *err)
{
	return err ? err->reason : NULL;
}

const char *oc_error_subject(const oc_error *err)
{
	return err ? err->subject : NULL;
}

const char *oc_error_message(const oc_error *err)
{
	return err ? err->message : "no error";
}

const char *oc_error_fix(const oc_error *err)
{
	return err ? err->fix : NULL;
}

const oc_error *oc_error_next(const oc_error *err)
{
	return err ? err->next : NULL;
}

static json_t *one_to_json(const oc_error *err)
{
	json_t *json = json_object();

	if (oc_json_set_string(json, "reason", err->reason) && oc_json_set_string(json, "subject", err->subject) &&
	    oc_json_set_string(json, "message", err->message) && oc_json_set_string(json, "fix", err->fix) &&
	    oc_json_set(json, "code", json_integer(err->code)) && oc_json_set(json, "errno", json_integer(err->errnum)))
		return json;
	json_decref(json);
	return NULL;
}

json_t *oc_error_to_json(const oc_error *err)
{
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	json_t *more;

	if (!err)
		return json_null();
	json = one_to_json(err);
	more = json ? json_array() : NULL;
	if (!oc_json_set(json, "more", more))
		return NULL;
	for (err = err->next; err; err = err->next)
		if (!oc_json_append(more, one_to_json(err)))
			return NULL;
	return oc_steal(json);
}

const char *oc_error_json(const oc_error *err)
{
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	oc_error *cache = (oc_error *)err;
	struct oc_buf b;

	if (!err || err->json)
		return err ? err->json : NULL;
	json = oc_error_to_json(err);
	oc_buf_init(&b, OC_JSON_MAX);
	if (json && oc_json_canonical(json, &b, NULL) == 0)
		cache->json = oc_buf_steal(&b);
	oc_buf_free(&b);
	return cache->json;
}

static bool reason_valid(const char *reason)
{
	size_t n = strspn(reason, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return n > 0 && n <= 64 && reason[n] == '\0';
}

/* A malformed error is an error too: never fewer errors than were sent. */
static int one_from_json(oc_error **err, const json_t *json)
{
	const char *reason = NULL, *subject = NULL, *message = NULL, *fix = NULL;
	int64_t code = 0, errnum = 0;
	json_t *more = NULL;
	const struct oc_json_key keys[] = {
		{ "reason", OC_JSON_STRING | OC_JSON_NULL_OK, false, &reason },
		{ "subject", OC_JSON_STRING | OC_JSON_NULL_OK, false, &subject },
		{ "message", OC_JSON_STRING, true, &message },
		{ "fix", OC_JSON_STRING | OC_JSON_NULL_OK, false, &fix },
		{ "code", OC_JSON_INT, false, &code },
		{ "errno", OC_JSON_INT, false, &errnum },
		{ "more", OC_JSON_ARRAY, false, &more },
	};

	if (oc_json_unpack(json, "", NULL, keys, OC_COUNT(keys), NULL) < 0 || (reason && !reason_valid(reason)))
		return oc_fail(err, OC_EPROTO, 0, "the other side sent a malformed error");
	if (code >= 0 || code < OC_ETIME)
		code = reason ? OC_EREFUSED : OC_EFAILED;
	if (errnum < 0 || errnum > 4095)
		errnum = 0;
	/* The message has the errno's description already; errno is set after it is made. */
	code = oc_error_makef(err, (int)code, 0, reason, subject, fix, "%s", message);
	if (err && *err != &nomem_error)
		(*err)->errnum = (int)errnum;
	return (int)code;
}

int oc_error_from_json(oc_error **err, const json_t *json)
{
	const json_t *more = json_object_get(json, "more"), *item;
	int code = one_from_json(err, json);
	size_t i;

	if (!err)
		return code;
	json_array_foreach(more, i, item)
	{
		oc_error *next = NULL;

		if (i >= CHAIN_MAX)
			break;
		one_from_json(&next, item);
		oc_error_append(err, next);
	}
	return code;
}
