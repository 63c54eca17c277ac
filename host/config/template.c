/* SPDX-License-Identifier: Apache-2.0 */
#include "template.h"

#include <string.h>

#include "text.h"

#define BRANCH_MAX 200 /* a ref is a file below refs/heads, with a lock beside it while it is written */

static size_t name_length(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_.");

	return n && s[0] >= 'a' && s[0] <= 'z' && s[n - 1] != '.' ? n : 0;
}

const char *template_fill(struct text *out, const char *text, template_value value, void *userdata, size_t *at,
                          size_t *len)
{
	for (const char *s = text; *s;) {
		const char *filled;
		size_t n = strcspn(s, "{}");

		text_add(out, s, n);
		s += n;
		if (!*s)
			break;
		if (s[0] == s[1]) {
			text_add(out, s, 1);
			s += 2;
			continue;
		}
		n = *s == '{' ? name_length(s + 1) : 0;
		if (at)
			*at = (size_t)(s - text);
		if (len)
			*len = n ? n + 1 : 1;
		if (*s == '}')
			return "a \"}\" that closes nothing; a brace itself is written twice";
		if (!n || s[n + 1] != '}')
			return "a \"{\" without a name and \"}\" after it; a brace itself is written twice";
		filled = value(s + 1, n, userdata);
		if (len)
			*len = n + 2;
		if (!filled)
			return "a placeholder that nothing fills";
		text_puts(out, filled);
		s += n + 2;
	}
	text_puts(out, "");
	return NULL;
}

static const char *component_check(const char *part, size_t n)
{
	if (!n)
		return "has an empty part: a \"/\" at an end, or two in a row";
	if (part[0] == '.')
		return "has a part that begins with \".\"";
	if (part[n - 1] == '.')
		return "has a part that ends with \".\"";
	if (n >= 5 && !strncmp(part + n - 5, ".lock", 5))
		return "has a part that ends with \".lock\"";
	return NULL;
}

const char *branch_name_check(const char *name)
{
	const char *why = NULL;

	if (!*name)
		return "is empty";
	if (strlen(name) > BRANCH_MAX)
		return "is longer than 200 bytes";
	if (*name == '-')
		return "begins with \"-\"";
	if (!strcmp(name, "HEAD") || !strcmp(name, "@") || !strncmp(name, "refs/", 5))
		return "is a name of git's own";
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c <= 0x20 || (unsigned char)*c == 0x7f || strchr("~^:?*[\\", *c))
			return "holds a space, a control character, or one of ~ ^ : ? * [ \\";
	if (strstr(name, "..") || strstr(name, "@{"))
		return "holds \"..\" or \"@{\"";
	if (text_valid(name, strlen(name)) != strlen(name))
		return "is not UTF-8";
	for (const char *part = name; !why; part += strcspn(part, "/") + 1) {
		size_t n = strcspn(part, "/");

		why = component_check(part, n);
		if (!part[n])
			break;
	}
	return why;
}
