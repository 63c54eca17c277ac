/* SPDX-License-Identifier: Apache-2.0 */
/* The filter's verdicts, by running its program as the kernel would. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "guest/channel.h"
#include "guest/seccomp.h"
#include "suite.h"

#if defined(__x86_64__)
#define ARCH    AUDIT_ARCH_X86_64
#define FOREIGN AUDIT_ARCH_I386
#else
#define ARCH    AUDIT_ARCH_AARCH64
#define FOREIGN AUDIT_ARCH_ARM
#endif

#define ALLOW     SECCOMP_RET_ALLOW
#define KILL      SECCOMP_RET_KILL_PROCESS
#define ERR(e)    (SECCOMP_RET_ERRNO | (e))
#define HIGH_HALF 0xdeadbeef00000000ull

/* The instructions that the filter uses; any other, or a jump out of it, fails the test. */
static uint32_t run_program(const struct sock_filter *code, int n, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (int pc = 0; pc < n; pc++) {
		const struct sock_filter *i = &code[pc];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			ck_assert_uint_le(i->k, sizeof(*data) - 4);
			ck_assert_uint_eq(i->k % 4, 0);
			memcpy(&a, (const char *)data + i->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			ck_abort_msg("unknown instruction %x", i->code);
		}
	}
	ck_abort_msg("fell off the end");
	return 0;
}

static uint32_t verdict_arch(uint32_t options, uint32_t arch, int nr, const uint64_t args[6])
{
	struct sock_filter code[1024];
	struct seccomp_data data = { .nr = nr, .arch = arch };
	int n = oc_seccomp_program(options, code, 1024);

	ck_assert_int_gt(n, 0);
	memcpy(data.args, args, sizeof(data.args));
	return run_program(code, n, &data);
}

static uint32_t verdict(uint32_t options, int nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	const uint64_t args[6] = { a, b, c, d, 0, 0 };

	return verdict_arch(options, ARCH, nr, args);
}

static const uint32_t OPTIONS = OC_GUEST_CONFINED | OC_GUEST_LANDLOCK;

START_TEST(test_architectures)
{
	const uint64_t none[6] = { 0 };

	ck_assert_uint_eq(verdict_arch(OPTIONS, ARCH, __NR_read, none), ALLOW);
	ck_assert_uint_eq(verdict_arch(OPTIONS, FOREIGN, __NR_read, none), KILL);
	ck_assert_uint_eq(verdict_arch(OPTIONS, ARCH, __NR_read | 0x40000000, none), KILL);
	ck_assert_uint_eq(verdict_arch(OPTIONS, ARCH, 0x7fffffff, none), KILL);
	ck_assert_uint_eq(verdict_arch(OPTIONS, ARCH, -1, none), ALLOW); /* skipped by a tracer */
	ck_assert_uint_eq(verdict_arch(OPTIONS, ARCH, -2, none), KILL);
}
END_TEST

