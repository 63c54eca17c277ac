/* SPDX-License-Identifier: Apache-2.0 */
/* The check performs the acts: what is there is looked at, and then srt is run once, in the form
 * of a real launch, with a policy of every kind (a write grant, a denied directory, no network) and
 * a nonce that only a run can have told.  What the run did is judged from outside.  srt checks none
 * of this itself. */
#include "check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/checks.h"
#include "common/process.h"
#include "common/tree.h"
#include "kernel.h"
#include "launch.h"
#include "messages.h"

#define ACT_MS     30000
#define VERSION_MS 5000
#define AGAIN_FIX  SRT_INSTALL " && sudo apt-get install --reinstall bubblewrap socat ripgrep"

/* Builtins of bash alone: nothing else has to be there. */
#define ACT                                                                                                            \
	"echo \"nonce $OC_NONCE\"; "                                                                                   \
	"while read -r k v; do case \"$k\" in Seccomp:|NoNewPrivs:) echo \"$k$v\";; esac; done </proc/self/status; "   \
	"[ -x \"$OC_GUEST\" ] && echo guest; "                                                                         \
	"{ read -r s <\"$OC_OPEN\"; } 2>/dev/null; echo \"open $s\"; s=; "                                             \
	"{ read -r s <\"$OC_DENIED\"; } 2>/dev/null; echo \"denied $s\"; "                                             \
	"{ echo x >\"$OC_INSIDE\"; echo x >\"$OC_OUTSIDE\"; } 2>/dev/null; "                                           \
	"{ : <>/dev/tcp/127.0.0.1/$OC_PORT; } 2>/dev/null && echo route; echo end"

/* ---- what is there ---- */

/* A node whose version nothing beside it tells: run it.  Only the check does. */
static int node_by_running(const struct srt *srt, char **version, struct refusal *r)
{
	char *argv[] = { srt->node, (char *)"--version", NULL }, *envp[] = { NULL };
	struct process p = { .argv = argv, .envp = envp, .cwd = "/", .timeout_ms = VERSION_MS };
	int order;

	process_run(&p);
	p.out[strcspn(p.out, "\r\n")] = '\0';
	if (p.status != 0 || p.out[0] != 'v' || !version_compare(p.out + 1, NODE_MINIMUM, &order))
		return refuse(r, "sandbox_unavailable", srt->node, "npm install -g node@22",
		              "%s does not tell its version", srt->node);
	if (order < 0)
		return refuse(r, "sandbox_unavailable", srt->node, "npm install -g node@22",
		              "%s is %s: srt needs %s or later", srt->node, p.out + 1, NODE_MINIMUM);
	*version = strdup(p.out + 1);
	return *version ? 0 : no_memory(r);
}

static bool check_node(json_t *checks, struct srt *srt, bool *ok)
{
	int64_t begin = now_ms();
	struct refusal r = { 0 };
	cleanup_free char *version = NULL, *detail = NULL;
	int rc = locate_node(srt, &r);

	if (rc == 0 && !srt->node_version)
		rc = node_by_running(srt, &version, &r);
	*ok = *ok && rc == 0;
	if (rc == 0)
		detail = format("%s, %s", srt->node_version ? srt->node_version : version, srt->node);
	return checks_add_step(checks, "node", "Node.js is new enough", rc, &r, detail, begin);
}

static bool check_package(json_t *checks, struct srt *srt, bool *ok)
{
	int64_t begin = now_ms();
	struct refusal r = { 0 };
	cleanup_free char *detail = NULL;
	int rc = locate_package(srt, &r);

	*ok = rc == 0;
	if (rc == 0)
		detail = format("%s, %s", srt->version, srt->package);
	if (!checks_add_step(checks, "srt", "srt is installed and new enough", rc, &r, detail, begin))
		return false;
	if (rc < 0)
		return true;
	begin = now_ms();
	rc = locate_seccomp(srt, &r);
	*ok = rc == 0;
	return checks_add_step(checks, "seccomp", "srt's seccomp helper is there", rc, &r, srt->apply_seccomp, begin) &&
	       check_node(checks, srt, ok);
}

