/* SPDX-License-Identifier: Apache-2.0 */
/* The server's name in the first bytes of a TLS connection, where it can be seen. */
#ifndef GW_HELLO_H
#define GW_HELLO_H

#include "policy/host.h"

#define GW_HELLO_MAX 16384

enum gw_hello {
	GW_HELLO_MORE, /* it may be one, and has not all come */
	GW_HELLO_NAME,
	GW_HELLO_NONE /* no ClientHello, or none with a name that can be read */
};
enum gw_hello gw_hello_name(const uint8_t *bytes, size_t len, char out[OC_HOST_MAX]);

#endif
