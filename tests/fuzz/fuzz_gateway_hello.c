/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of a tunnel.  A name is a host in its canonical spelling, whatever the bytes are. */
#include <string.h>

#include "fuzz.h"
#include "hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[OC_HOST_MAX], again[OC_HOST_MAX];
	bool address;

	if (gw_hello_name(data, size, name) != GW_HELLO_NAME)
		return 0;
	FUZZ_CHECK(!oc_host_normalise(name, strlen(name), again, &address) && !address && strcmp(name, again) == 0);
	return 0;
}
