/* SPDX-License-Identifier: Apache-2.0 */
/* What the run recorded as its own is asked for by id, at the endpoint that was pinned: names and labels can be anybody's, and what a
 * context leads to today is not where the run is. */
#include "inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "cleanup.h"
#include "compare.h"
#include "create.h"
#include "fill.h"
#include "networks.h"
#include "objects.h"
#include "spec.h"
#include "subnet.h"

#define CAN_T_ASK 3

struct inspect {
	struct spec spec;
	struct objects objects;
	struct engine *engine;
	json_t *values, *names; /* fill.h; and of networks, by id */
	bool unasked;
	struct refusal *r;
};

static char *fix_of(const struct inspect *in, const char *command)
{
	cleanup_free char *host = quoted(text_of(in->spec.endpoint, "host"));

	return host ? format("docker -H %s %s", host, command) : NULL;
}

/* 1: it is gone.  *shown: new. */
static int look(struct inspect *in, enum kind kind, json_t **shown)
{
	const char *id = in->objects.v[kind].id;
	cleanup_free char *path = id ? format(kind <= KIND_GATEWAY ? "/containers/%s/json" : "/networks/%s", id) : NULL;
	struct reply reply = { 0 };
	int rc = 0;

	if (!id)
		return 1;
	if (!path)
		return no_memory(in->r);
	engine_ask(in->engine, "GET", path, NULL, ASK_MS, &reply);
	if (reply.status == 200) {
		*shown = json_incref(reply.json);
	} else {
		in->unasked = reply.status != 404;
		rc = in->unasked ? ask_refuse(&reply, "looking at what the run has", in->r) : 1;
	}
	reply_clear(&reply);
	return rc;
}

/* What was left open when it was planned, as it was filled in: from what is recorded, and the network's own subnet. */
static int set_subnet(struct inspect *in, const json_t *network)
{
	const json_t *config = json_object_get(json_object_get(network, "IPAM"), "Config");
	const char *text = text_of(json_array_get(config, 0), "Subnet");
	struct subnet subnet;

	if (!text || !subnet_parse(text, &subnet))
		return refuse(in->r, "pin_mismatch", "IPAM.Config", NULL,
		              "the run's network is not as it was pinned: it has no subnet of ours");
	return networks_addresses(in->values, &subnet) ? 0 : no_memory(in->r);
}

static bool name_value(struct inspect *in, enum kind kind, const char *as)
{
	const char *id = in->objects.v[kind].id, *name = in->objects.v[kind].name;

	return !id || !name ||
	       (json_object_set_new(in->values, as, json_string(id)) == 0 &&
	        json_object_set_new(in->names, id, json_string(name)) == 0);
}

/* The attempt is in the names: "oc-ATTEMPT". */
static int set_values(struct inspect *in)
{
	const char *digest = getenv(DIGEST_VARIABLE), *name = in->objects.v[KIND_NETWORK].name;

	if (!digest || !name || strncmp(name, "oc-", 3) != 0)
		return refuse(in->r, "provider_failed", DIGEST_VARIABLE, NULL,
		              "inspect is started by open-conduit's recovery, with the digest of the plan");
	in->values = json_pack("{s:s, s:s}", CREATE_ATTEMPT, name + 3, CREATE_PLAN, digest);
	in->names = json_object();
	if (in->values && in->names && name_value(in, KIND_NETWORK, CREATE_NETWORK) &&
	    name_value(in, KIND_EGRESS, CREATE_EGRESS))
		return 0;
	return no_memory(in->r);
}

/* Whoever else is on the run's network can speak to it. */
static int check_members(struct inspect *in, const json_t *network)
{
	cleanup_free char *command = NULL, *fix = NULL;
	const char *id;
	json_t *end;

	json_object_foreach(json_object_get(network, "Containers"), id, end)
	{
		const char *ours = in->objects.v[KIND_CONTAINER].id, *gateway = in->objects.v[KIND_GATEWAY].id;

		if ((ours && !strcmp(id, ours)) || (gateway && !strcmp(id, gateway)))
			continue;
		command = format("network disconnect -f %s %s", in->objects.v[KIND_NETWORK].id, id);
		fix = command ? fix_of(in, command) : NULL;
		return refuse(in->r, "pin_mismatch", "Containers", fix,
		              "the run's network is not as it was pinned: the container %s, which is not of the run, "
		              "is on it",
		              text_of(end, "Name") ? text_of(end, "Name") : id);
	}
	return 0;
}

/* 1: it is gone. */
static int check_network(struct inspect *in)
{
	cleanup_json json_t *shown = NULL, *asked = NULL;
	int rc = look(in, KIND_NETWORK, &shown);

	if (rc != 0)
		return rc;
	if (set_values(in) < 0 || set_subnet(in, shown) < 0)
		return -1;
	asked = fill(in->spec.network, in->values, in->r);
	if (!asked || compare_network_running(asked, shown, in->r) < 0)
		return -1;
	return check_members(in, shown);
}

static int check_container(struct inspect *in, enum kind kind, const json_t *template)
{
	cleanup_json json_t *shown = NULL, *asked = NULL;
	const json_t *facts = json_object_get(in->spec.facts, kind_name(kind));
	int rc = look(in, kind, &shown);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (!json_is_true(json_object_get(json_object_get(shown, "State"), "Running")))
		return 0;
	asked = fill(template, in->values, in->r);
	return asked ? compare_running(asked, facts, in->names, in->objects.v[kind].name, shown, in->r) : -1;
}

/* The way to undo what was done to a container is not known: its end is the way out. */
static void add_fix(struct inspect *in)
{
	cleanup_free char *command = format("rm -fv %s", in->objects.v[KIND_CONTAINER].id);

	if (command && in->r->reason && !in->r->fix && !in->unasked)
		in->r->fix = fix_of(in, command);
}

static int inspect(struct inspect *in)
{
	int rc = engine_open_pinned(in->spec.endpoint, in->spec.engine, &in->engine, in->r);

	in->unasked = rc < 0;
	rc = rc < 0 ? rc : check_network(in);
	if (rc == 0)
		rc = check_container(in, KIND_CONTAINER, in->spec.container);
	if (rc == 0)
		rc = check_container(in, KIND_GATEWAY, in->spec.gateway);
	if (rc < 0)
		add_fix(in);
	return rc < 0 ? rc : 0;
}

static void clear(struct inspect *in)
{
	engine_free(in->engine);
	json_decref(in->values);
	json_decref(in->names);
	objects_close(&in->objects);
	spec_clear(&in->spec);
}

int inspect_main(void)
{
	struct refusal r = { 0 };
	struct inspect in = { .r = &r, .objects = { .fd = -1 } };
	int rc = spec_read(3, &in.spec, &r);

	if (rc == 0)
		rc = objects_look(in.spec.live, &in.objects, &r);
	if (rc == 0 && in.objects.v[KIND_CONTAINER].id)
		rc = inspect(&in);
	if (rc < 0)
		cleanup_report(&r);
	clear(&in);
	refusal_clear(&r);
	return rc == 0 ? 0 : in.unasked ? CAN_T_ASK : 1;
}
