/* SPDX-License-Identifier: Apache-2.0 */
/* A report that can't be queued for want of memory is no report: the guard waits for READY and for
 * EXIT, and a guest that ends without them started nothing, or lost the run. */
#include "guest/report.h"

#include "guest/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static void queue(struct oc_link *l, enum oc_frame_type type, const void *a, size_t a_len, const void *b, size_t b_len)
{
	if (oc_link_queue(l, type, a, a_len, b, b_len) < 0)
		l->ended = true;
}

void oc_report_fact(struct oc_link *l, const char *name, const char *fmt, ...)
{
	char text[OC_DETAIL_MAX];
	int n = snprintf(text, sizeof(text), "%s=", name);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	oc_printable(text);
	queue(l, OC_FRAME_FACT, text, strlen(text), NULL, 0);
}

void oc_report_result(struct oc_link *l, const char *id, bool ok, uint64_t ns, const char *detail)
{
	unsigned char head[9 + 256];
	size_t len = strlen(id) < 255 ? strlen(id) : 255;
	char text[OC_DETAIL_MAX];

	head[0] = ok;
	oc_put_u64(head + 1, ns);
	memcpy(head + 9, id, len);
	head[9 + len] = 0;
	snprintf(text, sizeof(text), "%s", detail);
	oc_printable(text);
	queue(l, OC_FRAME_RESULT, head, 10 + len, text, strlen(text));
}

void oc_report_ready(struct oc_link *l, uint64_t ns, uint32_t failures)
{
	unsigned char buf[12];

	oc_put_u64(buf, ns);
	oc_put_u32(buf + 8, failures);
	queue(l, OC_FRAME_READY, buf, sizeof(buf), NULL, 0);
}

void oc_report_failed(struct oc_link *l, int err, const char *fmt, ...)
{
	char text[OC_DETAIL_MAX];
	unsigned char head[4];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	oc_printable(text);
	oc_put_u32(head, (uint32_t)err);
	queue(l, OC_FRAME_FAILED, head, sizeof(head), text, strlen(text));
}

void oc_report_exit(struct oc_link *l, int wait_status)
{
	unsigned char buf[5];

	buf[0] = WIFEXITED(wait_status) ? OC_EXIT_STATUS : OC_EXIT_SIGNAL;
	oc_put_u32(buf + 1, (uint32_t)(WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : WTERMSIG(wait_status)));
	queue(l, OC_FRAME_EXIT, buf, sizeof(buf), NULL, 0);
}
