/* SPDX-License-Identifier: Apache-2.0 */
/* What a provider writes on its standard error: always drained, the end of it kept for messages. */
#ifndef OC_PROVIDER_LOG_H
#define OC_PROVIDER_LOG_H

#include "base/buf.h"
#include "loop/context.h"

#define OC_PROVIDER_LOG_KEEP 2048u

struct oc_provider_log {
	oc_context *ctx;
	const char *name; /* of the provider; borrowed */
	struct oc_source *source;
	int fd; /* -1: closed */
	char end[OC_PROVIDER_LOG_KEEP];
	size_t len, shown;
};
void oc_provider_log_init(struct oc_provider_log *log, oc_context *ctx, const char *name);
int oc_provider_log_watch(struct oc_provider_log *log, oc_error **err); /* log->fd, non-blocking */
void oc_provider_log_drain(struct oc_provider_log *log);
void oc_provider_log_close(struct oc_provider_log *log);  /* what was kept stays */
void oc_provider_log_forget(struct oc_provider_log *log); /* for the next process */
/* The end of it, escaped; false when there is none. */
bool oc_provider_log_tail(const struct oc_provider_log *log, struct oc_buf *out);

#endif
