/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec.h"

#define POLICY_MAX (1u << 20)
#define LINKS_MAX  40

char *exec_path(const char *cwd, const char *path)
{
	struct text t = { 0 };
	bool placeholder = path[0] == '/' || path[0] == '~' || path[0] == '{';

	if (!placeholder) {
		while (!strncmp(path, "./", 2))
			path += 2;
		text_puts(&t, cwd);
		if (strcmp(path, ".") != 0 && *path) {
			if (t.len > 1)
				text_puts(&t, "/");
			text_puts(&t, path);
		}
	} else {
		text_puts(&t, path);
	}
	/* Shells complete a directory's name with a slash. */
	if (!t.failed && t.len > 1 && t.data[t.len - 1] == '/' && t.data[t.len - 2] != '/')
		t.data[--t.len] = 0;
	if (t.failed) {
		text_free(&t);
		return NULL;
	}
	return t.data;
}

/* False: a name that no policy can hold; said so. */
static bool add_path(struct host *h, json_t *list, const struct exec_args *a, const char *flag, const char *path)
{
	char *absolute = exec_path(a->cwd, path);
	int rc = absolute ? json_array_append_new(list, json_string(absolute)) : -1;

	if (rc < 0) {
		struct refusal r = { "sandbox_config", flag, "the path is not UTF-8, so no policy can name it",
			             "rename it, or grant its parent directory" };

		host_refuse(h, "not run", &r);
	}
	free(absolute);
	return rc == 0;
}

static bool add_paths(struct host *h, json_t *list, const struct exec_args *a, const char *flag,
                      const struct words *paths)
{
	for (size_t i = 0; i < paths->n; i++)
		if (!add_path(h, list, a, flag, paths->v[i]))
			return false;
	return true;
}

static bool add_hosts(struct host *h, json_t *hosts, const struct exec_args *a)
{
	for (size_t i = 0; i < a->allow.n; i++)
		if (json_array_append_new(hosts, json_string(a->allow.v[i])) < 0) {
			struct refusal r = { "sandbox_config", "--allow", "the host is not UTF-8",
				             "write the host in its xn-- form" };

			host_refuse(h, "not run", &r);
			return false;
		}
	return true;
}

/* A number as JSON has it; what is none stays text, for the library to refuse by its field. */
static json_t *number(const char *text)
{
	json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

	if (json_is_number(value))
		return value;
	json_decref(value);
	return json_string(text);
}

static json_t *limits(const struct exec_args *a)
{
	json_t *out = json_object();

	if (a->cpus)
		json_object_set_new(out, "cpus", number(a->cpus));
	if (a->memory)
		json_object_set_new(out, "memory", json_string(a->memory));
	if (a->pids)
		json_object_set_new(out, "pids", number(a->pids));
	return out;
}

