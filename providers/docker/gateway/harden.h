/* SPDX-License-Identifier: Apache-2.0 */
/* What a gateway that has been taken over could still do: what it does anyway. */
#ifndef GW_HARDEN_H
#define GW_HARDEN_H

#include <stdbool.h>

/* NULL, or why this process may not be a gateway: it is root or has capabilities. */
const char *gw_harden_refuse(void);
/* Not traced, no core, no new privileges.  False: errno. */
bool gw_harden_start(void);
/* From here on only these system calls.  False: errno. */
bool gw_harden_filter(void);

#endif
