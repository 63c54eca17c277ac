/* SPDX-License-Identifier: Apache-2.0 */
/* `open-conduit-guest mcp ADDRESS`: what an agent starts as its MCP server.  Bytes between its own stdin and stdout and the
 * run's toolbelt; the server is the guard. */
#ifndef OC_GUEST_MCP_H
#define OC_GUEST_MCP_H

/* Until either side ends.  The exit status. */
int oc_guest_mcp(const char *address);

#endif
