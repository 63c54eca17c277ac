/* SPDX-License-Identifier: Apache-2.0 */
#include "read.h"

#include <errno.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"

#define SHOWN 100 /* characters of somebody's value in a message */

static const char *kind_name(const struct field *f)
{
	static const char *const names[] = {
		[FIELD_TEXT] = "a string",
		[FIELD_INTEGER] = "an integer",
		[FIELD_BOOL] = "true or false",
		[FIELD_TEXTS] = "a list of strings",
		[FIELD_COMMAND] = "a string or a list of strings",
		[FIELD_PAIRS] = "an object of strings",
		[FIELD_OBJECT] = "an object",
		[FIELD_OBJECTS] = "a list of objects",
		[FIELD_NAMED] = "an object of objects",
		[FIELD_POLICY] = "an object",
		[FIELD_NUMBER] = "a number",
		[FIELD_ANY] = "a value",
	};

	return names[f->kind];
}

static const char *node_name(const struct node *n)
{
	static const char *const names[] = {
		[NODE_NULL] = "null",       [NODE_BOOL] = "true or false", [NODE_NUMBER] = "a number",
		[NODE_STRING] = "a string", [NODE_LIST] = "a list",        [NODE_OBJECT] = "an object"
	};

	return names[n->type];
}

static void bad_type(struct reading *r, const char *path, const struct node *n, const char *want)
{
	bad(r, path, at(r, "write %s", want), "must be %s, and is %s", want, node_name(n));
}

static const char *words_text(struct reading *r, const char *const *words, const char *quote)
{
	const char *all = "";

	for (size_t i = 0; words[i]; i++)
		all = at(r, "%s%s%s%s%s", all, !i ? "" : words[i + 1] ? ", " : " or ", quote, words[i], quote);
	return all;
}

/* Is the value one of the words, and if not, which was meant? */
static bool word_ok(struct reading *r, const char *path, const char *const *words, const char *value, const char *quote)
{
	const char *near;

	for (size_t i = 0; words[i]; i++)
		if (!strcmp(words[i], value))
			return true;
	near = did_you_mean(r, value, words);
	bad(r, path, near ? near : at(r, "write %s", words_text(r, words, quote)), "%s%.*s%s is not known here", quote,
	    SHOWN, value, quote);
	return false;
}

struct compiled {
	const struct grammar *grammar;
	regex_t expression;
};

/* Compiling costs more than a hundred matches. */
static const regex_t *compiled(struct reading *r, const struct grammar *g)
{
	struct compiled *c;

	for (size_t i = 0; i < r->n_compiled; i++)
		if (r->compiled[i].grammar == g)
			return &r->compiled[i].expression;
	if (!r->compiled)
		r->compiled = arena_get(r->arena, GRAMMARS * sizeof(*r->compiled));
	if (!r->compiled || r->n_compiled == GRAMMARS)
		return NULL;
	c = &r->compiled[r->n_compiled];
	if (regcomp(&c->expression, g->pattern, REG_EXTENDED | REG_NOSUB))
		return NULL;
	c->grammar = g;
	r->n_compiled++;
	return &c->expression;
}

void read_end(struct reading *r)
{
	while (r->n_compiled)
		regfree(&r->compiled[--r->n_compiled].expression);
}

static bool grammar_ok(struct reading *r, const char *path, const struct grammar *g, const char *value)
{
	const regex_t *expression = compiled(r, g);
	int rc = expression ? regexec(expression, value, 0, NULL, 0) : REG_ESPACE;
	const char *why = rc == REG_NOMATCH ? g->what : NULL;

	if (rc && !why)
		r->arena->failed = true;
	else if (!rc && strlen(value) > g->max)
		why = at(r, "is longer than %zu bytes", g->max);
	else if (!rc && g->home)
		why = path_check(value);
	if (why && g->quiet)
		bad(r, path, g->fix, "the value %s", why);
	else if (why)
		bad(r, path, g->fix, "\"%.*s\" %s", SHOWN, value, why);
	return !why && !rc;
}

/* A string that may stand here, or NULL: told. */
static const char *read_text(struct reading *r, const struct field *f, const struct grammar *g, const struct node *n,
                             const char *path)
{
	if (n->type != NODE_STRING) {
		bad_type(r, path, n, "a string");
		return NULL;
	}
	if (f->words && !word_ok(r, path, f->words, n->text, "\""))
		return NULL;
	if (g && !grammar_ok(r, path, g, n->text))
		return NULL;
	return g && g->home ? path_expand(r, n->text) : n->text;
}

