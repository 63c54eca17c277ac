/* SPDX-License-Identifier: Apache-2.0 */
/* A binding of the operator's config, found for a run. */
#ifndef HOST_BINDING_H
#define HOST_BINDING_H

#include "exec.h"
#include "executor/executor.h"

/* The config, if there is nothing against it: 0, or said what and negative. */
int binding_config(struct host *h, const char *what, struct config **out);
/* SCOPE/BINDING; NULL after saying so.  The fix is this command with the nearest name, or where command is NULL the check
 * of the config. */
const struct config_binding *binding_find(struct host *h, const char *what, const struct config *config,
                                          const char *name, const char *command);
/* A broker for its kind, with what the config lets its provider have of the environment.  0, or said why not and negative. */
int binding_broker(struct host *h, const char *what, const struct config *config, const struct config_binding *b,
                   oc_broker **out);
/* The same, with the error handed out. */
int binding_container(struct host *h, const struct config *config, const char *provider, oc_broker **out,
                      oc_error **err);
/* One of containers by this provider (NULL: docker).  config NULL: the operator's, where there is one. */
int binding_container_broker(struct host *h, const char *what, const struct config *config, const char *provider,
                             oc_broker **out);
/* Its secrets as --secret has them, into a->secret; specs keeps the words.  False: no memory. */
bool binding_secrets(const struct config_binding *b, struct exec_args *a, struct texts *specs);

/* How its git signs in, as oc_request.git_credential has it: *out new, or NULL: as it would anyway.  False: no memory. */
bool binding_git(const struct config_binding *b, char **out);

#endif
