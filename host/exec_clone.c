/* SPDX-License-Identifier: Apache-2.0 */
/* exec --clone: a throw-away clone of the repository around the current directory.  What the command commits there is saved
 * to a branch of its own; the files of the checkout are neither seen nor touched. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec.h"
#include "work/work.h"

/* The nearest directory upwards that has a .git: new, or NULL after saying so. */
static char *find_checkout(struct host *h, const char *cwd)
{
	struct refusal r = { "sandbox_workspace", cwd,
		             "--clone needs a repository, and the current directory is in none",
		             "cd to a checkout, or leave --clone out" };
	char *at = strdup(cwd), *git = NULL, *slash;
	struct stat st;
	bool found = false;

	while (at && *at && !found) {
		if (asprintf(&git, "%s/.git", strcmp(at, "/") ? at : "") < 0)
			break;
		found = lstat(git, &st) == 0;
		free(git);
		slash = strrchr(at, '/');
		if (!found)
			*slash = 0;
	}
	if (found)
		return at;
	free(at);
	host_refuse(h, "not run", &r);
	return NULL;
}

static json_t *open_work(struct host *h, const char *checkout)
{
	oc_work_options o = OC_WORK_OPTIONS_INIT;
	oc_error *err = NULL;
	char *text = NULL;
	json_t *work = NULL;

	o.checkout = checkout;
	if (oc_work_open(h->store, &o, &text, &err) < 0)
		host_report(h, "not run", err);
	else
		work = host_parse(h, "the Work", text);
	oc_error_free(err);
	return work;
}

static int after(struct host *h, const char *run, int status, json_t *answer, void *userdata)
{
	struct exec_clone *clone = userdata;

	clone->over = true;
	return work_after(h, clone->work, run, status, answer);
}

static bool make_home(struct host *h, const struct exec_args *a, struct exec_clone *clone)
{
	bool busy = false;

	if (a->container)
		clone->home = work_home(h, clone->work, a->seed, false, &busy);
	return !a->container || clone->home;
}

int exec_clone_begin(struct host *h, struct exec_args *a, struct exec_clone *clone)
{
	const char *workspace;
	json_t *ready;
	char *checkout;

	*clone = (struct exec_clone){ 0 };
	if (!a->clone)
		return 0;
	work_settle(h);
	checkout = find_checkout(h, a->cwd);
	clone->work = checkout ? open_work(h, checkout) : NULL;
	ready = clone->work ? work_ready(h, host_string(clone->work, "id"), true) : NULL;
	if (ready) {
		json_decref(clone->work);
		clone->work = ready;
		workspace = host_string(ready, "workspace");
		/* Where we are in the checkout is where the command starts in the clone. */
		if (asprintf(&clone->cwd, "%s%s", workspace, a->cwd + strlen(checkout)) < 0)
			clone->cwd = NULL;
		a->after = after;
		a->after_userdata = clone;
	}
	free(checkout);
	return clone->cwd && make_home(h, a, clone) ? 0 : OC_EREFUSED;
}

void exec_clone_end(struct host *h, struct exec_clone *clone)
{
	/* The run never was, or its policy was refused: nothing stays of its clone either. */
	if (clone->work && !clone->over)
		json_decref(work_end(h, host_string(clone->work, "id"), true));
	json_decref(clone->work);
	free(clone->cwd);
	free(clone->home);
}
