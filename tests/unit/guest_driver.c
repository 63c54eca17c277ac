/* SPDX-License-Identifier: Apache-2.0 */
#include "guest_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "suite.h"

#define NOBODY 65534

static void copy_program(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	char buf[65536];
	ssize_t n;

	ck_assert_msg(in >= 0 && out >= 0, "cannot copy %s to %s", from, to);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		ck_assert_int_eq(write(out, buf, (size_t)n), n);
	close(in);
	close(out);
}

void world_init(struct world *w)
{
	const char *guest = getenv("OC_TEST_GUEST");

	ck_assert_msg(guest != NULL, "OC_TEST_GUEST is not set: run this by meson test");
	umask(022);
	w->uid = geteuid() ? geteuid() : NOBODY;
	w->dir = suite_mkdir();
	ck_assert_int_eq(chmod(w->dir, 0755), 0);
	snprintf(w->guest, sizeof(w->guest), "%s/guest", w->dir);
	snprintf(w->self, sizeof(w->self), "%s/agent", w->dir);
	snprintf(w->ws, sizeof(w->ws), "%s/ws", w->dir);
	snprintf(w->beside, sizeof(w->beside), "%s/beside", w->dir);
	copy_program(guest, w->guest);
	copy_program("/proc/self/exe", w->self);
	ck_assert_int_eq(mkdir(w->ws, 0755), 0);
	ck_assert_int_eq(mkdir(w->beside, 0755), 0);
	if (!geteuid()) {
		ck_assert_int_eq(chown(w->ws, w->uid, w->uid), 0);
		ck_assert_int_eq(chown(w->beside, w->uid, w->uid), 0);
	}
}

void world_free(struct world *w)
{
	suite_rmdir(w->dir);
}

void world_drop(const struct world *w)
{
	if (!geteuid() &&
	    (setgroups(0, NULL) || setresgid(w->uid, w->uid, w->uid) || setresuid(w->uid, w->uid, w->uid)))
		_exit(99);
}

/* A filter that answers landlock_create_ruleset() as a kernel without it does. */
static void without_landlock(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 444, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		_exit(99);
}

void drive_start(struct drive *d, struct world *w, unsigned flags)
{
	int pair[2];

	memset(d, 0, sizeof(*d));
	d->w = w;
	d->out = d->typed = -1;
	oc_frame_reader_init(&d->in);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	d->pid = fork();
	ck_assert_int_ge(d->pid, 0);
	if (!d->pid) {
		world_drop(w);
		if (flags & DRIVE_NO_LANDLOCK)
			without_landlock();
		dup2(pair[1], 0);
		dup2(pair[1], 57); /* left behind by a careless launcher */
		execle(w->guest, "open-conduit-guest", "enter", NULL,
		       (const char *[]){ "INHERITED=yes", "OTHER=no", NULL });
		_exit(98);
	}
	close(pair[1]);
	d->sock = pair[0];
}

void drive_send(struct drive *d, enum oc_frame_type type, const void *data, size_t len)
{
	unsigned char head[OC_FRAME_HEADER];

	oc_frame_header(head, type, (uint32_t)len);
	/* It may have hung up already: what it said then is looked at. */
	if (send(d->sock, head, sizeof(head), MSG_NOSIGNAL) == sizeof(head) && len)
		(void)!send(d->sock, data, len, MSG_NOSIGNAL);
}

void drive_text(struct drive *d, enum oc_frame_type type, const char *text)
{
	drive_send(d, type, text, strlen(text));
}

void drive_options(struct drive *d, uint32_t options)
{
	unsigned char buf[4];

	oc_put_u32(buf, options);
	drive_send(d, OC_FRAME_OPTION, buf, 4);
}

void drive_hello(struct drive *d)
{
	unsigned char hello[4 + OC_NONCE_SIZE + 5];

	oc_put_u32(hello, OC_CHANNEL_VERSION);
	memcpy(hello + 4, "0123456789abcdefrun-1", OC_NONCE_SIZE + 5);
	drive_send(d, OC_FRAME_HELLO, hello, sizeof(hello));
}

