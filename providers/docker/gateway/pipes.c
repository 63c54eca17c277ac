/* SPDX-License-Identifier: Apache-2.0 */
#include "pipes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static struct gw_pipe *make(struct gw_pipes *p)
{
	struct gw_pipe *pipe;
	int fd[2];

	if (p->n == GW_PIPES_MAX || !(pipe = calloc(1, sizeof(*pipe))))
		return NULL;
	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(pipe);
		return NULL;
	}
	*pipe = (struct gw_pipe){ fd[0], fd[1], NULL };
	/* Others of this user may have taken all: then it stays as small as it is made. */
	(void)fcntl(pipe->w, F_SETPIPE_SZ, GW_PIPE_BYTES);
	p->n++;
	return pipe;
}

struct gw_pipe *gw_pipes_take(struct gw_pipes *p)
{
	struct gw_pipe *pipe = p->idle;

	if (!pipe)
		return make(p);
	p->idle = pipe->next;
	p->n_idle--;
	return pipe;
}

void gw_pipes_give(struct gw_pipes *p, struct gw_pipe *pipe, size_t held)
{
	if (!pipe)
		return;
	if (held == 0 && p->n_idle < GW_PIPES_IDLE) {
		pipe->next = p->idle;
		p->idle = pipe;
		p->n_idle++;
		return;
	}
	close(pipe->r);
	close(pipe->w);
	free(pipe);
	p->n--;
}
