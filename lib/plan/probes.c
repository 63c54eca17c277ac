/* SPDX-License-Identifier: Apache-2.0 */
/* Which probes prove a resolved policy.  Order matters in one place: an "unreadable" directory may list what later
 * probes name beneath it, so all denials come before all grants. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "base/path.h"
#include "base/sha256.h"
#include "plan/check.h"
#include "policy/policy.h"

#define SOCKETS_MAX 512

struct probes {
	const struct oc_plan_input *in;
	const json_t *resolved, *command;
	json_t *list, *seen;
	oc_error **err;
	int rc; /* the first failure; everything after it does nothing */
};

static void nomem(struct probes *p)
{
	if (p->rc == 0)
		p->rc = oc_nomem(p->err);
}

static json_t *add(struct probes *p, const char *id, enum oc_plan_probe kind)
{
	json_t *probe, *args;

	if (p->rc < 0)
		return NULL;
	probe = json_object();
	args = json_array();
	if (!oc_json_set(probe, "args", args) || !oc_json_set_string(probe, "id", id) ||
	    !oc_json_set(probe, "kind", json_integer(kind))) {
		json_decref(probe);
		nomem(p);
		return NULL;
	}
	if (!oc_json_append(p->list, probe)) {
		nomem(p);
		return NULL;
	}
	return args;
}

static void arg(struct probes *p, json_t *args, const char *text)
{
	if (args && !oc_json_append(args, json_string(text)))
		nomem(p);
}

static void arg_number(struct probes *p, json_t *args, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)number);
	arg(p, args, text);
}

/* One probe of a path, once for each kind, whatever number of rules led to it. */
static void path_probe(struct probes *p, const char *id, enum oc_plan_probe kind, const char *path)
{
	oc_cleanup(oc_buf_free) struct oc_buf key = { 0 };

	oc_buf_init(&key, 65536);
	if (p->rc < 0)
		return;
	if (oc_buf_printf(&key, "%d %s", (int)kind, path) < 0) {
		nomem(p);
		return;
	}
	if (json_object_get(p->seen, key.data))
		return;
	if (!oc_json_set(p->seen, key.data, json_true()))
		nomem(p);
	arg(p, add(p, id, kind), path);
}

/* P1, P2: outside, documentation, metadata, bridge and private addresses.  A UDP connect sends no packet. */
static void no_route(struct probes *p)
{
	static const char *const addresses[] = {
		"192.0.2.1",       "198.51.100.1",         "203.0.113.1",     "8.8.8.8",       "1.1.1.1",
		"169.254.169.254", "169.254.170.2",        "100.100.100.200", "168.63.129.16", "10.0.0.1",
		"172.16.0.1",      "172.17.0.1",           "192.168.0.1",     "192.168.1.1",   "192.168.65.254",
		"2001:db8::1",     "2001:4860:4860::8888", "fd00:ec2::254",   "fe80::1",       "fd00::1",
	};
	size_t i;

	for (i = 0; i < OC_COUNT(addresses); i++) {
		json_t *args = add(p, i < 5 || i == 15 || i == 16 ? "P1" : "P2", OC_PLAN_NO_ROUTE);

		arg(p, args, addresses[i]);
		arg(p, args, "53");
	}
}

/* P4: a name that no resolver may know, and a label that none has seen. */
static void no_name(struct probes *p)
{
	char digest[OC_DIGEST_SIZE], name[64];

	snprintf(name, sizeof(name), "%s.invalid", p->in->run);
	arg(p, add(p, "P4", OC_PLAN_NO_NAME), name);
	if (p->rc == 0 && oc_digest(p->in->run, strlen(p->in->run), digest) < 0) {
		p->rc = oc_fail(p->err, OC_EFAILED, 0, "no digest of the run's id");
		return;
	}
	if (p->rc == 0) {
		snprintf(name, sizeof(name), "oc%.12s", digest + 7);
		arg(p, add(p, "P4", OC_PLAN_NO_NAME), name);
	}
}

/* P5: a host that the policy can't allow, because nothing else has this run's name. */
static void proxy(struct probes *p)
{
	const char *variable = oc_json_text(json_object_get(p->in->reply, "proxy"), "variable");
	json_t *args;
	char host[64];

	if (!variable || p->rc < 0)
		return;
	snprintf(host, sizeof(host), "%s.invalid", p->in->run);
	if (oc_resolved_host(p->resolved, host, 443).allowed) {
		p->rc = oc_refuse(p->err, "sandbox_config", host, "take *.invalid out of network.allow",
		                  "network.allow covers every name, so a refusal can't be proved");
		return;
	}
	args = add(p, "P5", OC_PLAN_PROXY);
	arg(p, args, variable);
	arg(p, args, host);
	arg(p, args, "443");
}

