/* SPDX-License-Identifier: Apache-2.0 */
/* The channel between guard and guest: frames on a byte stream, so that it works the same over
 * a socketpair, an engine's attach stream or ssh.  Freestanding: libc only, because the guest
 * is a static program with nothing else in it.
 *
 * A frame is  u32 length of payload (little endian) · u8 type · 3 zero bytes · payload.
 * Numbers in payloads are little endian; strings run to the end of the payload or to a NUL.
 *
 *   guard                                  guest
 *   HELLO version nonce run  ───────▶
 *   OPTION / ARG / ENV / INHERIT / CWD / SECRET / WRITABLE / PROBE …  ───────▶
 *   PREPARE  ────────────────────────▶     hardens itself, runs every probe
 *            ◀───────────────────────      HELLO version nonce run  (echo: P13)
 *            ◀───────────────────────      FACT name=value …        (what was applied)
 *            ◀───────────────────────      RESULT … one a probe
 *            ◀───────────────────────      READY total_ns failures
 *   GO (+ 3 descriptors)  ───────────▶     starts the agent on them
 *            ◀───────────────────────      STARTED pid | FAILED errno text
 *   SIGNAL n · PING x · RESIZE  ─────▶
 *            ◀───────────────────────      PONG x
 *            ◀───────────────────────      BELT_OPENED / BELT_SAID / BELT_CLOSED client …
 *   BELT_DATA / BELT_CLOSE client …  ──▶   (the toolbelt's connections: bytes, see belt.h)
 *            ◀───────────────────────      EXIT how value           (the only source of the exit status)
 *
 * End of stream in either direction ends the run: the guest kills all it can reach. */
#ifndef OC_GUEST_CHANNEL_H
#define OC_GUEST_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OC_CHANNEL_VERSION 1u
#define OC_FRAME_HEADER    8u
#define OC_FRAME_MAX       (1u << 20) /* payload; a single argument may be this long */
#define OC_NONCE_SIZE      16u
#define OC_GUEST_STRINGS   65536u     /* ARG + ENV + … frames the guest accepts */
#define OC_GUEST_BYTES     (8u << 20) /* their payloads together */

enum oc_frame_type {
	/* guard → guest */
	OC_FRAME_HELLO = 1,      /* u32 version · nonce[16] · run id text; both ways */
	OC_FRAME_OPTION = 2,     /* u32 enum oc_guest_option bits, once */
	OC_FRAME_ARG = 3,        /* one argument of the agent, in order */
	OC_FRAME_ENV = 4,        /* NAME=VALUE of the agent */
	OC_FRAME_INHERIT = 5,    /* NAME: copied from the guest's own environment when set there and not by ENV */
	OC_FRAME_CWD = 6,        /* the agent's working directory */
	OC_FRAME_SECRET = 7,     /* NAME=VALUE, into the agent's environment only; wiped after the start */
	OC_FRAME_WRITABLE = 8,   /* a path beneath which Landlock allows writes */
	OC_FRAME_PROBE = 9,      /* u8 enum oc_probe_kind · id NUL · arguments, each ended by NUL */
	OC_FRAME_PREPARE = 10,   /* empty: all instructions are there */
	OC_FRAME_GO = 11,        /* empty, carries exactly 3 descriptors (SCM_RIGHTS): the agent's 0, 1, 2 */
	OC_FRAME_SIGNAL = 12,    /* u32 signal for the agent's process group; SIGKILL: for everything */
	OC_FRAME_PING = 13,      /* u64, echoed */
	OC_FRAME_LINK = 14,      /* path NUL target: a link of the host's, in a directory that the sandbox hides */
	OC_FRAME_RESIZE = 15,    /* u16 rows · u16 columns of the terminal, neither 0; an order, and later */
	OC_FRAME_BELT = 16,      /* where the toolbelt listens: an absolute path, or a port of the loopback; an order */
	OC_FRAME_BELT_DATA = 17, /* u32 client · bytes for it */
	OC_FRAME_BELT_CLOSE = 18, /* u32 client: it is let go at once */
	/* guest → guard */
	OC_FRAME_FACT = 32,        /* name=value, printable ASCII */
	OC_FRAME_RESULT = 33,      /* u8 ok · u64 nanoseconds · id NUL · detail text */
	OC_FRAME_READY = 34,       /* u64 nanoseconds in all · u32 failures */
	OC_FRAME_STARTED = 35,     /* u32 pid inside */
	OC_FRAME_FAILED = 36,      /* u32 errno · stage text: nothing was started */
	OC_FRAME_EXIT = 37,        /* u8 enum oc_exit_how · u32 value */
	OC_FRAME_PONG = 38,        /* u64 */
	OC_FRAME_BELT_OPENED = 40, /* u32 client: counted from 1 */
	OC_FRAME_BELT_SAID = 41,   /* u32 client · bytes */
	OC_FRAME_BELT_CLOSED = 42, /* u32 client */
};

enum oc_exit_how { OC_EXIT_STATUS = 1, OC_EXIT_SIGNAL = 2 };

