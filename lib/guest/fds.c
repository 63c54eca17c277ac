/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEPT           3
#define NR_close_range 436

static int close_from(unsigned first)
{
	struct rlimit limit;

	if (syscall(NR_close_range, first, ~0u, 0) == 0)
		return 0;
	if (errno != ENOSYS && errno != EPERM)
		return -errno;
	/* Kernels before 5.9.  A descriptor may be above a limit that was lowered since: then this is not sure. */
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -errno;
	for (unsigned fd = first; fd < limit.rlim_max && fd < (1u << 20); fd++)
		close((int)fd);
	return 0;
}

int oc_fds_keep_one(int fd)
{
	int result;

	if (fd != KEPT && dup3(fd, KEPT, O_CLOEXEC) < 0)
		return -errno;
	if (fd == KEPT && fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	result = close_from(KEPT + 1);
	if (result < 0)
		return result;
	if (fd < KEPT)
		close(fd);
	return KEPT;
}

int oc_fds_standard(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		int null;

		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		null = open("/dev/null", O_RDWR);
		if (null < 0)
			return -errno;
		if (null != fd) {
			if (dup2(null, fd) < 0)
				return -errno;
			close(null);
		}
	}
	return 0;
}