static void state_file(struct probes *p, const char *format_run, enum oc_plan_probe kind, const char *id)
{
	oc_cleanup(oc_buf_free) struct oc_buf path = { 0 };

	oc_buf_init(&path, 65536);
	if (oc_buf_puts(&path, p->in->state_dir) < 0 || oc_buf_puts(&path, "/") < 0 ||
	    (strcmp(format_run, "state.db") != 0 && oc_buf_printf(&path, "runs/%s/", p->in->run) < 0) ||
	    oc_buf_puts(&path, format_run) < 0)
		nomem(p);
	else
		path_probe(p, id, kind, path.data);
}

/* P6: state and config by file, not only by directory: mount points of this run show in the state directory. */
static void protected_paths(struct probes *p)
{
	const json_t *entry;
	size_t i;

	state_file(p, "state.db", OC_PLAN_UNREADABLE, "P6");
	state_file(p, "plan.json", OC_PLAN_UNREADABLE, "P6");
	json_array_foreach(json_object_get(p->resolved, "protected"), i, entry)
	{
		if (!oc_resolved_read(p->resolved, oc_json_text(entry, "path")).allowed)
			path_probe(p, "P6", OC_PLAN_UNREADABLE, oc_json_text(entry, "path"));
	}
}

static void denied_paths(struct probes *p)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(p->resolved, "read"), i, entry)
	{
		const char *path = oc_json_text(entry, "path");

		if (strcmp(path, "/") != 0 && !oc_resolved_read(p->resolved, path).allowed)
			path_probe(p, "P7", OC_PLAN_UNREADABLE, path);
	}
	json_array_foreach(json_object_get(p->resolved, "hidden"), i, entry)
	{
		path_probe(p, "P10", OC_PLAN_UNREADABLE, oc_json_text(entry, "path"));
	}
}

/* Directories that the provider says it replaced by empty ones: each is a mount of the sandbox's own. */
static void replaced_directories(struct probes *p)
{
	const json_t *hides = json_object_get(json_object_get(p->in->reply, "guest"), "hides"), *path;
	size_t i;

	json_array_foreach(hides, i, path)
	{
		path_probe(p, "P7", OC_PLAN_MOUNT_ROOT, json_string_value(path));
	}
}

/* What the operator can't do the run can't either, and that is no fault of the sandbox. */
static bool operator_may(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
}

static void readable_paths(struct probes *p)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(p->resolved, "read"), i, entry)
	{
		const char *path = oc_json_text(entry, "path");

		if (json_is_true(json_object_get(entry, "allow")) && json_is_true(json_object_get(entry, "exists")) &&
		    oc_resolved_read(p->resolved, path).allowed && operator_may(path, R_OK))
			path_probe(p, "P7", OC_PLAN_READABLE, path);
	}
	path_probe(p, "P7", OC_PLAN_READABLE, oc_kind_container(p->in->kind) ? OC_CONTAINER_GUEST : p->in->guest);
}

/* A socket that is lifted shows in the directory that is hidden around it, whether or not anything listens. */
static void visible_sockets(struct probes *p)
{
	const char *mode = oc_json_text(p->resolved, "unix_sockets");
	const json_t *entry;
	struct stat st;
	size_t i;

	if (!mode || strcmp(mode, "all") != 0)
		return;
	json_array_foreach(json_object_get(p->resolved, "sockets"), i, entry)
	{
		const char *path = oc_json_text(entry, "path");

		if (path && lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && operator_may(path, R_OK))
			path_probe(p, "P10", OC_PLAN_READABLE, path);
	}
}

static void unwritable(struct probes *p, const char *path)
{
	if (!oc_resolved_write(p->resolved, path).allowed)
		path_probe(p, "P8", OC_PLAN_UNWRITABLE, path);
}

static void beside(struct probes *p, const char *path)
{
	oc_cleanup(oc_freep) char *parent = path ? oc_path_parent(path) : NULL;

	if (!parent)
		nomem(p);
	else
		unwritable(p, parent);
}

static void unwritable_paths(struct probes *p)
{
	static const char *const always[] = { "/", "/etc", "/usr", "/var", "/tmp" };
	const json_t *entry;
	size_t i;

	for (i = 0; i < OC_COUNT(always); i++)
		unwritable(p, always[i]);
	unwritable(p, oc_json_text(p->resolved, "home"));
	unwritable(p, oc_json_text(p->resolved, "workspace"));
	beside(p, oc_json_text(p->resolved, "workspace"));
	json_array_foreach(json_object_get(p->resolved, "write"), i, entry)
	{
		beside(p, oc_json_text(entry, "path"));
	}
}

