/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

json_t *work_open_binding(struct host *h, const struct config_binding *b, const char *key, struct turn_input *input)
{
	const struct config_author *author = b->config->author;
	oc_work_options o = OC_WORK_OPTIONS_INIT;
	oc_error *err = NULL;
	char *text = NULL, *branch = NULL, full[600];
	json_t *work = NULL;

	if (key) {
		snprintf(full, sizeof(full), "%.250s/%.250s", b->full, key);
		if (oc_work_get(h->store, full, &text, NULL) >= 0)
			work = host_parse(h, "the Work", text);
		text = NULL;
	}
	/* Only where one is begun is a branch asked of the input. */
	if ((!work || !strcmp(host_string(work, "state"), "finished")) && turn_branch(h, b, input, &branch) < 0) {
		json_decref(work);
		return NULL;
	}
	json_decref(work);
	work = NULL;
	o.scope = b->scope->id;
	o.binding = b->name;
	o.key = key;
	o.checkout = b->resource->config->checkout;
	o.branch = branch;
	o.author_name = author ? author->name : NULL;
	o.author_email = author ? author->email : NULL;
	if (oc_work_open(h->store, &o, &text, &err) < 0)
		host_report(h, "not run", err);
	else
		work = host_parse(h, "the Work", text);
	oc_error_free(err);
	free(branch);
	return work;
}
