/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that wait to be started, or were refused before they were runs: in the queue, and nowhere else yet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runs.h"

json_t *runs_queue(struct host *h)
{
	json_t *rows = NULL, *out = json_array(), *row;
	oc_error *err = NULL;
	char *text = NULL;
	size_t i;

	if (oc_queue_list(h->store, &text, &err) < 0)
		host_report(h, "the queue can't be read", err);
	else
		rows = host_parse(h, "the queue", text);
	oc_error_free(err);
	json_array_foreach(rows, i, row)
	{
		if (!json_is_string(json_object_get(row, "run")))
			json_array_append(out, row);
	}
	json_decref(rows);
	return out;
}

json_t *runs_queued(struct host *h, const char *id)
{
	json_t *rows = runs_queue(h), *found = NULL, *row;
	size_t i, n = 0;

	json_array_foreach(rows, i, row)
	{
		if (strncmp(host_string(row, "id"), id, strlen(id)) != 0)
			continue;
		found = row;
		n++;
	}
	/* One that begins like a run's is that run's: those are looked for by the store. */
	found = n == 1 && strlen(id) >= 4 ? json_incref(found) : NULL;
	json_decref(rows);
	return found;
}

static void what(const json_t *row, char *out, size_t size)
{
	const char *key = host_string(row, "key");

	snprintf(out, size, "%s%s%s", host_string(row, "binding"), key ? " --work " : "", key ? key : "");
}

void runs_queue_lines(struct host *h, const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const char *reason = host_string(json_object_get(row, "error"), "reason");
		char created[32], state[80], about[1024];

		host_time(json_object_get(row, "created"), created, sizeof(created));
		snprintf(state, sizeof(state), "%s%s%.40s", host_string(row, "state"), reason ? ": " : "",
		         reason ? reason : "");
		what(row, about, sizeof(about));
		out_printf(&h->out, "%-12s  %-19s  %-18s  %-27s  %s\n", host_string(row, "id"), created, "", state,
		           about);
	}
}

void runs_queue_show(struct host *h, const json_t *row)
{
	const json_t *error = json_object_get(row, "error");
	const char *state = host_string(row, "state");
	char created[32], about[1024];

	host_time(json_object_get(row, "created"), created, sizeof(created));
	what(row, about, sizeof(about));
	out_printf(&h->out, "run      %s\nstate    %s\nof       %s\nqueued   %s\n", host_string(row, "id"), state,
	           about, created);
	if (json_is_object(error))
		out_printf(&h->out, "reason   %s\nwhat     %s\nabout    %s\nfix      %s\n",
		           host_string(error, "reason") ? host_string(error, "reason") : "none",
		           host_string(error, "message") ? host_string(error, "message") : "",
		           host_string(error, "subject") ? host_string(error, "subject") : "",
		           host_string(error, "fix") ? host_string(error, "fix") : "");
}

static int refuse_begun(struct host *h, const char *id)
{
	char fix[80];
	const struct refusal r = { "work_busy", id, "it is being started at this moment", fix };

	snprintf(fix, sizeof(fix), "open-conduit runs stop %.40s", id);
	host_refuse(h, "not stopped", &r);
	return EXIT_NO;
}

int runs_queue_stop(struct host *h, const json_t *row)
{
	const char *id = host_string(row, "id"), *state = host_string(row, "state");
	bool refused = state && !strcmp(state, "refused");
	oc_error *err = NULL;
	int rc = oc_queue_move(h->store, id, refused ? "refused" : "queued", NULL, NULL, &err);

	if (rc < 0) {
		host_report(h, "not stopped", err);
		oc_error_free(err);
		return EXIT_NO;
	}
	if (!rc)
		return refuse_begun(h, id);
	if (h->json)
		out_json(&h->out, json_pack("{s:i, s:s, s:b, s:s}", "version", 1, "run", id, "stopped", !refused,
		                            "state", "removed"));
	else
		out_printf(&h->err, "open-conduit: %s is no more in the queue; nothing of it ran\n", id);
	return EXIT_GOOD;
}
