/* SPDX-License-Identifier: Apache-2.0 */
#include "networks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "ask.h"
#include "common/files.h"
#include "compare.h"
#include "create.h"
#include "fill.h"
#include "subnet.h"

#define TRIES      64
#define ROUTES_MAX (1 << 20)

/* One network on its way. */
struct making {
	enum kind kind;
	const json_t *template;
	unsigned bits;
	uint32_t first, tried;
	struct subnet subnet;
	json_t *asked; /* as it was sent */
	struct request *request;
	json_t *made; /* as the engine shows it; NULL: not there yet */
	bool found;
};

struct networks {
	const struct networks_input *in;
	json_t *values, *listed;
	struct subnets taken;
	struct subnet range;
	struct making own, egress;
	struct refusal *r;
};

int networks_lock(const char *path, struct refusal *r)
{
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600), rc;

	if (fd < 0) {
		refuse(r, "sandbox_unavailable", path, NULL, "%s can't be opened: %s", path, strerror(errno));
		return -1;
	}
	do
		rc = flock(fd, LOCK_SH);
	while (rc < 0 && errno == EINTR);
	if (rc == 0)
		return fd;
	refuse(r, "sandbox_unavailable", path, NULL, "%s can't be locked: %s", path, strerror(errno));
	close(fd);
	return -1;
}

bool networks_lock_alone(int lock)
{
	return flock(lock, LOCK_EX | LOCK_NB) == 0;
}

int networks_attempt(char out[NETWORKS_ATTEMPT], struct refusal *r)
{
	unsigned char bytes[NETWORKS_ATTEMPT - 1];
	size_t i;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return refuse(r, "provider_failed", "attempt", NULL, "no random numbers: %s", strerror(errno));
	for (i = 0; i < sizeof(bytes); i++)
		out[i] = "abcdefghijklmnopqrstuvwxyz234567"[bytes[i] % 32];
	out[i] = '\0';
	return 0;
}

/* How many networks are whose: an operator who has to make room wants to know. */
static int exhausted(struct networks *n)
{
	size_t all = json_array_size(n->listed), ours = 0, i;
	const json_t *network;

	json_array_foreach(n->listed, i, network)
	{
		const char *instance = text_of(json_object_get(network, "Labels"), CREATE_LABEL "instance");

		ours += instance && !strcmp(instance, n->in->instance);
	}
	return refuse(
	        n->r, "sandbox_unavailable", n->in->range, "export " SUBNET_VARIABLE "=172.30.0.0/16",
	        "no network is free in %s: the engine has %zu networks of ours and %zu others, and this machine's "
	        "routes are left out; another range is set by " SUBNET_VARIABLE
	        ", granted by \"settings\": {\"extensions\": {\"docker\": {\"pass_env\": [\"" SUBNET_VARIABLE "\"]}}}",
	        n->in->range, ours, all - ours);
}

/* A half of the range for each kind: this machine has an address on a way out, but none in a run's network, and a run's probes
 * would find one that was there a moment ago in their own. */
static struct subnet half(const struct networks *n, enum kind kind)
{
	struct subnet s = { n->range.address, n->range.bits + 1 };

	if (kind == KIND_NETWORK)
		s.address |= (uint32_t)1 << (32 - s.bits);
	return s;
}

static int begin(struct networks *n, struct making *m)
{
	const struct subnet range = half(n, m->kind);
	char text[SUBNET_TEXT];

	if (m->tried > TRIES || !subnet_choose(&range, m->bits, &n->taken, m->first, &m->tried, &m->subnet))
		return exhausted(n);
	subnet_text(&m->subnet, text);
	if (json_object_set_new(n->values, CREATE_SUBNET, json_string(text)) < 0 || !subnets_add(&n->taken, &m->subnet))
		return no_memory(n->r);
	json_decref(m->asked);
	m->asked = fill(m->template, n->values, n->r);
	if (!m->asked || objects_intend(n->in->objects, m->kind, text_of(m->asked, "Name"), n->r) < 0)
		return -1;
	m->request = engine_begin(n->in->engine, "POST", "/networks/create", m->asked, ASK_MS);
	return m->request ? 0 : no_memory(n->r);
}

static int show(struct networks *n, struct making *m, const char *name)
{
	cleanup_free char *path = format("/networks/%s", name);

	if (!path)
		return no_memory(n->r);
	return ask(n->in->engine, "GET", path, NULL, "looking at a network", &m->made, n->r);
}

/* 1: the engine has something else there, and it is tried elsewhere. */
static int answered(struct networks *n, struct making *m, const struct reply *reply)
{
	const char *id = text_of(reply->json, "Id"), *warning = text_of(reply->json, "Warning");

	if (reply->status == 403 && reply->why && strstr(reply->why, "verlap"))
		return 1;
	/* Another run of ours was faster. */
	if (reply->status == 409 && m->kind == KIND_EGRESS) {
		m->found = true;
		return show(n, m, text_of(m->asked, "Name"));
	}
	if (reply->status != 201 || !id)
		return objects_refused(n->in->objects, m->kind, reply->status, n->r) < 0
		               ? -1
		               : ask_refuse(reply, "making a network", n->r);
	if (objects_made(n->in->objects, m->kind, id, n->r) < 0)
		return -1;
	if (warning && *warning)
		return refuse(n->r, "sandbox_unavailable", "engine", "open-conduit doctor",
		              "the engine made a network with a warning: %s", warning);
	return show(n, m, id);
}

