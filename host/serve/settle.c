/* SPDX-License-Identifier: Apache-2.0 */
/* Putting right what runs left is `open-conduit work settle`'s, one at a time.  Each has a number: who noticed something
 * waits until the next one that began after that is over.  What it could not do is tried again, ever more rarely. */
#include <stdio.h>
#include <string.h>

#include "serve.h"

#define SOON_MS   100 /* guards of runs that just ended are leaving */
#define PAUSE_MS  1000
#define PAUSE_MAX 60000

unsigned long serve_settle(struct serve *s, const char *run)
{
	long long soon = host_mono_ms() + SOON_MS;

	if (run && s->n_ended < SERVE_ENDED)
		snprintf(s->ended[s->n_ended++], sizeof(s->ended[0]), "%s", run);
	if (s->settle_wanted == s->settle_begun || soon < s->settle_at)
		s->settle_at = soon;
	s->settle_wanted = s->settle_begun + 1;
	return s->settle_wanted;
}

static void begin(struct serve *s)
{
	const char *argv[SERVE_ENDED + 4] = { "open-conduit", "work", "settle" };

	for (size_t i = 0; i < s->n_ended; i++)
		argv[i + 3] = s->ended[i];
	if (!serve_spawn(s, &s->settle, argv, NULL, NULL, -1)) {
		s->settle_at = host_mono_ms() + PAUSE_MS;
		return;
	}
	s->settle_begun = s->settle_wanted;
	s->n_ended = 0;
}

static void over(struct serve *s)
{
	bool good = s->settle.exited && !s->settle.status;

	s->settle_over = s->settle_begun;
	s->look = true;
	child_forget(&s->settle);
	if (good) {
		s->settle_pause = 0;
		return;
	}
	s->settle_pause = s->settle_pause ? s->settle_pause * 2 : PAUSE_MS;
	if (s->settle_pause > PAUSE_MAX)
		s->settle_pause = PAUSE_MAX;
	if (s->settle_wanted == s->settle_begun) {
		s->settle_wanted++;
		s->settle_at = host_mono_ms() + s->settle_pause;
	}
}

void serve_settle_turn(struct serve *s)
{
	if (s->settle.pid && child_turn(&s->settle))
		over(s);
	if (!s->settle.pid && s->settle_wanted > s->settle_begun && host_mono_ms() >= s->settle_at)
		begin(s);
}
