/* SPDX-License-Identifier: Apache-2.0 */
/* The run of `exec`: one poll over the library, standard input and signals.
 *
 * Standard input and output may be shared with other programs, so their flags stay as they are: input is read only
 * when poll says there is some, output is written in pieces that a writable pipe takes whole. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "errand.h"
#include "exec.h"
#include "terminal.h"
#include "tokens.h"

#define INPUT_PIECE       32768
#define PROGRESS_AFTER_MS 700
#define RETRY_MS          50
#define BACKGROUND_MS     500
#define SECOND_GRACE_MS   500
#define FOLLOW_MS         100
#define SETTLE_TURNS      50

struct exec {
	struct host *h;
	const struct exec_args *args;
	oc_run *run;
	char id[40];
	json_t *record, *error; /* how it ended: one of them */
	bool running, done;
	/* input */
	bool input_open;
	char piece[INPUT_PIECE];
	size_t piece_len;
	/* output */
	struct filter filters[2];
	uint64_t next, acked, lost;
	bool unread;  /* our reader has gone: the rest of the output has nowhere to go */
	bool leaving; /* detached, once the guard has its input */
	/* signals */
	int wake, signal;
	unsigned signals;
	bool asked; /* the command, to stop what it does */
	/* progress */
	const char *phase;
	bool progress, shown;
	long long began;
};

static void hide_progress(struct exec *x)
{
	if (!x->shown)
		return;
	x->shown = false;
	out_put(&x->h->err, "\r\033[K");
	out_flush(&x->h->err);
}

static void show_progress(struct exec *x)
{
	if (!x->progress || x->running || host_mono_ms() - x->began < PROGRESS_AFTER_MS)
		return;
	out_put(&x->h->err, "\r\033[K");
	out_styled(&x->h->err, STYLE_DIM, x->phase);
	out_flush(&x->h->err);
	x->shown = true;
}

static void phase(struct exec *x, const char *text)
{
	if (x->phase == text)
		return;
	x->phase = text;
	if (x->shown)
		show_progress(x);
}

static void note(struct exec *x, const char *text)
{
	hide_progress(x);
	if (x->args->terminal && x->args->terminal->lent)
		return; /* it is not ours to write on */
	out_printf(&x->h->err, "open-conduit: %s\n", text);
	out_flush(&x->h->err);
}

/* Ask for the end.  With no guard connected yet nothing has been started and nothing will be: a guard that
 * no host releases runs nothing. */
static void stop(struct exec *x, int64_t grace_ms)
{
	oc_error *err = NULL;

	if (x->run && oc_run_stop(x->run, grace_ms, &err) < 0)
		x->done = true;
	oc_error_free(err);
}

static void end_input(struct exec *x)
{
	oc_error *err = NULL;

	x->input_open = false;
	if (oc_run_write_end(x->run, &err) < 0)
		oc_error_free(err);
}

/* A line of JSON: in a text the quotes would have a backslash. */
static bool waits(const char *json)
{
	return strstr(json, "\"waiting\":true") != NULL;
}

static void state(oc_run *run, const char *name, const char *json, void *userdata)
{
	struct exec *x = userdata;

	if (x->h->verbose) {
		hide_progress(x);
		out_printf(&x->h->err, "open-conduit: %s%s\n", name, waits(json) ? ", waiting" : "");
		out_flush(&x->h->err);
	}
	if (!strcmp(name, "running")) {
		hide_progress(x);
		x->running = true;
		if (x->args->terminal)
			terminal_lend(x->args->terminal, run);
		if (x->args->talk)
			x->args->talk->running(run, x->args->talk_userdata);
		if (x->args->detach) {
			if (!x->args->talk)
				end_input(x);
			x->leaving = true;
		}
	} else if (!strcmp(name, "checking") || !strcmp(name, "held")) {
		phase(x, "open-conduit: looking through what is granted …");
	} else if (!strcmp(name, "started")) {
		phase(x, waits(json) ? "open-conduit: waiting for other runs to be started …"
		                     : "open-conduit: starting and proving the sandbox …");
	}
}

static void lost(struct exec *x, size_t bytes)
{
	hide_progress(x);
	out_printf(&x->h->err, "open-conduit: up to %zu bytes of output were dropped: they were not read in time\n",
	           bytes);
	out_flush(&x->h->err);
	x->lost += bytes;
}

static void put(struct exec *x, struct out *o, const void *data, size_t len)
{
	bool good;

	if (x->unread && o == &x->h->out)
		return;
	good = x->args->terminal && o == &x->h->out ? terminal_show(x->args->terminal, o, data, len)
	                                            : out_bytes(o, &x->filters[o == &x->h->err], data, len);
	if (!good && o == &x->h->out) {
		x->unread = true;
		stop(x, -1);
	}
}

