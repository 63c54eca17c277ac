/* SPDX-License-Identifier: Apache-2.0 */
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int refuse_errno(struct refusal *r, const char *subject, const char *what)
{
	int e = errno;
	const char *fix = NULL;

	if (e == ENOMEM)
		return no_memory(r);
	if (e == ENOSPC || e == EDQUOT)
		fix = "free some space or inodes there, then try again";
	else if (e == EROFS || e == EACCES || e == EPERM)
		fix = "make it accessible to the user who runs Open Conduit, then try again";
	return refuse(r, "workspace_conflict", subject, fix ? fix : "look at it, then try again", "%s: %s", what,
	              strerror(e));
}

const char *known_reason(const char *text)
{
	static const char *const reasons[] = { "sandbox_workspace", "workspace_conflict", "sandbox_unavailable",
		                               "provider_failed" };

	for (size_t i = 0; text && i < COUNT(reasons); i++)
		if (!strcmp(text, reasons[i]))
			return reasons[i];
	return NULL;
}

static int read_all(int fd, size_t max, struct text *out)
{
	char block[16384];

	for (;;) {
		ssize_t n = read(fd, block, sizeof(block));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -1 : 0;
		if (out->len + (size_t)n > max)
			return errno = EFBIG, -1;
		if (!text_add(out, block, (size_t)n))
			return errno = ENOMEM, -1;
	}
}

int read_small(int dir, const char *name, size_t max, struct text *out)
{
	cleanup_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode))
		return errno = EINVAL, -1;
	if (!text_add(out, "", 0))
		return errno = ENOMEM, -1;
	return read_all(fd, max, out);
}

int write_new(int dir, const char *name, mode_t mode, const void *data, size_t len)
{
	cleanup_fd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);

	return fd < 0 ? -1 : write_all(fd, data, len);
}

#ifdef OC_FAULTS
void fault(const char *point)
{
	const char *wanted = getenv("OPEN_CONDUIT_FAULT");

	if (wanted && !strcmp(wanted, point))
		kill(getpid(), SIGKILL);
}
#endif
