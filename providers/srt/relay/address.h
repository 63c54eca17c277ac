/* SPDX-License-Identifier: Apache-2.0 */
/* The two addresses srt gives its relay, in socat's notation, and no others. */
#ifndef RELAY_ADDRESS_H
#define RELAY_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

struct relay_address {
	union {
		struct sockaddr any;
		struct sockaddr_un local;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} at;
	socklen_t len;
	int backlog;                      /* of a listener; 0: it named none */
	bool keepalive;                   /* of a connection by TCP, and in seconds: */
	int keepidle, keepintvl, keepcnt; /* 0: the system's own */
};

/* `UNIX-LISTEN:PATH,fork,reuseaddr`, `TCP4-LISTEN:PORT,…`, `TCP6-LISTEN:PORT,ipv6only=0,…`.  NULL, or what is wrong
 * (static): anything the relay wouldn't do is refused, so that a newer srt fails instead of going half obeyed. */
const char *relay_parse_listen(const char *text, struct relay_address *out);
/* `UNIX-CONNECT:PATH`, `TCP:localhost:PORT,keepalive,…`: this machine's loopback alone. */
const char *relay_parse_connect(const char *text, struct relay_address *out);

#endif