static void output(oc_run *run, int stream, uint64_t next, const void *data, size_t len, void *userdata)
{
	struct exec *x = userdata;
	struct out *o = stream == 2 || x->h->json ? &x->h->err : &x->h->out;

	(void)run;
	if (x->args->detach)
		return; /* it is for whoever asks for it later */
	x->next = next;
	if (!data) {
		lost(x, len);
		return;
	}
	hide_progress(x);
	if (x->args->talk && stream == 1) {
		struct text shown = { 0 };

		x->args->talk->output(data, len, &shown, x->args->talk_userdata);
		if (!x->h->json)
			put(x, o, shown.data ? shown.data : "", shown.len);
		text_free(&shown);
		if (!x->h->json)
			return;
	}
	put(x, o, data, len);
}

static void ended(oc_run *run, const char *record, void *userdata)
{
	struct exec *x = userdata;

	(void)run;
	x->record = json_loads(record, JSON_ALLOW_NUL, NULL);
	x->done = true;
}

static void failed(oc_run *run, const oc_error *err, void *userdata)
{
	struct exec *x = userdata;

	(void)run;
	x->error = host_error_json(err);
	x->done = true;
}

static int secret(const char *name, char *value, size_t *len, void *userdata)
{
	struct exec *x = userdata;

	for (size_t i = 0; i < x->args->secret.n; i++)
		if (!strcmp(x->args->secrets[i].name, name)) {
			memcpy(value, x->args->secrets[i].value, x->args->secrets[i].len);
			*len = x->args->secrets[i].len;
			return 0;
		}
	return -1;
}

static void call(oc_run *run, oc_toolcall *toolcall, void *userdata)
{
	struct exec *x = userdata;

	(void)run;
	x->args->call(toolcall, x->args->call_userdata);
}

static void take_signal(struct exec *x)
{
	unsigned char number;

	if (read(x->wake, &number, 1) != 1)
		return;
	if (x->args->terminal && terminal_signal(x->args->terminal, &x->h->out, x->run, number))
		return;
	if (!x->signal)
		x->signal = number;
	if (number == SIGINT && !x->asked && !x->signals && x->args->talk && x->run && x->running &&
	    x->args->talk->interrupt(x->run, x->args->talk_userdata)) {
		x->asked = true;
		note(x, "the agent is asked to stop what it does; once more to stop the run");
		return;
	}
	x->signals++;
	if (x->signals == 1) {
		stop(x, -1);
		if (x->h->err.tty && !x->done)
			note(x, "stopping; once more to kill it sooner");
	} else if (x->signals == 2) {
		stop(x, SECOND_GRACE_MS);
	} else {
		note(x, "not waiting any longer; its guard ends it");
		x->done = true;
	}
}

/* A job in the background must not be stopped for a terminal's input that is not meant for it. */
static bool may_read(void)
{
	pid_t front = tcgetpgrp(STDIN_FILENO);

	return front < 0 || front == getpgrp();
}

static void offer_input(struct exec *x)
{
	oc_error *err = NULL;
	int rc;

	if (!x->piece_len)
		return;
	rc = oc_run_write(x->run, x->piece, x->piece_len, &err);
	if (rc >= 0)
		x->piece_len = 0;
	else if (rc != OC_ELIMIT)
		x->input_open = false; /* nobody reads any more; the run tells how it ended */
	if (rc < 0 && rc != OC_ELIMIT)
		x->piece_len = 0;
	oc_error_free(err);
}

static void read_input(struct exec *x)
{
	ssize_t n = read(STDIN_FILENO, x->piece, sizeof(x->piece));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		end_input(x);
		return;
	}
	x->piece_len = (size_t)n;
	offer_input(x);
}

/* What the driver wants is asked each time: it may have something to write. */
static int wait_time(const struct exec *x)
{
	if (x->args->talk && x->running && !x->done)
		return x->args->talk->turn(x->run, x->args->talk_userdata);
	if (x->piece_len || x->leaving)
		return RETRY_MS;
	if (x->input_open && x->running && !may_read())
		return BACKGROUND_MS;
	return x->progress && !x->running && !x->shown ? PROGRESS_AFTER_MS : -1;
}

static void acknowledge(struct exec *x)
{
	oc_error *err = NULL;

	if (x->next == x->acked || !x->run || x->done)
		return;
	x->acked = x->next;
	if (oc_run_ack(x->run, x->next, &err) < 0)
		oc_error_free(err);
}

