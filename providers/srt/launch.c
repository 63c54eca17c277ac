/* SPDX-License-Identifier: Apache-2.0 */
/* The launch: a short constant command string (srt steals options from anything else, and each
 * quote would cost 53 bytes of a bounded line), settings by descriptor (its default file is never
 * looked at), private directories for all that srt makes, and an environment of seven names. */
#include "launch.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COMMAND "exec \"$OC_GUEST\" enter"

/* srt sets these for what it runs; the agent gets them too. */
static const char *const inherited[] = { "SANDBOX_RUNTIME",
	                                 "HTTP_PROXY",
	                                 "HTTPS_PROXY",
	                                 "ALL_PROXY",
	                                 "GRPC_PROXY",
	                                 "FTP_PROXY",
	                                 "http_proxy",
	                                 "https_proxy",
	                                 "all_proxy",
	                                 "grpc_proxy",
	                                 "ftp_proxy",
	                                 "RSYNC_PROXY",
	                                 "DOCKER_HTTP_PROXY",
	                                 "DOCKER_HTTPS_PROXY",
	                                 "CLOUDSDK_PROXY_TYPE",
	                                 "CLOUDSDK_PROXY_ADDRESS",
	                                 "CLOUDSDK_PROXY_PORT",
	                                 "CLOUDSDK_PROXY_USERNAME",
	                                 "CLOUDSDK_PROXY_PASSWORD",
	                                 "GIT_SSH_COMMAND",
	                                 "GIT_CONFIG_PARAMETERS",
	                                 "JAVA_TOOL_OPTIONS" };

json_t *launch_argv(const struct srt *srt, const char *command)
{
	return json_pack("[s, s, s, s, s, s]", srt->node, srt->cli, "-s", "/dev/fd/3", "-c", command);
}

json_t *launch_env(const struct srt *srt, const char *live, const char *tmp, const char *guest)
{
	cleanup_free char *own_tmp = format("%s/t", live), *home = format("%s/home", live);

	if (!own_tmp || !home)
		return NULL;
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "PATH", srt->path, "HOME", home, "LANG", "C.UTF-8", "TMPDIR",
	                 own_tmp, "CLAUDE_CODE_TMPDIR", tmp, "OC_GUEST", guest);
}

static json_t *launch_json(const struct srt *srt, const json_t *resolved, const char *guest, const char *live,
                           const char *settings)
{
	cleanup_free char *cwd = format("%s/cwd", live), *tmp = format("%s/tmp", text_of(resolved, "run_dir"));

	if (!cwd || !tmp)
		return NULL;
	return json_pack("{s:o, s:o, s:s, s:[{s:i, s:s}], s:i}", "argv", launch_argv(srt, COMMAND), "env",
	                 launch_env(srt, live, tmp, guest), "cwd", cwd, "files", "fd", 3, "text", settings,
	                 "hello_retries", 3);
}

/* Landlock's version here: 1 has files, 6 has signals and abstract sockets too. */
static long landlock_version(void)
{
#ifdef SYS_landlock_create_ruleset
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1u);
#else
	return syscall(444, NULL, 0, 1u);
#endif
}

/* Without srt's filters ("all") the guest nests namespaces of its own, IPC among them; with them no
 * namespace can be made, so System V and POSIX IPC, shared with the host, are denied instead. */
static json_t *guest_json(const struct settings *s)
{
	long version = landlock_version();

	return json_pack("{s:b, s:b, s:b, s:b, s:b, s:i, s:O, s:O}", "landlock", version >= 1, "nest", s->all,
	                 "deny_ipc", !s->all, "deny_trace", version < 6 && !s->all, "unix", s->all, "filters",
	                 s->all ? 0 : 2, "links", s->links, "hides", s->hides);
}

/* With a private address on the list clients have to use the proxy for it, which NO_PROXY forbids them. */
static json_t *inherit_json(bool private_literal)
{
	json_t *names = json_array();
	size_t i;

	for (i = 0; names && i < COUNT(inherited); i++)
		if (json_array_append_new(names, json_string(inherited[i])) < 0)
			goto failed;
	if (names && !private_literal &&
	    (json_array_append_new(names, json_string("NO_PROXY")) < 0 ||
	     json_array_append_new(names, json_string("no_proxy")) < 0))
		goto failed;
	return names;
failed:
	json_decref(names);
	return NULL;
}

static json_t *notes_json(const struct settings *s)
{
	json_t *notes = json_array();
	size_t i;

	for (i = 0; notes && i < s->notes.n; i++)
		if (json_array_append_new(notes, json_string(s->notes.v[i])) < 0)
			goto failed;
	if (notes && s->private_literal &&
	    json_array_append_new(
	            notes,
	            json_string(
	                    "NO_PROXY is not set, so that the listed private address is reached through the proxy")) <
	            0)
		goto failed;
	if (notes &&
	    json_array_append_new(
	            notes, json_string("srt's proxy reports no hosts, and its token is in bubblewrap's arguments: "
	                               "another local user could use the run's list of hosts")) < 0)
		goto failed;
	return notes;
failed:
	json_decref(notes);
	return NULL;
}

static int check_dirs(const json_t *resolved, const char *live, struct refusal *r)
{
	const char *run = text_of(resolved, "run_dir");
	size_t len = strlen(live) + 2;
	const json_t *e;
	size_t i;

	if (!run || !path_within(live, run))
		return refuse(r, "provider_failed", "resolved.run_dir", NULL, "the run's directory is not in %s", live);
	if (len > SRT_TMPDIR_MAX)
		return refuse(r, "sandbox_unavailable", live, "export XDG_STATE_HOME=$HOME/.oc",
		              "%s/t has %zu bytes, and srt's sockets fit in %d: use a shorter state directory", live,
		              len, SRT_TMPDIR_MAX);
	/* In a directory that the run may write srt would leave its placeholders, and start in it. */
	json_array_foreach(
	        json_object_get(resolved, "write"), i,
	        e) if (text_of(e, "path") &&
	               path_within(text_of(e, "path"),
	                           live)) return refuse(r, "sandbox_denied", text_of(e, "path"), NULL,
	                                                "the write grant %s reaches the run's own directories",
	                                                text_of(e, "path"));
	return 0;
}

json_t *launch_plan(const struct srt *srt, const json_t *resolved, const char *guest, const char *live,
                    struct refusal *r)
{
	struct settings s = { 0 };
	json_t *plan = NULL;

	if (geteuid() == 0) {
		refuse(r, "sandbox_unavailable", "root", "run as an ordinary user: su - USER",
		       "srt is no sandbox for root");
		return NULL;
	}
	if (check_dirs(resolved, live, r) == 0 && settings_make(srt, resolved, guest, live, &s, r) == 0) {
		plan = json_pack("{s:o, s:o, s:o, s:o, s:{s:s}, s:o, s:o}", "identity", srt_identity(srt), "launch",
		                 launch_json(srt, resolved, guest, live, s.text), "guest", guest_json(&s), "inherit",
		                 inherit_json(s.private_literal), "proxy", "variable", "HTTP_PROXY", "tools",
		                 srt_tools(srt, guest), "notes", notes_json(&s));
		if (!plan)
			no_memory(r);
	}
	settings_clear(&s);
	return plan;
}
