/* SPDX-License-Identifier: Apache-2.0 */
#include "ask.h"

int ask_refuse(const struct reply *reply, const char *what, struct refusal *r)
{
	const char *why = reply->why ? reply->why : "it says no more";

	if (!reply->status)
		return refuse(r, "sandbox_unavailable", "engine", "open-conduit doctor",
		              "%s: the engine did not answer: %s", what, why);
	return refuse(r, "sandbox_unavailable", "engine", "open-conduit doctor", "%s: the engine answered %ld: %s",
	              what, reply->status, why);
}

int ask_take(struct request *request, const char *what, json_t **out, struct refusal *r)
{
	struct reply reply = { 0 };
	int rc = 0;

	if (!request)
		return no_memory(r);
	request_take(request, &reply);
	if (reply.status < 200 || reply.status > 299) {
		rc = ask_refuse(&reply, what, r);
	} else if (out) {
		*out = reply.json;
		reply.json = NULL;
	}
	reply_clear(&reply);
	return rc;
}

int ask(struct engine *e, const char *method, const char *path, const json_t *body, const char *what, json_t **out,
        struct refusal *r)
{
	return ask_take(engine_begin(e, method, path, body, ASK_MS), what, out, r);
}