static int finish(struct networks *n, struct making *m)
{
	int rc = 0;

	while (m->request) {
		struct reply reply = { 0 };

		request_take(m->request, &reply);
		m->request = NULL;
		rc = answered(n, m, &reply);
		reply_clear(&reply);
		if (rc == 1)
			rc = begin(n, m);
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* What was there before keeps the subnet that it was made with, if that is one of ours. */
static int adopt(struct networks *n, struct making *m)
{
	const char *text =
	        text_of(json_array_get(json_object_get(json_object_get(m->made, "IPAM"), "Config"), 0), "Subnet");

	if (!text || !subnet_parse(text, &m->subnet))
		return refuse(n->r, "sandbox_unavailable", "engine", "open-conduit doctor",
		              "a network of ours has no subnet");
	if (json_object_set_new(n->values, CREATE_SUBNET, json_string(text)) < 0)
		return no_memory(n->r);
	json_decref(m->asked);
	m->asked = fill(m->template, n->values, n->r);
	return m->asked ? 0 : -1;
}

static int check(struct networks *n, struct making *m, const char *name)
{
	const char *id;

	if (m->found && adopt(n, m) < 0)
		return -1;
	if (compare_network(m->asked, !m->found && m->kind == KIND_NETWORK, m->made, n->r) < 0)
		return -1;
	id = text_of(m->made, "Id");
	if (!id || json_object_set_new(n->values, name, json_string(id)) < 0)
		return no_memory(n->r);
	if (!m->found)
		return 0;
	/* Whoever is last removes it, so that everybody has it in its list. */
	if (objects_intend(n->in->objects, m->kind, text_of(m->asked, "Name"), n->r) < 0)
		return -1;
	return objects_made(n->in->objects, m->kind, id, n->r);
}

static int look(struct networks *n)
{
	cleanup_free char *routes = read_small("/proc/net/route", ROUTES_MAX),
	                  *name = create_egress_name(n->in->instance);
	json_t *network;
	size_t i;

	if (!subnet_range_parse(n->in->range, &n->range))
		return refuse(n->r, "provider_failed", n->in->range, NULL, "%s is no range of networks", n->in->range);
	if (ask(n->in->engine, "GET", "/networks", NULL, "listing networks", &n->listed, n->r) < 0)
		return -1;
	if (!name || !routes || !subnets_add_routes(&n->taken, routes) || !subnets_add_networks(&n->taken, n->listed))
		return no_memory(n->r);
	json_array_foreach(n->listed, i, network)
	{
		if (n->in->egress && text_of(network, "Name") && !strcmp(text_of(network, "Name"), name)) {
			n->egress.made = json_incref(network);
			n->egress.found = true;
		}
	}
	return 0;
}

/* Runs that begin at the same time look at different places first. */
static int make(struct networks *n)
{
	uint32_t first;

	if (getrandom(&first, sizeof(first), 0) != (ssize_t)sizeof(first))
		return refuse(n->r, "provider_failed", "subnet", NULL, "no random numbers: %s", strerror(errno));
	n->egress = (struct making){ .kind = KIND_EGRESS, .template = n->in->egress, .bits = SUBNET_EGRESS };
	n->own =
	        (struct making){ .kind = KIND_NETWORK, .template = n->in->network, .bits = SUBNET_RUN, .first = first };
	if (look(n) < 0 || (n->in->egress && !n->egress.found && begin(n, &n->egress) < 0) || begin(n, &n->own) < 0)
		return -1;
	/* Both are under way. */
	if (finish(n, &n->own) < 0 || finish(n, &n->egress) < 0)
		return -1;
	if (n->in->egress && check(n, &n->egress, CREATE_EGRESS) < 0)
		return -1;
	return check(n, &n->own, CREATE_NETWORK);
}

bool networks_addresses(json_t *values, const struct subnet *own)
{
	char subnet[SUBNET_TEXT], gateway[INET_ADDRSTRLEN], address[INET_ADDRSTRLEN];

	subnet_text(own, subnet);
	subnet_address(own, 2, gateway);
	subnet_address(own, 3, address);
	return json_object_set_new(values, CREATE_SUBNET, json_string(subnet)) == 0 &&
	       json_object_set_new(values, CREATE_GATEWAY, json_string(gateway)) == 0 &&
	       json_object_set_new(values, CREATE_ADDRESS, json_string(address)) == 0;
}

static void clear(struct making *m)
{
	if (m->request)
		request_drop(m->request);
	json_decref(m->asked);
	json_decref(m->made);
}

int networks_make(const struct networks_input *in, json_t *values, struct refusal *r)
{
	struct networks n = { .in = in, .values = values, .r = r };
	int rc = make(&n);

	if (rc == 0 && !networks_addresses(n.values, &n.own.subnet))
		rc = no_memory(n.r);
	clear(&n.own);
	clear(&n.egress);
	json_decref(n.listed);
	subnets_clear(&n.taken);
	return rc;
}
