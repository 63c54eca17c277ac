/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the engine whose failure refuses the run. */
#ifndef DOCKER_ASK_H
#define DOCKER_ASK_H

#include "engine.h"

#define ASK_MS 60000 /* an engine under load takes seconds for what else takes a tenth of one */

/* Waits for the answer: its JSON (new, or NULL without any), or a refusal that says what was asked for and the engine's words. */
int ask_take(struct request *request, const char *what, json_t **out, struct refusal *r);
int ask(struct engine *e, const char *method, const char *path, const json_t *body, const char *what, json_t **out,
        struct refusal *r);
/* The refusal of a reply that is no success. */
int ask_refuse(const struct reply *reply, const char *what, struct refusal *r);

#endif
