/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy: one thread, one epoll descriptor, edge-triggered.
 *
 *   HEAD ─▶ LOOKUP ─▶ DIAL ─┬─▶ HELLO ─▶ TUNNEL      CONNECT
 *     └────────┴───────┴──┐ └─▶ FORWARD              http://
 *                         └─▶ REFUSED                an answer of our own, then drained
 *
 * A request's head, a ClientHello and a body with framing are read where they lie, in the socket (MSG_PEEK), and taken out
 * when it is known what they are; so a slow client costs no memory here, and what follows a CONNECT is the tunnel's.
 *
 * Memory: a connection is sizeof(struct gw_conn) (at most 320 bytes), and until it is a tunnel an errand of about 1 KiB
 * more; until its first bytes a tunnel keeps the name that was asked for (at most 254).  What a socket doesn't take
 * at once is kept: 1 MiB of all connections together, above which a connection may add its answer or head (33 KiB).  There are at most as many connections as half the descriptors
 * that the process may have; at most 16 pipes of 256 KiB; one scratch buffer of 64 KiB; 64 KiB of events. */
#ifndef GW_PROXY_H
#define GW_PROXY_H

#include <sys/types.h>

#include "events.h"
#include "http.h"
#include "pipes.h"
#include "policy.h"

#define GW_SCRATCH       65536
#define GW_ADDRESSES_MAX 16
#define GW_REFUSED_MAX   32 /* connections over the limit that are told so at one time */
#define GW_DIALS         3  /* addresses that may time out before a request fails */
#define GW_DRAIN_BYTES   (256 * 1024)
#define GW_LITTLE        16384
#define GW_KEPT_MAX      (1024 * 1024)

enum gw_kind { GW_CONTROL, GW_LISTENER, GW_CLIENT, GW_SERVER, GW_LOOKUP };
struct gw_source {
	int fd;
	uint8_t kind;
};

/* One end of a connection. */
struct gw_end {
	struct gw_source source;
	bool readable, writable; /* until a call says otherwise */
	bool ended;              /* no more comes from it */
	bool shut;               /* it was told that no more comes */
	bool failed;             /* reset, but what it sent may still be there to read */
	bool broken;
	bool plenty;          /* more comes from it than a few bytes at a time */
	bool last;            /* its end has come, behind what is still to be read: nothing else will tell */
	uint32_t held;        /* what came from it and is in the pipe */
	struct gw_pipe *pipe; /* NULL: nothing is held */
	uint64_t moved;       /* from it to the other end */
	char *text;           /* of our own, to be written to it before all else */
	uint32_t text_from, text_len;
};

enum gw_state { GW_HEAD, GW_LOOKING_UP, GW_DIALLING, GW_HELLO, GW_TUNNEL, GW_FORWARD, GW_REFUSED };
/* How long a state may last; each has its own list, in the order of what is due, as all in it wait equally long. */
enum gw_clock {
	GW_CLOCK_HEAD,
	GW_CLOCK_LOOKUP,
	GW_CLOCK_DIAL,
	GW_CLOCK_HELLO,
	GW_CLOCK_QUIET,
	GW_CLOCK_IDLE,
	GW_CLOCK_DRAIN,
	GW_CLOCKS
};

struct gw_lookup {
	struct gw_source source;
	struct gw_conn *conn;
	uint16_t id[2];
	bool answered[2], tcp, asked;
	uint8_t tries;
};
/* What is known of a request until its tunnel is there. */
struct gw_errand {
	struct gw_request request;
	struct gw_lookup lookup;
	struct gw_chunks chunks;
	size_t rule, n_addresses, at; /* addresses: of an allowed class only, once looked up; `at` is being dialled */
	struct gw_ip addresses[GW_ADDRESSES_MAX];
	const char *why; /* the last failure */
	int status;
	uint8_t timed_out;
	bool replied;
	char *head; /* for the server */
	size_t head_len;
};
struct gw_conn {
	struct gw_end client, server;
	struct gw_conn *later, *earlier; /* in the list of its clock */
	struct gw_conn *next_dead, *next_busy;
	struct gw_errand *errand;
	char *name; /* asked for, as long as no ClientHello was seen */
	int64_t due, since;
	uint64_t id;
	uint32_t drained;
	uint8_t state, clock;
	bool dead, busy, opened, over; /* over: one of GW_REFUSED_MAX */
};