/* One turn; false when the library itself fails. */
static bool turn(struct exec *x)
{
	bool want = x->input_open && x->running && !x->piece_len && may_read();
	struct pollfd p[3 + 2 * ERRANDS_MAX] = {
		{ .fd = oc_context_fd(x->h->ctx), .events = POLLIN },
		{ .fd = x->wake, .events = POLLIN },
		{ .fd = want ? STDIN_FILENO : -1, .events = POLLIN },
	};
	oc_error *err = NULL;

	if (poll(p, (nfds_t)(3 + errands_poll(x->h, p + 3)), wait_time(x)) < 0)
		return errno == EINTR;
	if (p[1].revents)
		take_signal(x);
	if (!x->done && p[0].revents && oc_context_dispatch(x->h->ctx, &err) < 0) {
		x->error = host_error_json(err);
		oc_error_free(err);
		return false;
	}
	errands_turn(x->h);
	acknowledge(x);
	x->done |= x->leaving && !oc_run_unsent(x->run);
	if (!x->done && x->piece_len)
		offer_input(x);
	else if (!x->done && p[2].revents)
		read_input(x);
	show_progress(x);
	return true;
}

static void stored_piece(int stream, uint64_t next, const void *data, size_t len, void *userdata)
{
	output(NULL, stream, next, data, len, userdata);
}

/* The run's record once there is one; false when it will have none. */
static bool look_for_record(struct exec *x)
{
	oc_error *err = NULL;
	char *text = NULL;
	json_t *run = oc_store_run(x->h->store, x->id, &text, &err) < 0 ? NULL : host_parse(x->h, "the record", text);
	const char *state = host_string(run, "state");
	bool waiting = state && strcmp(state, "run_lost") != 0 && strcmp(state, "failed") != 0;

	if (json_is_object(json_object_get(run, "exit")))
		x->record = json_incref(json_object_get(run, "exit"));
	json_decref(run);
	oc_error_free(err);
	return waiting;
}

/* Our connection is gone, but the run may not be: another host can have taken it over, to stop it for example.  Its
 * output and its end are still ours to tell; they are on disk. */
static void follow_on_disk(struct exec *x)
{
	struct pollfd wake = { .fd = x->wake, .events = POLLIN };
	uint64_t offset = x->next;
	bool waiting = true;

	for (unsigned turns = 0; waiting && !x->record && !x->signal; turns++) {
		if (turns % SETTLE_TURNS == 1)
			json_decref(host_recover(x->h));
		waiting = look_for_record(
		        x); /* before the output, so that nothing is written after the last look at it */
		while (oc_store_output(x->h->store, x->id, &offset, stored_piece, x, NULL) > 0)
			;
		if (waiting && !x->record && poll(&wake, 1, FOLLOW_MS) > 0)
			take_signal(x);
	}
	if (x->record) {
		json_decref(x->error);
		x->error = NULL;
	}
}

static void finish(struct exec *x)
{
	static const struct filter none;
	oc_error *err = NULL;
	struct text rest[2] = { { 0 }, { 0 } };

	hide_progress(x);
	if (x->args->terminal)
		terminal_return(x->args->terminal, &x->h->out);
	for (int i = 0; i < 2; i++) {
		struct out *o = i ? &x->h->err : &x->h->out;

		filter_end(&x->filters[i], &rest[i]);
		x->filters[i] = none;
		if (o->tty && rest[i].len)
			out_put(o, rest[i].data);
		out_flush(o);
		text_free(&rest[i]);
	}
	/* What can't be revoked now is the next settling's: what the run made is saved all the same. */
	if (x->record)
		(void)tokens_revoke(x->h, x->id);
	if (x->record && oc_run_finish(x->run, &err) < 0)
		host_report(x->h, "the run ended, but what it left could not all be settled", err);
	oc_error_free(err);
}

/* A refusal with where its record is, if there is one. */
static void tell_failure(struct exec *x, const char *what, const json_t *error)
{
	const char *log = host_string(x->record, "launch_log");
	oc_error *err = NULL;
	char *text = NULL;
	bool json = x->h->json;

	x->h->json = false; /* exec has one answer of its own */
	host_report_json(x->h, what, error);
	x->h->json = json;
	if (log && *log)
		out_printf(&x->h->err, "  log    %s\n", log);
	if (oc_store_run(x->h->store, x->id, &text, &err) >= 0)
		out_printf(&x->h->err, "  record open-conduit runs get %s\n", x->id);
	oc_error_free(err);
	free(text);
	out_flush(&x->h->err);
}

