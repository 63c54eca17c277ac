/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON-RPC 2.0 message: telling its kinds apart, and making them. */
#ifndef OC_WIRE_MESSAGE_H
#define OC_WIRE_MESSAGE_H

#include "base/json.h"

enum oc_message_kind { OC_MESSAGE_REQUEST, OC_MESSAGE_NOTIFY, OC_MESSAGE_RESULT, OC_MESSAGE_ERROR };
struct oc_message {
	enum oc_message_kind kind;
	json_int_t id;       /* of all but NOTIFY; an integer, nothing else is used here */
	const char *method;  /* REQUEST, NOTIFY */
	const json_t *value; /* params or NULL; the result; the error object */
};

/* OC_EPROTO for what is no message, or more than one kind at once.  Members of other names are
 * ignored: they are how a later version says more.  Everything in out is borrowed from json. */
int oc_message_parse(const json_t *json, struct oc_message *out, oc_error **err);

/* New, or NULL when out of memory; `taken` is taken in any case. */
json_t *oc_message_call(json_int_t id, const char *method, json_t *params_taken); /* id 0: a notification */
json_t *oc_message_result(json_int_t id, json_t *result_taken);                   /* NULL: JSON null */
json_t *oc_message_error(json_int_t id, int code, const oc_error *error);

/* The error that an error object of the other side stands for; the code stored. */
int oc_message_to_error(oc_error **err, const json_t *object);

#endif
