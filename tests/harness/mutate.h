/* SPDX-License-Identifier: Apache-2.0 */
/* Each key of a document with one letter wrong: what reads it strictly takes none of them. */
#ifndef OC_TESTS_MUTATE_H
#define OC_TESTS_MUTATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct oc_error;

struct mutate {
	const json_t *root; /* what is taken as it is: the control; not changed */
	/* Read it: 0, or negative with *err.  json is borrowed. */
	int (*read)(const json_t *json, void *userdata, struct oc_error **err);
	void *userdata;
	const char *const *free_form; /* paths of objects whose keys are anybody's; NULL-terminated, or NULL */
	const char *const *optional;  /* paths that may be left out, or be text or null; or NULL */
};
/* A letter left out, put in, replaced, two swapped, at each place of each key; each key left out; each value of
 * another type.  Fails the test where one is taken, or where no error of the chain has the path of what is wrong (for
 * a value of another type, where `loose`, that of the object it is in).  The number of documents that were tried. */
size_t mutate_each(const struct mutate *m, bool loose);

#endif