static void read_integer(struct reading *r, const struct field *f, const struct node *n, const char *path, int64_t *out)
{
	char *end = NULL;

	if (n->type != NODE_NUMBER) {
		bad_type(r, path, n, "an integer");
		return;
	}
	errno = 0;
	*out = strtoll(n->text, &end, 10);
	if (errno || *end)
		bad(r, path, "write an integer, without fraction and exponent", "%.*s is no integer", SHOWN, n->text);
	else if (f->words)
		word_ok(r, path, f->words, n->text, "");
}

static void read_texts(struct reading *r, const struct field *f, const struct node *n, const char *path,
                       struct config_texts *out)
{
	size_t i = 0;

	if (n->type != NODE_LIST) {
		bad_type(r, path, n, kind_name(f));
		return;
	}
	out->v = arena_get(r->arena, (n->n + 1) * sizeof(*out->v));
	for (const struct node *c = n->child; c && out->v; c = c->next, i++) {
		const char *item = at(r, "%s[%zu]", path, i), *text = read_text(r, f, f->grammar, c, item);

		if (!text)
			continue;
		/* A command may say a word twice; everywhere else the second can't matter. */
		if (f->kind == FIELD_TEXTS && texts_have(out, text))
			bad(r, item, "remove it", "\"%.*s\" is there twice", SHOWN, text);
		else
			out->v[out->n++] = text;
	}
}

static void read_command(struct reading *r, const struct field *f, const struct node *n, const char *path,
                         struct config_texts *out)
{
	static const char *const shell[] = { "/bin/sh", "-c" };

	if (n->type == NODE_LIST) {
		read_texts(r, f, n, path, out);
	} else if (n->type == NODE_STRING) {
		out->v = arena_get(r->arena, 4 * sizeof(*out->v));
		if (!out->v)
			return;
		memcpy(out->v, shell, sizeof(shell));
		out->v[2] = n->text;
		out->n = 3;
	} else {
		bad_type(r, path, n, kind_name(f));
		return;
	}
	if (n->type == NODE_LIST ? !n->n || (out->n && !*out->v[0]) : !n->text[strspn(n->text, " \t\n")])
		bad(r, path, "write the program and its arguments, as in [\"make\", \"test\"]", "the command is empty");
}

static void told_twice(struct reading *r, const struct node *n, const char *path)
{
	struct report_place place = { .field = path };

	doc_place(r->doc, n->key_at, &place.line, &place.column);
	report_add(r->report, &place, "sandbox_config", at(r, "remove one \"%.*s\"", SHOWN, n->key),
	           "the key \"%.*s\" is there twice in one object", SHOWN, n->key);
}

static void read_pairs(struct reading *r, const struct field *f, const struct node *n, const char *path,
                       struct config_pairs *out)
{
	if (n->type != NODE_OBJECT) {
		bad_type(r, path, n, kind_name(f));
		return;
	}
	out->v = arena_get(r->arena, (n->n + 1) * sizeof(*out->v));
	for (const struct node *c = n->child; c && out->v; c = c->next) {
		const char *item = at(r, "%s.%s", path, c->key), *text;

		if (c->duplicate) {
			told_twice(r, c, item);
			continue;
		}
		if (!grammar_ok(r, item, f->name_grammar, c->key))
			continue;
		/* The name is there, whatever is wrong with its value: nobody has to be told that it is missing. */
		text = read_text(r, f, f->grammar, c, item);
		out->v[out->n++] = (struct config_pair){ c->key, text ? text : "" };
	}
}

static void read_objects(struct reading *r, const struct field *f, const struct node *n, const char *path, void *out)
{
	size_t *count = (size_t *)((char *)out + f->count), i = 0;
	bool named = f->kind == FIELD_NAMED;
	char *records;

	if (n->type != (named ? NODE_OBJECT : NODE_LIST)) {
		bad_type(r, path, n, kind_name(f));
		return;
	}
	records = arena_get(r->arena, (n->n + 1) * f->of->size);
	*(void **)((char *)out + f->at) = records;
	for (const struct node *c = n->child; c && records; c = c->next, i++) {
		const char *item = named ? at(r, "%s.%s", path, c->key) : at(r, "%s[%zu]", path, i);
		void *record = records + *count * f->of->size;

		if (c->duplicate) {
			told_twice(r, c, item);
			continue;
		}
		if (named && !grammar_ok(r, item, f->name_grammar, c->key))
			continue;
		++*count;
		read_record(r, f->of, c, item, record);
		if (named)
			*(const char **)record = c->key;
	}
}

static const struct field *find_field(const struct record *record, const char *key)
{
	for (size_t i = 0; record && i < record->n; i++)
		if (!strcmp(record->fields[i].name, key))
			return &record->fields[i];
	return NULL;
}

static bool is_integer(const char *text)
{
	size_t digits;

	text += *text == '-';
	digits = strspn(text, "0123456789");
	/* Up to 2^53 a number means the same everywhere; fifteen digits are below that. */
	return !text[digits] && digits <= 15;
}

