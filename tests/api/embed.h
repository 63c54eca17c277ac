/* SPDX-License-Identifier: Apache-2.0 */
/* What the embedder tests share: a context on a fresh state directory, and one whole run through
 * the public headers only. */
#ifndef OC_TESTS_API_EMBED_H
#define OC_TESTS_API_EMBED_H

#include <openconduit/openconduit.h>
#include <stdbool.h>
#include <stddef.h>

struct embed {
	char dir[128], workspace[160], state[160];
	oc_context *ctx;
	oc_store *store;
	oc_broker *broker;
};

enum embed_free { EMBED_FREE_NEVER, EMBED_FREE_STATE, EMBED_FREE_OUTPUT, EMBED_FREE_ENDED };

struct embed_run {
	oc_run *run;
	enum embed_free free_in;
	char output[4096];
	size_t output_len;
	uint64_t output_bytes;
	char record[8192], state[32], error[1024];
	bool ended, failed, freed;
	int userdata_freed;
};

void embed_open(struct embed *e);
void embed_close(struct embed *e); /* everything freed, the directory removed */
/* Start `sh -c script` and dispatch until it ended, failed, or was freed in a callback. */
void embed_start(struct embed *e, struct embed_run *r, const char *script);
void embed_reopen(struct embed *e, struct embed_run *r, const char *id); /* a run that was started before */
void embed_wait(struct embed *e, struct embed_run *r);
void embed_finish(struct embed_run *r); /* oc_run_finish and free */
int embed_count_fds(void);              /* open descriptors of this process */
bool embed_fds_cloexec(void);           /* all above 2 but those inherited */

#endif
