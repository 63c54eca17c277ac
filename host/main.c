/* SPDX-License-Identifier: Apache-2.0 */
/* open-conduit: the reference host.  A command table; each command is a file of its own. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <string.h>

#include "host.h"

static const struct host_command COMMANDS[] = {
	{ "exec", cmd_exec, "run one command under a policy given on the command line" },
	{ "run", cmd_run, "one turn of a binding of the config, in its Work's clone" },
	{ "serve", cmd_serve, "the daemon: starts queued turns, and is the host of runs that have none" },
	{ "work", cmd_work, "what Works there are: list, show, exec, finish" },
	{ "doctor", cmd_doctor, "try what a sandbox needs, and say how to mend what is missing" },
	{ "runs", cmd_runs, "what ran: list, get, logs, stop" },
	{ "receipt", cmd_receipt, "verify: does what a run was said to be still hold" },
	{ "explain", cmd_explain, "would a policy allow it, and by which rule" },
	{ "config", cmd_config, "check the config, say what each binding is granted, print the schema" },
	{ "secret", cmd_secret, "store, list and remove secrets; a value is never shown" },
	{ "provider", cmd_provider, "list the installed providers" },
	{ NULL, NULL, NULL },
};

static void usage(struct out *o)
{
	out_put(o, "usage: open-conduit COMMAND [options]\n\n"
	           "Runs coding agents and shell jobs confined by a policy; nothing runs unless the policy is "
	           "enforced.\n\n");
	for (const struct host_command *c = COMMANDS; c->name; c++)
		out_printf(o, "  %-10s  %s\n", c->name, c->about);
	out_put(o, "\nopen-conduit COMMAND --help tells the options; open-conduit(1) has the whole manual.\n\n"
	           "  open-conduit exec -- make test        the current directory writable, no network\n"
	           "  open-conduit runs get ID              what that run was granted, and what was proved\n");
}

static int unknown(struct host *h, const char *word)
{
	const char *names[sizeof(COMMANDS) / sizeof(COMMANDS[0]) + 2], *near;
	size_t n = 0;

	for (const struct host_command *c = COMMANDS; c->name; c++)
		names[n++] = c->name;
	names[n++] = "help";
	names[n] = NULL;
	near = opt_nearest(word, names);
	out_printf(&h->err, "open-conduit: there is no command \"%s\"", word);
	if (near)
		out_printf(&h->err, "; did you mean \"%s\"?", near);
	out_put(&h->err, "\nTry: open-conduit --help\n");
	return EXIT_USAGE;
}

static const struct host_command *find(const char *word)
{
	for (const struct host_command *c = COMMANDS; c->name; c++)
		if (!strcmp(c->name, word))
			return c;
	return NULL;
}

static int help(struct host *h, int argc, char **argv)
{
	char flag[] = "--help", *again[] = { flag, NULL };
	const struct host_command *c;

	if (argc == 0) {
		usage(&h->out);
		return EXIT_GOOD;
	}
	c = find(argv[0]);
	return c ? c->run(h, 1, again) : unknown(h, argv[0]);
}

static int dispatch(struct host *h, int argc, char **argv)
{
	const struct host_command *c;

	if (argc < 2) {
		usage(&h->err);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version")) {
		out_printf(&h->out, "open-conduit %s\n", oc_version());
		return EXIT_GOOD;
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help(h, argc - 2, argv + 2);
	c = find(argv[1]);
	return c ? c->run(h, argc - 2, argv + 2) : unknown(h, argv[1]);
}

int main(int argc, char **argv)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct host h = { 0 };
	bool exec = argc > 1 && (!strcmp(argv[1], "exec") || !strcmp(argv[1], "run"));
	int rc;

	setlocale(LC_CTYPE, "");
	out_open(&h.out, &h.err);
	/* A reader that goes away is an error of write(2), which out.c turns into a quiet exit. */
	sigaction(SIGPIPE, &ignore, NULL);
	rc = dispatch(&h, argc, argv);
	host_close(&h);
	return out_end(&h.out, &h.err, rc, exec ? EXIT_NOT_RUN : EXIT_NO);
}
