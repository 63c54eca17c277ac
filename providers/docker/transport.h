/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of engine.h, without what an engine is: paths are sent as they are. */
#ifndef DOCKER_TRANSPORT_H
#define DOCKER_TRANSPORT_H

#include "engine.h"

struct transport;
struct transport *transport_new(const struct endpoint *at); /* NULL: no memory */
void transport_free(struct transport *t);                   /* NULL is fine */
struct request *request_begin(struct transport *t, const char *method, const char *path, const json_t *body,
                              int timeout_ms);
int transport_poll(struct transport *t, struct pollfd *extra, size_t n, int timeout_ms);

#endif
