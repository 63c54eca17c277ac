/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/utf8.h"
#include "guard/mcp_internal.h"

#define DIGITS_MAX 15 /* more may be beyond 2^53 - 1; base/json.h knows, and only what it refused comes here */
#define NO_NUMBER  "\"\\u0000\""

static size_t string_end(const char *text, size_t at, size_t len)
{
	for (at++; at < len && text[at] != '"'; at++)
		at += text[at] == '\\';
	return OC_MIN(at + 1, len);
}

static size_t digits_end(const char *text, size_t at, size_t len)
{
	while (at < len && text[at] >= '0' && text[at] <= '9')
		at++;
	return at;
}

/* Where the number ends, and whether it is one for which base/json.h has no place; what is no number of JSON at all is left
 * to be refused. */
static size_t number_end(const char *text, size_t at, size_t len, bool *soft)
{
	size_t whole = at + (text[at] == '-'), end = digits_end(text, whole, len), from;

	*soft = end - whole > DIGITS_MAX;
	if (end == whole || (text[whole] == '0' && end - whole > 1))
		goto none;
	if (end < len && text[end] == '.') {
		from = end + 1;
		end = digits_end(text, from, len);
		*soft = true;
		if (end == from)
			goto none;
	}
	if (end < len && (text[end] | 0x20) == 'e') {
		from = end + 1;
		from += from < len && (text[from] == '+' || text[from] == '-');
		end = digits_end(text, from, len);
		*soft = true;
		if (end == from)
			goto none;
	}
	return end;
none:
	*soft = false;
	return OC_MAX(end, at + 1);
}

int oc_mcp_soften(const char *text, size_t len, struct oc_buf *out)
{
	size_t kept = 0, at = 0, end, found = 0;
	bool soft;
	int rc = 0;

	while (at < len && rc == 0) {
		if (text[at] == '"') {
			at = string_end(text, at, len);
			continue;
		}
		if (text[at] != '-' && (text[at] < '0' || text[at] > '9')) {
			at++;
			continue;
		}
		end = number_end(text, at, len, &soft);
		if (soft) {
			found++;
			rc = oc_buf_add(out, text + kept, at - kept);
			if (rc == 0)
				rc = oc_buf_puts(out, NO_NUMBER);
			kept = end;
		}
		at = end;
	}
	if (rc == 0)
		rc = oc_buf_add(out, text + kept, len - kept);
	return rc == 0 && !found ? OC_ENOTFOUND : rc;
}

void oc_mcp_put(struct oc_buf *out, const char *text, int *rc)
{
	if (*rc == 0)
		*rc = oc_buf_puts(out, text);
}

void oc_mcp_put_json(struct oc_buf *out, const json_t *json, int *rc)
{
	if (*rc == 0)
		*rc = oc_json_canonical(json, out, NULL);
}

/* As it is: a text may be JSON, or hold a character that only a terminal minds. */
void oc_mcp_put_text(struct oc_buf *out, const char *text, int *rc)
{
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	struct oc_buf plain;

	oc_buf_init(&plain, OC_MCP_SENT);
	if (*rc == 0 && !oc_utf8_valid(text, strlen(text))) {
		*rc = oc_text_escape(&plain, text, strlen(text), true);
		text = plain.data;
	}
	json = *rc == 0 ? json_string(text) : NULL;
	if (*rc == 0 && !json)
		*rc = OC_ENOMEM;
	oc_mcp_put_json(out, json, rc);
	oc_buf_free(&plain);
}

void oc_mcp_put_shown(struct oc_buf *out, const char *text, int *rc)
{
	if (*rc == 0)
		*rc = oc_text_excerpt(out, text, OC_MCP_SHOWN);
}

/* By hand: printf writes the point of the locale. */
void oc_mcp_put_number(struct oc_buf *out, struct oc_mcp_number n, int *rc)
{
	char digits[8];
	int left = n.millionths;
	size_t end = 6;

	if (*rc == 0)
		*rc = oc_buf_printf(out, "%lld", n.whole);
	if (!left)
		return;
	for (size_t i = 6; i > 0; i--, left /= 10)
		digits[i - 1] = (char)('0' + left % 10);
	while (digits[end - 1] == '0')
		end--;
	digits[end] = '\0';
	oc_mcp_put(out, ".", rc);
	oc_mcp_put(out, digits, rc);
}

bool oc_mcp_number(double value, struct oc_mcp_number *out)
{
	/* What isn't a number is not less than anything. */
	if (!(value >= 0 && value < 9007199254740991.0))
		return false;
	out->whole = (long long)value;
	out->millionths = (int)((value - (double)out->whole) * 1e6 + 0.5);
	if (out->millionths >= 1000000) {
		out->whole++;
		out->millionths = 0;
	}
	return true;
}
