/* SPDX-License-Identifier: Apache-2.0 */
/* Signals become bytes on a pipe, so that the one poll of exec sees them.  Its two ends are the only variables of this
 * program that outlive a function. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "exec.h"

static volatile sig_atomic_t write_end = -1;
static int read_end = -1;

static void caught(int number)
{
	unsigned char byte = (unsigned char)number;
	int saved = errno;
	ssize_t n = write(write_end, &byte, 1);

	(void)n; /* full: there are more signals waiting than anyone counts */
	errno = saved;
}

static void catch (const int *numbers, size_t n)
{
	struct sigaction action = { .sa_handler = caught }, before;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < n; i++) {
		/* nohup and shells' background jobs ask not to be disturbed. */
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN)
			continue;
		sigaction(numbers[i], &action, NULL);
	}
}

int exec_signals_terminal(void)
{
	static const int numbers[] = { SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT };
	int wake = exec_signals();

	if (wake >= 0)
		catch (numbers, sizeof(numbers) / sizeof(numbers[0]));
	return wake;
}

int exec_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	int ends[2];

	if (read_end >= 0)
		return read_end;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	write_end = ends[1];
	catch (numbers, sizeof(numbers) / sizeof(numbers[0]));
	read_end = ends[0];
	return read_end;
}
