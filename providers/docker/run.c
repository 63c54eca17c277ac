/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "session.h"

static int go(struct session *s)
{
	if (session_prepare(s) < 0 || session_turn(s) < 0 || session_make(s) < 0 || session_start(s) < 0)
		return -1;
	return session_serve(s);
}

/* What made the run end is told, rather than what then stood in the way of removing it; that is told by what is left, which the
 * guard's cleanup finds. */
int run_main(bool now)
{
	struct refusal r = { 0 }, at_end = { 0 };
	struct session s = { .r = &r,
		             .signals = -1,
		             .lock = -1,
		             .now = now,
		             .turn = { .fd = -1, .place = -1 },
		             .events = { .fd = -1 },
		             .objects = { .fd = -1 } };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	int rc;

	(void)umask(077);
	(void)sigaction(SIGPIPE, &ignore, NULL);
	rc = go(&s);
	if (rc < 0 && !s.ended)
		cleanup_report(&r);
	s.r = &at_end;
	if (session_end(&s) < 0) {
		if (rc == 0 || s.ended)
			cleanup_report(&at_end);
		rc = -1;
	} else if (s.ended) {
		rc = 0;
	}
	refusal_clear(&r);
	refusal_clear(&at_end);
	return rc == 0 ? 0 : 1;
}
