/* SPDX-License-Identifier: Apache-2.0 */
/* open-conduit-keyring: one operation on the Secret Service, for the host, which links none of what this needs.
 *
 *   lookup NAME | names | store NAME | remove NAME
 *
 * Standard output is one line, WORD or "WORD DETAIL", and for `present` what was asked for: the value's bytes, or of
 * `names` a line for each, "+NAME" or "-NAME" where it is locked by itself.  `store` reads the value from standard input.
 * No value is ever an argument, in the environment or in a message.
 *
 * An entry has the attributes application=open-conduit and name=NAME and is in the default collection.  A service that was
 * never unlocked has none, and would answer a search with "nothing found": so it is asked for first, and whether it is
 * locked, before a secret is called absent.  Nothing here waits for a person: what wants a prompt fails. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <libsecret/secret.h>

#define VALUE_MAX 65536
#define NAMES_MAX 1000
#define LIFE_S    10 /* the host waits for less; this is for a host that is gone */
#define SERVICE   "org.freedesktop.secrets"

/* The schema's name is what secret-tool writes too, so that either replaces the other's entry. */
static const SecretSchema SCHEMA = {
	"org.freedesktop.Secret.Generic",
	SECRET_SCHEMA_DONT_MATCH_NAME,
	{ { "application", SECRET_SCHEMA_ATTRIBUTE_STRING }, { "name", SECRET_SCHEMA_ATTRIBUTE_STRING } },
};

/* A service of which nothing can make a prompt. */
typedef struct {
	SecretService parent;
} Quiet;
typedef struct {
	SecretServiceClass parent;
} QuietClass;

GType quiet_get_type(void);
G_DEFINE_TYPE(Quiet, quiet, SECRET_TYPE_SERVICE)

static GVariant *no_prompt(SecretService *self, SecretPrompt *prompt, GCancellable *cancellable,
                           const GVariantType *return_type, GError **error)
{
	(void)self;
	(void)prompt;
	(void)cancellable;
	(void)return_type;
	g_set_error_literal(error, SECRET_ERROR, SECRET_ERROR_IS_LOCKED, "it would have to ask for a password");
	return NULL;
}

static void quiet_class_init(QuietClass *class)
{
	class->parent.prompt_sync = no_prompt;
}

static void quiet_init(Quiet *self)
{
	(void)self;
}

struct keyring {
	SecretService *service;
	SecretCollection *collection;
};

static void put(const void *data, size_t len)
{
	while (len) {
		ssize_t n = write(STDOUT_FILENO, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1);
		data = (const char *)data + n;
		len -= (size_t)n;
	}
}

/* The line that answers; a detail is cut to one line. */
static int say(const char *word, const char *detail)
{
	char line[600];
	int n = snprintf(line, sizeof(line) - 1, "%s%s%.500s", word, detail ? " " : "", detail ? detail : "");

	for (int i = 0; i < n; i++)
		if (line[i] == '\n' || line[i] == '\r')
			line[i] = ' ';
	line[n] = '\n';
	put(line, (size_t)n + 1);
	return 0;
}

static int say_error(const char *word, GError *error)
{
	bool locked = g_error_matches(error, SECRET_ERROR, SECRET_ERROR_IS_LOCKED);
	char *name = error && g_dbus_error_is_remote_error(error) ? g_dbus_error_get_remote_error(error) : NULL;

	if (error)
		g_dbus_error_strip_remote_error(error);
	locked = locked || (name && !strcmp(name, "org.freedesktop.Secret.Error.IsLocked"));
	say(locked ? "locked" : word, error ? error->message : NULL);
	g_free(name);
	g_clear_error(&error);
	return -1;
}

static GVariant *ask_bus(GDBusConnection *bus, const char *method, GVariant *arguments, GError **error)
{
	return g_dbus_connection_call_sync(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
	                                   method, arguments, NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, error);
}

/* Is there a bus, and behind it a service?  One that runs need not be one that the bus could start. */
static int reach(void)
{
	GError *error = NULL;
	GDBusConnection *bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, &error);
	GVariant *answer;
	gboolean runs = FALSE;

	if (!bus)
		return say_error("no_bus", error);
	g_dbus_connection_set_exit_on_close(bus, FALSE);
	answer = ask_bus(bus, "NameHasOwner", g_variant_new("(s)", SERVICE), NULL);
	if (answer) {
		g_variant_get(answer, "(b)", &runs);
		g_variant_unref(answer);
	}
	if (!runs) {
		answer = ask_bus(bus, "StartServiceByName", g_variant_new("(su)", SERVICE, 0), &error);
		runs = answer != NULL;
		if (answer)
			g_variant_unref(answer);
	}
	g_object_unref(bus);
	return runs ? 0 : say_error("no_service", error);
}

static int unlocked(struct keyring *k)
{
	GError *error = NULL;

	k->service = secret_service_open_sync(quiet_get_type(), NULL, SECRET_SERVICE_NONE, NULL, &error);
	if (!k->service)
		return say_error("no_service", error);
	k->collection = secret_collection_for_alias_sync(k->service, SECRET_COLLECTION_DEFAULT, SECRET_COLLECTION_NONE,
	                                                 NULL, &error);
	if (!k->collection && error)
		return say_error("failed", error);
	if (!k->collection) {
		say("locked", "it has no default collection: it was never unlocked");
		return -1;
	}
	if (secret_collection_get_locked(k->collection)) {
		say("locked", "its default collection is locked");
		return -1;
	}
	return 0;
}

static GHashTable *attributes(const char *name)
{
	GHashTable *all = g_hash_table_new(g_str_hash, g_str_equal);

	g_hash_table_insert(all, (char *)"application", (char *)"open-conduit");
	if (name)
		g_hash_table_insert(all, (char *)"name", (char *)name);
	return all;
}

