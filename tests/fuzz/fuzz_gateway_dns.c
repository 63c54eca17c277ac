/* SPDX-License-Identifier: Apache-2.0 */
/* What a resolver answers.  The first byte asks for A or AAAA; an address is there only if its bytes are in the answer. */
#include <string.h>

#include "dns.h"
#include "fuzz.h"

#define MAX 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t type = size && data[0] & 1 ? GW_DNS_AAAA : GW_DNS_A;
	struct gw_ip out[MAX];
	enum gw_dns said;
	size_t n = 99;

	if (size == 0)
		return 0;
	said = gw_dns_answer(data + 1, size - 1, 0x1234, "github.com", type, out, MAX, &n);
	FUZZ_CHECK(n <= MAX && (n == 0 || said == GW_DNS_ANSWERED));
	for (size_t i = 0; i < n; i++)
		FUZZ_CHECK(type == GW_DNS_A ? memmem(data, size, out[i].bytes + 12, 4) && gw_ip_is4(&out[i])
		                            : memmem(data, size, out[i].bytes, 16) != NULL);
	return 0;
}