static int status_of_record(struct exec *x)
{
	const char *how = host_string(x->record, "state");
	const json_t *error = json_object_get(x->record, "error");
	int status = (int)json_integer_value(json_object_get(x->record, "status"));
	int signal = (int)json_integer_value(json_object_get(x->record, "signal"));

	if (how && !strcmp(how, "exited") && status >= 0 && status <= 255)
		return x->signal ? 128 + x->signal : status;
	if (how && !strcmp(how, "timeout")) {
		note(x, "ended: the time of --timeout was over");
		return EXIT_TIMED_OUT;
	}
	if (x->signal)
		return 128 + x->signal;
	if (how && !strcmp(how, "signaled") && signal > 0 && signal < 128)
		return 128 + signal;
	if (how && !strcmp(how, "stopped")) {
		if (!x->unread)
			note(x, "the run was stopped");
		return 128 + (signal > 0 && signal < 128 ? signal : SIGTERM);
	}
	tell_failure(x, how && !strcmp(how, "run_lost") ? "the run was lost" : "not run", error);
	return exec_status(error);
}

static int status_of_error(struct exec *x)
{
	if (x->signal)
		return 128 + x->signal;
	tell_failure(x, x->running ? "the run was lost" : "not run", x->error);
	return exec_status(x->error);
}

static int result(struct exec *x)
{
	if (x->record)
		return status_of_record(x);
	if (x->error)
		return status_of_error(x);
	if (x->signal)
		return 128 + x->signal;
	if (x->args->detach && x->running)
		return EXIT_GOOD;
	note(x, "the run ended without a record that can be read");
	return EXIT_NOT_RUN;
}

/* What came of it, also to whoever has something to do about it. */
static int answer(struct exec *x, int status)
{
	json_t *whole = host_answer();

	json_object_set_new(whole, "run", json_string(x->id));
	json_object_set_new(whole, "record", x->record ? json_incref(x->record) : json_null());
	if (x->args->after)
		status = x->args->after(x->h, x->id, status, whole, x->args->after_userdata);
	json_object_set_new(whole, "exit_status", json_integer(status));
	json_object_set_new(whole, "error", x->error ? json_incref(x->error) : json_null());
	if (x->h->json)
		out_json(&x->h->out, whole);
	else
		json_decref(whole);
	return status;
}

static bool is_busy(const struct exec *x)
{
	const char *reason = host_string(x->error, "reason");

	return x->args->retry_busy && !x->signal && reason && !strcmp(reason, "work_busy");
}

static int conclude(struct exec *x)
{
	if (is_busy(x))
		return EXEC_BUSY;
	return answer(x, result(x));
}

static void prepare(struct exec *x)
{
	const char *term = getenv("TERM");

	x->began = host_mono_ms();
	x->phase = "open-conduit: planning and checking …";
	x->progress = x->h->err.tty && term && strcmp(term, "dumb") != 0;
	x->input_open = !x->args->detach && !x->args->talk;
	x->wake = x->args->terminal ? exec_signals_terminal() : exec_signals();
	x->h->out.interrupt = x->h->err.interrupt = x->wake;
	for (int i = 0; i < 2; i++) {
		struct out *o = i || x->h->json ? &x->h->err : &x->h->out;

		x->filters[i] =
		        (struct filter){ .lines = true, .colours = true, .strip = !o->colour, .ascii = o->ascii };
	}
}

int exec_run(struct host *h, oc_broker *broker, const oc_request *request, const struct exec_args *a)
{
	oc_run_ops ops = OC_RUN_OPS_INIT;
	struct exec *x = calloc(1, sizeof(*x));
	oc_error *err = NULL;
	int status = EXIT_NOT_RUN;

	if (!x)
		return status;
	x->h = h;
	x->args = a;
	prepare(x);
	ops.state = state;
	ops.output = output;
	ops.ended = ended;
	ops.failed = failed;
	ops.secret = secret;
	ops.call = a->call ? call : NULL;
	if (oc_broker_start(broker, request, &ops, x, &x->run, &err) < 0) {
		host_report(h, "not run", err);
	} else {
		snprintf(x->id, sizeof(x->id), "%s", oc_run_id(x->run));
		if (h->verbose)
			out_printf(&h->err, "open-conduit: run %s\n", x->id);
		while (!x->done && turn(x))
			;
		if (x->args->terminal)
			terminal_return(x->args->terminal, &x->h->out);
		if (x->error && x->running && !x->signal)
			follow_on_disk(x);
		finish(x);
		/* Its guard stays as long as we listen, and holds the Work that comes next. */
		oc_run_free(x->run);
		x->run = NULL;
		status = conclude(x);
	}
	oc_error_free(err);
	oc_run_free(x->run);
	json_decref(x->record);
	json_decref(x->error);
	free(x);
	return status;
}
