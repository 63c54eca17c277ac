/* SPDX-License-Identifier: Apache-2.0 */
#include "later.h"

#include <stdlib.h>
#include <string.h>

#include "errand.h"
#include "github_ask.h"

#define CALLS_MAX 64 /* as many as a guard hands out */

struct later {
	struct later *next;
	char run[40];
	later_fn fn;
	bool changes, started;
	oc_toolcall *calls[CALLS_MAX];
	size_t n;
};

static const struct toolbelt_refusal unknown = {
	.reason = "outcome_unknown",
	.message = "what was asked of GitHub was given no answer, so it is unknown whether it was done. It is not "
	           "repeated: look before you call again"
};

static void unlink_later(struct host *h, const struct later *l)
{
	struct later **at = &h->laters;

	while (*at && *at != l)
		at = &(*at)->next;
	if (*at)
		*at = l->next;
}

/* A process that was started and said nothing. */
static bool lost(const struct later *l, const json_t *error)
{
	const char *reason = host_string(error, "reason");

	return l->changes && l->started && reason && !strcmp(reason, "helper_failed");
}

static void answered(struct host *h, const json_t *answer, void *userdata)
{
	struct later *l = userdata;
	const json_t *error = json_object_get(answer, "error");

	unlink_later(h, l);
	for (size_t i = 0; i < l->n; i++) {
		if (!error)
			l->fn(h, l->calls[i], answer);
		else if (lost(l, error))
			toolbelt_refuse(h, l->calls[i], &unknown);
		else
			toolbelt_refuse_json(h, l->calls[i], error);
	}
	free(l);
}

void later_start(const struct toolbelt *t, oc_toolcall *call, json_t *request, later_fn fn, bool changes)
{
	const struct toolbelt_refusal r = { .reason = "failed", .message = "out of memory" };
	struct later *l = request ? calloc(1, sizeof(*l)) : NULL;
	struct errand *errand;

	if (!l) {
		github_request_free(request);
		toolbelt_refuse(t->h, call, &r);
		return;
	}
	snprintf(l->run, sizeof(l->run), "%s", t->run);
	l->fn = fn;
	l->changes = changes;
	l->calls[l->n++] = call;
	l->next = t->h->laters;
	t->h->laters = l;
	errand = errand_start(t->h, GITHUB_PROGRAM, request, answered, l);
	if (errand) /* else it has been answered, and is gone */
		l->started = true;
}

bool later_join(const struct toolbelt *t, oc_toolcall *call, later_fn fn)
{
	for (struct later *l = t->h->laters; l; l = l->next) {
		if (l->fn != fn || strcmp(l->run, t->run) != 0 || l->n >= CALLS_MAX)
			continue;
		l->calls[l->n++] = call;
		return true;
	}
	return false;
}

void later_end(struct host *h)
{
	errands_end(h);
	while (h->laters) {
		struct later *l = h->laters;

		h->laters = l->next;
		for (size_t i = 0; i < l->n; i++)
			toolbelt_refuse(h, l->calls[i], &unknown);
		free(l);
	}
}
