/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRT_SETTINGS_H
#define SRT_SETTINGS_H

#include "locate.h"

struct settings {
	char *text;    /* srt's settings file */
	json_t *links; /* path and target each, for the guest */
	json_t *hides; /* directories that are an empty one of the sandbox's, with some entries given back */
	struct list notes;
	bool all; /* "unix_sockets": "all" */
	bool private_literal;
};
int settings_make(const struct srt *srt, const json_t *resolved, const char *guest, const char *live,
                  struct settings *out, struct refusal *r);
void settings_clear(struct settings *s);

#endif
