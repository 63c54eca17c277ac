/* SPDX-License-Identifier: Apache-2.0 */
/* Calls are allowed by name and all others answer ENOSYS, as on a kernel without them; see providers/git/confine.c. */
#include "harden.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>

#include "base/util.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "no system call filter for this architecture yet: add its audit constant here and review the table"
#endif

const char *gw_harden_refuse(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { { 0 } };

	if (geteuid() == 0)
		return "root: it runs as an ordinary user";
	if (syscall(SYS_capget, &head, caps) || caps[0].effective || caps[1].effective)
		return "capabilities: it runs without any";
	return NULL;
}

bool gw_harden_start(void)
{
	static const struct rlimit none = { 0, 0 };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
	       setrlimit(RLIMIT_CORE, &none) == 0;
}

static const uint16_t calls[] = {
	__NR_read,          __NR_write,      __NR_writev,         __NR_close,        __NR_splice,
	__NR_pipe2,         __NR_accept4,    __NR_connect,        __NR_shutdown,     __NR_sendto,
	__NR_recvfrom,      __NR_setsockopt, __NR_getsockopt,     __NR_epoll_ctl,    __NR_epoll_pwait,
#ifdef __NR_epoll_wait
	__NR_epoll_wait,
#endif
	__NR_clock_gettime, __NR_getrandom,  __NR_munmap,         __NR_mremap,       __NR_brk,
	__NR_madvise,       __NR_futex,      __NR_rt_sigprocmask, __NR_rt_sigreturn, __NR_restart_syscall,
	__NR_exit,          __NR_exit_group,
};

struct program {
	struct sock_filter code[128];
	size_t n;
};

static void emit(struct program *p, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (p->n < OC_COUNT(p->code))
		p->code[p->n] = (struct sock_filter){ code, jt, jf, k };
	p->n++;
}

static void answer(struct program *p, uint32_t value)
{
	emit(p, BPF_RET | BPF_K, 0, 0, value);
}

/* nr is allowed when the low half of its argument, masked, is a value. */
static void only_when(struct program *p, uint32_t nr, unsigned arg, uint32_t mask, uint32_t value)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, nr);
	emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offsetof(struct seccomp_data, args) + 8 * arg);
	emit(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
	answer(p, SECCOMP_RET_ALLOW);
	/* Another value: perhaps the next rule for the same call knows it. */
	emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offsetof(struct seccomp_data, nr));
}

bool gw_harden_filter(void)
{
	struct program p = { .n = 0 };
	struct sock_fprog program;

	emit(&p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offsetof(struct seccomp_data, arch));
	emit(&p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCH);
	answer(&p, SECCOMP_RET_KILL_PROCESS);
	emit(&p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < OC_COUNT(calls); i++) {
		emit(&p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, calls[i]);
		answer(&p, SECCOMP_RET_ALLOW);
	}
	only_when(&p, __NR_mmap, 2, PROT_EXEC, 0);
	only_when(&p, __NR_mprotect, 2, PROT_EXEC, 0);
	only_when(&p, __NR_fcntl, 1, ~0u, F_SETPIPE_SZ);
	only_when(&p, __NR_ioctl, 1, ~0u, SIOCOUTQ);
	only_when(&p, __NR_socket, 0, ~0u, AF_INET);
	only_when(&p, __NR_socket, 0, ~0u, AF_INET6);
	answer(&p, SECCOMP_RET_ERRNO | ENOSYS);
	if (p.n > OC_COUNT(p.code)) {
		errno = E2BIG;
		return false;
	}
	program = (struct sock_fprog){ (unsigned short)p.n, p.code };
	return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}