static void unknown_key(struct reading *r, const struct record *record, const struct node *n, const char *path)
{
	const char **names = arena_get(r->arena, (record->n + 1) * sizeof(*names)), *near;

	for (size_t i = 0; names && i < record->n; i++)
		names[i] = record->fields[i].name;
	near = names ? opt_nearest(n->key, names) : NULL;
	if (near)
		bad(r, path, at(r, "rename \"%.*s\" to \"%s\"", SHOWN, n->key, near),
		    "unknown key \"%.*s\"; did you mean \"%s\"?", SHOWN, n->key, near);
	else
		bad(r, path,
		    names && names[0] ? at(r, "remove it; the keys here are %s", words_text(r, names, "\""))
		                      : "remove it; there are no keys here",
		    "unknown key \"%.*s\"", SHOWN, n->key);
}

static bool has_fraction(const struct node *n)
{
	bool found = n->type == NODE_NUMBER && !is_integer(n->text);

	for (const struct node *c = n->child; c && !found; c = c->next)
		found = has_fraction(c);
	return found;
}

/* What the library would tell of the whole policy, and not where: keys that are there twice, numbers that are no
 * integers.  Returns whether there was none. */
static bool policy_ok(struct reading *r, const struct record *record, const struct node *n, const char *path)
{
	bool good = true;
	size_t i = 0;

	for (const struct node *c = n->child; c; c = c->next, i++) {
		const struct field *f = c->key ? find_field(record, c->key) : NULL;
		const char *item = c->key ? at(r, "%s.%s", path, c->key) : at(r, "%s[%zu]", path, i);

		if (c->duplicate)
			told_twice(r, c, item);
		else if (c->key && record && !f && has_fraction(c))
			unknown_key(r, record, c, item);
		else if (c->type == NODE_NUMBER && (!f || f->kind != FIELD_NUMBER) && !is_integer(c->text))
			bad(r, item, f ? at(r, "write %s", kind_name(f)) : "remove it", "%.*s is not possible here",
			    SHOWN, c->text);
		else if (policy_ok(r, f ? f->of : NULL, c, item))
			continue;
		good = false;
	}
	return good;
}

static void read_field(struct reading *r, const struct field *f, const struct node *n, const char *path, void *out)
{
	void *member = (char *)out + f->at;

	switch (f->kind) {
	case FIELD_TEXT:
		*(const char **)member = read_text(r, f, f->grammar, n, path);
		break;
	case FIELD_INTEGER:
		read_integer(r, f, n, path, member);
		break;
	case FIELD_BOOL:
		if (n->type == NODE_BOOL)
			*(bool *)member = n->truth;
		else
			bad_type(r, path, n, kind_name(f));
		break;
	case FIELD_TEXTS:
		read_texts(r, f, n, path, member);
		break;
	case FIELD_COMMAND:
		read_command(r, f, n, path, member);
		break;
	case FIELD_PAIRS:
		read_pairs(r, f, n, path, member);
		break;
	case FIELD_OBJECT:
		*(void **)member = arena_get(r->arena, f->of->size);
		if (*(void **)member)
			read_record(r, f->of, n, path, *(void **)member);
		break;
	case FIELD_OBJECTS:
	case FIELD_NAMED:
		read_objects(r, f, n, path, out);
		break;
	case FIELD_POLICY:
		if (n->type != NODE_OBJECT)
			bad_type(r, path, n, kind_name(f));
		else if (policy_ok(r, f->of, n, path))
			*(const char **)member = arena_copy(r->arena, r->doc->text + n->at, n->end - n->at);
		break;
	case FIELD_NUMBER:
	case FIELD_ANY:
		break;
	}
}

void read_record(struct reading *r, const struct record *record, const struct node *node, const char *path, void *out)
{
	if (node->type != NODE_OBJECT) {
		bad_type(r, path, node, "an object");
		return;
	}
	for (const struct node *c = node->child; c; c = c->next) {
		const struct field *f = find_field(record, c->key);
		const char *item = at(r, "%s%s%s", path, *path ? "." : "", c->key);

		if (c->duplicate)
			told_twice(r, c, item);
		else if (!f)
			unknown_key(r, record, c, item);
		else
			read_field(r, f, c, item, out);
	}
	for (size_t i = 0; i < record->n; i++)
		if (record->fields[i].required && !doc_member(node, record->fields[i].name))
			bad(r, at(r, "%s%s%s", path, *path ? "." : "", record->fields[i].name),
			    at(r, "add \"%s\": %s", record->fields[i].name, kind_name(&record->fields[i])),
			    "\"%s\" is missing", record->fields[i].name);
}
