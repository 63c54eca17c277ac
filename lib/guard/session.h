/* SPDX-License-Identifier: Apache-2.0 */
/* The guard's side of the channel: sends what the plan says, judges what comes back.  Anything that is not what is due now
 * is a protocol error; whoever is at the other end gets no second try. */
#ifndef OC_GUARD_SESSION_H
#define OC_GUARD_SESSION_H

#include "base/json.h"
#include "guest/channel.h"
#include "loop/loop.h"

struct oc_guard;

#define OC_PROBE_IDS 64
struct oc_session {
	int fd;
	struct oc_source *source;
	struct oc_frame_reader in;
	struct oc_buf out;
	bool out_secret; /* wipe when sent */
	bool hello, ready, go, running, exited;
	bool go_due; /* GO goes out once all else has */
	int go_fds[3];
	unsigned char nonce[OC_NONCE_SIZE];
	char run[33];
	struct {
		char id[16];
		unsigned sent, got;
	} ids[OC_PROBE_IDS];
	unsigned n_ids;
	unsigned failures;
	oc_error *failed; /* chain of failed probes */
	json_t *facts;
	struct oc_buf results; /* text of a JSON array without its brackets */
	uint64_t total_ns;
	struct oc_source *ping;
	unsigned unanswered;
	uint64_t pings;
};

void oc_session_init(struct oc_session *s);
/* fd is taken. */
int oc_session_open(struct oc_guard *g, int fd, oc_error **err);
void oc_session_close(struct oc_session *s);
int oc_session_send(struct oc_guard *g, enum oc_frame_type type, const void *data, size_t len);
void oc_session_flush(struct oc_guard *g);
/* fds are taken and closed when they are sent. */
void oc_session_go(struct oc_guard *g, const int fds[3]);
void oc_session_signal(struct oc_guard *g, int signal);
int oc_session_size(struct oc_guard *g); /* the terminal's, as the guard has it; nothing without one */
/* A result: the guest's, or the guard's own. */
int oc_session_result(struct oc_session *s, const char *id, bool ok, const char *detail, uint64_t ns);
int oc_session_expect(struct oc_session *s, const char *id); /* one more probe of this id was sent */

#endif
