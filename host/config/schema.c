/* SPDX-License-Identifier: Apache-2.0 */
#include "schema.h"

#include <stdbool.h>
#include <stdlib.h>

#include "table.h"

static json_t *of_record(const struct record *record);

static json_t *of_words(const char *const *words, bool integer)
{
	json_t *list = json_array();

	for (size_t i = 0; words[i]; i++)
		json_array_append_new(list,
		                      integer ? json_integer(strtoll(words[i], NULL, 10)) : json_string(words[i]));
	return list;
}

static json_t *of_text(const char *const *words, const struct grammar *g)
{
	json_t *text = json_pack("{s:s}", "type", "string");

	if (words)
		json_object_set_new(text, "enum", of_words(words, false));
	if (g)
		json_object_set_new(text, "pattern", json_string(g->pattern));
	if (g)
		json_object_set_new(text, "maxLength", json_integer((json_int_t)g->max));
	return text;
}

static json_t *of_texts(const struct field *f, bool command)
{
	json_t *list = json_pack("{s:s, s:o}", "type", "array", "items", of_text(f->words, f->grammar));

	json_object_set_new(list, command ? "minItems" : "uniqueItems", command ? json_integer(1) : json_true());
	return list;
}

static json_t *of_map(const struct field *f, json_t *values)
{
	json_t *map = json_pack("{s:s, s:o}", "type", "object", "additionalProperties", values);

	if (f->name_grammar)
		json_object_set_new(map, "propertyNames", of_text(NULL, f->name_grammar));
	return map;
}

static json_t *of_field(const struct field *f)
{
	switch (f->kind) {
	case FIELD_TEXT:
		return of_text(f->words, f->grammar);
	case FIELD_INTEGER:
		return f->words ? json_pack("{s:s, s:o}", "type", "integer", "enum", of_words(f->words, true))
		                : json_pack("{s:s}", "type", "integer");
	case FIELD_BOOL:
		return json_pack("{s:s}", "type", "boolean");
	case FIELD_NUMBER:
		return json_pack("{s:s}", "type", "number");
	case FIELD_TEXTS:
		return of_texts(f, false);
	case FIELD_COMMAND:
		return json_pack("{s:[{s:s, s:s}, o]}", "anyOf", "type", "string", "pattern", "[^ \t\n]",
		                 of_texts(f, true));
	case FIELD_PAIRS:
		return of_map(f, of_text(f->words, f->grammar));
	case FIELD_NAMED:
		return of_map(f, of_record(f->of));
	case FIELD_OBJECTS:
		return json_pack("{s:s, s:o}", "type", "array", "items", of_record(f->of));
	case FIELD_OBJECT:
	case FIELD_POLICY:
		return f->of ? of_record(f->of) : json_pack("{s:s}", "type", "object");
	case FIELD_ANY:
		break;
	}
	return json_object();
}

static json_t *of_record(const struct record *record)
{
	json_t *properties = json_object(), *required = json_array(), *object;

	for (size_t i = 0; i < record->n; i++) {
		const struct field *f = &record->fields[i];
		json_t *one = of_field(f);

		if (f->about)
			json_object_set_new(one, "description", json_string(f->about));
		json_object_set_new(properties, f->name, one);
		if (f->required)
			json_array_append_new(required, json_string(f->name));
	}
	object = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties, "additionalProperties", 0);
	if (record->about)
		json_object_set_new(object, "description", json_string(record->about));
	json_object_set_new(object, "required", required);
	return object;
}

json_t *config_schema(void)
{
	json_t *whole = json_pack("{s:s, s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema", "title",
	                          "open-conduit configuration"),
	       *root = of_record(&table_config);

	if (!whole || !root || json_object_update(whole, root) < 0) {
		json_decref(whole);
		whole = NULL;
	}
	json_decref(root);
	return whole;
}
