/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a resolver and its answers (RFC 1035), as bytes: no descriptor, no clock.  An answer is read as what a
 * stranger wrote: it must repeat the question, names may be compressed backwards only, and aliases are followed within the
 * one message, a few of them. */
#ifndef GW_DNS_H
#define GW_DNS_H

#include "ip.h"

#define GW_DNS_A          1
#define GW_DNS_AAAA       28
#define GW_DNS_QUERY_MAX  320
#define GW_DNS_ANSWER_MAX 4096
#define GW_DNS_ALIASES    8

/* Bytes of the question, or 0: the name can't be asked for. */
size_t gw_dns_query(uint8_t out[GW_DNS_QUERY_MAX], uint16_t id, const char *name, uint16_t type);

enum gw_dns {
	GW_DNS_OTHER,     /* no answer to this question: as if it had not come */
	GW_DNS_ANSWERED,  /* *n addresses, perhaps none */
	GW_DNS_FAILED,    /* the resolver says that it can't tell */
	GW_DNS_TRUNCATED, /* to be asked by TCP */
	GW_DNS_BROKEN     /* an answer to this question that is no good */
};
/* What fits into out[max] is kept, the rest not. */
enum gw_dns gw_dns_answer(const uint8_t *msg, size_t len, uint16_t id, const char *name, uint16_t type,
                          struct gw_ip *out, size_t max, size_t *n);

#endif
