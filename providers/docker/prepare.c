/* SPDX-License-Identifier: Apache-2.0 */
/* Before anything is made: the plan, the engine, what the container and the gateway are given of this machine. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel.h"
#include "create.h"
#include "mounts.h"
#include "networks.h"
#include "session.h"

static int take_signals(struct session *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	s->signals = sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -1 : signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? refuse(s->r, "provider_failed", "signals", NULL, "no descriptor for signals: %s",
	                               strerror(errno))
	                      : 0;
}

static int take_plan(struct session *s)
{
	s->digest = getenv(DIGEST_VARIABLE);
	if (!s->digest || strncmp(s->digest, "sha256:", 7) != 0 || strlen(s->digest) != 71)
		return refuse(s->r, "provider_failed", DIGEST_VARIABLE, NULL,
		              "the launch command of a container is started by open-conduit's guard, with the digest "
		              "of its plan");
	if (spec_read(3, &s->spec, s->r) < 0)
		return -1;
	(void)close(3);
	return 0;
}

static int open_engine(struct session *s)
{
	struct endpoint endpoint = { 0 };
	const json_t *info;
	int rc = endpoint_from_json(s->spec.endpoint, &endpoint, s->r);

	if (rc == 0)
		rc = engine_open(&endpoint, &s->engine, s->r);
	info = rc == 0 ? engine_info(s->engine, s->r) : NULL;
	endpoint_clear(&endpoint);
	if (!info)
		return -1;
	if (text_of(info, "ID") && !strcmp(text_of(info, "ID"), s->spec.engine))
		return 0;
	return refuse(s->r, "sandbox_unavailable", "engine", "run it again, so that it is planned for this engine",
	              "another engine answers than when the run was planned");
}

static int open_objects(struct session *s)
{
	if (objects_open(s->spec.live, true, &s->objects, s->r) < 0)
		return -1;
	if (objects_empty(&s->objects))
		return 0;
	/* What they name is for cleanup, which knows that nobody else is at it. */
	objects_close(&s->objects);
	return refuse(s->r, "container_running", s->spec.run, "open-conduit doctor",
	              "an earlier attempt of this run left a container or a network in the engine");
}

static int write_file(struct session *s, const char *name, const char *text)
{
	cleanup_free char *path = format("%s/%s", s->spec.live, name);
	int fd = -1, rc = -1;

	if (path && unlink(path) < 0 && errno != ENOENT)
		return refuse(s->r, "sandbox_unavailable", path, NULL, "%s can't be replaced: %s", path,
		              strerror(errno));
	if (path)
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd >= 0) {
		rc = write_all(fd, text, strlen(text));
		if (fchmod(fd, 0444) < 0)
			rc = -1;
		close(fd);
	}
	return rc == 0 ? 0
	               : refuse(s->r, "sandbox_unavailable", name, NULL, "%s/%s can't be written: %s", s->spec.live,
	                        name, strerror(errno));
}

static int write_files(struct session *s)
{
	cleanup_free char *etc = format("%s/etc", s->spec.live);
	const json_t *file;
	size_t i;

	if (!etc)
		return no_memory(s->r);
	if (mkdir(etc, 0700) < 0 && errno != EEXIST)
		return refuse(s->r, "sandbox_unavailable", etc, NULL, "%s can't be made: %s", etc, strerror(errno));
	json_array_foreach(s->spec.files, i, file)
	{
		const char *name = text_of(file, "name"), *text = text_of(file, "text");

		if (!name || !text || strncmp(name, "etc/", 4) != 0 || strchr(name + 4, '/') || name[4] == '.' ||
		    !name[4])
			return refuse(s->r, "provider_failed", "files", NULL, "the plan's files are not valid");
		if (write_file(s, name, text) < 0)
			return -1;
	}
	return 0;
}

static int set_values(struct session *s)
{
	char attempt[NETWORKS_ATTEMPT];

	if (networks_attempt(attempt, s->r) < 0)
		return -1;
	s->values = json_pack("{s:s, s:s}", CREATE_ATTEMPT, attempt, CREATE_PLAN, s->digest);
	s->container.name = create_name(attempt, "-run");
	s->gateway.name = create_name(attempt, "-gateway");
	return s->values && s->container.name && s->gateway.name ? 0 : no_memory(s->r);
}

static void set_parts(struct session *s)
{
	s->container =
	        (struct part){ .kind = KIND_CONTAINER, .what = "container", .pidfd = -1, .listener = -1, .socket = -1 };
	s->gateway =
	        (struct part){ .kind = KIND_GATEWAY, .what = "gateway", .pidfd = -1, .listener = -1, .socket = -1 };
}

int session_prepare(struct session *s)
{
	set_parts(s);
	if (take_signals(s) < 0 || take_plan(s) < 0 || mounts_verify(s->spec.sources, s->r) < 0 || open_engine(s) < 0 ||
	    open_objects(s) < 0)
		return -1;
	s->container.template = s->spec.container;
	s->container.facts = json_object_get(s->spec.facts, "container");
	s->gateway.template = s->spec.gateway;
	s->gateway.facts = json_object_get(s->spec.facts, "gateway");
	if (set_values(s) < 0 || write_files(s) < 0 || events_open(s->spec.log, &s->events, s->r) < 0)
		return -1;
	s->container.listener = channel_listen(s->spec.live, "channel", s->r);
	s->gateway.listener = s->container.listener < 0 ? -1 : channel_listen(s->spec.live, "gate", s->r);
	if (s->gateway.listener < 0)
		return -1;
	s->lock = networks_lock(s->spec.lock, s->r);
	if (s->lock < 0)
		return -1;
	turn_init(&s->turn, s->lock, engine_info(s->engine, s->r));
	return 0;
}
