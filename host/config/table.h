/* SPDX-License-Identifier: Apache-2.0 */
/* Every key that a config knows, once: the reader fills structs by this table, a misspelt key is compared with it, and
 * the JSON Schema is printed from it. */
#ifndef HOST_CONFIG_TABLE_H
#define HOST_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum field_kind {
	FIELD_TEXT,    /* const char * */
	FIELD_INTEGER, /* int64_t */
	FIELD_BOOL,    /* bool */
	FIELD_TEXTS,   /* struct config_texts */
	FIELD_COMMAND, /* struct config_texts: a string is run by /bin/sh -c */
	FIELD_PAIRS,   /* struct config_pairs: the operator's own names → text */
	FIELD_OBJECT,  /* struct … *, of `of` */
	FIELD_OBJECTS, /* struct … * and, at `count`, size_t */
	FIELD_NAMED,   /* the same of an object whose keys are names: each is the first member, a const char * */
	FIELD_POLICY, /* const char *: an object's text as written; its keys are the library's, `of` is for the schema */
	FIELD_NUMBER, /* in a policy only: a number, also with a fraction */
	FIELD_ANY,    /* not looked at */
};

/* What a text may be.  The pattern is an expression that POSIX and JSON Schema read alike. */
struct grammar {
	const char *pattern;
	const char *what; /* "must be …" */
	const char *fix;  /* "write …" */
	size_t max;       /* bytes */
	bool home;        /* a path: ~/ is put in */
	bool quiet;       /* never shown: somebody may have put a secret there */
};

struct record;
struct field {
	const char *name;
	enum field_kind kind;
	bool required;
	size_t at, count; /* offsets in the record's struct */
	const struct record *of;
	const struct grammar *grammar;      /* of the text, each text, or each pair's value */
	const struct grammar *name_grammar; /* of the names of pairs and named records */
	const char *const *words;           /* the values there are, NULL-terminated */
	const char *about;                  /* a sentence for the schema */
};
struct record {
	const char *about;
	size_t size;
	const struct field *fields;
	size_t n;
};

extern const struct record table_config;
/* "@github.author" and all the others that may be listed; NULL-terminated. */
extern const char *const operation_names[];

#endif
