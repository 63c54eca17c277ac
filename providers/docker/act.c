/* SPDX-License-Identifier: Apache-2.0 */
#include "act.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cleanup.h"
#include "common/process.h"
#include "common/tree.h"
#include "leftover.h"
#include "mounts.h"
#include "networks.h"
#include "reach.h"
#include "spec.h"

#define RUN_MS    90000 /* the host gives the whole check two minutes */
#define TOLD_MAX  65536
#define PROXY_TRY "proxy:open-conduit.invalid:443" /* on no list, so that its answer is the gateway's own */
#define NAME_TRY  "name:example.com"
#define METADATA  "tcp:169.254.169.254,80"

struct act {
	const json_t *params;
	struct act_result *out;
	struct refusal *r;
	char run[LEFTOVER_NAME], *live, *dir; /* dir: {run} */
	struct reach reach;
	json_t *plan;
	char *spec, *digest;
	int lock;
};

void act_clear(struct act_result *a)
{
	free(a->told);
	free(a->nonce);
	free(a->tried);
	free(a->read_try);
	free(a->proxy_try);
	list_free(&a->forbidden);
	*a = (struct act_result){ 0 };
}

/* ---- its place ---- */

static int refuse_place(struct act *a, const char *path)
{
	int error = errno;
	cleanup_free char *word = quoted(path), *fix = word ? format("df -h %s; ls -ld %s", word, word) : NULL;

	return refuse(a->r, "sandbox_unavailable", path, fix, "the check's own folder can't be made: %s",
	              strerror(error));
}

static int make_file(struct act *a)
{
	cleanup_free char *path = format("%s/nonce", a->dir);
	cleanup_fd int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
	char nonce[NETWORKS_ATTEMPT];

	if (networks_attempt(nonce, a->r) < 0)
		return -1;
	a->out->nonce = strdup(nonce);
	a->out->read_try = format("read:%s", path ? path : "");
	if (!path || !a->out->nonce || !a->out->read_try)
		return no_memory(a->r);
	return fd >= 0 && write_all(fd, nonce, strlen(nonce)) == 0 ? 0 : refuse_place(a, path);
}

static int make_place(struct act *a)
{
	const char *live_dir = text_of(a->params, "live_dir");
	static const char *const names[] = { "cwd", "run", "run/tmp" };

	if (mkdir(live_dir, 0700) < 0 && errno != EEXIST)
		return refuse_place(a, live_dir);
	a->lock = leftover_begin(live_dir, a->run, &a->live, a->r);
	if (a->lock < 0)
		return -1;
	a->dir = format("%s/run", a->live);
	for (size_t i = 0; i < COUNT(names); i++) {
		cleanup_free char *path = format("%s/%s", a->live, names[i]);

		if (!path || !a->dir)
			return no_memory(a->r);
		if (mkdir(path, 0700) < 0)
			return refuse_place(a, path);
	}
	return make_file(a);
}

/* ---- its plan ---- */

/* The least that a policy can say. */
static json_t *resolved(struct act *a)
{
	struct stat st;

	if (stat(a->dir, &st) < 0)
		return NULL;
	return json_pack(
	        "{s:s, s:s, s:s, s:s, s:[{s:s, s:s, s:s, s:I, s:I, s:b}], s:[], s:[], s:[], s:n, s:[], s:s, s:s, "
	        "s:{s:i, s:i, s:i}}",
	        "home", a->dir, "workspace", a->dir, "run_dir", a->dir, "agent_home", a->dir, "write", "path", a->dir,
	        "rule", "run", "as", "{run}", "dev", (json_int_t)st.st_dev, "ino", (json_int_t)st.st_ino, "dir", 1,
	        "read", "readonly", "protected", "git", "network", "image", text_of(a->params, "image"), "context",
	        text_of(a->params, "context"), "limits", "nano_cpus", 0, "memory", 0, "pids", 64);
}

static int plan(struct act *a)
{
	cleanup_json json_t *policy = resolved(a),
	                    *params = json_pack("{s:s, s:O?, s:s, s:s}", "run", a->run, "resolved", policy, "guest",
	                                        text_of(a->params, "guest"), "live", a->live);

	if (!policy || !params)
		return no_memory(a->r);
	a->plan = spec_plan(params, a->r);
	return a->plan ? 0 : -1;
}

