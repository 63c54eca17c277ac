/* SPDX-License-Identifier: Apache-2.0 */
/* How a refusal looks:
 *
 *   open-conduit: not run: sandbox_denied
 *     what   the policy doesn't grant a path that the run needs
 *     about  /srv/data
 *     fix    mkdir -p /srv/data
 *     and    what else is wrong with the same, and mended by it
 */
#include "host.h"

#include <stdlib.h>
#include <string.h>

#define MORE_MAX 12

static void line(struct out *o, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	out_put(o, "  ");
	out_styled(o, STYLE_DIM, label);
	out_printf(o, "%-*s%s\n", 7 - (int)strlen(label), "", text);
}

static void block(struct out *o, const json_t *error)
{
	line(o, "what", host_string(error, "message"));
	line(o, "about", host_string(error, "subject"));
	line(o, "fix", host_string(error, "fix"));
}

static void headline(struct out *o, const char *what, const json_t *error)
{
	const char *reason = host_string(error, "reason");

	out_put(o, "open-conduit: ");
	out_styled(o, STYLE_RED, what);
	if (reason)
		out_printf(o, ": %s", reason);
	out_put(o, "\n");
}

static bool same(const json_t *a, const json_t *b, const char *member)
{
	return json_equal(json_object_get(a, member), json_object_get(b, member)) != 0;
}

static void another(struct out *o, const json_t *error, const json_t *last, const json_t *one)
{
	const char *reason = host_string(one, "reason");

	if (same(last, one, "reason") && same(last, one, "subject") && same(last, one, "fix")) {
		line(o, "and", host_string(one, "message"));
		return;
	}
	out_put(o, "  and");
	if (reason && !same(error, one, "reason"))
		out_printf(o, ": %s", reason);
	out_put(o, "\n");
	block(o, one);
}

void host_report_json(struct host *h, const char *what, const json_t *error)
{
	const json_t *more = json_object_get(error, "more"), *one, *last = error;
	size_t i;

	headline(&h->err, what, error);
	block(&h->err, error);
	json_array_foreach(more, i, one)
	{
		if (i == MORE_MAX) {
			out_printf(&h->err, "  … and %zu more, which --json lists\n", json_array_size(more) - i);
			break;
		}
		another(&h->err, error, last, one);
		last = one;
	}
	out_flush(&h->err);
	if (h->json) {
		json_t *answer = host_answer();

		json_object_set_new(answer, "error", json_deep_copy(error));
		out_json(&h->out, answer);
	}
}

json_t *host_error_json(const oc_error *err)
{
	const char *text = oc_error_json(err);
	json_t *json = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;

	if (json)
		return json;
	return json_pack("{s:s?,s:s?,s:s,s:s?,s:i,s:i,s:[]}", "reason", oc_error_reason(err), "subject",
	                 oc_error_subject(err), "message", oc_error_message(err), "fix", oc_error_fix(err), "code",
	                 oc_error_code(err), "errno", oc_error_errno(err), "more");
}

/* A name given on the command line need not be UTF-8; JSON must be. */
static json_t *text_json(const char *s)
{
	json_t *json = s ? json_string(s) : json_null();
	struct text escaped = { 0 };

	if (json)
		return json;
	text_escape(&escaped, s, true);
	json = json_string(escaped.data ? escaped.data : "");
	text_free(&escaped);
	return json;
}

json_t *host_refusal_json(const struct refusal *r)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:i,s:i,s:[]}", "reason", text_json(r->reason), "subject",
	                 text_json(r->subject), "message", text_json(r->message), "fix", text_json(r->fix), "code",
	                 OC_EREFUSED, "errno", 0, "more");
}

void host_report(struct host *h, const char *what, const oc_error *err)
{
	json_t *json = host_error_json(err);

	host_report_json(h, what, json);
	json_decref(json);
}

void host_refuse(struct host *h, const char *what, const struct refusal *r)
{
	json_t *json = host_refusal_json(r);

	host_report_json(h, what, json);
	json_decref(json);
}
