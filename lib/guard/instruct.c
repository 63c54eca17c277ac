/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/instruct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "guard/guard.h"
#include "guard/probes.h"

#define PROBE_ARGS 4096

static int too_much(oc_error **err, int rc)
{
	if (rc == OC_ENOMEM)
		return oc_nomem(err);
	return oc_fail(err, rc, 0, "The plan is more than the channel carries");
}

static int hello(struct oc_guard *g, oc_error **err)
{
	unsigned char data[4 + OC_NONCE_SIZE + sizeof(g->run)];
	size_t len = strlen(g->run);

	if (getrandom(g->session.nonce, OC_NONCE_SIZE, 0) != OC_NONCE_SIZE)
		return oc_fail(err, OC_EIO, errno, "Can't get random bytes: %s", strerror(errno));
	oc_put_u32(data, OC_CHANNEL_VERSION);
	memcpy(data + 4, g->session.nonce, OC_NONCE_SIZE);
	memcpy(data + 4 + OC_NONCE_SIZE, g->run, len);
	return oc_session_send(g, OC_FRAME_HELLO, data, 4 + OC_NONCE_SIZE + len);
}

static int options(struct oc_guard *g, const struct oc_plan_view *p)
{
	unsigned char data[4];
	uint32_t bits = 0;

	if (p->confined)
		bits = OC_GUEST_CONFINED | (p->landlock ? OC_GUEST_LANDLOCK : 0) | (p->nest ? OC_GUEST_NEST : 0) |
		       (p->deny_ipc ? OC_GUEST_DENY_IPC : 0) | (p->deny_trace ? OC_GUEST_DENY_TRACE : 0) |
		       (p->unix_sockets ? OC_GUEST_UNIX : 0);
	if (g->rows)
		bits |= OC_GUEST_TERMINAL;
	oc_put_u32(data, bits);
	return oc_session_send(g, OC_FRAME_OPTION, data, sizeof(data));
}

static int strings(struct oc_guard *g, enum oc_frame_type type, const json_t *list)
{
	const json_t *item;
	size_t i;
	int rc = 0;

	json_array_foreach(list, i, item) rc =
	        rc < 0 ? rc : oc_session_send(g, type, json_string_value(item), json_string_length(item));
	return rc;
}

static int links(struct oc_guard *g, const json_t *list)
{
	const json_t *item;
	struct oc_buf text;
	size_t i;
	int rc = 0;

	oc_buf_init(&text, OC_FRAME_MAX);
	json_array_foreach(list, i, item)
	{
		const char *path = oc_json_text(item, "path"), *target = oc_json_text(item, "target");

		if (rc < 0 || !path || !target) {
			rc = rc < 0 ? rc : OC_EPROTO;
			break;
		}
		text.len = 0;
		rc = oc_buf_add(&text, path, strlen(path) + 1);
		rc = rc < 0 ? rc : oc_buf_puts(&text, target);
		rc = rc < 0 ? rc : oc_session_send(g, OC_FRAME_LINK, text.data, text.len);
	}
	oc_buf_free(&text);
	return rc;
}

