/* SPDX-License-Identifier: Apache-2.0 */
/* What a gateway is told, once: where it listens, whom it asks for addresses, which hosts may be reached.  Lines, each a
 * word and its values with one space between them, the first `open-conduit-gateway 1`, the last `go`. */
#ifndef GW_POLICY_H
#define GW_POLICY_H

#include "ip.h"
#include "policy/host.h"

#define GW_POLICY_BYTES 65536
#define GW_POLICY_LINES 1024
#define GW_LISTEN_MAX   8
#define GW_ERROR_SIZE   256

struct gw_net {
	struct gw_ip ip;
	unsigned bits; /* as gw_ip_beneath() counts them */
};
struct gw_policy {
	struct gw_endpoint listen[GW_LISTEN_MAX], resolver;
	size_t n_listen, n_rules, n_names, n_never;
	bool has_resolver;
	struct oc_host_rule *rules, *names; /* names: those that may lead to a private address */
	struct gw_net *never;               /* the engine's, and the gateway's own networks */
};

enum gw_reading {
	GW_READING_MORE, /* no `go` yet */
	GW_READING_DONE,
	GW_READING_WRONG
};
/* The whole text so far.  WRONG: err says what, in one line; a byte after `go` is wrong too. */
enum gw_reading gw_policy_read(const char *text, size_t len, struct gw_policy *out, char err[GW_ERROR_SIZE]);
/* The networks of every interface of this machine are never reached.  False: errno. */
bool gw_policy_add_own(struct gw_policy *p);
void gw_policy_free(struct gw_policy *p);

/* NULL: may be dialled for a request that rules[rule] let pass.  Otherwise the class of the address, a short word. */
const char *gw_policy_address(const struct gw_policy *p, size_t rule, const struct oc_target *t,
                              const struct gw_ip *ip);

#endif
