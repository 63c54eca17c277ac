/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock says which files; a filter of system calls says that there is nothing but files.  Calls are allowed by name
 * and all others answer ENOSYS, as on a kernel without them: what a C library tries first and can do without is then no
 * reason to end.  Memory never becomes code that was not there at the start.
 *
 * The constants are our own: headers of the machine that builds say nothing about the kernel that runs. */
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#define NR_create_ruleset 444
#define NR_add_rule       445
#define NR_restrict_self  446

#define FS_EXECUTE    (1ull << 0)
#define FS_WRITE_FILE (1ull << 1)
#define FS_READ_FILE  (1ull << 2)
#define FS_READ_DIR   (1ull << 3)
#define FS_REMOVE     (3ull << 4) /* a directory, a file */
#define FS_MAKE_DIR   (1ull << 7)
#define FS_MAKE_REG   (1ull << 8)
#define FS_MAKE_SYM   (1ull << 12)
#define FS_V1         ((1ull << 13) - 1)
#define FS_REFER      (1ull << 13) /* version 2 */
#define FS_TRUNCATE   (1ull << 14) /* 3 */
#define FS_IOCTL_DEV  (1ull << 15) /* 5 */
#define NET_TCP       3ull         /* 4: bind, connect */
#define SCOPE_ALL     3ull         /* 6: abstract sockets, signals */

#define READS  (FS_READ_FILE | FS_READ_DIR)
#define WRITES (READS | FS_WRITE_FILE | FS_REMOVE | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SYM | FS_REFER | FS_TRUNCATE)
#define FILES  (FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE)

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

struct path_beneath {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

static int unavailable(struct refusal *r, const char *subject, const char *what)
{
	return refuse(r, "sandbox_unavailable", subject, "use a kernel with Landlock (5.13 or later, lsm=…,landlock)",
	              "the provider of workspaces can't confine itself: %s: %s", what, strerror(errno));
}

static int add_path(int ruleset, const struct confine_path *p, uint64_t all, struct refusal *r)
{
	cleanup_fd int fd = open(p->path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	struct path_beneath rule = { (p->rights & CONFINE_WRITE ? WRITES : READS) & all, fd };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return refuse_errno(r, p->path, "it can't be opened");
	if (!S_ISDIR(st.st_mode))
		rule.allowed &= FILES;
	if (syscall(NR_add_rule, ruleset, 1, &rule, 0))
		return unavailable(r, p->path, "Landlock's rule");
	return 0;
}

static int landlock(const struct confine_path *paths, size_t n, struct refusal *r)
{
	long abi = syscall(NR_create_ruleset, NULL, 0, 1u);
	struct ruleset_attr attr = { FS_V1, abi >= 4 ? NET_TCP : 0, abi >= 6 ? SCOPE_ALL : 0 };
	size_t size = abi >= 6 ? sizeof(attr) : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
	cleanup_fd int ruleset = -1;

	if (abi < 1)
		return unavailable(r, "landlock", "there is none");
	attr.fs |= (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) | (abi >= 5 ? FS_IOCTL_DEV : 0);
	ruleset = (int)syscall(NR_create_ruleset, &attr, size, 0);
	if (ruleset < 0)
		return unavailable(r, "landlock", "its rules");
	for (size_t i = 0; i < n; i++)
		if (add_path(ruleset, &paths[i], attr.fs, r))
			return -1;
	return syscall(NR_restrict_self, ruleset, 0) ? unavailable(r, "landlock", "its start") : 0;
}

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "no system call filter for this architecture yet: add its audit constant here and review the table"
#endif

static const uint16_t calls[] = {
	/* files that are open, directories, descriptors */
	__NR_read,
	__NR_write,
	__NR_readv,
	__NR_writev,
	__NR_pread64,
	__NR_pwrite64,
	__NR_preadv,
	__NR_pwritev,
	__NR_lseek,
	__NR_close,
	__NR_fstat,
	__NR_getdents64,
	__NR_ftruncate,
	__NR_fallocate,
	__NR_fsync,
	__NR_fdatasync,
	__NR_syncfs,
	__NR_sync_file_range,
	__NR_copy_file_range,
	__NR_sendfile,
	__NR_fadvise64,
	__NR_flock,
	__NR_fcntl,
	__NR_dup,
	__NR_fchmod,
	__NR_fchdir,
	__NR_fstatfs,
	436 /* close_range */,
	/* files by name: Landlock judges */
	__NR_openat,
	437 /* openat2 */,
	__NR_newfstatat,
	__NR_statx,
	__NR_faccessat,
	439 /* faccessat2 */,
	__NR_readlinkat,
	__NR_mkdirat,
	__NR_unlinkat,
	__NR_renameat,
	__NR_renameat2,
	__NR_symlinkat,
	__NR_fchmodat,
	__NR_utimensat,
	__NR_statfs,
	__NR_getcwd,
	__NR_truncate,
	__NR_umask,
#ifdef __NR_open
	__NR_open,
	__NR_creat,
	__NR_stat,
	__NR_lstat,
	__NR_access,
	__NR_readlink,
	__NR_mkdir,
	__NR_rmdir,
	__NR_unlink,
	__NR_rename,
	__NR_symlink,
	__NR_chmod,
	__NR_utime,
	__NR_utimes,
	__NR_futimesat,
	__NR_poll,
	__NR_time,
	__NR_getdents,
	__NR_arch_prctl,
#endif
	/* memory; see below for code */
	__NR_munmap,
	__NR_mremap,
	__NR_brk,
	__NR_madvise,
	__NR_msync,
	/* the process itself */
	__NR_exit,
	__NR_exit_group,
	__NR_getpid,
	__NR_gettid,
	__NR_getppid,
	__NR_getuid,
	__NR_geteuid,
	__NR_getgid,
	__NR_getegid,
	__NR_rt_sigaction,
	__NR_rt_sigprocmask,
	__NR_rt_sigreturn,
	__NR_sigaltstack,
	__NR_futex,
	__NR_set_robust_list,
	__NR_set_tid_address,
#ifdef __NR_rseq
	__NR_rseq,
#endif
	__NR_sched_yield,
	__NR_sched_getaffinity,
	__NR_getrandom,
	__NR_clock_gettime,
	__NR_clock_getres,
	__NR_clock_nanosleep,
	__NR_nanosleep,
	__NR_gettimeofday,
	__NR_getrusage,
	__NR_times,
	__NR_uname,
	__NR_sysinfo,
	__NR_ppoll,
	__NR_restart_syscall,
};

#define FICLONE_NR 0x40049409u

struct program {
	struct sock_filter code[512];
	size_t n;
};

static void emit(struct program *p, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (p->n < COUNT(p->code))
		p->code[p->n] = (struct sock_filter){ code, jt, jf, k };
	p->n++;
}

static void answer(struct program *p, uint32_t value)
{
	emit(p, BPF_RET | BPF_K, 0, 0, value);
}

/* nr is allowed when argument arg, its low half masked, is (or is not) a value. */
static void only_when(struct program *p, uint32_t nr, unsigned arg, uint32_t mask, uint32_t value)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 5, nr);
	emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offsetof(struct seccomp_data, args) + 8 * arg);
	emit(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
	answer(p, SECCOMP_RET_ALLOW);
	answer(p, SECCOMP_RET_ERRNO | EPERM);
}

