/* SPDX-License-Identifier: Apache-2.0 */
#include "subcommand.h"

#include <string.h>

static void subcommand_usage(struct out *o, const char *name, const struct host_command *commands)
{
	out_printf(o, "usage: open-conduit %s", name);
	for (const struct host_command *c = commands; c->name; c++)
		out_printf(o, "%s%s", c == commands ? " " : "|", c->name);
	out_put(o, " [options]\n\n");
	for (const struct host_command *c = commands; c->name; c++)
		out_printf(o, "  %-6s  %s\n", c->name, c->about);
	out_printf(o, "\nopen-conduit %s COMMAND --help tells the options.\n", name);
}

int host_subcommand(struct host *h, const char *name, const struct host_command *commands, int argc, char **argv)
{
	const char *names[32] = { NULL }, *near;

	if (argc && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))) {
		subcommand_usage(&h->out, name, commands);
		return EXIT_GOOD;
	}
	for (size_t i = 0; commands[i].name && i < 31; i++) {
		if (argc && !strcmp(argv[0], commands[i].name))
			return commands[i].run(h, argc - 1, argv + 1);
		names[i] = commands[i].name;
	}
	if (argc) {
		near = opt_nearest(argv[0], names);
		out_printf(&h->err, "open-conduit %s: there is no command \"%s\"", name, argv[0]);
		out_printf(&h->err, near ? "; did you mean \"%s\"?\n" : "\n", near);
	}
	subcommand_usage(&h->err, name, commands);
	return EXIT_USAGE;
}
