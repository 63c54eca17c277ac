/* SPDX-License-Identifier: Apache-2.0 */
/* What the gateway reads and writes of HTTP/1.x: heads, and the chunks of a body.  Which host a request is for is the
 * library's to read (lib/policy/target.c); here is when a head is whole, and what goes on to the server. */
#ifndef GW_HTTP_H
#define GW_HTTP_H

#include <sys/types.h>

#include "policy/host.h"

#define GW_HEAD_MAX  16384 /* of a request */
#define GW_REPLY_MAX 32768 /* the head of a reply */

enum gw_scan {
	GW_SCAN_MORE,
	GW_SCAN_WHOLE, /* *head: its length, the empty line included */
	GW_SCAN_BAD,   /* no head, whatever follows */
	GW_SCAN_LONG
};
enum gw_scan gw_http_scan(const char *bytes, size_t len, size_t max, size_t *head);

struct gw_request {
	struct oc_target target;
	bool old;  /* HTTP/1.0 */
	bool json; /* asked for in Accept */
	bool chunked;
	uint64_t length; /* of the body, if not chunked */
};
/* NULL, or why it is a 400 (static). */
const char *gw_http_request(const char *head, size_t len, struct gw_request *out);
/* The head for the server: Host and framing made anew, nothing that is between client and proxy, one request a connection.
 * New (free()); NULL: no memory. */
char *gw_http_forward(const char *head, size_t len, const struct gw_request *r, size_t *out_len);
/* The status of a reply's head, or 0: it is none. */
int gw_http_status(const char *head, size_t len);
/* The head for the client: a connection that ends with this reply, unless another follows (1xx).  New, or NULL. */
char *gw_http_reply(const char *head, size_t len, bool last, size_t *out_len);

/* A chunked body, byte for byte: zeroed to begin with. */
struct gw_chunks {
	uint8_t state;
	bool ended;
	uint16_t line; /* bytes of the present line, or of all trailers */
	uint64_t left; /* of the present chunk, or its size so far */
};
#define GW_CHUNK_LINE 512
#define GW_TRAILERS   4096
/* How many of the bytes are the body's; less than len only at its end.  -1: no chunks. */
ssize_t gw_chunks_take(struct gw_chunks *c, const char *bytes, size_t len);

#endif
