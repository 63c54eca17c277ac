/* SPDX-License-Identifier: Apache-2.0 */
/* Works in a store of their own, and what is asked of the provider of their clones. */
#ifndef OC_TESTS_WORKSPACE_WORLD_H
#define OC_TESTS_WORKSPACE_WORLD_H

#include "plan_fixture.h"
#include "store/works.h"
#include "suite.h"

#define CHECKOUT_MAX 300

extern struct fixture f;
extern oc_store *store;
extern oc_workspace *workspace;
extern char checkout[CHECKOUT_MAX];

struct answer {
	int count;
	json_t *json;
	char reason[40], message[600];
	int code;
};

enum step { CREATE, SAVE, FINAL, REMOVE };

oc_workspace *new_workspace(void);
void setup(void);
void teardown(void);
void say(const char *dir, const char *name, const char *text);
json_t *parse(char *text);
json_t *open_as(const char *binding, const char *key);
json_t *get(const char *name);
void on_answer(const char *json, const oc_error *err, void *userdata);
void wait_for(struct answer *a);
void perform(enum step step, const char *id, int64_t wait_ms, struct answer *a);
void good(enum step step, const char *id);
void bad(enum step step, const char *id, const char *reason, const char *words);
const char *made(const char *key);
void a_run(const char *id, const char *work, const char *state);
void a_run_of(const char *kind, const char *id, const char *work, const char *state);

/* Each in a state of its own; those that start the provider only where a child can be watched. */
#define MAKE_CASE(name, can)                                                                                           \
	static void name##_body(void);                                                                                 \
	START_TEST(name)                                                                                               \
	{                                                                                                              \
		if (!(can))                                                                                            \
			return;                                                                                        \
		setup();                                                                                               \
		name##_body();                                                                                         \
		teardown();                                                                                            \
	}                                                                                                              \
	END_TEST                                                                                                       \
	static void name##_body(void)
#define CASE(name)     MAKE_CASE(name, true)
#define PROVIDED(name) MAKE_CASE(name, suite_has_pidfd(#name))

#endif
