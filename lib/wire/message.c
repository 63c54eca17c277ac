/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/message.h"

#include <string.h>

#define METHOD_MAX 128

static int refuse(oc_error **err, const char *what)
{
	return oc_fail(err, OC_EPROTO, 0, "not a JSON-RPC 2.0 message: %s", what);
}

static int parse_call(const json_t *json, struct oc_message *out, oc_error **err)
{
	const json_t *id = json_object_get(json, "id"), *params = json_object_get(json, "params");

	out->method = oc_json_text(json, "method");
	if (!out->method || !*out->method || strlen(out->method) > METHOD_MAX)
		return refuse(err, "the method is no text of 1 to 128 bytes");
	if (id && !json_is_integer(id))
		return refuse(err, "the id is no integer");
	if (params && !json_is_object(params) && !json_is_array(params))
		return refuse(err, "params are neither an object nor an array");
	out->kind = id ? OC_MESSAGE_REQUEST : OC_MESSAGE_NOTIFY;
	out->id = json_integer_value(id);
	out->value = params;
	return 0;
}

static int parse_reply(const json_t *json, struct oc_message *out, oc_error **err)
{
	const json_t *id = json_object_get(json, "id");
	const json_t *result = json_object_get(json, "result"), *error = json_object_get(json, "error");

	if (!result == !error)
		return refuse(err, "neither a method nor exactly one of result and error");
	if (error && !json_is_object(error))
		return refuse(err, "the error is no object");
	if (!json_is_integer(id))
		return refuse(err, "the id is no integer");
	out->kind = result ? OC_MESSAGE_RESULT : OC_MESSAGE_ERROR;
	out->id = json_integer_value(id);
	out->value = result ? result : error;
	return 0;
}

int oc_message_parse(const json_t *json, struct oc_message *out, oc_error **err)
{
	const char *version = oc_json_text(json, "jsonrpc");

	*out = (struct oc_message){ 0 };
	if (!json_is_object(json))
		return refuse(err, "not an object");
	if (!version || strcmp(version, "2.0") != 0)
		return refuse(err, "\"jsonrpc\" is not \"2.0\"");
	if (!json_object_get(json, "method"))
		return parse_reply(json, out, err);
	if (json_object_get(json, "result") || json_object_get(json, "error"))
		return refuse(err, "a method and a reply at once");
	return parse_call(json, out, err);
}

static json_t *envelope(void)
{
	json_t *json = json_object();

	if (oc_json_set_string(json, "jsonrpc", "2.0"))
		return json;
	json_decref(json);
	return NULL;
}

json_t *oc_message_call(json_int_t id, const char *method, json_t *params_taken)
{
	oc_cleanup(oc_json_decrefp) json_t *params = params_taken;
	oc_cleanup(oc_json_decrefp) json_t *json = envelope();

	if (!json || !oc_json_set_string(json, "method", method) ||
	    (id && !oc_json_set(json, "id", json_integer(id))) ||
	    (params && !oc_json_set(json, "params", oc_steal(params))))
		return NULL;
	return oc_steal(json);
}

json_t *oc_message_result(json_int_t id, json_t *result_taken)
{
	oc_cleanup(oc_json_decrefp) json_t *result = result_taken ? result_taken : json_null();
	oc_cleanup(oc_json_decrefp) json_t *json = envelope();

	if (!json || !oc_json_set(json, "id", json_integer(id)) || !oc_json_set(json, "result", oc_steal(result)))
		return NULL;
	return oc_steal(json);
}

json_t *oc_message_error(json_int_t id, int code, const oc_error *error)
{
	oc_cleanup(oc_json_decrefp) json_t *json = envelope();
	json_t *object = json ? json_object() : NULL;

	if (!oc_json_set(json, "error", object) || !oc_json_set(json, "id", json_integer(id)) ||
	    !oc_json_set(object, "code", json_integer(code)) ||
	    !oc_json_set_string(object, "message", oc_error_message(error)) ||
	    !oc_json_set(object, "data", oc_error_to_json(error)))
		return NULL;
	return oc_steal(json);
}

int oc_message_to_error(oc_error **err, const json_t *object)
{
	const json_t *data = json_object_get(object, "data");
	const char *message = oc_json_text(object, "message");

	if (json_is_object(data))
		return oc_error_from_json(err, data);
	return oc_fail(err, OC_EFAILED, 0, "%s (code %lld)", message ? message : "the other side failed",
	               (long long)oc_json_integer(object, "code", 0));
}
