/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of a container: an image by its digest, what is mounted, hosts, limits. */
#include <stdlib.h>
#include <string.h>

#include "policy/parse.h"

#define NAME_MAX_BYTES 255
#define NANO           1000000000LL
#define CPUS_MAX       100000      /* more than any machine has; how many this one has is told when it is planned */
#define MEMORY_MIN     (6LL << 20) /* what the engine takes at least */
#define MEMORY_MAX     (1LL << 50)
#define PIDS_DEFAULT   4096
#define PIDS_MAX       4194304

static const char config[] = "sandbox_config";
static const char lower[] = "abcdefghijklmnopqrstuvwxyz0123456789";
static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
static const char decimal[] = "0123456789";

/* Past the string that begins at `at`; true when it holds U+0000, which only we may write. */
static bool skip_string(const char *text, size_t len, size_t *at)
{
	bool marked = false;

	for (++*at; *at < len && text[*at] != '"'; ++*at) {
		if (text[*at] != '\\' || *at + 1 >= len)
			continue;
		++*at;
		marked = marked || (len - *at >= 5 && memcmp(text + *at, "u0000", 5) == 0);
	}
	*at = OC_MIN(*at + 1, len);
	return marked;
}

static int put(struct oc_buf *out, const char *text, size_t len, bool fraction)
{
	int rc = fraction ? oc_buf_puts(out, "\"\\u0000") : 0;

	if (rc == 0)
		rc = oc_buf_add(out, text, len);
	return rc == 0 && fraction ? oc_buf_puts(out, "\"") : rc;
}

int oc_container_quote(const char *text, size_t len, struct oc_buf *out, oc_error **err)
{
	size_t at = 0;
	int rc = oc_buf_puts(out, "");

	while (at < len && rc == 0) {
		size_t from = at, whole = strspn(text + at, decimal), part;

		if (text[at] == '"') {
			if (skip_string(text, len, &at))
				return oc_refuse(err, config, "policy", "remove the U+0000", "the policy holds U+0000");
			rc = put(out, text + from, at - from, false);
			continue;
		}
		part = whole && text[at + whole] == '.' ? strspn(text + at + whole + 1, decimal) : 0;
		at += part ? whole + 1 + part : OC_MAX(whole, (size_t)1);
		/* What goes on like a number (1.5e3, 01.5) is none that is taken: it stays for the parser to refuse. */
		if (part && ((text[at] | 0x20) == 'e' || text[at] == '.' || (whole > 1 && text[from] == '0') ||
		             (from && text[from - 1] == '-')))
			part = 0;
		rc = put(out, text + from, at - from, part > 0);
	}
	return rc == 0 ? 0 : oc_nomem(err);
}

/* One path component of an image's name: lower case, with single separators between. */
static bool component_ok(const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t word = strspn(s + i, lower), sep;

		if (!word)
			return false;
		i += word;
		if (i == n)
			return true;
		sep = s[i] == '.' ? 1 : s[i] == '_' ? OC_MIN(strspn(s + i, "_"), (size_t)3) : strspn(s + i, "-");
		if (!sep || sep == 3)
			return false;
		i += sep;
	}
	return false;
}

/* HOST[:PORT] in front of a name. */
static bool registry_ok(const char *s, size_t n)
{
	size_t host = strspn(s, letters), port;

	while (host < n && (s[host] == '.' || s[host] == '-'))
		host += 1 + strspn(s + host + 1, letters);
	if (!host || host > n || s[0] == '.' || s[0] == '-' || s[host - 1] == '.' || s[host - 1] == '-')
		return false;
	if (host == n)
		return true;
	port = strspn(s + host + 1, decimal);
	return s[host] == ':' && port > 0 && port <= 5 && host + 1 + port == n;
}

static const char *image_check(const char *image)
{
	const char *at = strstr(image, "@sha256:"), *s = image;
	bool first = true;

	if (!at || strspn(at + 8, "0123456789abcdef") != 64 || at[72])
		return "is not pinned by a digest: NAME@sha256: and 64 lower case hexadecimal digits";
	if (at == image || at - image > NAME_MAX_BYTES)
		return "has no name, or one that is too long";
	for (; s <= at; s += strcspn(s, "/@") + 1, first = false) {
		size_t n = strcspn(s, "/@");
		bool last = s + n == at;

		if (first && !last && (memchr(s, '.', n) || memchr(s, ':', n) || !strncmp(s, "localhost/", 10))) {
			if (!registry_ok(s, n))
				return "begins with something that is no HOST[:PORT] of a registry";
		} else if (last && memchr(s, ':', n)) {
			return "has a tag beside its digest; the digest alone says which image it is";
		} else if (!component_ok(s, n)) {
			return "has a name that is no image's: lower case letters, digits, and . _ - between them";
		}
		if (last)
			break;
	}
	return NULL;
}

static void check_image(struct oc_parsing *p, const char *image)
{
	const char *why = image ? image_check(image) : NULL;

	if (why)
		oc_violate(&p->bad, config, "image",
		           "docker inspect --format '{{index .RepoDigests 0}}' IMAGE   # prints NAME@sha256:DIGEST",
		           "the image \"%.300s\" %s", image, why);
}

