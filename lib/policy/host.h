/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts: the grammar of network.allow and the one function that decides, for gateway, explain and
 * config check alike.  Needs base/util.h and libc only, so that a static gateway can link it. */
#ifndef OC_POLICY_HOST_H
#define OC_POLICY_HOST_H

#include "base/util.h"

#define OC_HOST_MAX 254
struct oc_host_rule {
	char host[OC_HOST_MAX]; /* canonical: lower case, no root dot; dotted quad; compressed IPv6 without brackets */
	uint16_t port;          /* 0: any */
	bool wildcard, address;
};
/* NULL, or why the entry is refused (static text that says how to write it).  `loopback`: the one
 * exception of process sandboxes, a loopback literal with its port, is accepted. */
const char *oc_host_rule_parse(const char *entry, size_t len, bool loopback, struct oc_host_rule *out);
/* A canonical host from a request; NULL or why not. */
const char *oc_host_normalise(const char *text, size_t len, char out[OC_HOST_MAX], bool *address);
/* Index of the rule that matches, or -1: the first without a wildcard, else the first, so that a private address
 * listed exactly isn't lost behind a wildcard. */
int oc_host_match(const struct oc_host_rule *rules, size_t n, const char *host, bool address, uint16_t port);

enum oc_address_class {
	OC_ADDRESS_PUBLIC,
	OC_ADDRESS_PRIVATE,
	OC_ADDRESS_LOOPBACK,
	OC_ADDRESS_LINK_LOCAL,
	OC_ADDRESS_METADATA,
	OC_ADDRESS_SPECIAL,
	OC_ADDRESS_INVALID
};
enum oc_address_class oc_address_classify(const char *canonical); /* mapped, 6to4 and NAT64 forms by what they carry */
/* May a connection for a request that matched a rule go to this address?  `exact`: a rule without wildcard matched. */
bool oc_address_allowed(enum oc_address_class c, bool exact);

/* Split HOST[:PORT]; *port is NULL without a colon, and may be empty.  NULL or why not. */
const char *oc_host_authority(const char *text, size_t len, size_t *host_len, const char **port, size_t *port_len);
const char *oc_host_port(const char *text, size_t len, uint16_t *port);

/* One request head, strictly: CONNECT or absolute-form http.  NULL, or why it is a 400. */
struct oc_target {
	bool connect, address;
	char host[OC_HOST_MAX];
	uint16_t port;
};
const char *oc_target_parse(const char *head, size_t len, struct oc_target *out);

#endif
