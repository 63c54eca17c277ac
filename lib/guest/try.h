/* SPDX-License-Identifier: Apache-2.0 */
/* `open-conduit-guest try SOCKET FILE TRY…`: for a provider's check of a container, in whose place an agent would run.  Each TRY is
 * done, and what came of it is a line of FILE, which is made; the last line is "end".
 *
 *   read:PATH        the first line of a file
 *   tcp:ADDRESS,PORT a connection
 *   subnet:PORT      a connection to any address of the interfaces' own networks but ours
 *   proxy:HOST:PORT  a CONNECT, to the proxy of HTTP_PROXY
 *   name:NAME        the resolvers of /etc/resolv.conf
 */
#ifndef OC_GUEST_TRY_H
#define OC_GUEST_TRY_H

int oc_guest_try(const char *socket_path, const char *file, char **tries);

#endif
