/* SPDX-License-Identifier: Apache-2.0 */
/* The one reader of secrets: keyring:NAME, file:PATH, env:NAME.  No value is printed, logged, or given to a program as an
 * argument or in its environment. */
#ifndef HOST_SECRET_SECRET_H
#define HOST_SECRET_SECRET_H

#include "host.h"

#define SECRET_MAX      65536
#define SECRET_NAME_MAX 128

enum secret_state {
	SECRET_PRESENT,
	SECRET_ABSENT,
	SECRET_LOCKED,     /* in a keyring that nobody unlocked */
	SECRET_UNUSABLE,   /* open to others, another's, too long, … */
	SECRET_NO_BUS,     /* the keyring: no session bus */
	SECRET_NO_SERVICE, /* … nothing behind it */
	SECRET_NO_HELPER,  /* … this build can't ask it */
	SECRET_SILENT,     /* … no answer in time */
	SECRET_FAILED,
};
const char *secret_state_name(enum secret_state state);

/* Wiped when freed. */
struct secret_value {
	char *data;
	size_t len;
};
void secret_value_free(struct secret_value *v);

struct secret_problem { /* empty where all is well */
	struct text message, fix;
};
void secret_problem_free(struct secret_problem *p);
/* What it is about, in words: the message gets `what` before it.  Returns state. */
enum secret_state secret_problem(struct secret_problem *p, enum secret_state state, const char *message,
                                 const char *fix);
/* Say so: "not run", "not stored". */
void secret_refuse(struct host *h, const char *what, const char *name, const struct secret_problem *p);

bool secret_name_valid(const char *name); /* of an entry or a file of ours */
bool secret_ref_valid(const char *ref);
/* The value behind a reference; `name` is what the run calls it, for the fix. */
enum secret_state secret_read(const char *name, const char *ref, struct secret_value *out, struct secret_problem *p);

/* keyring.c: by the helper, within 5 s, without ever asking a person */
enum secret_state secret_keyring_read(const char *name, struct secret_value *out, struct secret_problem *p);
enum secret_state secret_keyring_store(const char *name, const struct secret_value *v, struct secret_problem *p);
enum secret_state secret_keyring_remove(const char *name, struct secret_problem *p);
/* {"NAME": true (readable) or false (locked by itself)}: new; or NULL and why. */
json_t *secret_keyring_names(enum secret_state *state, struct secret_problem *p);

/* file.c */
enum secret_state secret_file_read(const char *path, struct secret_value *out, struct secret_problem *p);
char *secret_file_path(const char *name); /* of ours: new, or NULL */
enum secret_state secret_file_store(const char *name, const struct secret_value *v, struct secret_problem *p);
enum secret_state secret_file_remove(const char *name, struct secret_problem *p);
json_t *secret_file_names(void); /* array: new */

/* input.c: from the terminal without echo, or all of standard input.  0, or said why and an exit status. */
int secret_input(struct host *h, const char *name, struct secret_value *out);

/* list.c */
int secret_list(struct host *h);

/* doctor.c: what bindings want of the keyring.  {"ok","state","detail","fix","missing":[NAME]}, new; NULL: nothing. */
json_t *secret_doctor(void);

#endif
