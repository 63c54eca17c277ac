/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "secret/secret.h"
#include "subcommand.h"

enum { O_FILE, O_JSON = 0 };

static const struct opt FILE_OPTIONS[] = {
	[O_FILE] = { "file", 0, NULL, "in a file of the configuration directory, not in the keyring" },
	{ NULL, 0, NULL, NULL },
};
static const struct opt LIST_OPTIONS[] = {
	[O_JSON] = { "json", 0, NULL, "facts as JSON on stdout" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command SET = {
	.name = "secret set",
	.args = "NAME",
	.about = "Store a secret: in the keyring (Secret Service), or with --file in a file of mode 0600.",
	.more = "The value is a line typed at the terminal, which shows nothing of it, without its newline; or all of\n"
	        "standard input, whole: a newline at its end is part of it.  At most 64 KiB, no NUL byte.\n"
	        "It is never an argument: others can read those.\n\n"
	        "A config refers to it as keyring:NAME, or file:PATH with the path that --file tells.\n\n"
	        "exit status: 0 stored; 1 not (what was there is as it was); 128+N signal N; 2 usage.\n",
	.opts = FILE_OPTIONS,
};
static const struct opt_command LIST = {
	.name = "secret list",
	.about = "Which secrets there are, where each is, whether it can be read, and which bindings select it.",
	.more = "present, locked, absent, unusable (open to others, another's, too long), or why the keyring can't be\n"
	        "asked: no_bus, no_service, no_helper, silent.  No value is shown.\n",
	.opts = LIST_OPTIONS,
};
static const struct opt_command RM = {
	.name = "secret rm",
	.args = "NAME",
	.about = "Remove a secret from the keyring, or with --file the file of it.",
	.more = "exit status: 0 removed; 1 not there, or not removed; 2 usage.\n",
	.opts = FILE_OPTIONS,
};

/* One NAME, perhaps --file.  0, or an exit status (negative: of --help). */
static int parse(struct host *h, const struct opt_command *command, int argc, char **argv, const char **name,
                 bool *file)
{
	struct opt_state s;
	int o;

	opt_begin(&s, command, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? -1 : EXIT_USAGE;
		*file = true;
	}
	/* What is too much is not repeated: it may be a value. */
	if (s.nargs > 1)
		return opt_usage_error(&s, "one NAME; a value is never an argument, since others can read those: it is "
		                           "typed at the terminal, or comes on standard input");
	if (!s.nargs)
		return opt_usage_error(&s, "which secret? NAME");
	*name = s.args[0];
	if (!secret_name_valid(*name))
		return opt_usage_error(
		        &s,
		        "that can't be a NAME: a letter or digit, then letters, digits and . _ @ + -, at "
		        "most %d characters",
		        SECRET_NAME_MAX);
	return 0;
}

static void say_where(struct host *h, const char *name, bool file, const char *done)
{
	char *path = file ? secret_file_path(name) : NULL;

	if (path)
		out_printf(&h->err, "open-conduit: %s file:%s\n", done, path);
	else
		out_printf(&h->err, "open-conduit: %s keyring:%s\n", done, name);
	free(path);
}

static int set(struct host *h, int argc, char **argv)
{
	struct secret_value value = { NULL, 0 };
	struct secret_problem p = { { 0 }, { 0 } };
	const char *name = NULL;
	bool file = false;
	int rc = parse(h, &SET, argc, argv, &name, &file);
	enum secret_state state;

	if (rc)
		return rc < 0 ? EXIT_GOOD : rc;
	rc = secret_input(h, name, &value);
	if (rc == 0) {
		state = file ? secret_file_store(name, &value, &p) : secret_keyring_store(name, &value, &p);
		if (state == SECRET_PRESENT)
			say_where(h, name, file, "stored as");
		else
			secret_refuse(h, "not stored", name, &p);
		rc = state == SECRET_PRESENT ? EXIT_GOOD : EXIT_NO;
	}
	secret_value_free(&value);
	secret_problem_free(&p);
	return rc;
}

static int rm(struct host *h, int argc, char **argv)
{
	struct secret_problem p = { { 0 }, { 0 } };
	const char *name = NULL;
	bool file = false;
	int rc = parse(h, &RM, argc, argv, &name, &file);
	enum secret_state state;

	if (rc)
		return rc < 0 ? EXIT_GOOD : rc;
	state = file ? secret_file_remove(name, &p) : secret_keyring_remove(name, &p);
	if (state == SECRET_PRESENT) {
		say_where(h, name, file, "removed");
	} else {
		/* "set it first" is no help to who wants it gone. */
		if (state == SECRET_ABSENT)
			secret_problem(&p, state,
			               file ? "there is no such file of a secret"
			                    : "there is no such entry in the keyring",
			               "open-conduit secret list");
		secret_refuse(h, "not removed", name, &p);
	}
	secret_problem_free(&p);
	return state == SECRET_PRESENT ? EXIT_GOOD : EXIT_NO;
}

static int list(struct host *h, int argc, char **argv)
{
	struct opt_state s;
	int o;

	opt_begin(&s, &LIST, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		h->json = true;
	}
	if (s.nargs)
		return opt_usage_error(&s, "it takes no arguments");
	return secret_list(h);
}

static const struct host_command COMMANDS[] = {
	{ "set", set, "store one: from the terminal without an echo, or standard input" },
	{ "list", list, "which there are, where, and who selects them; never a value" },
	{ "rm", rm, "remove one" },
	{ NULL, NULL, NULL },
};

int cmd_secret(struct host *h, int argc, char **argv)
{
	return host_subcommand(h, "secret", COMMANDS, argc, argv);
}