static void writable_paths(struct probes *p)
{
	const char *run_dir = oc_json_text(p->resolved, "run_dir");
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(p->resolved, "write"), i, entry)
	{
		const char *path = oc_json_text(entry, "path");

		/* {run} is made by the guard, so it may not be there yet. */
		if (strcmp(path, run_dir) == 0 || operator_may(path, W_OK))
			path_probe(p, "P8", OC_PLAN_WRITABLE, path);
	}
}

static void git(struct probes *p)
{
	const json_t *entry, *repository = json_object_get(p->resolved, "git");
	const char *mode = oc_json_text(repository, "mode"), *path = oc_json_text(repository, "path");
	size_t i;

	json_array_foreach(json_object_get(p->resolved, "readonly"), i, entry)
	{
		path_probe(p, "P9", OC_PLAN_UNWRITABLE, oc_json_text(entry, "path"));
	}
	if (mode && path && strcmp(mode, "clone") == 0) {
		oc_cleanup(oc_freep) char *parent = oc_path_parent(path);

		if (!parent)
			nomem(p);
		else if (oc_resolved_write(p->resolved, parent)
		                 .allowed) /* else nothing of it is writable, mount or not */
			path_probe(p, "P9", OC_PLAN_MOUNT_ROOT, path);
	}
}

static bool lifted(struct probes *p, const char *path)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(p->resolved, "sockets"), i, entry)
	{
		const char *at = oc_json_text(entry, "path"); /* none: {toolbelt} */

		if (at && strcmp(at, path) == 0)
			return true;
	}
	return false;
}

/* Without "all" no socket can be made inside at all, so a lifted one proves nothing either way. */
static void socket_probe(struct probes *p, const char *path, bool listening)
{
	const char *mode = oc_json_text(p->resolved, "unix_sockets");

	if (!oc_path_clean(path))
		return;
	if (!oc_resolved_socket(p->resolved, path).allowed)
		path_probe(p, "P10", OC_PLAN_NO_SOCKET, path);
	else if (listening && mode && strcmp(mode, "all") == 0 && lifted(p, path))
		path_probe(p, "P10", OC_PLAN_SOCKET, path);
}

static const char *agent_socket(const struct oc_plan_input *in)
{
	char *const *e;

	for (e = in->environ; e && *e; e++)
		if (strncmp(*e, "SSH_AUTH_SOCK=", 14) == 0)
			return *e + 14;
	return NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool same_directory(const char *a, const char *b)
{
	size_t n = (size_t)(oc_path_base(a) - a);

	return n == (size_t)(oc_path_base(b) - b) && strncmp(a, b, n) == 0;
}

/* Sorted.  More than can be tried one by one: of each directory the first, because directories are what is hidden; those
 * that a grant lifts always.  Where even that is too much the run is refused, except where no socket can be made at all:
 * there any of them proves it. */
static void listening_sockets(struct probes *p, const struct oc_strv *list)
{
	bool all = strcmp(oc_json_text(p->resolved, "unix_sockets"), "all") == 0;
	const char *last = "";
	size_t i, n = 0;

	for (i = 0; i < list->n; i++) {
		const char *path = list->v[i];
		bool one = list->n <= SOCKETS_MAX || !same_directory(path, last);

		if (!one && !lifted(p, path))
			continue;
		if (n++ < SOCKETS_MAX)
			socket_probe(p, path, true);
		if (one)
			last = path;
	}
	if (n > SOCKETS_MAX && all && p->rc == 0)
		p->rc = oc_refuse(
		        p->err, "sandbox_unavailable", "unix_sockets", "leave out \"unix_sockets\": \"all\"",
		        "sockets listen in more than %u directories, so that none can be reached can't be proved",
		        SOCKETS_MAX);
}

/* P10: the sockets that lead out, there or not, and everything that listens now. */
static void sockets(struct probes *p)
{
	static const char *const known[] = {
		"/run/docker.sock",
		"/var/run/docker.sock",
		"/run/containerd/containerd.sock",
		"/run/podman/podman.sock",
		"/run/crio/crio.sock",
		"/run/dbus/system_bus_socket",
		"/run/systemd/private",
		"/run/systemd/journal/stdout",
		"/run/systemd/journal/dev-log",
		"/dev/log",
		"/run/nscd/socket",
		"/run/systemd/resolve/io.systemd.Resolve",
		"/run/snapd.socket",
	};
	struct oc_strv listening;
	const char *agent = agent_socket(p->in);
	size_t i;
	int rc;

	for (i = 0; i < OC_COUNT(known); i++)
		socket_probe(p, known[i], false);
	if (agent)
		socket_probe(p, agent, false);
	state_file(p, "guard.sock", OC_PLAN_NO_SOCKET, "P10");
	oc_strv_init(&listening, 65536);
	rc = oc_os_listening_sockets(&listening);
	if (rc < 0 && p->rc == 0)
		p->rc = oc_fail(p->err, OC_EIO, 0, "the list of listening sockets can't be read");
	if (listening.n > 1)
		qsort(listening.v, listening.n, sizeof(*listening.v), by_name);
	listening_sockets(p, &listening);
	oc_strv_free(&listening);
}

static void environment(struct probes *p)
{
	json_t *args = add(p, "P11", OC_PLAN_ENVIRONMENT);
	const json_t *entry, *names = json_object();
	static const char *const lists[] = { "secrets", "inherit" };
	size_t i, k;

	json_array_foreach(json_object_get(p->command, "env"), i, entry)
	{
		arg(p, args, oc_json_text(entry, "name"));
		if (!oc_json_set((json_t *)names, oc_json_text(entry, "name"), json_true()))
			nomem(p);
	}
	for (k = 0; k < OC_COUNT(lists); k++)
		json_array_foreach(json_object_get(p->command, lists[k]), i, entry)
		{
			if (!json_object_get(names, json_string_value(entry)))
				arg(p, args, json_string_value(entry));
		}
	json_decref((json_t *)names);
}

static void same(struct probes *p, const char *path, const json_t *entry)
{
	int64_t ino = oc_json_integer(entry, "ino", 0);
	json_t *args;

	if (!path || ino == 0) /* made at launch: the guard adds it */
		return;
	args = add(p, "P14", OC_PLAN_SAME);
	arg(p, args, path);
	arg_number(p, args, oc_json_integer(entry, "dev", 0));
	arg_number(p, args, ino);
}

static bool granted_to_write(struct probes *p, const char *path)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(p->resolved, "write"), i, entry)
	{
		if (strcmp(oc_json_text(entry, "path"), path) == 0)
			return true;
	}
	return false;
}