START_TEST(test_always)
{
	const struct {
		int nr, err;
	} rules[] = {
		{ __NR_clone3, ENOSYS },
		{ __NR_setns, EPERM },
		{ __NR_mount, EPERM },
		{ __NR_umount2, EPERM },
		{ __NR_pivot_root, EPERM },
		{ __NR_chroot, EPERM },
		{ 428, EPERM },
		{ 429, EPERM },
		{ 430, EPERM },
		{ 431, EPERM },
		{ 432, EPERM },
		{ 433, EPERM },
		{ 442, EPERM },
		{ 467, EPERM },
		{ 425, ENOSYS },
		{ 426, ENOSYS },
		{ 427, ENOSYS },
		{ __NR_keyctl, EPERM },
		{ __NR_add_key, EPERM },
		{ __NR_request_key, EPERM },
		{ __NR_bpf, EPERM },
		{ __NR_perf_event_open, EPERM },
		{ __NR_userfaultfd, EPERM },
		{ __NR_kexec_load, EPERM },
		{ __NR_kexec_file_load, EPERM },
		{ __NR_init_module, EPERM },
		{ __NR_finit_module, EPERM },
		{ __NR_delete_module, EPERM },
		{ 437, ENOSYS },
		{ __NR_open_by_handle_at, EPERM },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		ck_assert_msg(verdict(OPTIONS, rules[i].nr, 0, 0, 0, 0) == (uint32_t)ERR(rules[i].err), "call %d",
		              rules[i].nr);
}
END_TEST

START_TEST(test_namespaces)
{
	for (int bit = 0; bit < 32; bit++) {
		uint64_t flag = 1ull << bit;
		bool space = flag & 0x7e020000u;

		ck_assert_msg(verdict(OPTIONS, __NR_clone, flag | 17, 0, 0, 0) == (space ? ERR(EPERM) : ALLOW),
		              "clone bit %d", bit);
		ck_assert_msg(verdict(OPTIONS, __NR_unshare, flag | HIGH_HALF, 0, 0, 0) ==
		                      (space || bit == 7 ? ERR(EPERM) : ALLOW),
		              "unshare bit %d", bit);
	}
	/* As a thread of glibc is made. */
	ck_assert_uint_eq(verdict(OPTIONS, __NR_clone, 0x3d0f00, 0, 0, 0), ALLOW);
}
END_TEST

START_TEST(test_sockets)
{
	for (unsigned family = 0; family < 64; family++) {
		bool common = family == 2 || family == 10 || family == 16;
		uint32_t rest = common ? ALLOW : ERR(EAFNOSUPPORT);

		ck_assert_uint_eq(verdict(OPTIONS, __NR_socket, family, 1, 0, 0), family == 1 ? ERR(EPERM) : rest);
		ck_assert_uint_eq(verdict(OPTIONS | OC_GUEST_UNIX, __NR_socket, family, 1, 0, 0),
		                  family == 1 ? ALLOW : rest);
	}
	ck_assert_uint_eq(verdict(OPTIONS, __NR_socket, 1 | HIGH_HALF, 1, 0, 0), ERR(EPERM));
	ck_assert_uint_eq(verdict(OPTIONS, __NR_socket, 16, 3, 4, 0), ALLOW);
	ck_assert_uint_eq(verdict(OPTIONS, __NR_socket, 16, 3, 9, 0), ERR(EPERM));
	ck_assert_uint_eq(verdict(OPTIONS, __NR_socketpair, 1, 1 | 02000000, 0, 0), ALLOW);
	ck_assert_uint_eq(verdict(OPTIONS, __NR_socketpair, 1, 5, 0, 0), ALLOW);
	ck_assert_uint_eq(verdict(OPTIONS, __NR_socketpair, 1, 2 | 02000000, 0, 0), ERR(EPERM));
	ck_assert_uint_eq(verdict(OPTIONS, __NR_socketpair, 1, 3 | HIGH_HALF, 0, 0), ERR(EPERM));
	ck_assert_uint_eq(verdict(OPTIONS | OC_GUEST_UNIX, __NR_socketpair, 1, 2, 0, 0), ALLOW);
}
END_TEST

START_TEST(test_ioctl)
{
	ck_assert_uint_eq(verdict(OPTIONS, __NR_ioctl, 0, 0x5412, 0, 0), ERR(EPERM));
	ck_assert_uint_eq(verdict(OPTIONS, __NR_ioctl, 0, 0x5412 | HIGH_HALF, 0, 0), ERR(EPERM));
	ck_assert_uint_eq(verdict(OPTIONS, __NR_ioctl, 0, 0x541c | HIGH_HALF, 0, 0), ERR(EPERM));
	ck_assert_uint_eq(verdict(OPTIONS, __NR_ioctl, 0, 0x5413, 0, 0), ALLOW);
	ck_assert_uint_eq(verdict(OPTIONS, __NR_ioctl, 0x5412, 0, 0x5412, 0), ALLOW);
}
END_TEST

#define CREATE  0x40
#define TMPFILE 0x410000

/* Set-id bits count only where the mode does. */
START_TEST(test_modes)
{
	for (uint64_t mode = 0; mode <= 07777; mode += 0111) {
		uint64_t m = mode | HIGH_HALF;
		uint32_t want = mode & 06000 ? ERR(EPERM) : ALLOW;

		ck_assert_uint_eq(verdict(OPTIONS, __NR_fchmod, 3, m, 0, 0), want);
		ck_assert_uint_eq(verdict(OPTIONS, __NR_fchmodat, 3, 0, m, 0), want);
		ck_assert_uint_eq(verdict(OPTIONS, 452, 3, 0, m, 0), want);
		ck_assert_uint_eq(verdict(OPTIONS, __NR_openat, 3, 0, CREATE | 1, m), want);
		ck_assert_uint_eq(verdict(OPTIONS, __NR_openat, 3, 0, TMPFILE | 1, m), want);
		ck_assert_uint_eq(verdict(OPTIONS, __NR_openat, 3, 0, 1, m), ALLOW);
		ck_assert_uint_eq(verdict(OPTIONS, __NR_mknodat, 3, 0, 0100000 | m, 0), want);
#ifdef __NR_open
		ck_assert_uint_eq(verdict(OPTIONS, __NR_chmod, 0, m, 0, 0), want);
		ck_assert_uint_eq(verdict(OPTIONS, __NR_creat, 0, m, 0, 0), want);
		ck_assert_uint_eq(verdict(OPTIONS, __NR_open, 0, CREATE, m, 0), want);
		ck_assert_uint_eq(verdict(OPTIONS, __NR_open, 0, 0, m, 0), ALLOW);
		ck_assert_uint_eq(verdict(OPTIONS, __NR_mknod, 0, 0100000 | m, 0, 0), want);
#endif
	}
}
END_TEST

START_TEST(test_devices)
{
	ck_assert_uint_eq(verdict(OPTIONS, __NR_mknodat, 0, 0, 0020600, 0), ERR(EPERM));
	ck_assert_uint_eq(verdict(OPTIONS, __NR_mknodat, 0, 0, 0060600, 0), ERR(EPERM));
	ck_assert_uint_eq(verdict(OPTIONS, __NR_mknodat, 0, 0, 0010600, 0), ALLOW); /* FIFO */
	ck_assert_uint_eq(verdict(OPTIONS, __NR_mknodat, 0, 0, 0140600, 0), ALLOW); /* socket */
	ck_assert_uint_eq(verdict(OPTIONS, __NR_mknodat, 0, 0, 0600, 0), ALLOW);
}
END_TEST

START_TEST(test_limits_of_others)
{
	ck_assert_uint_eq(verdict(OPTIONS, __NR_prlimit64, 0, 0, 0x1000, 0), ALLOW);
	ck_assert_uint_eq(verdict(OPTIONS, __NR_prlimit64, 12, 0, 0, 0x1000), ALLOW);
	ck_assert_uint_eq(verdict(OPTIONS, __NR_prlimit64, 12, 0, 0x1000, 0), ERR(EPERM));
	ck_assert_uint_eq(verdict(OPTIONS, __NR_prlimit64, 12, 0, 0x7f00000000ull, 0), ERR(EPERM));
}
END_TEST

START_TEST(test_options)
{
	const int ipc[] = { __NR_shmget,     __NR_shmat,        __NR_shmctl,    __NR_semget,       __NR_semop,
		            __NR_semtimedop, __NR_semctl,       __NR_msgget,    __NR_msgsnd,       __NR_msgrcv,
		            __NR_msgctl,     __NR_mq_open,      __NR_mq_unlink, __NR_mq_timedsend, __NR_mq_timedreceive,
		            __NR_mq_notify,  __NR_mq_getsetattr };
	const int trace[] = { __NR_ptrace, __NR_process_vm_readv, __NR_process_vm_writev, __NR_kcmp, 438, 440 };

	for (size_t i = 0; i < sizeof(ipc) / sizeof(ipc[0]); i++) {
		ck_assert_uint_eq(verdict(OPTIONS, ipc[i], 0, 0, 0, 0), ALLOW);
		ck_assert_uint_eq(verdict(OPTIONS | OC_GUEST_DENY_IPC, ipc[i], 0, 0, 0, 0), ERR(EPERM));
	}
	for (size_t i = 0; i < sizeof(trace) / sizeof(trace[0]); i++) {
		ck_assert_uint_eq(verdict(OPTIONS, trace[i], 0, 0, 0, 0), ALLOW);
		ck_assert_uint_eq(verdict(OPTIONS | OC_GUEST_DENY_TRACE, trace[i], 0, 0, 0, 0), ERR(EPERM));
	}
}
END_TEST

START_TEST(test_ordinary_calls)
{
	const int calls[] = { __NR_read,
		              __NR_write,
		              __NR_execve,
		              __NR_execveat,
		              __NR_mmap,
		              __NR_futex,
		              __NR_wait4,
		              __NR_connect,
		              __NR_bind,
		              __NR_listen,
		              __NR_accept4,
		              __NR_sendmsg,
		              __NR_recvmsg,
		              __NR_pipe2,
		              __NR_epoll_create1,
		              __NR_eventfd2,
		              __NR_signalfd4,
		              __NR_timerfd_create,
		              __NR_memfd_create,
		              __NR_statx,
		              __NR_getrandom,
		              __NR_kill,
		              __NR_mkdirat,
		              __NR_symlinkat,
		              __NR_linkat,
		              __NR_renameat2,
		              __NR_unlinkat,
		              __NR_prctl,
		              __NR_seccomp,
		              __NR_setsid,
		              __NR_inotify_init1,
		              __NR_copy_file_range,
		              __NR_sendfile,
		              __NR_rseq,
		              434 /* pidfd_open */,
		              439 /* faccessat2 */,
		              444,
		              445,
		              446 /* Landlock of its own */ };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		ck_assert_msg(verdict(OPTIONS | OC_GUEST_DENY_IPC | OC_GUEST_DENY_TRACE, calls[i], 0, 0, 0, 0) == ALLOW,
		              "call %d", calls[i]);
}
END_TEST

START_TEST(test_too_small)
{
	struct sock_filter code[10];

	ck_assert_int_eq(oc_seccomp_program(OPTIONS, code, 10), -ENOSPC);
}
END_TEST

SUITE_MAIN("seccomp", test_architectures, test_always, test_namespaces, test_sockets, test_ioctl, test_modes,
           test_devices, test_limits_of_others, test_options, test_ordinary_calls, test_too_small)