struct gw_proxy {
	int epoll;
	const struct gw_policy *policy;
	struct gw_events *events;
	struct gw_pipes pipes;
	struct gw_source control, listeners[GW_LISTEN_MAX];
	bool listening, control_waits;
	size_t n, n_max, n_over;
	uint64_t ids;
	int64_t now; /* milliseconds */
	struct {
		struct gw_conn *first, *last;
	} clocks[GW_CLOCKS];
	struct gw_conn *dead, *busy;
	size_t kept;   /* bytes of ours that wait for their socket */
	char *scratch; /* GW_SCRATCH */
};

/* proxy.c.  The listeners are open, non-blocking and taken; n_max connections. */
bool gw_proxy_start(struct gw_proxy *p, const struct gw_policy *policy, struct gw_events *events, const int *listeners,
                    size_t n_max);
/* Until the control connection ends; 0, or an errno. */
int gw_proxy_run(struct gw_proxy *p);
void gw_proxy_stop(struct gw_proxy *p);
bool gw_watch(struct gw_proxy *p, struct gw_source *s, uint32_t events);
void gw_clock(struct gw_proxy *p, struct gw_conn *c, enum gw_clock clock); /* (again) from now */

/* conn.c */
void gw_conn_accept(struct gw_proxy *p, int fd, bool over); /* fd is taken */
void gw_conn_event(struct gw_proxy *p, struct gw_conn *c, struct gw_end *end, uint32_t events);
void gw_conn_step(struct gw_proxy *p, struct gw_conn *c);
void gw_conn_due(struct gw_proxy *p, struct gw_conn *c, enum gw_clock clock);
void gw_conn_denied(struct gw_proxy *p, struct gw_conn *c, const char *why);
void gw_conn_failed(struct gw_proxy *p, struct gw_conn *c, const char *event, int status, const char *why);
void gw_conn_end(struct gw_proxy *p, struct gw_conn *c);    /* between two batches it is freed */
void gw_conn_reset(struct gw_proxy *p, struct gw_conn *c);  /* the same, and each end is told so */
void gw_conn_finish(struct gw_proxy *p, struct gw_conn *c); /* no more for the client: drained and ended */
void gw_conn_busy(struct gw_proxy *p, struct gw_conn *c);   /* to be stepped again, after the others */
void gw_conn_free(struct gw_proxy *p, struct gw_conn *c);

/* lookup.c, dial.c */
void gw_lookup_start(struct gw_proxy *p, struct gw_conn *c);
void gw_lookup_event(struct gw_proxy *p, struct gw_lookup *l);
void gw_lookup_due(struct gw_proxy *p, struct gw_conn *c);
void gw_lookup_close(struct gw_lookup *l);
void gw_dial(struct gw_proxy *p, struct gw_conn *c); /* the address at errand->at, or the next that can be */
void gw_dial_event(struct gw_proxy *p, struct gw_conn *c, uint32_t events);
void gw_dial_due(struct gw_proxy *p, struct gw_conn *c);
void gw_conn_quiet(struct gw_proxy *p, struct gw_conn *c); /* for so long that the other end may have vanished */

/* move.c: bytes from one end to the other. */
bool gw_end_write(struct gw_proxy *p, struct gw_end *to, const char *bytes,
                  size_t len); /* before all else; false: no memory */
/* As much as it takes: less than all only once a call has said so, as nothing else would tell when there is room again. */
size_t gw_end_put(struct gw_end *to, const char *bytes, size_t len);
bool gw_end_flush(struct gw_proxy *p, struct gw_end *to);       /* true: no text of ours is left */
void gw_end_shut(struct gw_end *to, const struct gw_end *from); /* from: whose end this passes on, or NULL */
ssize_t gw_end_peek(struct gw_proxy *p, struct gw_end *from,
                    size_t max); /* into scratch; 0: nothing now, or it ended */
void gw_end_discard(struct gw_proxy *p, struct gw_end *from, size_t len);
bool gw_move(struct gw_proxy *p, struct gw_end *from, struct gw_end *to); /* true: there is more to do at once */

/* tunnel.c, forward.c */
void gw_tunnel_open(struct gw_proxy *p, struct gw_conn *c);
void gw_tunnel_step(struct gw_proxy *p, struct gw_conn *c);
void gw_forward_open(struct gw_proxy *p, struct gw_conn *c);
void gw_forward_step(struct gw_proxy *p, struct gw_conn *c);

#endif
