/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy.h"

#include <stdlib.h>
#include <string.h>

#include "hello.h"

static void forget_errand(struct gw_conn *c)
{
	gw_lookup_close(&c->errand->lookup);
	free(c->errand);
	c->errand = NULL;
}

void gw_tunnel_open(struct gw_proxy *p, struct gw_conn *c)
{
	static const char yes[] = "HTTP/1.1 200 Connection established\r\n\r\n";

	c->name = strdup(c->errand->request.target.host);
	forget_errand(c);
	c->state = GW_HELLO;
	gw_clock(p, c, GW_CLOCK_QUIET);
	if (!c->name || !gw_end_write(p, &c->client, yes, sizeof(yes) - 1))
		gw_conn_end(p, c);
	else
		gw_tunnel_step(p, c);
}

/* The first bytes are looked at, for the record alone: a name there is no boundary.  Where they may be a ClientHello that
 * has not all come they are held back for a moment (the clock of that), no longer. */
static void look(struct gw_proxy *p, struct gw_conn *c)
{
	char name[OC_HOST_MAX];
	ssize_t n = gw_end_peek(p, &c->client, GW_LITTLE);
	enum gw_hello hello;
	size_t done;

	if (n == 0 && !c->client.ended && !c->client.broken)
		return;
	hello = gw_hello_name((const uint8_t *)p->scratch, (size_t)n, name);
	if (hello == GW_HELLO_MORE && n > 0 && n < GW_LITTLE) {
		if (c->clock != GW_CLOCK_HELLO)
			gw_clock(p, c, GW_CLOCK_HELLO);
		c->client.readable = false;
		return;
	}
	if (hello == GW_HELLO_NAME && strcmp(name, c->name) != 0)
		gw_event(p->events, "sni %llu %s", (unsigned long long)c->id, name);
	done = gw_end_put(&c->server, p->scratch, (size_t)n);
	gw_end_discard(p, &c->client, done);
	c->client.moved += done;
	c->client.readable = c->client.readable && (c->client.last || done < (size_t)n || n == GW_LITTLE);
	c->state = GW_TUNNEL;
}

void gw_tunnel_step(struct gw_proxy *p, struct gw_conn *c)
{
	bool more = false;

	if (c->state == GW_HELLO)
		look(p, c);
	if (c->state == GW_TUNNEL) {
		free(c->name);
		c->name = NULL;
		more = gw_move(p, &c->client, &c->server);
	}
	more |= gw_move(p, &c->server, &c->client);
	if (c->state == GW_TUNNEL || c->clock == GW_CLOCK_QUIET)
		gw_clock(p, c, GW_CLOCK_QUIET);
	if (c->client.broken || c->server.broken || (!more && (c->client.failed || c->server.failed)))
		gw_conn_reset(p, c);
	else if (c->client.shut && c->server.shut)
		gw_conn_end(p, c);
	else if (more)
		gw_conn_busy(p, c);
}
