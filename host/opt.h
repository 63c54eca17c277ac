/* SPDX-License-Identifier: Apache-2.0 */
/* Options by table: one table parses them, prints the usage and answers for a misspelt one. */
#ifndef HOST_OPT_H
#define HOST_OPT_H

#include <stdbool.h>
#include <stddef.h>

struct out;

struct opt {
	const char *name; /* long form; the table ends with NULL */
	int letter;       /* short form, or 0 */
	const char *arg;  /* what its value is called; NULL: a switch */
	const char *help; /* NULL: known, but not shown */
};

struct opt_command {
	const char *name;  /* "runs get" */
	const char *args;  /* "ID", or NULL */
	const char *about; /* one line */
	const char *more;  /* further text of --help, or NULL */
	const struct opt *opts;
	bool rest; /* the first argument that is no option begins a command that is not ours to read */
};

enum { OPT_END = -1, OPT_BAD = -2, OPT_HELP = -3 };

struct opt_state {
	const struct opt_command *command;
	struct out *out, *err;
	int argc;
	char **argv;
	int at;            /* next argument to look at */
	const char *value; /* of the option just returned; NULL for a switch */
	char **args;       /* after OPT_END: what is no option, moved to the end of argv */
	int nargs;
	/* private */
	int kept;
	const char *letters;
};

/* argv without the command's own words. */
void opt_begin(struct opt_state *s, const struct opt_command *command, int argc, char **argv, struct out *out,
               struct out *err);
/* The index of the next option in the table, or one of the above.  OPT_BAD: said so on err (exit 2); OPT_HELP: the
 * usage went to out (exit 0). */
int opt_next(struct opt_state *s);
/* "open-conduit: <command>: …", then where the usage is; returns 2, the exit status. */
int opt_usage_error(struct opt_state *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void opt_print_usage(struct out *out, const struct opt_command *command);
/* The candidate that `word` is most likely a misspelling of, or NULL.  The list ends with NULL. */
const char *opt_nearest(const char *word, const char *const *candidates);
/* "30", "1.5h" is refused; "500ms", "30s", "5m", "2h".  Milliseconds, or -1. */
long long opt_duration(const char *text);

#endif