/* Digits with at most nine after the point, as so many billionths; -1. */
static int64_t nano_of(const char *text)
{
	size_t whole = strspn(text, decimal), part = text[whole] == '.' ? strspn(text + whole + 1, decimal) : 0;
	int64_t n = whole && whole <= 6 ? strtoll(text, NULL, 10) * NANO : -1, unit = NANO / 10;

	if (n < 0 || part > 9 || text[whole + (part ? part + 1 : 0)])
		return -1;
	for (size_t i = 0; i < part; i++, unit /= 10)
		n += (text[whole + 1 + i] - '0') * unit;
	return n;
}

static int64_t read_cpus(struct oc_parsing *p, const json_t *cpus)
{
	int64_t n = -1;

	if (!cpus)
		return 0;
	if (json_is_integer(cpus) && json_integer_value(cpus) <= CPUS_MAX)
		n = json_integer_value(cpus) * NANO;
	else if (json_is_string(cpus) && json_string_length(cpus) > 1 && !json_string_value(cpus)[0])
		n = nano_of(json_string_value(cpus) + 1);
	if (n < NANO / 100 || n > CPUS_MAX * NANO)
		oc_violate(&p->bad, config, "limits.cpus", "write \"cpus\": 4, or \"cpus\": 0.5",
		           "cpus must be a number from 0.01 to %d, with at most nine digits after the point", CPUS_MAX);
	return n;
}

static int64_t read_memory(struct oc_parsing *p, const char *text)
{
	static const char units[] = "bkmg";
	size_t digits = text ? strspn(text, decimal) : 0;
	const char *unit = NULL;
	int64_t n = -1;

	if (!text)
		return 0;
	if (digits && digits <= 15 && text[digits] && !text[digits + 1])
		unit = strchr(units, text[digits] | 0x20);
	if (digits && digits <= 15 && (unit || !text[digits])) {
		int shift = unit ? 10 * (int)(unit - units) : 0;

		n = strtoll(text, NULL, 10);
		n = n <= MEMORY_MAX >> shift ? n << shift : -1;
	}
	if (n < MEMORY_MIN || n > MEMORY_MAX)
		oc_violate(&p->bad, config, "limits.memory", "write \"memory\": \"8g\"",
		           "the memory \"%.100s\" must be digits with b, k, m or g after them, 6m at least", text);
	return n;
}

static json_t *read_limits(struct oc_parsing *p, const json_t *limits)
{
	json_t *cpus = NULL;
	const char *memory = NULL;
	int64_t pids = PIDS_DEFAULT;
	const struct oc_json_key keys[] = {
		{ "cpus", OC_JSON_ANY, false, &cpus },
		{ "memory", OC_JSON_STRING, false, &memory },
		{ "pids", OC_JSON_INT, false, &pids },
	};

	oc_parsing_unpack(p, limits, "limits", keys, OC_COUNT(keys));
	if (pids < 1 || pids > PIDS_MAX)
		oc_violate(&p->bad, config, "limits.pids", "write \"pids\": 4096", "pids must be from 1 to %d",
		           PIDS_MAX);
	return json_pack("{s:I, s:I, s:I}", "nano_cpus", (json_int_t)read_cpus(p, cpus), "memory",
	                 (json_int_t)read_memory(p, memory), "pids", (json_int_t)pids);
}

static const char *read_context(struct oc_parsing *p, const json_t *provider)
{
	const char *context = "default";
	const struct oc_json_key keys[] = { { "context", OC_JSON_STRING, false, &context } };
	size_t n;

	oc_parsing_unpack(p, provider, "provider", keys, OC_COUNT(keys));
	n = strspn(context, letters);
	while (n && context[n] && strchr("_.+-", context[n]))
		n += 1 + strspn(context + n + 1, letters);
	if (!n || context[n])
		oc_violate(&p->bad, config, "provider.context", "docker context ls   # lists them",
		           "\"%.100s\" can't be the name of a Docker context", context);
	return context;
}

json_t *oc_container_normalise(struct oc_parsing *p, const json_t *root)
{
	json_t *write = NULL, *read = NULL, *network = NULL, *hosts = NULL, *limits = NULL, *provider = NULL, *normal;
	const char *image = NULL;
	const struct oc_json_key top[] = {
		{ "image", OC_JSON_STRING, true, &image },    { "write", OC_JSON_STRINGS, false, &write },
		{ "read", OC_JSON_STRINGS, false, &read },    { "network", OC_JSON_OBJECT, false, &network },
		{ "limits", OC_JSON_OBJECT, false, &limits }, { "provider", OC_JSON_OBJECT, false, &provider },
	};
	const struct oc_json_key in_network[] = { { "allow", OC_JSON_STRINGS, false, &hosts } };

	oc_parsing_unpack(p, root, "", top, OC_COUNT(top));
	oc_parsing_unpack(p, network, "network", in_network, OC_COUNT(in_network));
	check_image(p, image);
	json_t *w = oc_parsing_list(p, "write", write, oc_parsing_path);
	json_t *r = oc_parsing_list(p, "read", read, oc_parsing_path);
	json_t *h = oc_parsing_list(p, "network.allow", hosts, oc_parsing_host);

	normal = json_pack("{s:s, s:o, s:o, s:{s:o}, s:o, s:{s:s}}", "image", image ? image : "", "write", w, "read", r,
	                   "network", "allow", h, "limits", read_limits(p, limits), "provider", "context",
	                   read_context(p, provider));
	if (!normal)
		oc_violations_nomem(&p->bad);
	return normal;
}
