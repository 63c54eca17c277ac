/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a config, all of it: collected while reading, shown at the end. */
#ifndef HOST_CONFIG_REPORT_H
#define HOST_CONFIG_REPORT_H

#include <openconduit/error.h>
#include <stdbool.h>
#include <stddef.h>

#define REPORT_MAX 1000 /* more are counted, not kept */

struct finding {
	char *field;   /* "scopes[0].bindings[1].sandbox.config.write[2]"; "" for the file itself */
	char *reason;  /* of openconduit-reasons(7) */
	char *subject; /* path, host or secret that it is about; NULL: the field */
	char *message, *fix;
	size_t line, column; /* 0: no place in the file */
	bool warning;
};
struct report {
	struct finding *v;
	size_t n, cap;
	size_t errors, warnings; /* counted, also those that were not kept */
	bool nomem;              /* an error */
};

struct report_place { /* what a finding is about */
	const char *field;
	const char *subject; /* or NULL */
	size_t line, column;
	bool warning;
};
void report_add(struct report *r, const struct report_place *place, const char *reason, const char *fix,
                const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Each of a chain of the library's errors. */
void report_add_error(struct report *r, const struct report_place *place, const oc_error *err);
bool report_good(const struct report *r); /* no error */
void report_sort(struct report *r);       /* by their place in the file; errors before warnings at the same */
void report_free(struct report *r);

#endif
