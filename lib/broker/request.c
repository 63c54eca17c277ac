/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "base/utf8.h"
#include "broker/broker.h"

#define LIST_MAX   8192
#define STRING_MAX (1u << 20)

/* Copy one scalar and point the request at the copy. */
static int keep(struct oc_request_copy *copy, const char **member, const char *name, oc_error **err)
{
	size_t n;

	if (!*member)
		return 0;
	n = strnlen(*member, STRING_MAX);
	if (n == STRING_MAX)
		return oc_fail(err, OC_ELIMIT, 0, "request.%s is longer than 1 MiB", name);
	if (!oc_utf8_valid(*member, n))
		return oc_refuse(err, "sandbox_config", name, "use a name that is UTF-8",
		                 "request.%s is not UTF-8, so no plan can name it", name);
	if (oc_strv_add(&copy->strings, *member) < 0)
		return oc_nomem(err);
	*member = copy->strings.v[copy->strings.n - 1];
	return 0;
}

static int keep_list(struct oc_strv *list, const char *const **member, const char *name, oc_error **err)
{
	oc_strv_init(list, LIST_MAX);
	for (const char *const *s = *member; s && *s; s++) {
		int rc = oc_strv_add(list, *s);

		if (rc < 0)
			return rc == OC_ENOMEM ? oc_nomem(err)
			                       : oc_fail(err, OC_ELIMIT, 0, "request.%s has more than %d entries", name,
			                                 LIST_MAX);
	}
	*member = (const char *const *)list->v;
	return 0;
}

static int check_id(struct oc_request_copy *copy, const char *id, oc_error **err)
{
	int rc;

	if (!id) {
		rc = oc_random_id(copy->run, OC_RUN_ID_LENGTH);
		return rc < 0 ? oc_fail(err, OC_EIO, -rc, "no random bytes for a run id") : 0;
	}
	if (!oc_run_id_valid(id))
		return oc_fail(err, OC_EINVAL, 0, "request.run must be 8 to 32 of [a-z0-9]");
	memcpy(copy->run, id, strlen(id) + 1);
	return 0;
}

static int check_terminal(const oc_request *r, const char *kind, oc_error **err)
{
	if (!r->rows != !r->cols)
		return oc_fail(err, OC_EINVAL, 0, "request.rows goes with request.cols");
	if (!r->attach)
		return 0;
	if (!r->work || !r->rows)
		return oc_fail(err, OC_EINVAL, 0, "request.attach needs a work and a terminal");
	if (r->toolbelt)
		return oc_fail(err, OC_EINVAL, 0, "a person at a terminal has no toolbelt");
	if (strcmp(kind, "sandbox") == 0)
		return oc_refuse(
		        err, "attach_sandboxed", r->work, "run it in a container to attach to it",
		        "a person attaches to a Work on this machine, or in a container, never in a process sandbox");
	return 0;
}

static int check_members(const oc_request *r, const char *kind, oc_error **err)
{
	if (r->flags)
		return oc_fail(err, OC_EVERSION, 0, "oc_request.flags must be 0");
	if (!r->argv || !r->argv[0] || !*r->argv[0])
		return oc_fail(err, OC_EINVAL, 0, "request.argv is empty: there is no command to run");
	if (!r->workspace || !oc_path_clean(r->workspace))
		return oc_fail(err, OC_EINVAL, 0, "request.workspace must be an absolute, clean path");
	if (r->cwd && !oc_path_clean(r->cwd))
		return oc_fail(err, OC_EINVAL, 0, "request.cwd must be an absolute, clean path");
	if (!r->policy && strcmp(kind, "none") != 0)
		return oc_fail(err, OC_EINVAL, 0, "request.policy is NULL: without a policy nothing runs in a sandbox");
	if (r->git != OC_GIT_READONLY && r->git != OC_GIT_CLONE)
		return oc_fail(err, OC_EINVAL, 0, "request.git is neither OC_GIT_READONLY nor OC_GIT_CLONE");
	if (r->timeout_ms < 0 || r->grace_ms < 0)
		return oc_fail(err, OC_EINVAL, 0, "request.timeout_ms and grace_ms can't be negative");
	if (r->work && !oc_work_id_valid(r->work))
		return oc_fail(err, OC_EINVAL, 0, "request.work must be the id of a Work");
	return check_terminal(r, kind, err);
}

static int copy_members(struct oc_request_copy *copy, oc_error **err)
{
	oc_request *r = &copy->request;
	struct {
		const char **member, *name;
	} scalars[] = {
		{ &r->work, "work" },
		{ &r->binding, "binding" },
		{ &r->policy, "policy" },
		{ &r->workspace, "workspace" },
		{ &r->cwd, "cwd" },
		{ &r->toolbelt, "toolbelt" },
		{ &r->git_credential, "git_credential" },
	};
	struct {
		const char *const **member;
		const char *name;
	} lists[] = {
		{ &r->argv, "argv" },           { &r->env, "env" },
		{ &r->secrets, "secrets" },     { &r->need_hosts, "need_hosts" },
		{ &r->need_read, "need_read" }, { &r->need_write, "need_write" },
		{ &r->files, "files" },
	};
	int rc = 0;

	oc_strv_init(&copy->strings, 16);
	for (size_t i = 0; !rc && i < OC_COUNT(scalars); i++)
		rc = keep(copy, scalars[i].member, scalars[i].name, err);
	for (size_t i = 0; !rc && i < OC_COUNT(lists); i++)
		rc = keep_list(&copy->lists[i], lists[i].member, lists[i].name, err);
	return rc;
}

int oc_request_copy(struct oc_request_copy *copy, const oc_request *request, const char *kind, oc_error **err)
{
	int rc;

	memset(copy, 0, sizeof(*copy));
	if (!request)
		return oc_fail(err, OC_EINVAL, 0, "the request is NULL");
	if (!oc_copy_sized(&copy->request, sizeof(copy->request), request))
		return oc_fail(err, OC_EVERSION, 0, "oc_request has a member set that this library does not know");
	rc = check_members(&copy->request, kind, err);
	if (!rc)
		rc = check_id(copy, copy->request.run, err);
	/* Its workspace is a clone of ours, whatever the caller calls it. */
	if (!rc && copy->request.work)
		copy->request.git = OC_GIT_CLONE;
	if (!rc)
		rc = copy_members(copy, err);
	if (rc)
		oc_request_release(copy);
	else
		copy->request.run = copy->run;
	return rc;
}

void oc_request_release(struct oc_request_copy *copy)
{
	oc_strv_free(&copy->strings);
	for (size_t i = 0; i < OC_COUNT(copy->lists); i++)
		oc_strv_free(&copy->lists[i]);
}
