/* SPDX-License-Identifier: Apache-2.0 */
/* What the filter is for: everything that would give the agent more kernel than a build needs (new
 * namespaces, mounts, io_uring, BPF, …), every way around the file and network rules that a path or a
 * network namespace can't close (unix sockets, keyrings, System V IPC), and what it could leave behind
 * for other users (set-id files, devices).
 *
 * Arguments are compared in their low 32 bits where the kernel reads an int: TIOCSTI with the upper
 * half set is TIOCSTI all the same.  Whatever takes its flags by pointer can't be judged and answers
 * ENOSYS (clone3, openat2), so that callers fall back to the call that can.
 *
 * A datagram socketpair is refused along with unix sockets: unlike a stream's, each of its ends can be
 * connected anew, to any socket that has a path. */
#include "guest/seccomp.h"

#include "guest/channel.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "no system call filter for this architecture yet: add its audit constant here and review the table"
#endif

#define X32_BIT 0x40000000u

enum test { ALWAYS, ANY, EQUAL, NOT_EQUAL };

struct rule {
	int nr;
	uint16_t err;
	struct {
		uint8_t test, arg; /* arg | HIGH: its upper half */
		uint32_t mask, value;
	} when[2];
	uint32_t with, without; /* options: the rule applies with all of these and none of those */
};

#define HIGH 8
#define NO(nr, err)                                                                                                    \
	{                                                                                                              \
		nr, err, { { ALWAYS } }, 0, 0                                                                          \
	}
#define NO_WITH(nr, err, options)                                                                                      \
	{                                                                                                              \
		nr, err, { { ALWAYS } }, options, 0                                                                    \
	}
#define BITS(nr, err, arg, mask)                                                                                       \
	{                                                                                                              \
		nr, err, { { ANY, arg, mask, 0 } }, 0, 0                                                               \
	}
#define IS(nr, err, arg, value)                                                                                        \
	{                                                                                                              \
		nr, err, { { EQUAL, arg, 0xffffffffu, value } }, 0, 0                                                  \
	}

/* Numbers that older headers lack; the same on every architecture. */
#define NR_pidfd_getfd     438
#define NR_process_madvise 440
#define NR_mount_setattr   442
#define NR_fchmodat2       452
#define NR_open_tree_attr  467

#define SET_ID         06000u
#define CREATES        (0x40u | 0x400000u) /* O_CREAT, __O_TMPFILE: only then is there a mode */
#define NEW_NAMESPACES 0x7e020080u         /* all CLONE_NEW* and CLONE_NEWTIME, which only unshare() and setns() read */

/* open(): the mode counts only when the flags create. */
#define OPEN_MODE(nr, flags, mode)                                                                                     \
	{                                                                                                              \
		nr, EPERM, { { ANY, flags, CREATES, 0 }, { ANY, mode, SET_ID, 0 } }, 0, 0                              \
	}
#define MKNOD_MODE(nr, mode)                                                                                           \
	BITS(nr, EPERM, mode, SET_ID), { nr, EPERM, { { EQUAL, mode, 0170000, 0020000 } }, 0, 0 },                     \
	{                                                                                                              \
		nr, EPERM, { { EQUAL, mode, 0170000, 0060000 } }, 0, 0                                                 \
	}

