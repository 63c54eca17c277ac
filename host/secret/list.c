/* SPDX-License-Identifier: Apache-2.0 */
/* Which secrets there are: those of the config, and those that are stored and that nothing names. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "secret/secret.h"

struct listing {
	json_t *rows;    /* {"name","ref","state","detail","fix","bindings":[…],"connections":[…]} */
	json_t *keyring; /* of secret_keyring_names(); NULL: it can't be asked */
	enum secret_state keyring_state;
	struct secret_problem keyring_problem;
	const char *config; /* "good", "bad", "none" */
};

static void describe(json_t *row, enum secret_state state, const struct secret_problem *p)
{
	const struct refusal r = { NULL, NULL, p->message.data, p->fix.data };
	json_t *escaped = host_refusal_json(&r);

	json_object_set_new(row, "state", json_string(secret_state_name(state)));
	json_object_set_new(row, "detail",
	                    p->message.data ? json_incref(json_object_get(escaped, "message")) : json_null());
	json_object_set_new(row, "fix", p->fix.data ? json_incref(json_object_get(escaped, "fix")) : json_null());
	json_decref(escaped);
}

static void look(struct listing *l, json_t *row, const char *name, const char *ref)
{
	struct secret_value value = { NULL, 0 };
	struct secret_problem p = { { 0 }, { 0 } };
	enum secret_state state;

	if (strncmp(ref, "keyring:", 8) != 0) {
		state = secret_read(name, ref, &value, &p);
		secret_value_free(&value);
		describe(row, state, &p);
	} else if (!l->keyring) {
		describe(row, l->keyring_state, &l->keyring_problem);
	} else {
		const json_t *there = json_object_get(l->keyring, ref + 8);

		describe(row, json_is_true(there) ? SECRET_PRESENT : there ? SECRET_LOCKED : SECRET_ABSENT, &p);
	}
	secret_problem_free(&p);
}

/* The row of this name and place, made where there is none yet. */
static json_t *row_of(struct listing *l, const char *name, const char *ref)
{
	const struct refusal r = { NULL, ref, NULL, NULL };
	json_t *row, *shown = host_refusal_json(&r);
	const char *text = host_string(shown, "subject");
	size_t i;

	json_array_foreach(l->rows, i, row) if (!strcmp(host_string(row, "name"), name) && text &&
	                                        !strcmp(host_string(row, "ref"), text))
	{
		json_decref(shown);
		return row;
	}
	row = json_pack("{s:s, s:O, s:[], s:[]}", "name", name, "ref", json_object_get(shown, "subject"), "bindings",
	                "connections");
	json_decref(shown);
	if (row && json_array_append_new(l->rows, row) == 0)
		look(l, row, name, ref);
	return row;
}

static void add_scope(struct listing *l, const struct config_scope *s)
{
	const char *home = getenv("HOME");

	for (size_t i = 0; i < s->secret_refs.n; i++) {
		const char *name = s->secret_refs.v[i].name, *ref = s->secret_refs.v[i].value;
		char *whole = NULL;
		json_t *row;

		if (!strncmp(ref, "file:~/", 7) && home && asprintf(&whole, "file:%s%s", home, ref + 6) < 0)
			whole = NULL;
		row = row_of(l, name, whole ? whole : ref);
		free(whole);
		for (size_t b = 0; row && b < s->n_bindings; b++)
			for (size_t k = 0; k < s->bindings[b].n_secrets; k++)
				if (!strcmp(s->bindings[b].secrets[k].name, name))
					json_array_append_new(json_object_get(row, "bindings"),
					                      json_string(s->bindings[b].full));
	}
}

static void add_connection(struct listing *l, const struct config_connection *c)
{
	static const struct config_connection_secrets none;
	const struct config_connection_secrets *s = c->secret_refs ? c->secret_refs : &none;
	const struct {
		const char *name, *ref;
	} all[] = { { "app_private_key", s->app_private_key },
		    { "bot_private_key", s->bot_private_key },
		    { "token", s->token } };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].ref)
			json_array_append_new(json_object_get(row_of(l, all[i].name, all[i].ref), "connections"),
			                      json_string(c->id));
}

static bool referred_to(const struct listing *l, const char *ref)
{
	const json_t *row;
	size_t i;

	json_array_foreach(l->rows, i, row) if (!strcmp(host_string(row, "ref"), ref)) return true;
	return false;
}

