/* SPDX-License-Identifier: Apache-2.0 */
/* A run in a store with one of each that is recorded, and its receipt. */
#ifndef OC_TESTS_RECEIPT_WORLD_H
#define OC_TESTS_RECEIPT_WORLD_H

#include "plan_fixture.h"
#include "store/receipt.h"

#define RUN "runaaaaa"

extern struct fixture f;
extern oc_store *store;
extern oc_plan *plan;

/* Pinned, begun, its calls made: events pinned attempt started running call answer call note. */
void begin(void);
/* The rest of it: ended exited saved. */
void over(void);
void end(void);
void put(const char *name, json_t *taken);     /* a file of the run's directory */
json_t *ending(const char *state, int status); /* an exit record of it */

char *receipt_text(void);
json_t *receipt(void);
/* What is said of it: "" when it holds, else the subjects with a blank after each. */
const char *verdict_of_text(const char *text, size_t len);
const char *verdict(const json_t *json);
/* As whoever changes it would: the digest over all of it made anew, or the whole chain. */
void again(json_t *json);
void chain_again(json_t *json);
/* A value by a path like "events.3.data"; set (taken), or removed with NULL. */
void edit(json_t *at, const char *path, json_t *value);

#endif
