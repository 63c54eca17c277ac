/* SPDX-License-Identifier: Apache-2.0 */
/* How a refusal looks:
 *
 *   open-conduit: not run: sandbox_denied
 *     what   the policy doesn't grant a path that the run needs
 *     about  /srv/data
 *     fix    mkdir -p /srv/data
 */
#include "host.h"

#include <stdlib.h>
#include <string.h>

#define MORE_MAX 50

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

void host_report_json(struct host *h, const char *what, const json_t *error)
{
	const json_t *more = json_object_get(error, "more"), *one;
	const char *reason = host_string(error, "reason");
	size_t i;

	headline(&h->err, what, error);
	block(&h->err, error);
	json_array_foreach(more, i, one)
	{
		const char *other = host_string(one, "reason");

		if (i == MORE_MAX) {
			out_printf(&h->err, "  … and %zu more\n", json_array_size(more) - i);
			break;
		}
		out_put(&h->err, "  and");
		if (other && (!reason || strcmp(reason, other) != 0))
			out_printf(&h->err, ": %s", other);
		out_put(&h->err, "\n");
		block(&h->err, one);
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