static int filter(struct refusal *r)
{
	struct program p = { .n = 0 };
	struct sock_fprog program;

	emit(&p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offsetof(struct seccomp_data, arch));
	emit(&p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCH);
	answer(&p, SECCOMP_RET_KILL_PROCESS);
	emit(&p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < COUNT(calls); i++) {
		emit(&p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, calls[i]);
		answer(&p, SECCOMP_RET_ALLOW);
	}
	only_when(&p, __NR_mmap, 2, PROT_EXEC, 0);
	only_when(&p, __NR_mprotect, 2, PROT_EXEC, 0);
	only_when(&p, __NR_ioctl, 1, 0xffffffffu, FICLONE_NR);
	/* One's own limits may be read. */
	only_when(&p, __NR_prlimit64, 2, 0xffffffffu, 0);
	/* abort() is a signal to oneself. */
	only_when(&p, __NR_kill, 0, 0xffffffffu, (uint32_t)getpid());
	only_when(&p, __NR_tgkill, 0, 0xffffffffu, (uint32_t)getpid());
	answer(&p, SECCOMP_RET_ERRNO | ENOSYS);
	if (p.n > COUNT(p.code))
		return errno = E2BIG, unavailable(r, "seccomp", "its filter");
	program = (struct sock_fprog){ (unsigned short)p.n, p.code };
	if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		return unavailable(r, "seccomp", "its filter");
	return 0;
}

int confine(const struct confine_path *paths, size_t n, struct refusal *r)
{
	static const struct rlimit none = { 0, 0 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || setrlimit(RLIMIT_CORE, &none))
		return unavailable(r, "no_new_privs", "its start");
	return landlock(paths, n, r) ? -1 : filter(r);
}
