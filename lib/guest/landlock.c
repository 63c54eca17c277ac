/* SPDX-License-Identifier: Apache-2.0 */
/* Reading is not handled here: it can't be denied beneath a readable "/", mounts do that.  Everything
 * that changes a file system is, as far as the kernel's version goes, and from version 6 on signals and
 * abstract sockets are kept inside.  The constants are our own: the kernel's header of the machine that
 * builds says nothing about the kernel that runs. */
#include "guest/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NR_create_ruleset 444
#define NR_add_rule       445
#define NR_restrict_self  446

#define FS_WRITE_FILE       (1ull << 1)
#define FS_REMOVE_DIR       (1ull << 4)
#define FS_REMOVE_FILE      (1ull << 5)
#define FS_MAKE_CHAR        (1ull << 6)
#define FS_MAKE_DIR         (1ull << 7)
#define FS_MAKE_REG         (1ull << 8)
#define FS_MAKE_SOCK        (1ull << 9)
#define FS_MAKE_FIFO        (1ull << 10)
#define FS_MAKE_BLOCK       (1ull << 11)
#define FS_MAKE_SYM         (1ull << 12)
#define FS_REFER            (1ull << 13) /* version 2 */
#define FS_TRUNCATE         (1ull << 14) /* 3 */
#define FS_IOCTL_DEV        (1ull << 15) /* 5 */
#define SCOPE_ABSTRACT_UNIX (1ull << 0)  /* 6 */
#define SCOPE_SIGNAL        (1ull << 1)  /* 6 */

#define FS_ALL                                                                                                         \
	(FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_CHAR | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK |    \
	 FS_MAKE_FIFO | FS_MAKE_BLOCK | FS_MAKE_SYM)
#define FS_OF_A_FILE (FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define FS_DEVICES   (FS_MAKE_CHAR | FS_MAKE_BLOCK | FS_IOCTL_DEV)

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

struct path_beneath {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

int oc_landlock_abi(void)
{
	long abi = syscall(NR_create_ruleset, NULL, 0, 1u);

	return abi > 0 ? (int)abi : 0;
}

static uint64_t handled(int abi)
{
	return FS_ALL | (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) | (abi >= 5 ? FS_IOCTL_DEV : 0);
}

static int allow(int ruleset, const char *path, uint64_t rights, int flags)
{
	struct path_beneath rule = { rights, open(path, O_PATH | O_CLOEXEC | flags) };
	struct stat st;
	int result = 0;

	if (rule.parent_fd < 0)
		return -errno;
	if (fstat(rule.parent_fd, &st) < 0)
		result = -errno;
	else if (S_ISLNK(st.st_mode))
		result = -ELOOP;
	else if (!S_ISDIR(st.st_mode))
		rule.allowed &= FS_OF_A_FILE;
	if (!result && syscall(NR_add_rule, ruleset, 1, &rule, 0))
		result = -errno;
	close(rule.parent_fd);
	return result;
}

/* These may be missing in a small sandbox.  /proc is not among them: what an agent could write there is its
 * oom_score_adj, back down to what it was; pipes, sockets and memfds reopened through it aren't files of /proc. */
static int allow_system(int ruleset, uint64_t all, const char **what)
{
	static const struct {
		const char *path;
		uint64_t rights;
	} places[] = {
		{ "/dev/shm", ~FS_DEVICES },
		{ "/dev", FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int result = allow(ruleset, places[i].path, places[i].rights & all, 0);

		*what = places[i].path;
		if (result < 0 && result != -ENOENT)
			return result;
	}
	return 0;
}

int oc_landlock_apply(int abi, char *const *paths, const char **what)
{
	uint64_t all = handled(abi);
	struct ruleset_attr attr = { all, 0, abi >= 6 ? SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL : 0 };
	/* The size tells the kernel which members we know; an old one refuses more than it knows itself. */
	size_t size = abi >= 6 ? sizeof(attr) : sizeof(attr.fs);
	int ruleset, result;

	*what = "ruleset";
	if (abi < 1)
		return -ENOSYS;
	ruleset = (int)syscall(NR_create_ruleset, &attr, size, 0);
	if (ruleset < 0)
		return -errno;
	result = allow_system(ruleset, all, what);
	for (; !result && paths && *paths; paths++) {
		*what = *paths;
		result = allow(ruleset, *paths, all & ~FS_DEVICES, O_NOFOLLOW);
		/* A grant that isn't there, or is a link by now, gets no rule, which only forbids more; the
		 * probes then say which one it is. */
		if (result == -ENOENT || result == -ENOTDIR || result == -ELOOP)
			result = 0;
	}
	if (!result) {
		*what = "restrict";
		result = syscall(NR_restrict_self, ruleset, 0) ? -errno : 0;
	}
	close(ruleset);
	return result;
}