static bool check_programs(json_t *checks, struct srt *srt, bool *ok)
{
	int64_t begin = now_ms();
	struct refusal r = { 0 };
	int rc = locate_programs(srt, &r) < 0 ? -1 : locate_relay(srt, &r);
	char *argv[] = { srt->programs[BWRAP].real, (char *)"--version", NULL }, *envp[] = { NULL };
	struct process p = { .argv = argv, .envp = envp, .cwd = "/", .timeout_ms = VERSION_MS };

	*ok = *ok && rc == 0;
	if (rc == 0) {
		process_run(&p);
		p.out[strcspn(p.out, "\r\n")] = '\0';
	}
	return checks_add_step(checks, "programs", "bwrap, socat, rg, bash, which, sh and our relay are there", rc, &r,
	                       p.out, begin);
}

static bool check_user(json_t *checks, bool *ok)
{
	bool ordinary = geteuid() != 0;

	*ok = ordinary;
	return checks_add(checks, "user", "an ordinary user", ordinary,
	                  ordinary ? NULL : "srt is no sandbox for root: a run could change the machine's settings",
	                  "run as an ordinary user: su - USER", 0);
}

/* srt makes its sockets in live/<run>/t, and a socket's path is short: said here, not at each launch. */
static bool check_paths(json_t *checks, const char *live_dir)
{
	cleanup_free char *detail = NULL;
	size_t longest = live_dir ? strlen(live_dir) + strlen("/123456789012/t") : 0;

	if (longest <= SRT_TMPDIR_MAX)
		return checks_add(checks, "paths", "the state directory's path is short enough for srt's sockets", true,
		                  live_dir, NULL, 0);
	detail = format("%s/RUN/t has %zu bytes, and srt takes %d at most", live_dir, longest, SRT_TMPDIR_MAX);
	return checks_add(checks, "paths", "the state directory's path is short enough for srt's sockets", false,
	                  detail, "mkdir -m 700 /var/tmp/oc-$(id -u) && export XDG_STATE_HOME=/var/tmp/oc-$(id -u)", 0);
}

/* ---- the act ---- */

struct act {
	char dir[PATH_MAX], nonce[33], port[6];
	int listener;                                 /* on the host's loopback, which nothing inside may reach */
	char *run, *open, *denied, *inside, *outside; /* paths in it */
};

static bool make_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "wxe");
	bool written = f && fputs(text, f) >= 0;

	return f && fclose(f) == 0 && written;
}

static bool make_dirs(const char *dir)
{
	static const char *const names[] = { "t", "home", "cwd", "run", "run/tmp", "secret" };
	size_t i;

	for (i = 0; i < COUNT(names); i++) {
		cleanup_free char *path = format("%s/%s", dir, names[i]);

		if (!path || mkdir(path, 0700) < 0)
			return false;
	}
	return true;
}

static bool make_nonce(char nonce[33])
{
	unsigned char raw[16];
	size_t i;

	if (getentropy(raw, sizeof(raw)) < 0)
		return false;
	for (i = 0; i < sizeof(raw); i++)
		(void)snprintf(nonce + 2 * i, 3, "%02x", raw[i]);
	return true;
}

static bool open_listener(struct act *a)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	a->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (a->listener < 0 || bind(a->listener, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(a->listener, 1) < 0 || getsockname(a->listener, (struct sockaddr *)&at, &len) < 0)
		return false;
	(void)snprintf(a->port, sizeof(a->port), "%u", ntohs(at.sin_port));
	return true;
}