static const struct rule rules[] = {
	NO(__NR_clone3, ENOSYS),
	BITS(__NR_clone, EPERM, 0, NEW_NAMESPACES & ~0x80u),
	BITS(__NR_unshare, EPERM, 0, NEW_NAMESPACES),
	NO(__NR_setns, EPERM),
	NO(__NR_mount, EPERM),
	NO(__NR_umount2, EPERM),
	NO(__NR_pivot_root, EPERM),
	NO(__NR_chroot, EPERM),
	NO(__NR_open_tree, EPERM),
	NO(NR_open_tree_attr, EPERM),
	NO(__NR_move_mount, EPERM),
	NO(__NR_fsopen, EPERM),
	NO(__NR_fsconfig, EPERM),
	NO(__NR_fsmount, EPERM),
	NO(__NR_fspick, EPERM),
	NO(NR_mount_setattr, EPERM),
	NO(__NR_open_by_handle_at, EPERM),
	NO(__NR_swapon, EPERM),
	NO(__NR_swapoff, EPERM),
	NO(__NR_quotactl, EPERM),
	NO(__NR_acct, EPERM),
	NO(__NR_reboot, EPERM),

	NO(__NR_io_uring_setup, ENOSYS),
	NO(__NR_io_uring_enter, ENOSYS),
	NO(__NR_io_uring_register, ENOSYS),
	NO(__NR_keyctl, EPERM),
	NO(__NR_add_key, EPERM),
	NO(__NR_request_key, EPERM),
	NO(__NR_bpf, EPERM),
	NO(__NR_perf_event_open, EPERM),
	NO(__NR_userfaultfd, EPERM),
	NO(__NR_kexec_load, EPERM),
#ifdef __NR_kexec_file_load
	NO(__NR_kexec_file_load, EPERM),
#endif
	NO(__NR_init_module, EPERM),
	NO(__NR_finit_module, EPERM),
	NO(__NR_delete_module, EPERM),
#ifdef __NR_modify_ldt
	NO(__NR_modify_ldt, ENOSYS),
	NO(__NR_iopl, EPERM),
	NO(__NR_ioperm, EPERM),
#endif
	IS(__NR_ioctl, EPERM, 1, 0x5412u /* TIOCSTI */),
	IS(__NR_ioctl, EPERM, 1, 0x541cu /* TIOCLINUX */),
	/* Limits of another process: RLIMIT_CPU would end the guest, which has the same uid. */
	{ __NR_prlimit64, EPERM, { { NOT_EQUAL, 0, 0xffffffffu, 0 }, { NOT_EQUAL, 2, 0xffffffffu, 0 } }, 0, 0 },
	{ __NR_prlimit64, EPERM, { { NOT_EQUAL, 0, 0xffffffffu, 0 }, { NOT_EQUAL, 2 | HIGH, 0xffffffffu, 0 } }, 0, 0 },

	NO(437 /* openat2 */, ENOSYS),
	OPEN_MODE(__NR_openat, 2, 3),
	BITS(__NR_fchmod, EPERM, 1, SET_ID),
	BITS(__NR_fchmodat, EPERM, 2, SET_ID),
	BITS(NR_fchmodat2, EPERM, 2, SET_ID),
	MKNOD_MODE(__NR_mknodat, 2),
#ifdef __NR_open
	OPEN_MODE(__NR_open, 1, 2),
	BITS(__NR_creat, EPERM, 1, SET_ID),
	BITS(__NR_chmod, EPERM, 1, SET_ID),
	MKNOD_MODE(__NR_mknod, 1),
#endif

	/* DENY_IPC */
	NO_WITH(__NR_shmget, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_shmat, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_shmctl, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_semget, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_semop, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_semtimedop, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_semctl, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_msgget, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_msgsnd, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_msgrcv, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_msgctl, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_mq_open, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_mq_unlink, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_mq_timedsend, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_mq_timedreceive, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_mq_notify, EPERM, OC_GUEST_DENY_IPC),
	NO_WITH(__NR_mq_getsetattr, EPERM, OC_GUEST_DENY_IPC),

	/* DENY_TRACE */
	NO_WITH(__NR_ptrace, EPERM, OC_GUEST_DENY_TRACE),
	NO_WITH(__NR_process_vm_readv, EPERM, OC_GUEST_DENY_TRACE),
	NO_WITH(__NR_process_vm_writev, EPERM, OC_GUEST_DENY_TRACE),
	NO_WITH(__NR_kcmp, EPERM, OC_GUEST_DENY_TRACE),
	NO_WITH(NR_pidfd_getfd, EPERM, OC_GUEST_DENY_TRACE),
	NO_WITH(NR_process_madvise, EPERM, OC_GUEST_DENY_TRACE),

	/* socket(): see socket_rules() for the families. */
	{ __NR_socket, EPERM, { { EQUAL, 0, 0xffffffffu, 1 /* AF_UNIX */ } }, 0, OC_GUEST_UNIX },
	{ __NR_socketpair, EPERM, { { EQUAL, 1, 0xfu, 2 /* SOCK_DGRAM */ } }, 0, OC_GUEST_UNIX },
	{ __NR_socketpair, EPERM, { { EQUAL, 1, 0xfu, 3 /* SOCK_RAW: a datagram too */ } }, 0, OC_GUEST_UNIX },
	/* Netlink: addresses and routes, and a look at one's own sockets. */
	{ __NR_socket, EPERM, { { EQUAL, 0, 0xffffffffu, 16 }, { NOT_EQUAL, 2, 0xfffffffbu, 0 } }, 0, 0 },
};

