/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/program.h"

#include <string.h>

#include "base/fd.h"
#include "base/os.h"
#include "guard/protocol.h"

void oc_program_init(struct oc_program *p)
{
	memset(p, 0, sizeof(*p));
	oc_strv_init(&p->argv, 65536);
	oc_strv_init(&p->envp, 4096);
}

void oc_program_free(struct oc_program *p)
{
	oc_strv_free(&p->argv);
	oc_strv_free(&p->envp);
	while (p->n_files)
		oc_close(p->files[--p->n_files]);
}

static int prepare_env(struct oc_program *p, const json_t *env, const char *run, const char *digest, oc_error **err)
{
	const char *name;
	json_t *value;
	int rc = 0;

	json_object_foreach((json_t *)env, name, value)
	{
		if (!json_is_string(value) || !*name || strchr(name, '='))
			return oc_refuse(err, "pin_mismatch", name, NULL, "launch.env of the pinned plan is not valid");
		rc = rc < 0 ? rc : oc_strv_addf(&p->envp, "%s=%s", name, json_string_value(value));
	}
	rc = rc < 0 ? rc : oc_strv_addf(&p->envp, "%s=%s", OC_GUARD_ENV_MARK, run);
	return rc < 0 ? rc : oc_strv_addf(&p->envp, "%s=%s", OC_GUARD_ENV_PIN, digest);
}

static int prepare_files(struct oc_program *p, const json_t *files, oc_error **err)
{
	const json_t *item;
	size_t i;

	json_array_foreach(files, i, item)
	{
		int64_t number = oc_json_integer(item, "fd", -1);
		const json_t *text = json_object_get(item, "text");
		int fd;

		if (i >= OC_PROGRAM_FILES || number < 3 || number > OC_PROGRAM_FD || !json_is_string(text))
			return oc_refuse(err, "pin_mismatch", "launch.files", NULL,
			                 "launch.files of the pinned plan is not valid");
		fd = oc_memfd("open-conduit", json_string_value(text), json_string_length(text));
		if (fd < 0)
			return oc_fail(err, OC_EIO, -fd, "Can't make a file in memory: %s", strerror(-fd));
		p->files[p->n_files] = fd;
		p->fds[p->n_files++] = (int)number;
	}
	return 0;
}

int oc_program_prepare(struct oc_program *p, const json_t *launch, const json_t *argv, const char *run,
                       const char *digest, oc_error **err)
{
	const json_t *item;
	size_t i;
	int rc = 0;

	json_array_foreach(argv, i, item) rc = rc < 0 ? rc : oc_strv_add(&p->argv, json_string_value(item));
	if (rc == 0)
		rc = prepare_env(p, json_object_get(launch, "env"), run, digest, err);
	if (rc < 0)
		return err && *err ? rc : oc_fail(err, rc, 0, "A command of the plan is too long");
	return prepare_files(p, json_object_get(launch, "files"), err);
}
