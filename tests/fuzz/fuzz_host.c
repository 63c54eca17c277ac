/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts: an entry and a request head.  Whatever is accepted is in its one spelling: read again it is the same, it
 * matches itself, and no rule names what is never reached. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "policy/host.h"

static void check_canonical(const char *host, bool address)
{
	char text[OC_HOST_MAX + 2], again[OC_HOST_MAX];
	bool is = false;

	snprintf(text, sizeof(text), strchr(host, ':') ? "[%s]" : "%s", host);
	FUZZ_CHECK(oc_host_normalise(text, strlen(text), again, &is) == NULL);
	FUZZ_CHECK(is == address && strcmp(again, host) == 0);
	FUZZ_CHECK(address == (oc_address_classify(host) != OC_ADDRESS_INVALID));
}

static void check_rule(const char *text, size_t size, bool loopback)
{
	struct oc_host_rule r;
	enum oc_address_class c;

	if (oc_host_rule_parse(text, size, loopback, &r))
		return;
	check_canonical(r.host, r.address);
	FUZZ_CHECK(!(r.wildcard && (r.address || r.port || !strchr(r.host, '.'))));
	FUZZ_CHECK(oc_host_match(&r, 1, r.host, r.address, r.port ? r.port : 443) == (r.wildcard ? -1 : 0));
	FUZZ_CHECK(!r.port || oc_host_match(&r, 1, r.host, r.address, (uint16_t)(r.port ^ 1)) == -1);
	if (!r.address)
		return;
	c = oc_address_classify(r.host);
	FUZZ_CHECK(c == OC_ADDRESS_PUBLIC || c == OC_ADDRESS_PRIVATE ||
	           (c == OC_ADDRESS_LOOPBACK && loopback && r.port));
}

static void check_target(const char *head, size_t size)
{
	struct oc_target t;

	if (oc_target_parse(head, size, &t))
		return;
	check_canonical(t.host, t.address);
	FUZZ_CHECK(t.port != 0);
	FUZZ_CHECK(!memchr(head, '\0', size));
	/* Only a path may have it, and the authority of CONNECT has none. */
	FUZZ_CHECK(!t.connect || !memchr(head, '@', (size_t)((char *)memchr(head, '\r', size) - head)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of the exact size: reading past the end is seen. */
	char *text = malloc(size ? size : 1);

	FUZZ_CHECK(text);
	memcpy(text, data, size);
	check_rule(text, size, true);
	check_rule(text, size, false);
	check_target(text, size);
	free(text);
	return 0;
}