struct program {
	struct sock_filter *out;
	size_t n, cap;
};

static void emit(struct program *p, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (p->n < p->cap)
		p->out[p->n] = (struct sock_filter){ code, jt, jf, k };
	p->n++;
}

static void load(struct program *p, size_t offset)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void load_nr(struct program *p)
{
	load(p, offsetof(struct seccomp_data, nr));
}

static void answer(struct program *p, uint32_t value)
{
	emit(p, BPF_RET | BPF_K, 0, 0, value);
}

static int condition_length(const struct rule *r, int i)
{
	return r->when[i].test == ALWAYS ? 0 : 3;
}

/* Load, mask, compare: falls through where it holds, else skips `over` instructions more. */
static void condition(struct program *p, const struct rule *r, int i, uint8_t over)
{
	unsigned arg = r->when[i].arg & 7u, high = r->when[i].arg & HIGH ? 4 : 0;

	if (r->when[i].test == ALWAYS)
		return;
	load(p, offsetof(struct seccomp_data, args) + 8 * arg + high);
	emit(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, r->when[i].mask);
	if (r->when[i].test == EQUAL)
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, over, r->when[i].value);
	else
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, over, 0, r->when[i].value); /* ANY: against 0 */
}

static void emit_rule(struct program *p, const struct rule *r)
{
	int first = condition_length(r, 0), second = condition_length(r, 1);

	load_nr(p);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)(first + second + 1), (uint32_t)r->nr);
	condition(p, r, 0, (uint8_t)(second + 1));
	condition(p, r, 1, 1);
	answer(p, SECCOMP_RET_ERRNO | r->err);
}

/* Families by name, so that one that a future kernel brings is denied from the start. */
static void socket_families(struct program *p)
{
	load_nr(p);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 6, __NR_socket);
	load(p, offsetof(struct seccomp_data, args));
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 4, 0, 1 /* AF_UNIX */);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 2 /* AF_INET */);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 10 /* AF_INET6 */);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 16 /* AF_NETLINK */);
	answer(p, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
}

int oc_seccomp_program(uint32_t options, struct sock_filter *out, size_t cap)
{
	struct program p = { out, 0, cap };

	load(&p, offsetof(struct seccomp_data, arch));
	emit(&p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCH);
	answer(&p, SECCOMP_RET_KILL_PROCESS);
	load_nr(&p);
	/* -1 is a call that a tracer skips, not one of x32. */
	emit(&p, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 0xffffffffu);
	emit(&p, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
	answer(&p, SECCOMP_RET_KILL_PROCESS);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if ((options & rules[i].with) == rules[i].with && !(options & rules[i].without))
			emit_rule(&p, &rules[i]);
	socket_families(&p);
	answer(&p, SECCOMP_RET_ALLOW);
	return p.n > cap ? -ENOSPC : (int)p.n;
}

int oc_seccomp_apply(uint32_t options)
{
	struct sock_filter code[640];
	int n = oc_seccomp_program(options, code, sizeof(code) / sizeof(code[0]));
	struct sock_fprog program = { (unsigned short)n, code };

	if (n < 0)
		return n;
	return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) ? -errno : 0;
}
