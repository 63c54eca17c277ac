/* SPDX-License-Identifier: Apache-2.0 */
/* Making errors.  The public half is <openconduit/error.h>.
 * Every function here returns the (negative) code it stored, so that
 * `return oc_fail(err, …)` reads as one step.  err may be NULL. */
#ifndef OC_BASE_ERROR_H
#define OC_BASE_ERROR_H

#include <jansson.h>
#include <openconduit/error.h>
#include <stdarg.h>

#include "base/util.h"

/* A failure with no stable reason: bad arguments, I/O, protocol. */
int oc_fail(oc_error **err, int code, int errnum, const char *fmt, ...) OC_PRINTF(4, 5);

/* A refusal: reason is one of the table in openconduit-reasons(7), subject what it
 * is about (path, host, field, probe), fix a line a person can paste.  All are copied. */
int oc_refuse(oc_error **err, const char *reason, const char *subject, const char *fix, const char *fmt, ...)
        OC_PRINTF(5, 6);

int oc_nomem(oc_error **err);

/* Whether this is one of the table. */
bool oc_reason_known(const char *reason);

/* All of them at once, for code that passes a caller's reason on: what is NULL is absent.  Texts are
 * bounded and escaped (utf8.h), so that an error can be printed and stored as it is; where errnum is
 * set its description is appended to the message. */
int oc_error_make(oc_error **err, int code, int errnum, const char *reason, const char *subject, const char *fix,
                  const char *fmt, va_list ap) OC_PRINTF(7, 0);
int oc_error_makef(oc_error **err, int code, int errnum, const char *reason, const char *subject, const char *fix,
                   const char *fmt, ...) OC_PRINTF(7, 8);

/* Put "<text>: " before the message of *err, keeping everything else. */
void oc_prefix(oc_error **err, const char *fmt, ...) OC_PRINTF(2, 3);

/* Append `more` (taken) to the end of *err's chain. */
void oc_error_append(oc_error **err, oc_error *more);

/* The object form: {"reason","subject","message","fix","code","errno","more":[…]};
 * absent members are null in C.  from_json bounds and checks what it reads. */
json_t *oc_error_to_json(const oc_error *err);              /* new, or NULL when out of memory */
int oc_error_from_json(oc_error **err, const json_t *json); /* the code stored */

/* "Returns less than 0" is what every caller goes by: made true here, where a reader, the compiler and the analysers can
 * see it.  A caller that passes 0 for a code fails too. */
static inline int oc_error_code_of(int rc)
{
	return rc < 0 ? rc : OC_EFAILED;
}
static inline int oc_error_nomem(oc_error **err)
{
	oc_nomem(err);
	return OC_ENOMEM;
}
#define oc_fail(...)            oc_error_code_of(oc_fail(__VA_ARGS__))
#define oc_refuse(...)          oc_error_code_of(oc_refuse(__VA_ARGS__))
#define oc_nomem(err)           oc_error_nomem(err)
#define oc_error_make(...)      oc_error_code_of(oc_error_make(__VA_ARGS__))
#define oc_error_makef(...)     oc_error_code_of(oc_error_makef(__VA_ARGS__))
#define oc_error_from_json(...) oc_error_code_of(oc_error_from_json(__VA_ARGS__))

#endif
