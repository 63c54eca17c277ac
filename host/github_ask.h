/* SPDX-License-Identifier: Apache-2.0 */
/* Questions for open-conduit-github (HACKING.md has its table), each with what a connection signs in by: the bot's App where the
 * connection has one, else its own App or token. */
#ifndef HOST_GITHUB_ASK_H
#define HOST_GITHUB_ASK_H

#include "config/config.h"
#include "host.h"

#define GITHUB_PROGRAM "open-conduit-github"

/* A new request of this operation, for errand_start(), which wipes what it holds of keys; free it by github_request_free()
 * where it is not given on.  NULL, and *error (new) in the form of a refusal: the secret can't be read. */
json_t *github_request(const struct config_connection *connection, const char *repository, const char *op,
                       json_t **error);
void github_request_free(json_t *request);
/* Does it sign in as an App, and not by a personal token? */
bool github_is_app(const struct config_connection *connection);
/* Ask, and wait: the answer, or NULL and *error (new). */
json_t *github_wait(struct host *h, json_t *request, json_t **error);

#endif