/* What is stored, and no config speaks of. */
static void add_stored(struct listing *l)
{
	json_t *files = secret_file_names(), *value;
	const char *name;
	size_t i;
	char *ref = NULL;

	json_object_foreach(l->keyring, name, value)
	{
		if (asprintf(&ref, "keyring:%s", name) < 0)
			continue;
		if (!referred_to(l, ref))
			row_of(l, name, ref);
		free(ref);
	}
	json_array_foreach(files, i, value)
	{
		char *path = secret_file_path(json_string_value(value));

		if (path && asprintf(&ref, "file:%s", path) >= 0) {
			if (!referred_to(l, ref))
				row_of(l, json_string_value(value), ref);
			free(ref);
		}
		free(path);
	}
	json_decref(files);
}

static void add_config(struct listing *l)
{
	struct report report = { 0 };
	struct config *config = NULL;
	char *path = config_default_path(NULL);
	bool good = config_load(NULL, NULL, &config, &report) >= 0;

	l->config = good ? "good" : path && access(path, F_OK) == 0 ? "bad" : "none";
	for (size_t i = 0; good && i < config->n_connections; i++)
		add_connection(l, &config->connections[i]);
	for (size_t i = 0; good && i < config->n_scopes; i++)
		add_scope(l, &config->scopes[i]);
	report_free(&report);
	config_free(config);
	free(path);
}

static void print_users(struct out *o, const json_t *row)
{
	const json_t *bindings = json_object_get(row, "bindings"), *connections = json_object_get(row, "connections"),
	             *one;
	size_t i;

	json_array_foreach(bindings, i, one) out_printf(o, "%s%s", i ? ", " : "  for ", json_string_value(one));
	json_array_foreach(connections, i, one) out_printf(
	        o, "%sconnection %s", i || json_array_size(bindings) ? ", " : "  for ", json_string_value(one));
}

static void print_row(struct host *h, const json_t *row, int width)
{
	const char *state = host_string(row, "state"), *detail = host_string(row, "detail"),
	           *fix = host_string(row, "fix");
	bool good = !strcmp(state, "present");

	out_printf(&h->out, "%-*s  ", width, host_string(row, "name"));
	out_styled(&h->out, good ? STYLE_GREEN : STYLE_RED, state);
	out_printf(&h->out, "%-*s  %s", 10 - (int)strlen(state), "", host_string(row, "ref"));
	print_users(&h->out, row);
	out_put(&h->out, "\n");
	if (!good && detail && strncmp(host_string(row, "ref"), "keyring:", 8) != 0)
		out_printf(&h->out, "%-*s    what  %s\n", width, "", detail);
	if (!good && fix && strncmp(host_string(row, "ref"), "keyring:", 8) != 0)
		out_printf(&h->out, "%-*s    fix   %s\n", width, "", fix);
}

static void print_text(struct host *h, const struct listing *l)
{
	const json_t *row;
	int width = 4;
	size_t i;

	json_array_foreach(l->rows, i, row) if ((int)strlen(host_string(row, "name")) > width) width =
	        (int)strlen(host_string(row, "name"));
	json_array_foreach(l->rows, i, row) print_row(h, row, width);
	if (!json_array_size(l->rows))
		out_put(&h->out, "There are no secrets.  open-conduit secret set NAME stores one.\n");
	if (!l->keyring) {
		out_printf(&h->err, "open-conduit: the keyring: %s\n", l->keyring_problem.message.data);
		if (l->keyring_problem.fix.data)
			out_printf(&h->err, "  fix     %s\n", l->keyring_problem.fix.data);
	}
	if (!strcmp(l->config, "bad"))
		out_put(&h->err, "open-conduit: the config has errors, so what it names is not listed: open-conduit "
		                 "config check\n");
}

int secret_list(struct host *h)
{
	struct listing l = { .rows = json_array() };
	json_t *answer, *keyring = json_object();

	l.keyring = secret_keyring_names(&l.keyring_state, &l.keyring_problem);
	add_config(&l);
	add_stored(&l);
	if (h->json) {
		answer = host_answer();
		describe(keyring, l.keyring_state, &l.keyring_problem);
		json_object_set(answer, "keyring", keyring);
		json_object_set_new(answer, "config", json_string(l.config));
		json_object_set(answer, "secrets", l.rows);
		out_json(&h->out, answer);
	} else {
		print_text(h, &l);
	}
	json_decref(keyring);
	json_decref(l.keyring);
	json_decref(l.rows);
	secret_problem_free(&l.keyring_problem);
	return EXIT_GOOD;
}