/* What the guest does to itself.  A bit it can't honour is FAILED, never skipped. */
enum oc_guest_option {
	OC_GUEST_CONFINED = 1u << 0,   /* a sandbox: harden (no_new_privs, seccomp, fresh keyring, no descriptors,
				      * not dumpable, oom_score_adj); without it (kind none) only streams and exit */
	OC_GUEST_LANDLOCK = 1u << 1,   /* Landlock: writes beneath WRITABLE only; scopes where the kernel has them */
	OC_GUEST_NEST = 1u << 2,       /* user, pid, mount, IPC, UTS, cgroup namespaces of its own first */
	OC_GUEST_DENY_IPC = 1u << 3,   /* no IPC namespace of its own: System V and POSIX queues are denied */
	OC_GUEST_DENY_TRACE = 1u << 4, /* neither nested nor scoped: ptrace, process_vm_*, pidfd_getfd denied */
	OC_GUEST_UNIX = 1u << 5,       /* AF_UNIX sockets are allowed ("unix_sockets": "all") */
	OC_GUEST_TERMINAL = 1u << 6,   /* the agent's 0, 1, 2 are a terminal of its own, of the size that RESIZE said;
				      * the guest copies between it and what GO carries */
};

/* Probe kinds; arguments in order.  Several results may carry one id; a probe without arguments
 * that needs some is a failure.  "ok" always means: as the plan says. */
enum oc_probe_kind {
	OC_PROBE_NO_ROUTE = 1, /* address port: connect(UDP) fails, or its only route is this namespace's loopback */
	OC_PROBE_NO_TCP = 2,  /* address port: a TCP connect fails (all are started together, one deadline of 300 ms) */
	OC_PROBE_NO_NAME = 3, /* name: does not resolve; /etc/hosts and each resolver of /etc/resolv.conf, no waiting */
	OC_PROBE_PROXY =
	        4, /* variable host port: the proxy named by the environment variable answers a CONNECT, with 403 */
	OC_PROBE_UNREADABLE = 5, /* path: file: open fails; directory: fails or lists nothing but what later READABLE,
				   * WRITABLE or SAME probes name beneath it */
	OC_PROBE_READABLE = 6,   /* path: opens for reading */
	OC_PROBE_UNWRITABLE = 7, /* path: file: open for writing fails; directory: O_TMPFILE and access fail, or it is a
				   * tmpfs of the sandbox's own (nothing is left behind) */
	OC_PROBE_WRITABLE =
	        8, /* path: opens for writing / O_TMPFILE (or a name made and removed where not supported) */
	OC_PROBE_MOUNT_ROOT = 9, /* path: statx says it is the root of a mount */
	OC_PROBE_NO_SOCKET =
	        10, /* path: connect (stream, seqpacket, dgram) fails with ENOENT, EACCES, EPERM, ECONNREFUSED … */
	OC_PROBE_SOCKET = 11, /* path: a connect succeeds, of whichever type it is */
	OC_PROBE_STDIO =
	        12, /* no descriptor above 2 but the channel, which the agent does not get; no controlling terminal */
	OC_PROBE_ENVIRONMENT = 13, /* name…: the agent's environment holds exactly these names */
	OC_PROBE_SAME = 14,        /* path dev ino (decimal): is that very object */
	OC_PROBE_NAMESPACES = 15,  /* kind=inode… of the guard's own: each differs here */
	OC_PROBE_PRIVILEGES =
	        16, /* before|after seccomp_filters_at_least: NoNewPrivs 1, no capability, Seccomp 2; "before" is
				   * judged before the guest's own filter, "after" with it */
	OC_PROBE_NO_WRITE_FIFO = 17, /* path: a FIFO can't be opened for writing (O_NONBLOCK) */
	OC_PROBE_TRACE =
	        18, /* no other process of this pid namespace can be written to (/proc/N/mem), but the guest's own child */
	OC_PROBE_CONTAINER =
	        19, /* uid gid memory pids nano_cpus: that is who we are, alone; the root is read-only; the limits (0: none) hold */
};

struct oc_frame {
	uint8_t type;
	uint32_t len;
	const unsigned char *data; /* borrowed until the next call on the reader */
};

/* Incremental reader: feed bytes, take frames. */
struct oc_frame_reader {
	unsigned char *data;
	size_t len, cap, taken;
};
void oc_frame_reader_init(struct oc_frame_reader *r);
void oc_frame_reader_free(struct oc_frame_reader *r);
int oc_frame_feed(struct oc_frame_reader *r, const void *data, size_t len); /* 0 or -ENOMEM */
/* 1: *out is a frame; 0: not yet; -EPROTO: length over the limit, reserved bytes set, unknown type. */
int oc_frame_next(struct oc_frame_reader *r, struct oc_frame *out);
/* Write a header for len bytes of payload. */
void oc_frame_header(unsigned char out[OC_FRAME_HEADER], enum oc_frame_type type, uint32_t len);

/* Payload cursor: every getter fails (false) past the end and leaves its output alone. */
struct oc_cursor {
	const unsigned char *p, *end;
};
bool oc_get_u8(struct oc_cursor *c, uint8_t *v);
bool oc_get_u16(struct oc_cursor *c, uint16_t *v);
bool oc_get_u32(struct oc_cursor *c, uint32_t *v);
bool oc_get_u64(struct oc_cursor *c, uint64_t *v);
bool oc_get_bytes(struct oc_cursor *c, void *out, size_t n);
/* A string up to a NUL (eaten) or, when `rest`, to the end (no NUL inside); not terminated: *len. */
bool oc_get_string(struct oc_cursor *c, bool rest, const char **s, size_t *len);
void oc_put_u16(unsigned char out[2], uint16_t v);
void oc_put_u32(unsigned char out[4], uint32_t v);
void oc_put_u64(unsigned char out[8], uint64_t v);

#endif
