/* SPDX-License-Identifier: Apache-2.0 */
/* Receipts: printing one, and looking one over with nothing but its text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runs.h"
#include "subcommand.h"

#define RECEIPT_MAX (64u << 20)

enum { O_JSON, O_DIGEST };

static const struct opt VERIFY_OPTIONS[] = {
	[O_JSON] = { "json", 0, NULL, "facts as JSON on stdout" },
	[O_DIGEST] = { "digest", 0, "DIGEST", "it has to be the one with this digest, kept elsewhere" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command VERIFY = {
	.name = "receipt verify",
	.args = "FILE|-",
	.about = "Does a receipt of \"runs get --receipt\" hold?  Needs nothing but the file.",
	.more = "exit status: 0 it holds; 1 it doesn't, and what of it; 2 usage, or no file that can be read.\n",
	.opts = VERIFY_OPTIONS,
};

int runs_receipt(struct host *h, const char *id)
{
	oc_error *err = NULL;
	char *text = NULL;

	if (oc_store_receipt(h->store, id, &text, &err) < 0) {
		host_report(h, "no receipt", err);
		oc_error_free(err);
		return EXIT_NO;
	}
	/* Laid out, and in ASCII: what it says, and so its digests, are the same. */
	out_json(&h->out, json_loads(text, JSON_ALLOW_NUL, NULL));
	free(text);
	return EXIT_GOOD;
}

static int another(struct host *h, const char *is)
{
	char message[200];
	const struct refusal r = { "receipt_broken", "digest", message, "open-conduit runs list" };

	snprintf(message, sizeof(message), "it holds, but its digest is %.80s: it is not the receipt that was kept",
	         is);
	host_refuse(h, "not the receipt", &r);
	return EXIT_NO;
}

static void told(struct host *h, const json_t *facts)
{
	long long events = json_integer_value(json_object_get(facts, "events"));
	long long before = json_integer_value(json_object_get(facts, "unchained"));

	out_styled(&h->out, STYLE_GREEN, "holds");
	out_printf(&h->out, "  receipt of run %s (%s), %s\n", host_string(facts, "run"), host_string(facts, "kind"),
	           host_string(facts, "state"));
	if (!json_is_true(json_object_get(facts, "over")))
		out_put(&h->out, "  the run was not over when it was made: it has no end\n");
	if (before)
		out_printf(
		        &h->out,
		        "  %lld of its %lld events were recorded before there was a chain: only the digest binds them, "
		        "and what they tell of is not compared\n",
		        before, events);
	else
		out_printf(&h->out, "  %lld events, each chained to the one before\n", events);
	out_printf(&h->out, "  digest %s\n", host_string(facts, "digest"));
	out_put(&h->out, "  whoever can write the state directory can make another that holds: compare the digest with "
	                 "one that was kept elsewhere\n");
}

static int verify_text(struct host *h, const char *text, const char *wanted)
{
	oc_error *err = NULL;
	char *said = NULL;
	json_t *facts;
	int status = EXIT_GOOD;

	if (oc_receipt_verify(text, strlen(text), &said, &err) < 0) {
		host_report(h, "the receipt doesn't hold", err);
		oc_error_free(err);
		return EXIT_NO;
	}
	facts = host_parse(h, "what was found", said);
	if (!facts)
		return EXIT_NO;
	if (wanted && strcmp(wanted, host_string(facts, "digest")) != 0) {
		status = another(h, host_string(facts, "digest"));
	} else if (h->json) {
		json_t *answer = host_answer();

		json_object_set(answer, "receipt", facts);
		out_json(&h->out, answer);
	} else {
		told(h, facts);
	}
	json_decref(facts);
	return status;
}

static int verify(struct host *h, int argc, char **argv)
{
	const char *wanted = NULL, *why = NULL;
	struct opt_state s;
	char *text;
	int o, status;

	opt_begin(&s, &VERIFY, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		h->json |= o == O_JSON;
		if (o == O_DIGEST)
			wanted = s.value;
	}
	if (s.nargs != 1)
		return opt_usage_error(&s, s.nargs ? "one FILE at a time"
		                                   : "which receipt? a FILE, or - for standard input");
	text = host_read_file(strcmp(s.args[0], "-") ? s.args[0] : "/dev/stdin", RECEIPT_MAX, &why);
	if (!text)
		return opt_usage_error(&s, "%s can't be read: %s", s.args[0], why);
	status = verify_text(h, text, wanted);
	free(text);
	return status;
}

static const struct host_command COMMANDS[] = {
	{ "verify", verify, "does a receipt hold, and which part of it doesn't" },
	{ NULL, NULL, NULL },
};

int cmd_receipt(struct host *h, int argc, char **argv)
{
	return host_subcommand(h, "receipt", COMMANDS, argc, argv);
}