void drive_orders(struct drive *d, uint32_t options, const char *const *argv)
{
	drive_hello(d);
	drive_options(d, options);
	drive_text(d, OC_FRAME_CWD, d->w->ws);
	drive_text(d, OC_FRAME_WRITABLE, d->w->ws);
	for (; *argv; argv++)
		drive_text(d, OC_FRAME_ARG, *argv);
}

void drive_probe(struct drive *d, enum oc_probe_kind kind, const char *id, const char *const *args)
{
	char buf[8192];
	size_t n = 0;

	buf[n++] = (char)kind;
	n += (size_t)snprintf(buf + n, sizeof(buf) - n, "%s", id) + 1;
	for (; args && *args; args++)
		n += (size_t)snprintf(buf + n, sizeof(buf) - n, "%s", *args) + 1;
	drive_send(d, OC_FRAME_PROBE, buf, n);
}

static void text_of(const struct oc_frame *f, size_t skip, char *out, size_t cap)
{
	size_t n = f->len - skip < cap - 1 ? f->len - skip : cap - 1;

	memcpy(out, f->data + skip, n);
	out[n] = 0;
}

static void note(struct drive *d, const struct oc_frame *f)
{
	struct oc_cursor c = { f->data, f->data + f->len };
	size_t used = strlen(d->facts), len;
	const char *id;
	uint8_t ok = 0;

	switch (f->type) {
	case OC_FRAME_FACT:
		text_of(f, 0, d->facts + used, sizeof(d->facts) - used - 1);
		used += strlen(d->facts + used);
		memcpy(d->facts + used, "\n", 2);
		break;
	case OC_FRAME_RESULT:
		ck_assert(oc_get_u8(&c, &ok) && oc_get_u64(&c, &d->ready_ns) && oc_get_string(&c, false, &id, &len));
		text_of(f, (size_t)(c.p - f->data), d->last_detail, sizeof(d->last_detail));
		d->last_ok = ok;
		d->results++;
		if (getenv("OC_TEST_VERBOSE"))
			fprintf(stderr, "# %.*s %s: %s\n", (int)len, id, ok ? "ok" : "not ok", d->last_detail);
		break;
	case OC_FRAME_READY:
		ck_assert(oc_get_u64(&c, &d->ready_ns) && oc_get_u32(&c, &d->failures));
		break;
	case OC_FRAME_STARTED:
		ck_assert(oc_get_u32(&c, &d->started_pid));
		break;
	case OC_FRAME_FAILED:
		ck_assert(oc_get_u32(&c, &d->failed_errno));
		text_of(f, 4, d->failed, sizeof(d->failed));
		break;
	case OC_FRAME_EXIT:
		ck_assert(oc_get_u8(&c, &d->exit_how) && oc_get_u32(&c, &d->exit_value) && c.p == c.end);
		break;
	case OC_FRAME_HELLO:
	case OC_FRAME_PONG:
		break;
	default:
		ck_abort_msg("the guest sent type %u", f->type);
	}
}

int drive_next(struct drive *d)
{
	struct oc_frame f;
	int r;

	while ((r = oc_frame_next(&d->in, &f)) == 0) {
		struct pollfd p = { d->sock, POLLIN, 0 };
		char buf[65536];
		ssize_t n;

		ck_assert_msg(poll(&p, 1, 20000) == 1, "the guest is silent");
		n = recv(d->sock, buf, sizeof(buf), 0);
		if (n <= 0)
			return 0;
		ck_assert_int_eq(oc_frame_feed(&d->in, buf, (size_t)n), 0);
	}
	ck_assert_int_eq(r, 1);
	note(d, &f);
	return f.type;
}

int drive_until(struct drive *d, int a, int b)
{
	int type;

	do
		type = drive_next(d);
	while (type && type != a && type != b);
	return type;
}

