/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/utf8.h"

#define BUDGET 65536u /* read per dispatch, so that a flood starves nobody; shown per process */

void oc_provider_log_init(struct oc_provider_log *log, oc_context *ctx, const char *name)
{
	memset(log, 0, sizeof(*log));
	log->ctx = ctx;
	log->name = name;
	log->fd = -1;
}

static void keep(struct oc_provider_log *log, const char *data, size_t len)
{
	size_t drop;

	if (len > sizeof(log->end)) {
		data += len - sizeof(log->end);
		len = sizeof(log->end);
	}
	drop = log->len + len > sizeof(log->end) ? log->len + len - sizeof(log->end) : 0;
	memmove(log->end, log->end + drop, log->len - drop);
	log->len -= drop;
	memcpy(log->end + log->len, data, len);
	log->len += len;
}

void oc_provider_log_close(struct oc_provider_log *log)
{
	oc_source_free(oc_steal(log->source));
	log->fd = oc_close(log->fd);
}

void oc_provider_log_forget(struct oc_provider_log *log)
{
	log->len = log->shown = 0;
}

void oc_provider_log_drain(struct oc_provider_log *log)
{
	char data[4096];
	size_t budget = BUDGET;

	while (log->fd >= 0 && budget >= sizeof(data)) {
		ssize_t n = read(log->fd, data, sizeof(data));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			oc_provider_log_close(log);
			return;
		}
		keep(log, data, (size_t)n);
		if (log->shown < BUDGET)
			oc_log(log->ctx, OC_LOG_DEBUG, "provider %s: %.*s", log->name, (int)n, data);
		log->shown += (size_t)n;
		budget -= (size_t)n;
	}
}

static void on_readable(int fd OC_UNUSED, unsigned events OC_UNUSED, void *userdata)
{
	oc_provider_log_drain(userdata);
}

int oc_provider_log_watch(struct oc_provider_log *log, oc_error **err)
{
	return oc_loop_add_fd(log->ctx->loop, log->fd, OC_READ, on_readable, log, &log->source, err);
}

bool oc_provider_log_tail(const struct oc_provider_log *log, struct oc_buf *out)
{
	size_t len = log->len;

	while (len > 0 && log->end[len - 1] == '\n')
		len--;
	return len > 0 && oc_text_escape(out, log->end, len, false) == 0;
}