static int container_of_flags(struct host *h, struct exec_args *a)
{
	json_t *write = json_array(), *read = json_array(), *hosts = json_array();
	json_t *policy = json_pack("{s:s, s:o, s:o, s:{s:o}, s:o, s:{s:s}}", "image", a->container, "write", write,
	                           "read", read, "network", "allow", hosts, "limits", limits(a), "provider", "context",
	                           a->context ? a->context : "default");
	bool good = policy && !json_array_append_new(write, json_string("{workspace}")) &&
	            add_paths(h, write, a, "--write", &a->write) && add_paths(h, read, a, "--read", &a->read) &&
	            add_hosts(h, hosts, a);

	/* As it was typed: more digits would be more than a double has. */
	a->policy = good ? json_dumps(policy, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
	json_decref(policy);
	return a->policy ? 0 : OC_EREFUSED;
}

/* What a container is asked for by name has to be what its policy says. */
static int check_container(struct host *h, const struct exec_args *a)
{
	struct refusal r = { "sandbox_config", a->policy_file, "the policy's image is another than that of --container",
		             "name the image of the policy" };
	oc_policy *policy = NULL;
	oc_error *err = NULL;
	int rc = oc_policy_parse("container", a->policy, strlen(a->policy), &policy, &err);
	json_t *normal = rc < 0 ? NULL : json_loads(oc_policy_json(policy), 0, NULL);
	const char *image = host_string(normal, "image");

	if (rc < 0) {
		host_report(h, "not run", err);
	} else if (!image || strcmp(image, a->container) != 0) {
		host_refuse(h, "not run", &r);
		rc = OC_EREFUSED;
	}
	json_decref(normal);
	oc_policy_free(policy);
	oc_error_free(err);
	return rc;
}

static int policy_of_flags(struct host *h, struct exec_args *a)
{
	json_t *write = json_array(), *allow = json_array(), *deny = json_array(), *hosts = json_array();
	json_t *policy = json_pack("{s:o,s:{s:o,s:o},s:{s:o}}", "write", write, "read", "allow", allow, "deny", deny,
	                           "network", "allow", hosts);
	bool good = policy && !json_array_append_new(write, json_string("{workspace}")) &&
	            add_paths(h, write, a, "--write", &a->write) && add_paths(h, allow, a, "--read", &a->read) &&
	            add_paths(h, deny, a, "--deny", &a->deny) && add_hosts(h, hosts, a);

	a->policy = good ? json_dumps(policy, JSON_COMPACT) : NULL;
	json_decref(policy);
	return a->policy ? 0 : OC_EREFUSED;
}

int exec_policy(struct host *h, struct exec_args *a)
{
	const char *why = NULL;
	int rc;

	if (!a->policy_file && !a->container)
		return policy_of_flags(h, a);
	if (!a->policy_file) {
		rc = container_of_flags(h, a);
		return rc < 0 ? rc : check_container(h, a);
	}
	a->policy = host_read_file(a->policy_file, POLICY_MAX, &why);
	if (!a->policy) {
		struct refusal r = { "sandbox_config", a->policy_file, why,
			             "name a file that holds the policy as JSON" };

		host_refuse(h, "not run: the policy can't be read", &r);
		return OC_EREFUSED;
	}
	return a->container ? check_container(h, a) : 0;
}

/* Is this name writable for the run?  1, 0 or negative; what can't be told counts as writable. */
static int may_write(struct host *h, oc_broker *broker, const oc_request *request, const char *path)
{
	oc_error *err = NULL;
	char *text = NULL;
	json_t *answer;
	int rc = oc_broker_explain(broker, request, "write", path, &text, &err);

	if (rc < 0) {
		/* The policy itself is refused: planning would say the same. */
		host_report(h, "not run", err);
		oc_error_free(err);
		return rc;
	}
	answer = host_parse(h, "the answer about the policy file", text);
	rc = json_is_false(json_object_get(answer, "allowed")) ? 0 : 1;
	json_decref(answer);
	return rc;
}

/* Whoever may write a directory on the way to the file can put another file, or link, in its place. */
struct walk {
	struct host *h;
	oc_broker *broker;
	const oc_request *request;
	char at[PATH_MAX], rest[PATH_MAX]; /* where we are, without links; what is still to go */
	unsigned links;
};

static void step_up(struct walk *w)
{
	char *slash = strrchr(w->at, '/');

	if (slash)
		*slash = 0;
}

/* A link: what it says comes before the rest. */
static int enter_link(struct walk *w, const char *path)
{
	char target[PATH_MAX], rest[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	int len;

	if (n <= 0 || ++w->links > LINKS_MAX)
		return 1;
	target[n] = 0;
	len = snprintf(rest, sizeof(rest), "%s/%s", target, w->rest);
	if (len < 0 || (size_t)len >= sizeof(rest))
		return 1;
	if (target[0] == '/')
		w->at[0] = 0;
	memcpy(w->rest, rest, (size_t)len + 1);
	return 0;
}

/* One component on; 0, 1: the run could write there, or it can't be told; negative: said why. */
static int step(struct walk *w)
{
	size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");
	char name[NAME_MAX + 1], path[PATH_MAX];
	struct stat st;
	int rc, len;

	if (n > NAME_MAX)
		return 1;
	memcpy(name, w->rest + skip, n);
	name[n] = 0;
	memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
	if (!n || !strcmp(name, "."))
		return 0;
	if (!strcmp(name, "..")) {
		step_up(w);
		return 0;
	}
	rc = may_write(w->h, w->broker, w->request, *w->at ? w->at : "/");
	len = snprintf(path, sizeof(path), "%s/%s", w->at, name);
	if (rc || len < 0 || (size_t)len >= sizeof(path) || lstat(path, &st) < 0)
		return rc ? rc : 1;
	if (S_ISLNK(st.st_mode))
		return enter_link(w, path);
	memcpy(w->at, path, (size_t)len + 1);
	return 0;
}

int exec_policy_protected(struct host *h, oc_broker *broker, const struct exec_args *a, const oc_request *request)
{
	struct refusal r = {
		"sandbox_denied", a->policy_file,
		"the run could write the file its policy comes from, and so decide how the next run is confined",
		"keep the policy outside what it makes writable, for example in ~/.config/open-conduit/"
	};
	struct walk w = { .h = h, .broker = broker, .request = request };
	struct stat st;
	int rc = 0, len;

	/* A pipe holds what was read from it and nothing for a next run. */
	if (!a->policy_file || stat(a->policy_file, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	len = snprintf(w.rest, sizeof(w.rest), "%s%s%s", *a->policy_file == '/' ? "" : a->cwd,
	               *a->policy_file == '/' ? "" : "/", a->policy_file);
	if (len < 0 || (size_t)len >= sizeof(w.rest))
		rc = 1;
	while (!rc && *w.rest)
		rc = step(&w);
	if (!rc)
		rc = may_write(h, broker, request, w.at);
	if (rc == 1)
		host_refuse(h, "not run", &r);
	return rc ? OC_EREFUSED : 0;
}
