/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ROWS 24
#define COLS 80

int terminal_check(struct host *h, const char *what)
{
	bool in = isatty(STDIN_FILENO), out = isatty(STDOUT_FILENO);
	struct refusal r = { NULL, in ? "stdout" : "stdin", NULL,
		             "start it in a terminal, without < > or |; over ssh: ssh -t" };

	r.message = in ? "standard output is no terminal, and the program would draw on one"
	               : "standard input is no terminal, and there is nobody to type";
	if (in && out)
		return 0;
	host_refuse(h, what, &r);
	return OC_EREFUSED;
}

void terminal_size(uint16_t *rows, uint16_t *cols)
{
	struct winsize size = { 0 };

	/* A serial line, or a program that made us a terminal and no size. */
	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
		size = (struct winsize){ .ws_row = ROWS, .ws_col = COLS };
	*rows = size.ws_row;
	*cols = size.ws_col;
}

static void tell_size(oc_run *run)
{
	uint16_t rows, cols;
	oc_error *err = NULL;

	terminal_size(&rows, &cols);
	/* Without a connection there is nobody to draw either: how the run ended is told elsewhere. */
	if (run && oc_run_resize(run, rows, cols, &err) < 0)
		oc_error_free(err);
}

static void raw(struct terminal *t)
{
	struct termios now = t->before;

	cfmakeraw(&now);
	/* What was typed ahead stays: it was meant for the program. */
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
}

void terminal_lend(struct terminal *t, oc_run *run)
{
	if (t->lent || tcgetattr(STDIN_FILENO, &t->before) < 0)
		return;
	t->lent = true;
	raw(t);
	tell_size(run);
}

bool terminal_show(struct terminal *t, struct out *out, const void *data, size_t len)
{
	modes_read(&t->modes, data, len);
	return out_bytes(out, NULL, data, len);
}

void terminal_return(struct terminal *t, struct out *out)
{
	struct text undo = { 0 };

	modes_undo(&t->modes, &undo);
	if (undo.len)
		(void)out_bytes(out, NULL, undo.data, undo.len);
	text_free(&undo);
	if (!t->lent)
		return;
	t->lent = false;
	/* What the terminal answered to a program that is gone must not reach the shell as if it were typed. */
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &t->before);
}

bool terminal_signal(struct terminal *t, struct out *out, oc_run *run, int number)
{
	bool lent = t->lent;

	if (number != SIGWINCH && number != SIGTSTP && number != SIGCONT)
		return false;
	if (number == SIGTSTP) {
		terminal_return(t, out);
		kill(getpid(), SIGSTOP);
		if (lent)
			terminal_lend(t, run);
	} else if (lent) {
		/* A shell that had the terminal meanwhile left it as it likes it. */
		if (number == SIGCONT)
			raw(t);
		tell_size(run);
	}
	return true;
}