static bool add_try(struct list *all, struct list *forbidden, const char *text)
{
	return list_add(all, text) && (!forbidden || list_add(forbidden, text));
}

static bool list_tries(struct act *a, struct list *all)
{
	struct list *forbidden = &a->out->forbidden;
	cleanup_free char *subnet = format("subnet:%u", a->reach.port);

	a->out->proxy_try = strdup(PROXY_TRY);
	a->out->tried =
	        format("%zu addresses of this machine, %s", a->reach.addresses.n, "its metadata service, a name");
	if (!subnet || !a->out->proxy_try || !a->out->tried || !add_try(all, NULL, a->out->read_try) ||
	    !add_try(all, NULL, PROXY_TRY) || !add_try(all, forbidden, NAME_TRY) ||
	    !add_try(all, forbidden, METADATA) || !add_try(all, forbidden, subnet))
		return false;
	for (size_t i = 0; i < a->reach.addresses.n; i++) {
		cleanup_free char *text = format("tcp:%s,%u", a->reach.addresses.v[i], a->reach.port);

		if (!text || !add_try(all, forbidden, text))
			return false;
	}
	return true;
}

/* "enter SOCKET" becomes "try SOCKET FILE TRY…"; nothing else of the plan is another one. */
static json_t *program(struct act *a)
{
	json_t *argv = json_pack("[s, s, s, s+]", MOUNTS_GUEST, "try", MOUNTS_SOCK, a->dir, "/told");
	struct list all = { 0 };
	bool good = argv && list_tries(a, &all);

	for (size_t i = 0; good && i < all.n; i++)
		good = json_array_append_new(argv, json_string(all.v[i])) == 0;
	list_free(&all);
	if (good)
		return argv;
	json_decref(argv);
	return NULL;
}

static int change(struct act *a)
{
	const json_t *files = json_object_get(json_object_get(a->plan, "launch"), "files");
	const char *text = text_of(json_array_get(files, 0), "text");
	cleanup_json json_t *spec = text ? json_loads(text, 0, NULL) : NULL, *argv = program(a);
	cleanup_free char *log = format("%s/network", a->live), *sum = NULL;
	json_t *container = json_object_get(spec, "container");

	if (!container || !argv || !log || json_object_set(container, "Entrypoint", argv) < 0 ||
	    json_object_set_new(spec, "log", json_string(log)) < 0)
		return no_memory(a->r);
	a->spec = json_dumps(spec, JSON_COMPACT | JSON_SORT_KEYS);
	sum = a->spec ? digest_text(a->spec) : NULL;
	a->digest = sum ? format(DIGEST_VARIABLE "=sha256:%s", sum) : NULL;
	return a->digest ? leftover_keep(a->lock, a->spec, a->r) : no_memory(a->r);
}

/* ---- its launch ---- */

/* What the launch command says of itself, "refused {…}", else all that it printed. */
static int refuse_launch(struct act *a, const struct process *p)
{
	const char *line = strstr(p->log, "refused {");
	cleanup_free char *text = line ? strndup(line + 8, strcspn(line + 8, "\n")) : NULL;
	cleanup_json json_t *said = text ? json_loads(text, 0, NULL) : NULL;

	if (text_of(said, "message"))
		return refuse(a->r, "sandbox_unavailable", text_of(said, "subject"),
		              text_of(said, "fix") ? text_of(said, "fix") : "open-conduit doctor", "%s",
		              text_of(said, "message"));
	if (p->late)
		return refuse(a->r, "sandbox_unavailable", "run", "docker ps  # is the engine overloaded?",
		              "the run did not end within %d s: %s", RUN_MS / 1000, p->log);
	return refuse(a->r, "sandbox_unavailable", "run", "open-conduit doctor",
	              "the launch command ended with status %d: %s", p->status,
	              p->log[0] ? p->log : "it printed nothing");
}

