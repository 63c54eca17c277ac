/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint.h"

#include "common/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define FILE_MAX       (64 * 1024)
#define CONTEXT_MAX    255
#define DEFAULT_SOCKET "/var/run/docker.sock"
#define LIST_FIX       "docker context ls"

#define CONFIG_GRANT                                                                                                   \
	"grant the provider DOCKER_CONFIG: \"settings\": {\"extensions\": {\"docker\": {\"pass_env\": "                \
	"[\"DOCKER_CONFIG\"]}}}"

void endpoint_clear(struct endpoint *e)
{
	free(e->context);
	free(e->host);
	free(e->ca);
	free(e->cert);
	free(e->key);
	*e = (struct endpoint){ 0 };
}

const char *endpoint_socket(const struct endpoint *e)
{
	return strncmp(e->host, "unix://", 7) == 0 ? e->host + 7 : NULL;
}

/* The grammar of the CLI. */
static bool context_valid(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";
	size_t len = strlen(name);

	return len >= 2 && len <= CONTEXT_MAX && strspn(name, letters) == len && !strchr("_.+-", name[0]);
}

/* ---- what may be spoken to ---- */

static bool is_port(const char *text)
{
	size_t len = strlen(text);

	return len >= 1 && len <= 5 && strspn(text, "0123456789") == len && atoi(text) > 0 && atoi(text) <= 65535;
}

/* By literal only: what a name leads to may change. */
static bool tcp_is_here(const char *authority)
{
	const char *port = strrchr(authority, ':');
	size_t len = port ? (size_t)(port - authority) : 0;

	if (!port || !is_port(port + 1))
		return false;
	if (len == 5 && !strncmp(authority, "[::1]", len))
		return true;
	return len >= 7 && len <= 15 && !strncmp(authority, "127.", 4) && strspn(authority, "0123456789.") == len;
}

static bool socket_fits(const char *path)
{
	return path[0] == '/' && strlen(path) < sizeof(((struct sockaddr_un *)NULL)->sun_path);
}

static int check_host(const struct endpoint *e, struct refusal *r)
{
	const char *path = endpoint_socket(e);

	if (path && socket_fits(path))
		return 0;
	if (path)
		return refuse(r, "sandbox_unavailable", e->host, LIST_FIX,
		              "context \"%s\" has no usable path of a unix socket", e->context);
	if (!strncmp(e->host, "tcp://", 6) && tcp_is_here(e->host + 6))
		return 0;
	return refuse(r, "sandbox_unavailable", e->host,
	              LIST_FIX "  # then name one of this machine in provider.context",
	              "context \"%s\" leads off this machine: the engine has to run here, since a run's workspace is "
	              "mounted from here",
	              e->context);
}

/* ---- the CLI's files ---- */

static char *config_dir(void)
{
	const char *dir = getenv("DOCKER_CONFIG"), *home = getenv("HOME");

	if (dir && dir[0] == '/')
		return strdup(dir);
	return home && home[0] == '/' ? format("%s/.docker", home) : NULL;
}

/* Who can write it chooses the engine that an operator's paths are mounted into: itself or root, nobody else. */
static int open_own(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0) &&
	    !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

static json_t *read_own_json(const char *path)
{
	cleanup_fd int fd = open_own(path);
	char text[FILE_MAX];
	size_t len = 0;
	ssize_t n = 0;
	json_t *json;

	if (fd < 0)
		return NULL;
	while (len < sizeof(text) && (n = read(fd, text + len, sizeof(text) - len)) > 0)
		len += (size_t)n;
	json = n == 0 && len < sizeof(text) ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (!json)
		errno = EINVAL;
	return json;
}

/* errno of open_own. */
static int refuse_file(struct refusal *r, const char *path, int error)
{
	cleanup_free char *word = quoted(path), *fix = word ? format("chmod go-w %s; ls -l %s", word, word) : NULL;

	return refuse(r, "sandbox_unavailable", path, fix, "%s can't be used: %s%s", path, strerror(error),
	              error == EPERM ? " (it has to be a file that only you, or root, can write)" : "");
}

/* Of the TLS files a context may lack any; one that is there has to be the operator's own. */
static int take_tls(const char *dir, const char *digest, struct endpoint *e, struct refusal *r)
{
	static const char *const names[] = { "ca.pem", "cert.pem", "key.pem" };
	char **const places[] = { &e->ca, &e->cert, &e->key };

	for (size_t i = 0; i < COUNT(names); i++) {
		cleanup_free char *path = format("%s/contexts/tls/%s/docker/%s", dir, digest, names[i]);
		cleanup_fd int fd = path ? open_own(path) : -1;

		if (!path)
			return no_memory(r);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0)
			return refuse_file(r, path, errno);
		*places[i] = path;
		path = NULL;
	}
	return 0;
}

static int take_meta(const json_t *meta, const char *path, struct endpoint *e, struct refusal *r)
{
	const json_t *docker = json_object_get(json_object_get(meta, "Endpoints"), "docker");
	const char *name = text_of(meta, "Name"), *host = text_of(docker, "Host");
	const json_t *skip = json_object_get(docker, "SkipTLSVerify");

	if (!name || strcmp(name, e->context) != 0 || !host || (skip && !json_is_boolean(skip)))
		return refuse(r, "sandbox_unavailable", path, LIST_FIX, "%s describes no endpoint of context \"%s\"",
		              path, e->context);
	e->skip_verify = json_is_true(skip);
	e->host = strdup(host);
	return e->host ? 0 : no_memory(r);
}

