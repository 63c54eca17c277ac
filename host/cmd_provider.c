/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host.h"

#define PREFIX "open-conduit-provider-"

enum { O_JSON };

static const struct opt OPTIONS[] = {
	[O_JSON] = { "json", 0, NULL, "facts as JSON on stdout" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command COMMAND = {
	.name = "provider list",
	.about = "List the providers that are installed; of two with one name the first is used.",
	.opts = OPTIONS,
};

/* What the library would refuse to start; NULL: nothing. */
static const char *judge(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "not a regular file";
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return "another user can change it";
	return faccessat(dir, name, X_OK, 0) < 0 ? "not executable" : NULL;
}

static bool seen(const json_t *list, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) if (!strcmp(host_string(one, "name"), name)) return true;
	return false;
}

static int is_provider(const struct dirent *entry)
{
	return !strncmp(entry->d_name, PREFIX, strlen(PREFIX)) && entry->d_name[strlen(PREFIX)];
}

static void look_in(json_t *list, const char *path)
{
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, is_provider, alphasort);
	int dir = n > 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name + strlen(PREFIX);
		const char *why = dir < 0            ? strerror(errno)
		                  : seen(list, name) ? "another one of this name comes first"
		                                     : judge(dir, entries[i]->d_name);
		char whole[4400];

		snprintf(whole, sizeof(whole), "%s/%s", path, entries[i]->d_name);
		/* A name that is no UTF-8 makes no JSON; it can't be asked for either. */
		json_array_append_new(
		        list, json_pack("{s:s,s:s,s:b,s:s?}", "name", name, "path", whole, "usable", !why, "why", why));
		free(entries[i]);
	}
	free(entries);
	if (dir >= 0)
		close(dir);
}

static void print_text(struct host *h, const json_t *list, const char *const dirs[2])
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		const char *why = host_string(one, "why");

		out_printf(&h->out, "%-10s  ", host_string(one, "name"));
		if (why) {
			out_styled(&h->out, STYLE_RED, "unusable");
			out_printf(&h->out, "  %s: %s\n", host_string(one, "path"), why);
		} else {
			out_printf(&h->out, "%s\n", host_string(one, "path"));
		}
	}
	if (!json_array_size(list))
		out_printf(&h->err, "open-conduit: no provider is installed in %s%s%s\n", dirs[0] ? dirs[0] : "",
		           dirs[0] ? " or " : "", dirs[1]);
}

static int list(struct host *h, int argc, char **argv)
{
	struct opt_state s;
	const char *dirs[2];
	char installed[4096];
	json_t *found;
	int o;

	opt_begin(&s, &COMMAND, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		h->json |= o == O_JSON;
	}
	if (s.nargs)
		return opt_usage_error(&s, "it takes no arguments, but \"%s\" was given", s.args[0]);
	found = json_array();
	host_provider_dirs(dirs);
	snprintf(installed, sizeof(installed), "%s/providers", dirs[1]);
	dirs[1] = installed;
	for (int i = 0; i < 2; i++)
		if (dirs[i])
			look_in(found, dirs[i]);
	if (h->json) {
		json_t *answer = host_answer();

		json_object_set(answer, "providers", found);
		out_json(&h->out, answer);
	} else {
		print_text(h, found, dirs);
	}
	json_decref(found);
	return EXIT_GOOD;
}

int cmd_provider(struct host *h, int argc, char **argv)
{
	bool help = argc > 0 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"));

	if (argc > 0 && !strcmp(argv[0], "list"))
		return list(h, argc - 1, argv + 1);
	if (argc > 0 && !help)
		out_printf(&h->err, "open-conduit provider: there is no command \"%s\"; there is \"list\"\n", argv[0]);
	opt_print_usage(help ? &h->out : &h->err, &COMMAND);
	return help ? EXIT_GOOD : EXIT_USAGE;
}
