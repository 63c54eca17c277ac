/* SPDX-License-Identifier: Apache-2.0 */
/* work settle: what every command about Works does first, as a command of its own. */
#include <string.h>

#include "executor/agent.h"
#include "runs.h"
#include "work.h"

enum { O_JSON };

static const struct opt OPTIONS[] = {
	[O_JSON] = { "json", 0, NULL, "facts as JSON on stdout" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command COMMAND = {
	.name = "work settle",
	.args = "[RUN…]",
	.about = "Settle what ended runs left: record their ends, save their commits, remove what is over.",
	.more = "Every command about Works does this first; the daemon does it by this one.\n"
	        "RUN: also note how these agents' turns went.\n\n"
	        "exit status: 0 all is settled; 1 something isn't, can't be told, or somebody is at it; 2 usage.\n",
	.opts = OPTIONS,
};

static void settle_agent(struct host *h, const char *id)
{
	oc_error *err = NULL;
	char *text = NULL;
	json_t *run;

	/* A run that is not there, or not yet over, has nothing to be settled. */
	if (oc_store_run(h->store, id, &text, &err) < 0) {
		oc_error_free(err);
		return;
	}
	run = host_parse(h, "the record", text);
	if (run && runs_over(run))
		(void)agent_settle(h, run);
	json_decref(run);
}

/* NULL: they could not be walked. */
static bool all_told(const json_t *runs)
{
	const json_t *run;
	bool told = runs != NULL;
	size_t i;

	json_array_foreach(runs, i, run)
	{
		const char *outcome = host_string(run, "outcome");

		told &= outcome && strcmp(outcome, "unknown") != 0;
	}
	return told;
}

int work_settle_command(struct host *h, int argc, char **argv)
{
	struct opt_state s;
	json_t *runs;
	bool good;
	int o;

	opt_begin(&s, &COMMAND, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		h->json |= o == O_JSON;
	}
	if (host_open(h) < 0)
		return EXIT_NO;
	runs = host_recover(h);
	for (int i = 0; i < s.nargs; i++)
		settle_agent(h, s.args[i]);
	good = work_settle(h) && all_told(runs);
	if (h->json)
		out_json(&h->out, json_pack("{s:i, s:b, s:O?}", "version", 1, "settled", good, "runs", runs));
	json_decref(runs);
	return good ? EXIT_GOOD : EXIT_NO;
}