static int no_meta(const struct endpoint *e, const char *path, int error, struct refusal *r)
{
	if (error != ENOENT && error != ENOTDIR)
		return refuse_file(r, path, error);
	return refuse(r, "sandbox_unavailable", e->context,
	              getenv("DOCKER_CONFIG") ? LIST_FIX
	                                      : LIST_FIX "  # where your CLI needs DOCKER_CONFIG, " CONFIG_GRANT,
	              "there is no Docker context \"%s\": %s is not there", e->context, path);
}

static int find_named(struct endpoint *e, struct refusal *r)
{
	cleanup_free char *dir = config_dir(), *digest = digest_text(e->context), *path = NULL;
	cleanup_json json_t *meta = NULL;

	if (!dir)
		return refuse(r, "sandbox_unavailable", e->context, "export HOME, or DOCKER_CONFIG",
		              "without HOME or DOCKER_CONFIG there is no place to find context \"%s\" in", e->context);
	path = digest ? format("%s/contexts/meta/%s/meta.json", dir, digest) : NULL;
	if (!path)
		return no_memory(r);
	meta = read_own_json(path);
	if (!meta)
		return no_meta(e, path, errno, r);
	if (take_meta(meta, path, e, r) < 0)
		return -1;
	return take_tls(dir, digest, e, r);
}

/* ---- the default context ---- */

static int take_cert_path(struct endpoint *e, struct refusal *r)
{
	const char *dir = getenv("DOCKER_CERT_PATH"), *verify = getenv("DOCKER_TLS_VERIFY");

	if (!verify || !verify[0])
		return 0;
	if (!dir || dir[0] != '/')
		return refuse(r, "sandbox_unavailable", "DOCKER_CERT_PATH", "export DOCKER_CERT_PATH=…",
		              "DOCKER_TLS_VERIFY is set without DOCKER_CERT_PATH");
	e->ca = format("%s/ca.pem", dir);
	e->cert = format("%s/cert.pem", dir);
	e->key = format("%s/key.pem", dir);
	return e->ca && e->cert && e->key ? 0 : no_memory(r);
}

static int find_default(struct endpoint *e, struct refusal *r)
{
	const char *host = getenv("DOCKER_HOST"), *runtime = getenv("XDG_RUNTIME_DIR");

	if (host && host[0])
		e->host = strdup(host);
	else if (runtime && runtime[0] == '/' && access(DEFAULT_SOCKET, F_OK) < 0 && errno == ENOENT)
		e->host = format("unix://%s/docker.sock", runtime);
	else
		e->host = strdup("unix://" DEFAULT_SOCKET);
	if (!e->host)
		return no_memory(r);
	return host && !strncmp(host, "tcp://", 6) ? take_cert_path(e, r) : 0;
}

int endpoint_find(const char *context, struct endpoint *out, struct refusal *r)
{
	*out = (struct endpoint){ .context = strdup(context) };
	if (!out->context)
		return no_memory(r);
	if (!context_valid(context))
		refuse(r, "sandbox_unavailable", context, LIST_FIX, "\"%s\" is no name of a Docker context", context);
	else if ((strcmp(context, "default") == 0 ? find_default(out, r) : find_named(out, r)) == 0 &&
	         check_host(out, r) == 0)
		return 0;
	endpoint_clear(out);
	return -1;
}

/* ---- pinned ---- */

json_t *endpoint_json(const struct endpoint *e)
{
	return json_pack("{s:s, s:s, s:s?, s:s?, s:s?, s:b}", "context", e->context, "host", e->host, "ca", e->ca,
	                 "cert", e->cert, "key", e->key, "skip_verify", e->skip_verify);
}

static int take_pinned(const json_t *json, struct endpoint *out)
{
	const struct {
		const char *name;
		char **place;
		bool needed;
	} texts[] = {
		{ "context", &out->context, true }, { "host", &out->host, true }, { "ca", &out->ca, false },
		{ "cert", &out->cert, false },      { "key", &out->key, false },
	};
	const json_t *skip = json_object_get(json, "skip_verify");

	for (size_t i = 0; i < COUNT(texts); i++) {
		const json_t *value = json_object_get(json, texts[i].name);

		if (json_is_null(value) && !texts[i].needed)
			continue;
		if (!json_is_string(value) || !(*texts[i].place = strdup(json_string_value(value))))
			return -1;
	}
	out->skip_verify = json_is_true(skip);
	return json_is_boolean(skip) && json_object_size(json) == COUNT(texts) + 1 ? 0 : -1;
}

int endpoint_from_json(const json_t *json, struct endpoint *out, struct refusal *r)
{
	*out = (struct endpoint){ 0 };
	if (take_pinned(json, out) < 0)
		refuse(r, "provider_failed", "endpoint", NULL, "the plan's endpoint is not as it was made");
	else if (check_host(out, r) == 0)
		return 0;
	endpoint_clear(out);
	return -1;
}
