/* SPDX-License-Identifier: Apache-2.0 */
/* Reads configs, one a line on standard input, and prints for each a line of JSON: what was found in it.  Thousands of
 * small changes are tried so in a second.  --no-disk: look at nothing but the text. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

static json_t *list_of(const struct report *r, bool warnings)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].warning == warnings)
			json_array_append_new(list, json_pack("[s, s, s, s?, s?, i]", r->v[i].field, r->v[i].reason,
			                                      r->v[i].message, r->v[i].fix, r->v[i].subject,
			                                      (int)r->v[i].line));
	return list;
}

int main(int argc, char **argv)
{
	const struct config_world world = { .no_disk = argc > 1 && !strcmp(argv[1], "--no-disk") };
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	while ((n = getline(&line, &cap, stdin)) > 0) {
		struct report report = { 0 };
		struct config *config = NULL;
		json_t *answer;
		int rc;

		if (line[n - 1] == '\n')
			n--;
		rc = config_read(line, (size_t)n, "config.json", &world, &config, &report);
		answer = json_pack("{s:b, s:b, s:o, s:o}", "ok", rc == 0, "nomem", report.nomem, "errors",
		                   list_of(&report, false), "warnings", list_of(&report, true));
		if (!answer || json_dumpf(answer, stdout, JSON_COMPACT) < 0)
			return EXIT_FAILURE;
		putchar('\n');
		json_decref(answer);
		config_free(config);
		report_free(&report);
	}
	free(line);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