static int environment(struct oc_guard *g, const struct oc_plan_view *p)
{
	struct oc_buf entry;
	const json_t *item;
	size_t i;
	int rc = 0;

	json_array_foreach(p->env, i, item)
	{
		const char *name = oc_json_text(item, "name"), *value = oc_json_text(item, "value");

		if (!name)
			return OC_EPROTO;
		if (!value)
			continue;
		oc_buf_init(&entry, OC_FRAME_MAX);
		rc = oc_buf_printf(&entry, "%s=%s", name, value);
		rc = rc < 0 ? rc : oc_session_send(g, OC_FRAME_ENV, entry.data, entry.len);
		oc_buf_free(&entry);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int oc_instruct_probe(struct oc_guard *g, const char *id, int kind, const char *const *args)
{
	struct oc_buf data;
	char first = (char)kind;
	int rc = oc_session_expect(&g->session, id);

	oc_buf_init(&data, OC_FRAME_MAX);
	rc = rc < 0 ? rc : oc_buf_add(&data, &first, 1);
	rc = rc < 0 ? rc : oc_buf_add(&data, id, strlen(id) + 1);
	for (; rc >= 0 && *args; args++)
		rc = oc_buf_add(&data, *args, strlen(*args) + 1);
	rc = rc < 0 ? rc : oc_session_send(g, OC_FRAME_PROBE, data.data, data.len);
	oc_buf_free(&data);
	return rc;
}

/* A variable whose value the plan leaves to the host is expected only if the host has it. */
static bool absent(const struct oc_guard *g, const struct oc_plan_view *p, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach(p->env, i, item) if (oc_json_text(item, "name") &&
	                                        strcmp(oc_json_text(item, "name"), name) == 0 &&
	                                        !oc_json_text(item, "value")) return !oc_values_find(g->values, name);
	return false;
}

static int planned_probe(struct oc_guard *g, const struct oc_plan_view *p, const json_t *probe)
{
	const json_t *args = json_object_get(probe, "args"), *item;
	const char *id = oc_json_text(probe, "id"), **list;
	int64_t kind = oc_json_integer(probe, "kind", 0);
	size_t i, n = 0;
	int rc;

	if (!id || kind < 1 || kind > 255 || json_array_size(args) > PROBE_ARGS)
		return OC_EPROTO;
	list = calloc(json_array_size(args) + 1, sizeof(*list));
	if (!list)
		return OC_ENOMEM;
	json_array_foreach(args, i, item)
	{
		const char *text = json_string_value(item);

		if (text && !(kind == OC_PROBE_ENVIRONMENT && absent(g, p, text)))
			list[n++] = text;
	}
	rc = oc_instruct_probe(g, id, (int)kind, list);
	free(list);
	return rc;
}

static int probes(struct oc_guard *g, const struct oc_plan_view *p)
{
	const json_t *item;
	size_t i;
	int rc = 0;

	json_array_foreach(p->probes, i, item) rc = rc < 0 ? rc : planned_probe(g, p, item);
	return rc;
}

/* Room is made first, so that the buffer never moves with values in it and leaves a copy behind. */
static int values(struct oc_guard *g)
{
	size_t i, need = 64;
	int rc;

	for (i = 0; g->values && i < g->values->n; i++)
		need += g->values->v[i].len + OC_FRAME_HEADER;
	rc = oc_buf_reserve(&g->session.out, need);
	g->session.out_secret = true;
	for (i = 0; rc >= 0 && g->values && i < g->values->n; i++)
		rc = oc_session_send(g, g->values->v[i].secret ? OC_FRAME_SECRET : OC_FRAME_ENV, g->values->v[i].entry,
		                     g->values->v[i].len);
	return rc;
}

int oc_instruct(struct oc_guard *g, const struct oc_plan_view *p, oc_error **err)
{
	int rc = hello(g, err);

	if (rc < 0)
		return rc;
	rc = options(g, p);
	rc = rc < 0 ? rc : oc_session_size(g);
	rc = rc < 0 ? rc : strings(g, OC_FRAME_ARG, p->argv);
	rc = rc < 0 ? rc : environment(g, p);
	rc = rc < 0 ? rc : strings(g, OC_FRAME_INHERIT, p->inherit);
	rc = rc < 0 ? rc : oc_session_send(g, OC_FRAME_CWD, p->cwd, strlen(p->cwd));
	if (p->toolbelt_at)
		rc = rc < 0 ? rc : oc_session_send(g, OC_FRAME_BELT, p->toolbelt_at, strlen(p->toolbelt_at));
	if (p->confined) {
		rc = rc < 0 ? rc : strings(g, OC_FRAME_WRITABLE, p->writable);
		rc = rc < 0 ? rc : links(g, p->links);
		rc = rc < 0 ? rc : probes(g, p);
		rc = rc < 0 ? rc : oc_probes_own(g, p);
	}
	rc = rc < 0 ? rc : values(g);
	rc = rc < 0 ? rc : oc_session_send(g, OC_FRAME_PREPARE, NULL, 0);
	return rc < 0 ? too_much(err, rc) : 0;
}
