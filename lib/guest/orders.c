/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/orders.h"

#include "guest/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALL_OPTIONS                                                                                                    \
	(OC_GUEST_CONFINED | OC_GUEST_LANDLOCK | OC_GUEST_NEST | OC_GUEST_DENY_IPC | OC_GUEST_DENY_TRACE |             \
	 OC_GUEST_UNIX | OC_GUEST_TERMINAL)
/* What has a meaning without a sandbox too. */
#define PLAIN_OPTIONS OC_GUEST_TERMINAL

#define NAMES_MAX 4096u

void oc_orders_init(struct oc_orders *o)
{
	memset(o, 0, sizeof(*o));
}

static void free_strings(struct oc_strings *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	memset(s, 0, sizeof(*s));
}

void oc_orders_wipe(struct oc_orders *o)
{
	for (size_t i = 0; i < o->secrets.n; i++)
		oc_wipe(o->secrets.v[i], strlen(o->secrets.v[i]));
	free_strings(&o->secrets);
}

void oc_orders_free(struct oc_orders *o)
{
	oc_orders_wipe(o);
	free_strings(&o->args);
	free_strings(&o->env);
	free_strings(&o->inherit);
	free_strings(&o->writable);
	free_strings(&o->links);
	for (size_t i = 0; i < o->n_probes; i++) {
		free(o->probes[i].id);
		free_strings(&o->probes[i].args);
	}
	free(o->probes);
	free(o->hello);
	free(o->cwd);
	free(o->belt);
	oc_orders_init(o);
}

static char *copy(const char *s, size_t len)
{
	char *p = malloc(len + 1);

	if (p) {
		memcpy(p, s, len);
		p[len] = 0;
	}
	return p;
}

/* Takes p (NULL: the copy failed). */
static int append(struct oc_strings *s, char *p)
{
	if (p && s->n + 2 > s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 16;
		char **v = realloc(s->v, cap * sizeof(*v));

		if (v) {
			s->v = v;
			s->cap = cap;
		}
	}
	if (!p || s->n + 2 > s->cap) {
		free(p);
		return ENOMEM;
	}
	s->v[s->n++] = p;
	s->v[s->n] = NULL;
	return 0;
}

static int take_string(struct oc_strings *to, const struct oc_frame *f)
{
	struct oc_cursor c = { f->data, f->data + f->len };
	const char *s;
	size_t len;

	if (!oc_get_string(&c, true, &s, &len))
		return EPROTO;
	return append(to, copy(s, len));
}

static int take_link(struct oc_orders *o, const struct oc_frame *f)
{
	struct oc_cursor c = { f->data, f->data + f->len };
	const char *path, *target;
	size_t path_len, target_len;
	int err;

	if (!oc_get_string(&c, false, &path, &path_len) || path[0] != '/' ||
	    !oc_get_string(&c, true, &target, &target_len) || !target_len)
		return EPROTO;
	err = append(&o->links, copy(path, path_len));
	return err ? err : append(&o->links, copy(target, target_len));
}

/* NAME=VALUE, or NAME alone. */
static int take_name(struct oc_strings *to, const struct oc_frame *f, bool value)
{
	const unsigned char *eq = f->len ? memchr(f->data, '=', f->len) : NULL;

	if (!f->len || eq == f->data || (eq != NULL) != value)
		return EPROTO;
	return take_string(to, f);
}

static int take_hello(struct oc_orders *o, const struct oc_frame *f)
{
	struct oc_cursor c = { f->data, f->data + f->len };
	unsigned char nonce[OC_NONCE_SIZE];
	uint32_t version;
	const char *run;
	size_t len;

	if (o->hello || !oc_get_u32(&c, &version) || !oc_get_bytes(&c, nonce, sizeof(nonce)) ||
	    !oc_get_string(&c, true, &run, &len) || !len || len > 255)
		return EPROTO;
	if (version != OC_CHANNEL_VERSION)
		return EPROTONOSUPPORT;
	o->hello = malloc(f->len);
	if (!o->hello)
		return ENOMEM;
	memcpy(o->hello, f->data, f->len);
	o->hello_len = f->len;
	return 0;
}

static int take_options(struct oc_orders *o, const struct oc_frame *f)
{
	struct oc_cursor c = { f->data, f->data + f->len };
	uint32_t bits;

	if (o->have_options || !oc_get_u32(&c, &bits) || c.p != c.end)
		return EPROTO;
	if (bits & ~ALL_OPTIONS || (bits & ~PLAIN_OPTIONS && !(bits & OC_GUEST_CONFINED)))
		return EINVAL;
	o->options = bits;
	o->have_options = true;
	return 0;
}

static int take_belt(struct oc_orders *o, const struct oc_frame *f)
{
	if (o->belt || !f->len || memchr(f->data, 0, f->len))
		return EPROTO;
	o->belt = copy((const char *)f->data, f->len);
	return o->belt ? 0 : ENOMEM;
}

bool oc_orders_size(const struct oc_frame *f, uint16_t *rows, uint16_t *cols)
{
	struct oc_cursor c = { f->data, f->data + f->len };

	return oc_get_u16(&c, rows) && oc_get_u16(&c, cols) && c.p == c.end && *rows && *cols;
}

static int take_path(char **to, const struct oc_frame *f)
{
	struct oc_cursor c = { f->data, f->data + f->len };
	const char *s;
	size_t len;

	if (*to || !oc_get_string(&c, true, &s, &len) || !len || s[0] != '/')
		return EPROTO;
	*to = copy(s, len);
	return *to ? 0 : ENOMEM;
}

