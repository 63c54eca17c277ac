/* SPDX-License-Identifier: Apache-2.0 */
/* Finding everything srt needs, without running any of it. */
#ifndef SRT_LOCATE_H
#define SRT_LOCATE_H

#include "common/files.h"
#include "known.h"

#define SRT_MINIMUM  "0.0.80"
#define NODE_MINIMUM "22.12.0"
#define SRT_INSTALL  "npm install -g @anthropic-ai/sandbox-runtime"
#define REINSTALL    "install Open Conduit again: meson install -C build"

enum program_id { BWRAP, SOCAT, RG, BASH, WHICH, SH, PROGRAMS };
struct program {
	char *found, *real; /* as PATH has it, and where that leads; NULL: missing */
};
struct srt {
	struct known *known;     /* not its own; NULL: all is read anew */
	char *package, *modules; /* srt's own directory, and the node_modules that holds it */
	char *beside;            /* the directory on PATH where the srt command is; or NULL */
	char *cli, *vendor, *apply_seccomp, *version;
	char *node, *node_version; /* version NULL: it can only be told by running it */
	struct program programs[PROGRAMS];
	char *relay; /* ours, in socat's place */
	char *path;  /* those directories of PATH that hold one of the programs, in order */
};
const char *program_name(enum program_id id);

int locate_package(struct srt *srt, struct refusal *r);
int locate_seccomp(struct srt *srt, struct refusal *r);
int locate_node(struct srt *srt, struct refusal *r);
int locate_programs(struct srt *srt, struct refusal *r);
int locate_relay(struct srt *srt, struct refusal *r); /* beside this program */
int locate(struct srt *srt, struct refusal *r);       /* all of it, the first failure */
void srt_clear(struct srt *srt);

/* -1, 0, 1 as strcmp, by the numbers of "a.b.c"; false when one of them is no such version. */
bool version_compare(const char *a, const char *b, int *order);

/* What a verdict about this installation depends on.  NULL: no memory. */
json_t *srt_identity(const struct srt *srt);
/* Every file and directory that decides. */
json_t *srt_tools(const struct srt *srt, const char *guest);

#endif
