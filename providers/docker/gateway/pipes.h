/* SPDX-License-Identifier: Apache-2.0 */
/* A few pipes for splice(2), each used only while bytes are in it.  They are large, as a small one is slower than copying,
 * and few, as the kernel counts the pages of all of a user's pipes: without one left, bytes are copied. */
#ifndef GW_PIPES_H
#define GW_PIPES_H

#include <stddef.h>

#define GW_PIPE_BYTES (256 * 1024)
#define GW_PIPES_MAX  16
#define GW_PIPES_IDLE 4

struct gw_pipe {
	int r, w;
	struct gw_pipe *next;
};
struct gw_pipes {
	struct gw_pipe *idle;
	size_t n, n_idle;
};

struct gw_pipe *gw_pipes_take(struct gw_pipes *p); /* NULL: none */
void gw_pipes_give(struct gw_pipes *p, struct gw_pipe *pipe, size_t held);

#endif