static void same_paths(struct probes *p)
{
	const json_t *entry, *repository = json_object_get(p->resolved, "git");
	size_t i;

	json_array_foreach(json_object_get(p->resolved, "write"), i, entry)
	{
		same(p, oc_json_text(entry, "path"), entry);
	}
	json_array_foreach(json_object_get(p->resolved, "read"), i, entry)
	{
		if (oc_json_integer(entry, "ino", 0) && !granted_to_write(p, oc_json_text(entry, "path")))
			same(p, oc_json_text(entry, "path"), entry);
	}
	same(p, oc_json_text(repository, "path"), repository);
}

/* P15, P16: the engine's own filter where it promises one, then ours on top of it. */
static void privileges(struct probes *p)
{
	int64_t filters = oc_json_integer(json_object_get(p->in->reply, "guest"), "filters", 0);
	json_t *args;

	if (filters > 0) {
		args = add(p, "P15", OC_PLAN_PRIVILEGES);
		arg(p, args, "before");
		arg_number(p, args, filters);
	}
	args = add(p, "P15", OC_PLAN_PRIVILEGES);
	arg(p, args, "after");
	arg_number(p, args, filters + 1);
	add(p, "P16", OC_PLAN_TRACE);
}

/* P12: who the command is, what it may, and the limits that the engine was asked for; 0: none. */
static void container(struct probes *p)
{
	const json_t *limits = json_object_get(p->resolved, "limits");
	json_t *args = add(p, "P12", OC_PLAN_CONTAINER);

	arg_number(p, args, (int64_t)geteuid());
	arg_number(p, args, (int64_t)getegid());
	arg_number(p, args, oc_json_integer(limits, "memory", 0));
	arg_number(p, args, oc_json_integer(limits, "pids", 0));
	arg_number(p, args, oc_json_integer(limits, "nano_cpus", 0));
}

int oc_plan_probes(const struct oc_plan_input *in, const json_t *command, json_t **out, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *list = json_array(), *seen = json_object();
	struct probes p = {
		.in = in, .resolved = in->resolved, .command = command, .list = list, .seen = seen, .err = err
	};

	if (!list || !seen)
		return oc_nomem(err);
	no_route(&p);
	no_name(&p);
	proxy(&p);
	protected_paths(&p);
	denied_paths(&p);
	replaced_directories(&p);
	unwritable_paths(&p);
	readable_paths(&p);
	visible_sockets(&p);
	writable_paths(&p);
	git(&p);
	sockets(&p);
	add(&p, "P11", OC_PLAN_STDIO);
	environment(&p);
	if (oc_kind_container(in->kind))
		container(&p);
	same_paths(&p);
	privileges(&p);
	if (p.rc < 0)
		return p.rc;
	*out = oc_steal(list);
	return 0;
}
