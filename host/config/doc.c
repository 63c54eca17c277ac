/* SPDX-License-Identifier: Apache-2.0 */
#include "doc.h"

#include <stdint.h>
#include <string.h>

#include "text.h"

struct parsing {
	struct doc *doc;
	struct arena *arena;
	const char *text;
	size_t len, at;
	int depth;
};

static struct node *parse_value(struct parsing *p);

static void *fail_at(struct parsing *p, size_t at, const char *wrong)
{
	if (!p->doc->wrong) {
		p->doc->wrong = wrong;
		p->doc->wrong_at = at;
	}
	return NULL;
}

static void *fail(struct parsing *p, const char *wrong)
{
	return fail_at(p, p->at, wrong);
}

static int peek(const struct parsing *p)
{
	return p->at < p->len ? (unsigned char)p->text[p->at] : -1;
}

static int skip_space(struct parsing *p)
{
	int c;

	while ((c = peek(p)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		p->at++;
	return c;
}

static struct node *new_node(struct parsing *p, enum node_type type)
{
	struct node *n = arena_get(p->arena, sizeof(*n));

	if (n) {
		n->type = type;
		n->at = p->at;
	}
	return n;
}

/* Four hexadecimal digits; negative when they aren't there. */
static int32_t hex4(const struct parsing *p, size_t at)
{
	int32_t code = 0;

	if (p->len - at < 4)
		return -1;
	for (size_t i = at; i < at + 4; i++) {
		const char *digits = "0123456789abcdef", *d;
		char c = p->text[i] >= 'A' && p->text[i] <= 'F' ? (char)(p->text[i] | 0x20) : p->text[i];

		d = c ? strchr(digits, c) : NULL;
		if (!d)
			return -1;
		code = code * 16 + (int32_t)(d - digits);
	}
	return code;
}

static size_t encode(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* At the u of \uXXXX, or of the first of a pair; what it is in UTF-8, or 0 when it is wrong. */
static size_t unicode(struct parsing *p, char *out)
{
	int32_t code = hex4(p, p->at + 1), low;

	if (code < 0)
		return fail(p, "\\u needs four hexadecimal digits"), 0;
	if (code == 0)
		return fail(p, "text can't hold U+0000"), 0;
	if (code >= 0xdc00 && code < 0xe000)
		return fail(p, "half of a surrogate pair"), 0;
	p->at += 5;
	if (code < 0xd800 || code >= 0xe000)
		return encode((uint32_t)code, out);
	if (p->len - p->at < 6 || p->text[p->at] != '\\' || p->text[p->at + 1] != 'u')
		return fail(p, "half of a surrogate pair"), 0;
	low = hex4(p, p->at + 2);
	if (low < 0xdc00 || low >= 0xe000)
		return fail(p, "half of a surrogate pair"), 0;
	p->at += 6;
	return encode(0x10000 + ((uint32_t)(code - 0xd800) << 10) + (uint32_t)(low - 0xdc00), out);
}

static size_t escape(struct parsing *p, char *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	int c = peek(p);
	const char *which = c > 0 ? strchr(from, c) : NULL;

	if (c == 'u')
		return unicode(p, out);
	if (!which)
		return fail(p, "no such escape in a string"), 0;
	p->at++;
	out[0] = to[which - from];
	return 1;
}

/* At the opening quote.  Decoded text is never longer than what is written. */
static const char *parse_string(struct parsing *p)
{
	size_t start = p->at, end = ++p->at, n = 0;
	char *out;

	while (end < p->len && p->text[end] != '"')
		end += p->text[end] == '\\' ? 2 : 1;
	if (end >= p->len)
		return fail_at(p, start, "a string that doesn't end");
	out = arena_get(p->arena, end - p->at + 1);
	while (out && p->text[p->at] != '"') {
		if ((unsigned char)p->text[p->at] < 0x20)
			return fail(p, "a control character or line break in a string");
		if (p->text[p->at] == '\\') {
			size_t got;

			p->at++;
			got = escape(p, out + n);
			if (!got)
				return NULL;
			n += got;
		} else {
			out[n++] = p->text[p->at++];
		}
	}
	p->at++;
	return out;
}

static size_t digits(struct parsing *p)
{
	size_t n = 0;

	while (peek(p) >= '0' && peek(p) <= '9') {
		p->at++;
		n++;
	}
	return n;
}

static struct node *parse_number(struct parsing *p)
{
	struct node *node = new_node(p, NODE_NUMBER);
	size_t start = p->at;
	bool zero, good;

	if (peek(p) == '-')
		p->at++;
	zero = peek(p) == '0';
	good = zero ? p->at++ < p->len : digits(p) > 0;
	if (good && peek(p) == '.') {
		p->at++;
		good = digits(p) > 0;
	}
	if (good && (peek(p) == 'e' || peek(p) == 'E')) {
		p->at++;
		if (peek(p) == '+' || peek(p) == '-')
			p->at++;
		good = digits(p) > 0;
	}
	if (!good || (peek(p) >= '0' && peek(p) <= '9'))
		return fail(p, "not a number");
	if (node)
		node->text = arena_copy(p->arena, p->text + start, p->at - start);
	return node && node->text ? node : NULL;
}

static struct node *parse_word(struct parsing *p)
{
	static const struct {
		const char *word;
		enum node_type type;
		bool truth;
	} words[] = { { "true", NODE_BOOL, true }, { "false", NODE_BOOL, false }, { "null", NODE_NULL, false } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].word);
		struct node *node;

		if (p->len - p->at < n || memcmp(p->text + p->at, words[i].word, n) != 0)
			continue;
		node = new_node(p, words[i].type);
		if (node)
			node->truth = words[i].truth;
		p->at += n;
		return node;
	}
	return fail(p, p->at < p->len ? "no value begins like this" : "the text ends too early");
}

static bool is_known(const struct node *object, const char *key)
{
	for (const struct node *c = object->child; c; c = c->next)
		if (!strcmp(c->key, key))
			return true;
	return false;
}

/* One member of an object, with its key. */
static struct node *parse_member(struct parsing *p, const struct node *object)
{
	size_t key_at = p->at;
	const char *key;
	struct node *value;

	if (peek(p) != '"')
		return fail(p, "a key in double quotes is expected");
	key = parse_string(p);
	if (!key)
		return NULL;
	if (skip_space(p) != ':')
		return fail(p, "\":\" is expected after a key");
	p->at++;
	skip_space(p);
	value = parse_value(p);
	if (!value)
		return NULL;
	value->key = key;
	value->key_at = key_at;
	value->duplicate = is_known(object, key);
	return value;
}

static struct node *parse_container(struct parsing *p)
{
	bool object = peek(p) == '{';
	struct node *node = new_node(p, object ? NODE_OBJECT : NODE_LIST), **last = node ? &node->child : NULL;
	int close = object ? '}' : ']';

	if (!node)
		return NULL;
	if (++p->depth > DOC_DEPTH)
		return fail(p, "nested deeper than 32 levels");
	p->at++;
	if (skip_space(p) == close)
		goto end;
	for (;;) {
		struct node *child;

		skip_space(p);
		if (node->n >= DOC_MEMBERS)
			return fail(p, "more than 1000 entries in one list or object");
		child = object ? parse_member(p, node) : parse_value(p);
		if (!child)
			return NULL;
		*last = child;
		last = &child->next;
		node->n++;
		node->flawed |= child->flawed || child->duplicate;
		if (skip_space(p) == close)
			break;
		if (peek(p) != ',')
			return fail(p, object ? "\",\" or \"}\" is expected" : "\",\" or \"]\" is expected");
		p->at++;
		if (skip_space(p) == close)
			return fail(p, "a comma with nothing after it");
	}
end:
	p->at++;
	p->depth--;
	return node;
}

static struct node *parse_value(struct parsing *p)
{
	struct node *node;
	int c = peek(p);

	if (c == '{' || c == '[') {
		node = parse_container(p);
	} else if (c == '"') {
		node = new_node(p, NODE_STRING);
		if (node)
			node->text = parse_string(p);
		if (node && !node->text)
			return NULL;
	} else if (c == '-' || (c >= '0' && c <= '9')) {
		node = parse_number(p);
	} else {
		node = parse_word(p);
	}
	if (node)
		node->end = p->at;
	return node;
}

int doc_parse(struct doc *doc, struct arena *a, const char *text, size_t len)
{
	struct parsing p = { .doc = doc, .arena = a, .len = len };
	size_t valid;

	memset(doc, 0, sizeof(*doc));
	p.text = doc->text = arena_copy(a, text, len);
	doc->len = len;
	if (!p.text)
		return -1;
	valid = text_valid(text, len);
	if (len > DOC_MAX)
		fail(&p, "it is longer than 1 MiB");
	else if (valid < len)
		fail_at(&p, valid, "not UTF-8");
	else if (skip_space(&p) < 0)
		fail(&p, "it is empty");
	else
		doc->root = parse_value(&p);
	if (doc->root && skip_space(&p) >= 0)
		fail(&p, "something follows the value");
	if (doc->wrong)
		doc->root = NULL;
	return doc->root && !a->failed ? 0 : -1;
}

void doc_place(const struct doc *doc, size_t at, size_t *line, size_t *column)
{
	*line = 1;
	*column = 1;
	for (size_t i = 0; i < at && i < doc->len; i++) {
		if (doc->text[i] == '\n') {
			++*line;
			*column = 1;
		} else if (((unsigned char)doc->text[i] & 0xc0) != 0x80) {
			++*column;
		}
	}
}

const struct node *doc_member(const struct node *object, const char *key)
{
	for (const struct node *c = object && object->type == NODE_OBJECT ? object->child : NULL; c; c = c->next)
		if (!strcmp(c->key, key))
			return c;
	return NULL;
}

/* The child that a path begins with; *rest is what follows. */
static const struct node *step(const struct node *from, const char *path, const char **rest)
{
	size_t index = 0, i = 0;

	if (from->type == NODE_OBJECT) {
		path += *path == '.';
		for (const struct node *c = from->child; c; c = c->next) {
			size_t n = strlen(c->key);

			if (strncmp(path, c->key, n) != 0 || (path[n] && path[n] != '.' && path[n] != '['))
				continue;
			*rest = path + n;
			return c;
		}
	}
	if (from->type != NODE_LIST || *path++ != '[')
		return NULL;
	for (; *path >= '0' && *path <= '9' && index < DOC_MEMBERS; path++)
		index = index * 10 + (size_t)(*path - '0');
	for (const struct node *c = from->child; c && *path == ']'; c = c->next)
		if (i++ == index) {
			*rest = path + 1;
			return c;
		}
	return NULL;
}

const struct node *doc_find(const struct node *from, const char **path)
{
	const struct node *next;

	while (from && **path && (next = step(from, *path, path)))
		from = next;
	return from;
}
