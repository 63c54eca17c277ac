/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands share: where they print, the library's objects, and how a refusal looks. */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include <openconduit/openconduit.h>

#include "opt.h"
#include "out.h"

/* Exit statuses of our own.  125 is for `exec`, whose other statuses belong to the command it runs. */
enum { EXIT_GOOD = 0, EXIT_NO = 1, EXIT_USAGE = 2, EXIT_TIMED_OUT = 124, EXIT_NOT_RUN = 125 };

#define HOST_RUN_ID      12
#define HOST_RUN_LETTERS "abcdefghijklmnopqrstuvwxyz234567"

struct errand;
struct later;
struct host {
	struct out out, err;
	bool json, verbose;
	oc_context *ctx;
	oc_store *store;
	oc_workspace *workspace; /* made when it is first needed */
	struct errand *errands;  /* errand.h */
	struct later *laters;    /* toolbelt/later.h */
};

struct host_command {
	const char *name;
	int (*run)(struct host *h, int argc, char **argv); /* argv after the command's name */
	const char *about;
};

/* A refusal that this program makes itself, in the shape of the library's. */
struct refusal {
	const char *reason, *subject, *message, *fix;
};

/* Open context and store (once).  0, or said so and negative. */
int host_open(struct host *h);
void host_close(struct host *h);
/* oc_store_recover; what it returns (new), or NULL after saying why. */
json_t *host_recover(struct host *h);
/* Options for brokers from the environment. */
oc_broker_options host_broker_options(const char *provider);
/* Where providers are looked for: the second may be NULL. */
void host_provider_dirs(const char *dirs[2]);

/* Print an error: a block on stderr and, with --json, {"version":1,"error":{…}} on stdout. */
void host_report(struct host *h, const char *what, const oc_error *err);
void host_refuse(struct host *h, const char *what, const struct refusal *r);
/* The record form of an error, as oc_error_json() gives it; `what` says what did not happen. */
void host_report_json(struct host *h, const char *what, const json_t *error);
json_t *host_error_json(const oc_error *err); /* new; never NULL but for memory */
json_t *host_refusal_json(const struct refusal *r);

/* The library's JSON text (taken and freed) as a value; NULL after saying so. */
json_t *host_parse(struct host *h, const char *what, char *text);
const char *host_string(const json_t *object, const char *key); /* borrowed or NULL */
/* {"version":1} and what the caller adds. */
json_t *host_answer(void);
/* A time of a record (milliseconds or text) in local time; "unknown" where it isn't there. */
void host_time(const json_t *value, char *out, size_t size);
long long host_time_ms(const json_t *value); /* -1: unknown */
long long host_now_ms(void);                 /* the wall clock's */
long long host_mono_ms(void);                /* from no moment in particular, and never back */
int host_uuid(char out[37]);                 /* by lot; negative: no random bytes */
int host_run_id(char out[HOST_RUN_ID + 1]);  /* the same, for a run */
/* An array of words as a shell would read it, for showing. */
void host_command_line(struct text *out, const json_t *argv);

/* The whole of a file, at most max bytes, as a new string without NUL; NULL with *why set. */
char *host_read_file(const char *path, size_t max, const char **why);

int cmd_exec(struct host *h, int argc, char **argv);
int cmd_doctor(struct host *h, int argc, char **argv);
int cmd_runs(struct host *h, int argc, char **argv);
int cmd_explain(struct host *h, int argc, char **argv);
int cmd_provider(struct host *h, int argc, char **argv);
int cmd_run(struct host *h, int argc, char **argv);
int cmd_work(struct host *h, int argc, char **argv);
int cmd_config(struct host *h, int argc, char **argv);
int cmd_receipt(struct host *h, int argc, char **argv);
int cmd_serve(struct host *h, int argc, char **argv);
int cmd_secret(struct host *h, int argc, char **argv);

#endif