/* Where real runs are, when that is there and short enough. */
static bool act_prepare(struct act *a, const char *live_dir)
{
	bool live =
	        live_dir && is_dir(live_dir) && access(live_dir, W_OK) == 0 && strlen(live_dir) + 15 <= SRT_TMPDIR_MAX;

	if (!make_nonce(a->nonce) || !open_listener(a))
		return false;
	(void)snprintf(a->dir, sizeof(a->dir), "%s/check-XXXXXX", live ? live_dir : "/tmp");
	if (!mkdtemp(a->dir)) {
		a->dir[0] = '\0';
		return false;
	}
	a->run = format("%s/run", a->dir);
	a->open = format("%s/run/open", a->dir);
	a->denied = format("%s/secret/key", a->dir);
	a->inside = format("%s/run/inside", a->dir);
	a->outside = format("%s/outside", a->dir);
	return a->run && a->open && a->denied && a->inside && a->outside && make_dirs(a->dir) &&
	       make_file(a->open, a->nonce) && make_file(a->denied, a->nonce);
}

static void act_clear(struct act *a)
{
	if (a->listener >= 0)
		close(a->listener);
	if (a->dir[0])
		(void)tree_remove(a->dir);
	free(a->run);
	free(a->open);
	free(a->denied);
	free(a->inside);
	free(a->outside);
}

static json_t *act_policy(const struct act *a, const char *state_dir)
{
	cleanup_free char *secret = format("%s/secret", a->dir);

	return json_pack("{s:s, s:s, s:[{s:s}], s:[{s:s, s:b}], s:[{s:s}], s:[], s:[], s:s, s:[], s:[]}", "workspace",
	                 a->run, "run_dir", a->run, "write", "path", a->run, "read", "path", secret ? secret : "",
	                 "allow", 0, "protected", "path", state_dir, "readonly", "network", "unix_sockets", "none",
	                 "sockets", "hidden");
}

static char **strings(const json_t *from)
{
	char **v = calloc(json_array_size(from) + 1, sizeof(*v));
	const json_t *e;
	size_t i;

	if (v)
		json_array_foreach(from, i, e) v[i] = (char *)(uintptr_t)json_string_value(e);
	return v;
}