static int take_probe(struct oc_orders *o, const struct oc_frame *f)
{
	struct oc_cursor c = { f->data, f->data + f->len };
	struct oc_probe *p;
	const char *s;
	size_t len;
	int err;

	if (o->n_probes == o->cap_probes) {
		size_t cap = o->cap_probes ? o->cap_probes * 2 : 32;

		p = realloc(o->probes, cap * sizeof(*p));
		if (!p)
			return ENOMEM;
		o->probes = p;
		o->cap_probes = cap;
	}
	p = &o->probes[o->n_probes];
	memset(p, 0, sizeof(*p));
	if (!oc_get_u8(&c, &p->kind) || !oc_get_string(&c, false, &s, &len) || !len || len > 255)
		return EPROTO;
	p->id = copy(s, len);
	if (!p->id)
		return ENOMEM;
	o->n_probes++; /* from here oc_orders_free() knows it */
	while (c.p != c.end) {
		if (!oc_get_string(&c, false, &s, &len))
			return EPROTO;
		if (++o->strings > OC_GUEST_STRINGS)
			return E2BIG;
		err = append(&p->args, copy(s, len));
		if (err)
			return err;
	}
	return 0;
}

static bool name_is(const char *entry, const char *name)
{
	size_t len = strcspn(name, "=");

	return strncmp(entry, name, len) == 0 && (entry[len] == '=' || !entry[len]);
}

static bool has_name(const struct oc_strings *s, size_t upto, const char *name)
{
	for (size_t i = 0; i < upto; i++)
		if (name_is(s->v[i], name))
			return true;
	return false;
}

/* A name that is set twice would mean one thing to libc and another to a program that reads its last. */
static bool names_unique(const struct oc_orders *o)
{
	for (size_t i = 0; i < o->env.n; i++)
		if (has_name(&o->env, i, o->env.v[i]))
			return false;
	for (size_t i = 0; i < o->secrets.n; i++)
		if (has_name(&o->secrets, i, o->secrets.v[i]) || has_name(&o->env, o->env.n, o->secrets.v[i]))
			return false;
	return true;
}

static int take_prepare(struct oc_orders *o, const struct oc_frame *f, const char **why)
{
	*why = "prepare without options, arguments or an absolute working directory";
	if (f->len || !o->have_options || !o->args.n || !o->args.v[0][0] || !o->cwd)
		return EINVAL;
	*why = "a terminal without a size, or a size without a terminal";
	if (!(o->options & OC_GUEST_TERMINAL) != !o->rows)
		return EINVAL;
	*why = "an environment name is set twice";
	if (!names_unique(o))
		return EINVAL;
	o->prepared = true;
	return 0;
}

/* Names are compared each with each. */
static bool too_many_names(const struct oc_orders *o, uint8_t type)
{
	if (type != OC_FRAME_ENV && type != OC_FRAME_SECRET && type != OC_FRAME_INHERIT)
		return false;
	return o->env.n + o->secrets.n + o->inherit.n >= NAMES_MAX;
}

static int take(struct oc_orders *o, const struct oc_frame *f)
{
	switch (f->type) {
	case OC_FRAME_HELLO:
		return take_hello(o, f);
	case OC_FRAME_OPTION:
		return take_options(o, f);
	case OC_FRAME_ARG:
		return take_string(&o->args, f);
	case OC_FRAME_ENV:
		return take_name(&o->env, f, true);
	case OC_FRAME_INHERIT:
		return take_name(&o->inherit, f, false);
	case OC_FRAME_CWD:
		return take_path(&o->cwd, f);
	case OC_FRAME_BELT:
		return take_belt(o, f);
	case OC_FRAME_RESIZE:
		return oc_orders_size(f, &o->rows, &o->cols) ? 0 : EPROTO;
	case OC_FRAME_SECRET:
		return take_name(&o->secrets, f, true);
	case OC_FRAME_WRITABLE:
		return f->len && f->data[0] == '/' ? take_string(&o->writable, f) : EPROTO;
	case OC_FRAME_LINK:
		return take_link(o, f);
	case OC_FRAME_PROBE:
		return take_probe(o, f);
	default:
		return EPROTO;
	}
}

int oc_orders_take(struct oc_orders *o, const struct oc_frame *f, const char **why)
{
	*why = "the first frame is not a hello of version 1";
	if (!o->hello && f->type != OC_FRAME_HELLO)
		return EPROTO;
	if (f->type == OC_FRAME_PREPARE)
		return take_prepare(o, f, why);
	if (o->hello)
		*why = "an order that is malformed, out of place or given twice";
	if (++o->strings > OC_GUEST_STRINGS || f->len > OC_GUEST_BYTES - o->bytes || too_many_names(o, f->type)) {
		*why = "more orders than a guest takes";
		return E2BIG;
	}
	o->bytes += f->len;
	return take(o, f);
}

char **oc_orders_environment(const struct oc_orders *o, char **own)
{
	char **env = malloc((o->env.n + o->secrets.n + o->inherit.n + 1) * sizeof(*env));
	size_t n = 0;

	if (!env)
		return NULL;
	for (size_t i = 0; i < o->env.n; i++)
		env[n++] = o->env.v[i];
	for (size_t i = 0; i < o->secrets.n; i++)
		env[n++] = o->secrets.v[i];
	for (size_t i = 0; i < o->inherit.n; i++) {
		const char *name = o->inherit.v[i];

		if (has_name(&o->env, o->env.n, name) || has_name(&o->secrets, o->secrets.n, name) ||
		    has_name(&o->inherit, i, name))
			continue;
		for (char **e = own; e && *e; e++) {
			if (name_is(*e, name) && strchr(*e, '=')) {
				env[n++] = *e;
				break;
			}
		}
	}
	env[n] = NULL;
	return env;
}
