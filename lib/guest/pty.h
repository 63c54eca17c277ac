/* SPDX-License-Identifier: Apache-2.0 */
/* A terminal of the agent's own: a pty whose slave is its descriptors 0, 1 and 2, and whose master is copied from and to the
 * descriptors that came with GO.  Nothing here blocks but oc_pty_drain(), and that no longer than it is told.
 *
 * The guest keeps the slave open too.  Otherwise the master would hang up whenever no process of the agent's has its
 * terminal open for a moment, and "nothing there now" could not be told from "never again". */
#ifndef OC_GUEST_PTY_H
#define OC_GUEST_PTY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OC_PTY_FDS 3 /* of poll */
#define OC_PTY_IN  4096
#define OC_PTY_OUT 32768

struct oc_pty_queue {
	size_t len, off;
};
struct oc_pty {
	int master, slave; /* -1: there is no terminal */
	int in, out;       /* what the guard gave; -1: at its end, or gone */
	unsigned end_keys; /* how often the end of input has still to be typed */
	bool mid_line;     /* the last byte of input was no newline */
	struct oc_pty_queue typed, shown;
	unsigned char typed_data[OC_PTY_IN], shown_data[OC_PTY_OUT];
};

void oc_pty_init(struct oc_pty *p);
/* 0 or -errno with *stage. */
int oc_pty_open(struct oc_pty *p, uint16_t rows, uint16_t cols, const char **stage);
void oc_pty_close(struct oc_pty *p);
/* Copy from and to these from now on: 0, 1 and 2 of GO, taken.  A terminal has one output, so 2 is closed. */
void oc_pty_connect(struct oc_pty *p, const int fds[3]);
int oc_pty_resize(struct oc_pty *p, uint16_t rows, uint16_t cols); /* 0 or -errno; the foreground gets SIGWINCH */
/* To the jobs that a shell put into groups of their own, and to a shell that ignores SIGTERM on its terminal. */
void oc_pty_hang_up(const struct oc_pty *p, int leader);

/* What to poll for; all of it is -1 without a terminal. */
void oc_pty_poll(const struct oc_pty *p, struct pollfd fds[OC_PTY_FDS]);
void oc_pty_turn(struct oc_pty *p);
/* Who could write is dead: pass on what is left, for at most ms, and end the output. */
void oc_pty_drain(struct oc_pty *p, int ms);

/* In the child, a leader of a session: make the terminal its own.  0 or an errno. */
int oc_pty_control(int slave);

#endif
