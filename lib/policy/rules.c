/* SPDX-License-Identifier: Apache-2.0 */
/* What a resolved policy says about one real path, host or socket.  Pure: explain, probes and tests all ask here. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/host.h"
#include "policy/resolve.h"

static const char *text_of(const json_t *entry, const char *key)
{
	const char *s = oc_json_text(entry, key);

	return s ? s : "";
}

static bool covers(const json_t *entry, const char *path)
{
	const char *at = text_of(entry, "path");

	return *at && oc_path_within(at, path);
}

static bool allows(const json_t *entry)
{
	return json_is_true(json_object_get(entry, "allow"));
}

const json_t *oc_resolved_rule(const json_t *resolved, const char *path)
{
	const json_t *best = NULL;
	json_t *entry;
	size_t i, best_len = 0;

	json_array_foreach(json_object_get(resolved, "read"), i, entry)
	{
		const char *at = text_of(entry, "path");
		size_t len = strlen(at);

		if (!len || !oc_path_within(at, path))
			continue;
		if (!best || len > best_len || (len == best_len && allows(entry) && !allows(best))) {
			best = entry;
			best_len = len;
		}
	}
	return best;
}

/* The longest path of a list that covers `path`; 0: none. */
static size_t longest(const json_t *list, const char *path, bool allow_only, const json_t **which)
{
	json_t *entry;
	size_t i, best = 0;

	json_array_foreach(list, i, entry)
	{
		const char *at = text_of(entry, "path");
		size_t len = strlen(at);

		if (len <= best || !oc_path_within(at, path) || (allow_only && !allows(entry)))
			continue;
		best = len;
		if (which)
			*which = entry;
	}
	return best;
}

/* A workspace or a home in there was made by us: oc_resolve() refuses every other. */
static bool own(const json_t *resolved, const json_t *entry, const char *which, const char *path)
{
	const char *at = text_of(resolved, which);

	return *at && covers(entry, at) && oc_path_within(at, path);
}

static bool is_protected(const json_t *resolved, const char *path)
{
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(resolved, "protected"), i, entry)
	{
		if (covers(entry, path) &&
		    !(strcmp(text_of(entry, "what"), "state") == 0 &&
		      (own(resolved, entry, "workspace", path) || own(resolved, entry, "agent_home", path))))
			return true;
	}
	return false;
}

/* Hidden directories are denies that only something more specific opens: read.allow, or a write grant. */
static bool is_hidden(const json_t *resolved, const char *path)
{
	size_t hidden = longest(json_object_get(resolved, "hidden"), path, false, NULL);

	return hidden && longest(json_object_get(resolved, "read"), path, true, NULL) <= hidden &&
	       longest(json_object_get(resolved, "write"), path, false, NULL) <= hidden;
}

static bool in_run(const json_t *resolved, const char *path)
{
	const char *run = text_of(resolved, "run_dir");

	return *run && oc_path_within(run, path);
}

struct oc_verdict oc_resolved_read(const json_t *resolved, const char *path)
{
	const json_t *entry;

	if (in_run(resolved, path))
		return (struct oc_verdict){ true, "{run}" };
	if (is_protected(resolved, path))
		return (struct oc_verdict){ false, "protected" };
	if (is_hidden(resolved, path))
		return (struct oc_verdict){ false, "hidden" };
	entry = oc_resolved_rule(resolved, path);
	if (!entry)
		return (struct oc_verdict){ true, NULL };
	return (struct oc_verdict){ allows(entry), text_of(entry, "rule") };
}

struct oc_verdict oc_resolved_write(const json_t *resolved, const char *path)
{
	struct oc_verdict v = oc_resolved_read(resolved, path);
	const json_t *grant = NULL, *kept = NULL;
	size_t write, keep;

	if (!v.allowed || in_run(resolved, path))
		return v;
	write = longest(json_object_get(resolved, "write"), path, false, &grant);
	if (write == 0)
		return (struct oc_verdict){ false, "write" };
	keep = longest(json_object_get(resolved, "readonly"), path, false, &kept);
	/* No grant gives git's files back; a narrower one gives back what is only read. */
	if (keep && (keep >= write || strcmp(text_of(kept, "what"), "git") == 0))
		return (struct oc_verdict){ false, text_of(kept, "what") };
	return (struct oc_verdict){ true, text_of(grant, "rule") };
}

struct oc_verdict oc_resolved_socket(const json_t *resolved, const char *path)
{
	bool toolbelt = strcmp(path, "{toolbelt}") == 0;
	struct oc_verdict v;
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(resolved, "sockets"), i,
	                   entry) if (strcmp(toolbelt ? text_of(entry, "as") : text_of(entry, "path"), path) ==
	                              0) return (struct oc_verdict){ true, text_of(entry, "rule") };
	if (toolbelt)
		return (struct oc_verdict){ false, "sockets" };
	if (strcmp(text_of(resolved, "unix_sockets"), "all") != 0)
		return (struct oc_verdict){ false, "unix_sockets" };
	v = oc_resolved_read(resolved, path);
	return v.allowed ? (struct oc_verdict){ true, "unix_sockets" } : v;
}

struct oc_verdict oc_resolved_host(const json_t *resolved, const char *host, int port)
{
	char canonical[OC_HOST_MAX], bracketed[OC_HOST_MAX + 2];
	const char *wild = NULL;
	bool address;
	json_t *item;
	size_t i;

	/* The canonical spelling has no brackets, the grammar wants them. */
	if (strchr(host, ':') && host[0] != '[') {
		if ((size_t)snprintf(bracketed, sizeof(bracketed), "[%s]", host) >= sizeof(bracketed))
			return (struct oc_verdict){ false, "network.allow" };
		host = bracketed;
	}
	if (port < 1 || port > 65535 || oc_host_normalise(host, strlen(host), canonical, &address))
		return (struct oc_verdict){ false, "network.allow" };
	json_array_foreach(json_object_get(resolved, "network"), i, item)
	{
		struct oc_host_rule rule;
		const char *entry = text_of(item, "entry");

		if (oc_host_rule_parse(entry, strlen(entry), true, &rule) ||
		    oc_host_match(&rule, 1, canonical, address, (uint16_t)port) < 0)
			continue;
		if (!rule.wildcard)
			return (struct oc_verdict){ true, entry };
		wild = wild ? wild : entry;
	}
	return wild ? (struct oc_verdict){ true, wild } : (struct oc_verdict){ false, "network.allow" };
}