static json_t *act_env(const struct srt *srt, const struct act *a, const char *guest)
{
	const char *const own[][2] = { { "OC_NONCE", a->nonce },     { "OC_OPEN", a->open },
		                       { "OC_DENIED", a->denied },   { "OC_INSIDE", a->inside },
		                       { "OC_OUTSIDE", a->outside }, { "OC_PORT", a->port } };
	cleanup_free char *tmp = format("%s/tmp", a->run);
	cleanup_json json_t *env = tmp ? launch_env(srt, a->dir, tmp, guest) : NULL;
	json_t *list = json_array(), *value;
	const char *name;
	size_t i;

	for (i = 0; env && i < COUNT(own); i++)
		(void)json_object_set_new(env, own[i][0], json_string(own[i][1]));
	json_object_foreach(env, name, value)
	{
		cleanup_free char *entry = format("%s=%s", name, json_string_value(value));

		if (!entry || json_array_append_new(list, json_string(entry)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static bool has_line(const char *text, const char *prefix, const char *rest)
{
	cleanup_free char *line = format("\n%s%s\n", prefix, rest), *all = format("\n%s", text);

	return line && all && strstr(all, line);
}

/* What an act that came to its end shows.  NULL: all as it should be. */
static const char *act_verdict(const struct process *p, const struct act *a, const char **fix)
{
	*fix = SRT_INSTALL;
	if (!has_line(p->out, "Seccomp:", "2"))
		return "srt ran without its seccomp filter";
	if (!has_line(p->out, "NoNewPrivs:", "1"))
		return "a sandboxed process could gain privileges";
	if (!has_line(p->out, "guest", "")) {
		*fix = REINSTALL;
		return "the guest program can't be executed inside";
	}
	if (!has_line(p->out, "open ", a->nonce) || access(a->inside, F_OK) < 0)
		return "what the policy grants can't be used inside";
	if (!has_line(p->out, "denied ", ""))
		return "a denied file could be read";
	if (access(a->outside, F_OK) == 0)
		return "a file outside the grants could be written";
	if (has_line(p->out, "route", ""))
		return "a port of this machine could be reached";
	return NULL;
}

static char *escaped(const char *text)
{
	size_t i, n = 0, len = strlen(text);
	char *out = malloc(4 * len + 1);

	for (i = 0; out && i < len && n < 2000; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= ' ' && c < 127 && c != '\\')
			out[n++] = (char)c;
		else if (c == '\n')
			out[n++] = ' ';
		else
			n += (size_t)snprintf(out + n, 5, "\\x%02x", c);
	}
	if (out)
		out[n] = '\0';
	return out;
}

static bool report_act(json_t *checks, const struct srt *srt, const struct process *p, const struct act *a)
{
	static const char *const title = "srt runs a command, and confines it";
	const struct message *known = message_find(p->log);
	const struct obstacle *obstacle =
	        known && known->namespaces ? kernel_obstacle(srt->programs[BWRAP].real) : NULL;
	cleanup_free char *log = escaped(p->log), *detail = NULL;
	const char *fix = NULL, *why;

	if (p->status == 0 && has_line(p->out, "nonce ", a->nonce) && has_line(p->out, "end", "")) {
		why = act_verdict(p, a, &fix);
		return checks_add(checks, "act", title, !why, why ? why : "one command in the form of a real run", fix,
		                  p->ms);
	}
	if (p->error)
		detail = format("%s can't be started: %s", srt->node, strerror(p->error));
	else if (p->late)
		detail = format("srt did not end within %d s: %s", ACT_MS / 1000, log);
	else if (known)
		detail = format("%s: %s", obstacle ? obstacle->cause : known->cause, log);
	else
		detail = format("srt ended with status %d: %s", p->status, log && log[0] ? log : "it printed nothing");
	return checks_add(checks, "act", title, false, detail,
	                  obstacle              ? obstacle->fix
	                  : known && known->fix ? known->fix
	                                        : AGAIN_FIX,
	                  p->ms);
}

static bool perform(json_t *checks, const struct srt *srt, const char *state_dir, const char *guest,
                    const struct act *a)
{
	cleanup_json json_t *policy = act_policy(a, state_dir), *argv = launch_argv(srt, ACT),
	                    *env = act_env(srt, a, guest);
	cleanup_free char *cwd = format("%s/cwd", a->dir);
	cleanup_free char **argv_v = strings(argv), **env_v = strings(env);
	struct settings s = { 0 };
	struct refusal r = { 0 };
	struct process *p = calloc(1, sizeof(*p));
	bool added = false;

	if (policy && argv && env && cwd && argv_v && env_v && p) {
		if (settings_make(srt, policy, guest, a->dir, &s, &r) < 0) {
			added = checks_add(checks, "act", "srt runs a command, and confines it", false, r.message,
			                   r.fix, 0);
		} else {
			*p = (struct process){
				.argv = argv_v, .envp = env_v, .cwd = cwd, .file = s.text, .timeout_ms = ACT_MS
			};
			process_run(p);
			added = report_act(checks, srt, p, a);
		}
	}
	refusal_clear(&r);
	settings_clear(&s);
	free(p);
	return added;
}

static bool check_act(json_t *checks, const struct srt *srt, const char *state_dir, const char *guest,
                      const char *live_dir)
{
	struct act a = { .dir = "", .listener = -1 };
	bool added;

	if (act_prepare(&a, live_dir))
		added = perform(checks, srt, state_dir, guest, &a);
	else
		added = checks_add(checks, "act", "srt runs a command, and confines it", false, strerror(errno),
		                   "check the space in /tmp", 0);
	act_clear(&a);
	return added;
}

json_t *check_all(const char *state_dir, const char *guest, const char *live_dir)
{
	json_t *checks = json_array(), *identity;
	struct srt srt = { 0 };
	bool ordinary, ready = false, added;

	added = checks && check_user(checks, &ordinary) && check_paths(checks, live_dir) &&
	        check_package(checks, &srt, &ready) && check_programs(checks, &srt, &ready);
	if (added && ready && ordinary)
		added = check_act(checks, &srt, state_dir, guest, live_dir);
	identity = srt_identity(&srt);
	srt_clear(&srt);
	if (added && identity)
		return json_pack("{s:o, s:o}", "identity", identity, "checks", checks);
	json_decref(checks);
	json_decref(identity);
	return NULL;
}
