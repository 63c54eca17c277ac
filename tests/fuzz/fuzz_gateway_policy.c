/* SPDX-License-Identifier: Apache-2.0 */
/* What a gateway is told.  A policy that is accepted has all that it needs, and never leads to a metadata address. */
#include <string.h>

#include "fuzz.h"
#include "policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[GW_ERROR_SIZE] = "";
	struct oc_target t = { .port = 443 };
	struct gw_policy p;
	struct gw_ip ip;

	switch (gw_policy_read((const char *)data, size, &p, err)) {
	case GW_READING_WRONG:
		FUZZ_CHECK(strncmp(err, "policy: line ", 13) == 0 && !strchr(err, '\n') && !p.rules);
		return 0;
	case GW_READING_MORE:
		FUZZ_CHECK(!p.rules && size < GW_POLICY_BYTES);
		return 0;
	default:
		break;
	}
	FUZZ_CHECK(p.n_listen > 0 && p.n_listen <= GW_LISTEN_MAX && p.has_resolver && p.n_rules < GW_POLICY_LINES);
	FUZZ_CHECK(gw_ip_parse("169.254.169.254", &ip));
	for (size_t i = 0; i < p.n_rules; i++) {
		memcpy(t.host, p.rules[i].host, sizeof(t.host));
		t.address = p.rules[i].address;
		FUZZ_CHECK(gw_policy_address(&p, i, &t, &ip) != NULL);
	}
	gw_policy_free(&p);
	return 0;
}
