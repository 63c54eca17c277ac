/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRT_NETWORK_H
#define SRT_NETWORK_H

#include "common/files.h"

struct network {
	json_t *allowed;      /* srt's allowedDomains */
	json_t *never;        /* srt's deniedResolvedAddresses */
	bool private_literal; /* a loopback or private address is listed: clients must not go around the proxy for it */
};
int network_settings(const json_t *resolved, struct network *out, struct list *notes, struct refusal *r);
void network_clear(struct network *n);

#endif
