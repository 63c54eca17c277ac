/* SPDX-License-Identifier: Apache-2.0 */
/* A run's output, from its journal: also while it runs, and whatever host has it. */
#include <poll.h>
#include <string.h>

#include "executor/agent.h"
#include "executor/render.h"
#include "runs.h"

#define FOLLOW_MS    100
#define STATE_TURNS  5  /* look at the run's state every so many empty turns */
#define SETTLE_TURNS 50 /* and let recovery look at it: its guard may be dead */

enum { O_FOLLOW, O_JSON };

static const struct opt OPTIONS[] = {
	[O_FOLLOW] = { "follow", 'f', NULL, "wait for more until the run is over" },
	[O_JSON] = { "json", 0, NULL, "an agent's own lines, as it printed them" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command COMMAND = {
	.name = "runs logs",
	.args = "ID",
	.about = "What a run printed: its standard output on ours, its standard error on ours.",
	.more = "What an agent printed is shown as text, tools and errors; --json: byte for byte.\n",
	.opts = OPTIONS,
};

struct logs {
	struct host *h;
	struct filter filters[2];
	bool closed;
	const struct talk *talk; /* NULL: what it printed is shown as it is */
	void *reader;
	struct text shown;
};

static void event(const struct talk_event *e, void *userdata)
{
	struct logs *l = userdata;

	render_event(&l->shown, e, l->h->out.ascii);
}

static bool show(struct logs *l, struct out *o, const void *data, size_t len)
{
	return out_bytes(o, &l->filters[o == &l->h->err], data, len) || o != &l->h->out;
}

/* What was rendered of an agent's words, or the bytes as they are. */
static bool show_output(struct logs *l, const void *data, size_t len)
{
	bool more;

	if (!l->talk)
		return show(l, &l->h->out, data, len);
	if (len)
		l->talk->read(l->reader, data, len);
	else
		l->talk->end(l->reader);
	more = show(l, &l->h->out, l->shown.data ? l->shown.data : "", l->shown.len);
	text_free(&l->shown);
	return more;
}

static void piece(int stream, uint64_t offset, const void *data, size_t len, void *userdata)
{
	struct logs *l = userdata;

	(void)offset;
	if (l->closed)
		return;
	if (data) {
		l->closed = !(stream == 2 ? show(l, &l->h->err, data, len) : show_output(l, data, len));
		return;
	}
	out_printf(&l->h->err, "open-conduit: %zu bytes of output are gone: more was printed than is kept\n", len);
	out_flush(&l->h->err);
}

static bool is_over(struct host *h, const char *id)
{
	json_t *run = runs_find(h, id);
	bool over = !run || runs_over(run) || json_is_object(json_object_get(run, "exit"));

	json_decref(run);
	return over;
}

static int print(struct logs *l, const char *id, bool follow)
{
	uint64_t offset = 0;
	bool over = !follow;
	oc_error *err = NULL;
	unsigned idle = 0;
	int rc;

	while ((rc = oc_store_output(l->h->store, id, &offset, piece, l, &err)) >= 0 && !l->closed) {
		if (rc > 0) {
			idle = 0;
			continue;
		}
		if (over)
			break; /* it was over before this last look, so there is no more */
		if (idle++ % STATE_TURNS == 0)
			over = is_over(l->h, id);
		if (idle % SETTLE_TURNS == 0)
			json_decref(host_recover(l->h));
		if (!over)
			poll(NULL, 0, FOLLOW_MS);
	}
	if (rc < 0)
		host_report(l->h, "the output can't be read", err);
	oc_error_free(err);
	return rc < 0 ? EXIT_NO : EXIT_GOOD;
}

static void finish(struct logs *l)
{
	if (l->talk && !l->closed)
		show_output(l, "", 0);
	if (l->talk)
		l->talk->close(l->reader);
	for (int i = 0; i < 2; i++) {
		struct out *o = i ? &l->h->err : &l->h->out;
		struct text rest = { 0 };

		filter_end(&l->filters[i], &rest);
		if (o->tty && rest.len)
			out_put(o, rest.data);
		text_free(&rest);
	}
}

int runs_logs(struct host *h, int argc, char **argv)
{
	struct logs l = { .h = h };
	struct opt_state s;
	const struct executor *executor;
	bool follow = false;
	char id[64];
	json_t *run;
	int o, status;

	opt_begin(&s, &COMMAND, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		follow |= o == O_FOLLOW;
		h->json |= o == O_JSON;
	}
	if (s.nargs != 1)
		return opt_usage_error(&s,
		                       s.nargs ? "one ID at a time" : "which run? open-conduit runs list shows them");
	if (host_open(h) < 0)
		return EXIT_NO;
	run = runs_find(h, s.args[0]);
	if (!run)
		return EXIT_NO;
	snprintf(id, sizeof(id), "%s", host_string(run, "id") ? host_string(run, "id") : "");
	executor = h->json ? NULL : agent_executor_of(run);
	json_decref(run);
	if (executor && (l.reader = executor->talk->open(event, &l)))
		l.talk = executor->talk;
	h->json = false; /* the agent's lines, and no answer of ours */
	for (int i = 0; i < 2; i++) {
		struct out *to = i ? &h->err : &h->out;

		l.filters[i] =
		        (struct filter){ .lines = true, .colours = true, .strip = !to->colour, .ascii = to->ascii };
	}
	status = print(&l, id, follow);
	finish(&l);
	return status;
}
