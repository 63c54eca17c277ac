/* SPDX-License-Identifier: Apache-2.0 */
#include "embed.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(int rc, oc_error *const *err, const char *what)
{
	ck_assert_msg(rc >= 0, "%s: %d %s", what, rc, oc_error_message(*err));
}

void embed_open(struct embed *e)
{
	oc_context_options options = OC_CONTEXT_OPTIONS_INIT;
	oc_error *err = NULL;

	memset(e, 0, sizeof(*e));
	snprintf(e->dir, sizeof(e->dir), "/tmp/oc-embed.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(e->dir));
	snprintf(e->workspace, sizeof(e->workspace), "%s/ws", e->dir);
	snprintf(e->state, sizeof(e->state), "%s/state", e->dir);
	ck_assert_int_eq(mkdir(e->workspace, 0700), 0);
	options.state_dir = e->state;
	options.libexec_dir = getenv("OC_TEST_LIBEXEC");
	ck_assert_msg(options.libexec_dir != NULL, "OC_TEST_LIBEXEC names the build's libexec directory");
	must(oc_context_new(&options, &e->ctx, &err), &err, "oc_context_new");
	must(oc_store_open(e->ctx, &e->store, &err), &err, "oc_store_open");
	must(oc_unsandboxed_broker_new(e->store, NULL, &e->broker, &err), &err, "oc_unsandboxed_broker_new");
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void embed_close(struct embed *e)
{
	oc_broker_free(e->broker);
	oc_store_free(e->store);
	oc_context_free(e->ctx);
	nftw(e->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void maybe_free(struct embed_run *r, enum embed_free now)
{
	if (r->free_in != now || r->freed)
		return;
	r->freed = true;
	oc_run_free(r->run);
}

static void on_state(oc_run *run, const char *state, const char *json, void *userdata)
{
	struct embed_run *r = userdata;

	(void)run;
	ck_assert_ptr_nonnull(strstr(json, state));
	snprintf(r->state, sizeof(r->state), "%s", state);
	maybe_free(r, EMBED_FREE_STATE);
}

static void on_output(oc_run *run, int stream, uint64_t next, const void *data, size_t len, void *userdata)
{
	struct embed_run *r = userdata;
	size_t room = sizeof(r->output) - 1 - r->output_len;

	ck_assert_int_eq(stream, 1);
	r->output_bytes += len;
	if (len < room)
		room = len;
	memcpy(r->output + r->output_len, data, room);
	r->output_len += room;
	if (oc_run_ack(run, next, NULL) < 0)
		ck_abort_msg("ack");
	maybe_free(r, EMBED_FREE_OUTPUT);
}

static void on_ended(oc_run *run, const char *record, void *userdata)
{
	struct embed_run *r = userdata;

	(void)run;
	snprintf(r->record, sizeof(r->record), "%s", record);
	r->ended = true;
	maybe_free(r, EMBED_FREE_ENDED);
}

static void on_failed(oc_run *run, const oc_error *err, void *userdata)
{
	struct embed_run *r = userdata;

	(void)run;
	snprintf(r->error, sizeof(r->error), "%s", oc_error_json(err));
	r->failed = true;
}

static void on_userdata_free(void *userdata)
{
	((struct embed_run *)userdata)->userdata_freed++;
}

static oc_run_ops all_ops(void)
{
	oc_run_ops ops = OC_RUN_OPS_INIT;

	ops.state = on_state;
	ops.output = on_output;
	ops.ended = on_ended;
	ops.failed = on_failed;
	ops.userdata_free = on_userdata_free;
	return ops;
}

void embed_start(struct embed *e, struct embed_run *r, const char *script)
{
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	oc_request request = OC_REQUEST_INIT;
	const oc_run_ops ops = all_ops();
	oc_error *err = NULL;

	request.workspace = e->workspace;
	request.argv = argv;
	must(oc_broker_start(e->broker, &request, &ops, r, &r->run, &err), &err, "oc_broker_start");
}

void embed_reopen(struct embed *e, struct embed_run *r, const char *id)
{
	const oc_run_ops ops = all_ops();
	oc_error *err = NULL;

	must(oc_run_open(e->store, id, &ops, r, &r->run, &err), &err, "oc_run_open");
}

void embed_wait(struct embed *e, struct embed_run *r)
{
	oc_error *err = NULL;

	for (int i = 0; i < 60000 && !r->ended && !r->failed && !r->freed; i++)
		must(oc_context_wait(e->ctx, 100, &err), &err, "oc_context_wait");
}

void embed_finish(struct embed_run *r)
{
	oc_error *err = NULL;

	ck_assert_msg(r->ended, "the run did not end: %s", r->error);
	must(oc_run_finish(r->run, &err), &err, "oc_run_finish");
	oc_run_free(r->run);
	ck_assert_int_eq(r->userdata_freed, 1);
}

static int each_fd(bool check_cloexec)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *entry;
	int n = 0;

	ck_assert_ptr_nonnull(d);
	while ((entry = readdir(d))) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] == '.' || fd == dirfd(d))
			continue;
		if (!check_cloexec || (fd > 2 && !(fcntl(fd, F_GETFD) & FD_CLOEXEC)))
			n++;
	}
	closedir(d);
	return n;
}

int embed_count_fds(void)
{
	return each_fd(false);
}

bool embed_fds_cloexec(void)
{
	static int inherited = -1;

	/* The runner's own descriptors are none of ours: the first call counts them. */
	if (inherited < 0)
		inherited = each_fd(true);
	return each_fd(true) == inherited;
}