void drive_go(struct drive *d, unsigned n_fds)
{
	unsigned char head[OC_FRAME_HEADER];
	int out[2], in[2], fds[3];
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(fds))];
	} control = { 0 };
	struct iovec iov = { head, sizeof(head) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
	fds[0] = in[0];
	fds[1] = out[1];
	fds[2] = 2;
	oc_frame_header(head, OC_FRAME_GO, 0);
	if (n_fds) {
		struct cmsghdr *c;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
	}
	ck_assert_int_eq(sendmsg(d->sock, &msg, MSG_NOSIGNAL), sizeof(head));
	close(in[0]);
	if (d->typing)
		d->typed = in[1];
	else
		close(in[1]);
	close(out[1]);
	d->out = out[0];
}

void drive_run(struct drive *d)
{
	drive_send(d, OC_FRAME_PREPARE, NULL, 0);
	ck_assert_msg(drive_until(d, OC_FRAME_READY, OC_FRAME_FAILED) == OC_FRAME_READY, "failed: %s (%u)", d->failed,
	              d->failed_errno);
	ck_assert_msg(d->failures == 0, "probe: %s", d->last_detail);
	drive_go(d, 3);
	ck_assert_msg(drive_until(d, OC_FRAME_STARTED, OC_FRAME_FAILED) == OC_FRAME_STARTED, "failed: %s", d->failed);
}

int drive_end(struct drive *d)
{
	int status = 0;

	if (d->sock >= 0)
		close(d->sock);
	if (d->out >= 0)
		close(d->out);
	if (d->typed >= 0)
		close(d->typed);
	d->sock = d->out = d->typed = -1;
	for (int i = 0; i < 2000; i++) {
		struct timespec nap = { 0, 10000000 };

		if (waitpid(d->pid, &status, WNOHANG) == d->pid) {
			oc_frame_reader_free(&d->in);
			return status;
		}
		nanosleep(&nap, NULL);
	}
	kill(d->pid, SIGKILL);
	ck_abort_msg("the guest did not end");
	return -1;
}

ssize_t drive_output(struct drive *d, char *buf, size_t cap, int ms)
{
	size_t len = 0;

	for (;;) {
		struct pollfd p = { d->out, POLLIN, 0 };
		ssize_t n;

		if (poll(&p, 1, ms) != 1)
			return -1;
		n = read(d->out, buf + len, cap - len);
		if (n <= 0)
			return (ssize_t)len;
		len += (size_t)n;
	}
}

unsigned drive_agent(struct world *w, uint32_t options, const char *const *argv)
{
	struct drive d;
	unsigned result;
	int status;

	drive_start(&d, w, 0);
	drive_orders(&d, options, argv);
	drive_run(&d);
	ck_assert_int_eq(drive_until(&d, OC_FRAME_EXIT, 0), OC_FRAME_EXIT);
	result = d.exit_how == OC_EXIT_STATUS ? d.exit_value : 1000 + d.exit_value;
	ck_assert_int_eq(drive_next(&d), 0); /* nothing after it */
	status = drive_end(&d);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return result;
}

bool drive_judge(struct world *w, struct drive *d, uint32_t options, enum oc_probe_kind kind, const char *const *args,
                 const char *const *env)
{
	drive_start(d, w, 0);
	drive_orders(d, options, (const char *[]){ "/bin/true", NULL });
	for (; env && *env; env++)
		drive_text(d, OC_FRAME_ENV, *env);
	drive_probe(d, kind, "P", args);
	drive_send(d, OC_FRAME_PREPARE, NULL, 0);
	ck_assert_msg(drive_until(d, OC_FRAME_READY, OC_FRAME_FAILED) == OC_FRAME_READY, "failed: %s", d->failed);
	ck_assert_uint_eq(d->results, 1);
	ck_assert_uint_eq(d->failures, d->last_ok ? 0 : 1);
	ck_assert_msg(d->last_detail[0] != 0, "kind %d says nothing", kind);
	drive_end(d);
	return d->last_ok;
}

bool drive_fact(const struct drive *d, const char *fact)
{
	const char *p = strstr(d->facts, fact);

	return p && (p == d->facts || p[-1] == '\n');
}
