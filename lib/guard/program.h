/* SPDX-License-Identifier: Apache-2.0 */
/* A program that a plan names, ready to be executed: arguments, environment, files in memory. */
#ifndef OC_GUARD_PROGRAM_H
#define OC_GUARD_PROGRAM_H

#include "base/buf.h"
#include "base/json.h"

#define OC_PROGRAM_FILES 16
#define OC_PROGRAM_FD    16 /* srt's Node keeps descriptors from 17 on, so none may be there */

struct oc_program {
	struct oc_strv argv, envp;
	int files[OC_PROGRAM_FILES], fds[OC_PROGRAM_FILES]; /* ours, and what each is to be there */
	size_t n_files;
};
void oc_program_init(struct oc_program *p);
void oc_program_free(struct oc_program *p);
/* launch: the plan's; argv: of it.  The environment names the run and its pin beside what the plan says. */
int oc_program_prepare(struct oc_program *p, const json_t *launch, const json_t *argv, const char *run,
                       const char *digest, oc_error **err);

#endif