static int launch(struct act *a)
{
	const json_t *argv = json_object_get(json_object_get(a->plan, "launch"), "argv");
	char *argv_v[] = { (char *)json_string_value(json_array_get(argv, 0)),
		           (char *)json_string_value(json_array_get(argv, 1)), (char *)"now", NULL },
	     *envp[] = { (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", a->digest, NULL };
	cleanup_free struct process *p = calloc(1, sizeof(*p));
	int pair[2], rc;

	if (!p)
		return no_memory(a->r);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return refuse(a->r, "provider_failed", "socket", NULL, "no socket: %s", strerror(errno));
	*p = (struct process){
		.argv = argv_v, .envp = envp, .cwd = a->live, .file = a->spec, .input = pair[1], .timeout_ms = RUN_MS
	};
	process_run(p);
	rc = p->status == 0 ? 0 : refuse_launch(a, p);
	close(pair[0]);
	close(pair[1]);
	return rc;
}

static int take_told(struct act *a)
{
	cleanup_free char *path = format("%s/told", a->dir);

	if (!path)
		return no_memory(a->r);
	a->out->told =
	        lstat(path, &a->out->file) == 0 && S_ISREG(a->out->file.st_mode) ? read_small(path, TOLD_MAX) : NULL;
	if (a->out->told && strstr(a->out->told, "\nend\n"))
		return 0;
	return refuse(a->r, "sandbox_unavailable", "run", "open-conduit doctor",
	              "a container started and ended, and what it had to write is not here");
}

int act_run(const json_t *params, struct act_result *out, struct refusal *r)
{
	struct act a = { .params = params, .out = out, .r = r, .lock = -1, .reach = { .listener = -1 } };
	struct refusal left = { 0 };
	int rc = leftover_sweep(text_of(params, "live_dir"), r);

	if (rc == 0 && (make_place(&a) < 0 || reach_open(&a.reach, r) < 0 || plan(&a) < 0 || change(&a) < 0 ||
	                launch(&a) < 0 || take_told(&a) < 0))
		rc = -1;
	if (a.lock >= 0 && leftover_end(a.lock, a.live, a.spec, rc == 0 ? r : &left) < 0)
		rc = -1;
	if (rc < 0)
		act_clear(out);
	reach_close(&a.reach);
	refusal_clear(&left);
	json_decref(a.plan);
	free(a.spec);
	free(a.digest);
	free(a.live);
	free(a.dir);
	return rc;
}

/* ---- what it showed ---- */

/* What came of a try, borrowed up to its line's end; NULL: it isn't there. */
static const char *result_of(const struct act_result *a, const char *tried)
{
	size_t len = strlen(tried);
	const char *at;

	for (at = a->told; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, tried, len) && at[len] == ' ')
			return at + len + 1;
	}
	return NULL;
}

static bool is(const char *result, const char *text)
{
	return result && !strncmp(result, text, strlen(text));
}

int act_judge_owner(const struct act_result *a, struct refusal *r)
{
	cleanup_free char *want = format("yes %s\n", a->nonce);

	if (!want)
		return no_memory(r);
	if (!is(result_of(a, a->read_try), want))
		return refuse(
		        r, "sandbox_unavailable", "context",
		        "docker context ls  # then name this machine's own engine in provider.context",
		        "a file of this machine reads otherwise in a container: the engine does not share its files");
	if (a->file.st_uid == geteuid() && a->file.st_gid == getegid())
		return 0;
	return refuse(r, "sandbox_unavailable", "context",
	              "docker info --format '{{.SecurityOptions}}'  # rootless or userns-remap: name another engine",
	              "a file written in a container belongs to %u:%u here, and you are %u:%u", a->file.st_uid,
	              a->file.st_gid, geteuid(), getegid());
}

int act_judge_network(const struct act_result *a, struct refusal *r)
{
	const char *answer = result_of(a, a->proxy_try);

	if (!is(answer, "yes HTTP/1.1 403 "))
		return refuse(r, "sandbox_unavailable", "gateway",
		              "meson compile -C build gateway-image  # then export OPEN_CONDUIT_GATEWAY_IMAGE=sha256:… "
		              "as it prints",
		              "a container can't reach its gateway, or gets no refusal from it: %.*s",
		              answer ? (int)strcspn(answer, "\n") : 0, answer ? answer : "");
	for (size_t i = 0; i < a->forbidden.n; i++) {
		const char *result = result_of(a, a->forbidden.v[i]);

		if (is(result, "no ") && !is(result, "no ETIMEDOUT"))
			continue;
		return refuse(r, "sandbox_unavailable", a->forbidden.v[i],
		              "grep iptables /etc/docker/daemon.json  # Docker has to make its own firewall rules; "
		              "then sudo systemctl restart docker",
		              "a container's network leads out past its gateway: %s: %.*s", a->forbidden.v[i],
		              result ? (int)strcspn(result, "\n") : 9, result ? result : "no answer");
	}
	return 0;
}