/* Items of that name, or with NULL all of ours.  0, or said why. */
static int search(struct keyring *k, const char *name, GList **items)
{
	GHashTable *wanted = attributes(name);
	GError *error = NULL;

	*items = secret_collection_search_sync(k->collection, &SCHEMA, wanted, SECRET_SEARCH_ALL, NULL, &error);
	g_hash_table_unref(wanted);
	return error ? say_error("failed", error) : 0;
}

static int give(SecretItem *item)
{
	GError *error = NULL;
	SecretValue *value;
	const char *data;
	gsize len = 0;

	if (secret_item_get_locked(item))
		return say("locked", "the entry is locked by itself");
	if (!secret_item_load_secret_sync(item, NULL, &error))
		return say_error("failed", error);
	value = secret_item_get_secret(item);
	data = value ? secret_value_get(value, &len) : NULL;
	if (!data || len > VALUE_MAX) {
		say("failed", data ? "its value is longer than 64 KiB" : "its value can't be read");
	} else {
		say("present", NULL);
		put(data, len);
	}
	if (value)
		secret_value_unref(value);
	return 0;
}

static int lookup(struct keyring *k, const char *name)
{
	GList *items = NULL;

	if (search(k, name, &items) < 0)
		return -1;
	if (!items)
		say("absent", NULL);
	else if (items->next)
		say("failed", "there is more than one entry of that name");
	else
		give(items->data);
	g_list_free_full(items, g_object_unref);
	return 0;
}

static int names(struct keyring *k, const char *unused)
{
	GList *items = NULL, *one;
	unsigned n = 0;

	(void)unused;
	if (search(k, NULL, &items) < 0)
		return -1;
	say("present", NULL);
	for (one = items; one && n < NAMES_MAX; one = one->next, n++) {
		GHashTable *has = secret_item_get_attributes(one->data);
		const char *name = g_hash_table_lookup(has, "name");

		/* What another program named with a newline is none of ours. */
		if (name && *name && !strchr(name, '\n')) {
			put(secret_item_get_locked(one->data) ? "-" : "+", 1);
			put(name, strlen(name));
			put("\n", 1);
		}
		g_hash_table_unref(has);
	}
	g_list_free_full(items, g_object_unref);
	return 0;
}

/* All but the one just made: entries of the same name that another program made with further attributes. */
static int remove_others(GList *items, const char *but)
{
	GError *error = NULL;

	for (; items; items = items->next)
		if (!but || strcmp(g_dbus_proxy_get_object_path(items->data), but) != 0)
			if (!secret_item_delete_sync(items->data, NULL, &error))
				return say_error("failed", error);
	return 0;
}

static int erase(struct keyring *k, const char *name)
{
	GList *items = NULL;

	if (search(k, name, &items) < 0)
		return -1;
	if (!items)
		say("absent", NULL);
	else if (remove_others(items, NULL) == 0)
		say("done", NULL);
	g_list_free_full(items, g_object_unref);
	return 0;
}

static SecretValue *read_value(void)
{
	static char data[VALUE_MAX + 1];
	SecretValue *value = NULL;
	size_t len = 0;
	ssize_t n;

	while (len < sizeof(data) && (n = read(STDIN_FILENO, data + len, sizeof(data) - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return NULL;
		len += (size_t)n;
	}
	/* Never an empty one: a host that died before it wrote must not overwrite what is there. */
	if (len && len <= VALUE_MAX)
		value = secret_value_new(data, (gssize)len, "text/plain");
	explicit_bzero(data, sizeof(data));
	return value;
}

static int store(struct keyring *k, const char *name)
{
	SecretValue *value = read_value();
	GHashTable *all = attributes(name);
	GError *error = NULL;
	GList *items = NULL;
	SecretItem *made = NULL;
	char label[300];

	snprintf(label, sizeof(label), "Open Conduit: %.256s", name);
	if (!value) {
		say("failed", "the value did not arrive whole");
	} else {
		made = secret_item_create_sync(k->collection, &SCHEMA, all, label, value, SECRET_ITEM_CREATE_REPLACE,
		                               NULL, &error);
		secret_value_unref(value);
		if (!made)
			say_error("failed", error);
	}
	if (made && search(k, name, &items) == 0 &&
	    remove_others(items, g_dbus_proxy_get_object_path(G_DBUS_PROXY(made))) == 0)
		say("done", NULL);
	g_list_free_full(items, g_object_unref);
	g_hash_table_unref(all);
	g_clear_object(&made);
	return 0;
}

/* Its memory is in nobody's reach, and in no file. */
static void harden(void)
{
	const struct rlimit none = { 0, 0 };

	if (prctl(PR_SET_DUMPABLE, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(1);
	alarm(LIFE_S);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int argc;
		int (*run)(struct keyring *k, const char *name);
	} operations[] = {
		{ "lookup", 3, lookup }, { "names", 2, names }, { "store", 3, store }, { "remove", 3, erase }
	};
	struct keyring k = { NULL, NULL };

	harden();
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		if (argc != operations[i].argc || strcmp(argv[1], operations[i].name) != 0)
			continue;
		if (reach() == 0 && unlocked(&k) == 0)
			operations[i].run(&k, argv[2]);
		g_clear_object(&k.collection);
		g_clear_object(&k.service);
		return 0;
	}
	static const char usage[] = "open-conduit-keyring is part of open-conduit: see open-conduit secret --help\n";

	return write(STDERR_FILENO, usage, sizeof(usage) - 1) < 0 ? 1 : 2;
}
