/* SPDX-License-Identifier: Apache-2.0 */
/* The guard's part, played by a test: drives the real static guest over a socketpair, as an ordinary user. */
#ifndef OC_TESTS_GUEST_DRIVER_H
#define OC_TESTS_GUEST_DRIVER_H

#include "guest/channel.h"

#include <sys/types.h>

struct world {
	char *dir; /* 0755; holds copies of the guest and of this test */
	char guest[4096], self[4096], ws[4096], beside[4096];
	uid_t uid; /* never 0 */
};
void world_init(struct world *w);
void world_free(struct world *w);
/* In a child: become the ordinary user. */
void world_drop(const struct world *w);

struct drive {
	struct world *w;
	int sock;
	pid_t pid;
	struct oc_frame_reader in;
	int out;     /* read end of the agent's stdout */
	int typed;   /* write end of its stdin, where it is kept, or -1 */
	bool typing; /* keep it: set before go */
	unsigned results, failures;
	char facts[4096], last_detail[600], failed[600]; /* "name=value\n"… */
	bool last_ok;
	uint32_t failed_errno, started_pid;
	uint8_t exit_how;
	uint32_t exit_value;
	uint64_t ready_ns;
};

enum { DRIVE_NO_LANDLOCK = 1 }; /* as on a kernel that has none */

void drive_start(struct drive *d, struct world *w, unsigned flags);
void drive_send(struct drive *d, enum oc_frame_type type, const void *data, size_t len);
void drive_text(struct drive *d, enum oc_frame_type type, const char *text);
void drive_options(struct drive *d, uint32_t options);
void drive_hello(struct drive *d);
/* hello, options, cwd, writable workspace; then argv up to NULL. */
void drive_orders(struct drive *d, uint32_t options, const char *const *argv);
void drive_probe(struct drive *d, enum oc_probe_kind kind, const char *id, const char *const *args);
/* Next frame, within 20 s: its type, or 0 at the end. */
int drive_next(struct drive *d);
/* Until one of these types (0: the end) comes. */
int drive_until(struct drive *d, int a, int b);
void drive_go(struct drive *d, unsigned n_fds);
/* prepare, ready without failures, go, started. */
void drive_run(struct drive *d);
/* Close the channel, and the guest must end by itself: its wait status. */
int drive_end(struct drive *d);
/* Read the agent's stdout to its end: what came, at most cap; -1 when it does not end within ms. */
ssize_t drive_output(struct drive *d, char *buf, size_t cap, int ms);
#define AGENT(w, ...) ((const char *[]){ (w)->self, "agent", __VA_ARGS__, NULL })
/* Run to the agent's end: its exit status, or 1000 + signal. */
unsigned drive_agent(struct world *w, uint32_t options, const char *const *argv);
/* One probe: did it pass?  Its detail is left in d. */
bool drive_judge(struct world *w, struct drive *d, uint32_t options, enum oc_probe_kind kind, const char *const *args,
                 const char *const *env);
/* The same in a test that has a world w and a drive d. */
#define PASSES(options, kind, ...)                                                                                     \
	ck_assert_msg(drive_judge(&w, &d, options, kind, (const char *[]){ __VA_ARGS__, NULL }, NULL), "%s: %s",       \
	              #kind, d.last_detail)
#define FAILS(options, kind, ...)                                                                                      \
	ck_assert_msg(!drive_judge(&w, &d, options, kind, (const char *[]){ __VA_ARGS__, NULL }, NULL), "%s: %s",      \
	              #kind, d.last_detail)
#define SAID(text) ck_assert_msg(strstr(d.last_detail, text) != NULL, "'%s' lacks '%s'", d.last_detail, text)
bool drive_fact(const struct drive *d, const char *fact);

#endif
