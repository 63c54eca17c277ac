/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/resource.h>

#include "serve.h"

/* A daemon with a thousand runs has many files open; what it starts is as the operator's other programs are. */
static void limit_files(const struct serve *s, bool child)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = child ? s->fd_limit : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

bool serve_spawn(struct serve *s, struct child *child, const char *const *argv, const char *const *env,
                 const char *input, int hand)
{
	int rc;

	limit_files(s, true);
	rc = child_spawn(child, CHILD_SELF, argv, env, input, hand);
	limit_files(s, false);
	if (rc) {
		out_printf(&s->h->err, "open-conduit: a process can't be started: %s\n", strerror(rc));
		out_flush(&s->h->err);
	}
	return !rc;
}
