/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/protocol.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/os.h"
#include "guard/identity.h"

#define IDENTITY_MAX 65536u

static int damaged(oc_error **err, const char *file)
{
	return oc_fail(err, OC_EPROTO, 0, "%s of the run is damaged", file);
}

static void read_protocol(struct oc_identity *out, const json_t *versions)
{
	for (size_t i = 0; i < OC_COUNT(out->speaks); i++) {
		const json_t *version = json_array_get(versions, i);

		out->speaks[i] = !versions                  ? OC_GUARD_PROTOCOL_FIRST
		                 : json_is_integer(version) ? json_integer_value(version)
		                                            : 0;
	}
}

int oc_identity_read(int run_dir, const char *file, struct oc_identity *out, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	struct oc_buf text;
	const char *boot;
	int rc;

	memset(out, 0, sizeof(*out));
	oc_buf_init(&text, IDENTITY_MAX);
	rc = oc_read_file(run_dir, file, IDENTITY_MAX, &text);
	if (rc < 0) {
		oc_buf_free(&text);
		return oc_fail(err, rc == -ENOENT ? OC_ENOTFOUND : OC_EIO, -rc, "Can't read %s: %s", file,
		               strerror(-rc));
	}
	rc = oc_json_parse(text.data ? text.data : "", text.len, IDENTITY_MAX, file, &json, err);
	oc_buf_free(&text);
	if (rc < 0)
		return rc;
	out->pid = (pid_t)oc_json_integer(json, "pid", 0);
	out->start = (uint64_t)oc_json_integer(json, "start", 0);
	out->pgrp = (pid_t)oc_json_integer(json, "pgrp", 0);
	out->session = (pid_t)oc_json_integer(json, "session", 0);
	read_protocol(out, json_object_get(json, "protocol"));
	boot = oc_json_text(json, "boot");
	if (out->pid <= 1 || !out->start || !boot || strlen(boot) >= sizeof(out->boot))
		return damaged(err, file);
	memcpy(out->boot, boot, strlen(boot) + 1);
	return 0;
}

enum oc_alive oc_guard_alive(int run_dir, const char *file, pid_t *pid, oc_error **err)
{
	struct oc_identity id;
	char boot[OC_BOOT_SIZE];
	uint64_t start;
	int rc = oc_identity_read(run_dir, file, &id, err);

	if (rc == OC_ENOTFOUND) {
		if (err) {
			oc_error_free(*err);
			*err = NULL;
		}
		return OC_ALIVE_NO;
	}
	if (rc < 0)
		return OC_ALIVE_UNKNOWN;
	if (pid)
		*pid = id.pid;
	rc = oc_os_boot_id(boot);
	if (rc < 0) {
		oc_fail(err, OC_EIO, -rc, "Can't read the boot id: %s", strerror(-rc));
		return OC_ALIVE_UNKNOWN;
	}
	if (strcmp(boot, id.boot))
		return OC_ALIVE_NO;
	rc = oc_os_start_time(id.pid, &start);
	if (rc == -ESRCH || (rc == 0 && start != id.start))
		return OC_ALIVE_NO;
	if (rc == 0)
		return OC_ALIVE_YES;
	oc_fail(err, OC_EIO, -rc, "Can't look at process %d: %s", (int)id.pid, strerror(-rc));
	return OC_ALIVE_UNKNOWN;
}

int oc_guard_speaks(int run_dir, const char *run, oc_error **err)
{
	struct oc_identity id;
	char fix[80];
	int rc = oc_identity_read(run_dir, OC_GUARD_INFO, &id, err);

	if (rc < 0)
		return rc;
	if (id.speaks[0] <= OC_GUARD_PROTOCOL_LAST && id.speaks[1] >= OC_GUARD_PROTOCOL_FIRST)
		return 0;
	snprintf(fix, sizeof(fix), "open-conduit runs stop %s  # by the build that started it", run);
	return oc_refuse(
	        err, "pin_mismatch", OC_GUARD_INFO, fix,
	        "the guard of run %s speaks versions %lld to %lld of the protocol between host and guard, and this "
	        "build %d to %d",
	        run, (long long)id.speaks[0], (long long)id.speaks[1], OC_GUARD_PROTOCOL_FIRST, OC_GUARD_PROTOCOL_LAST);
}
