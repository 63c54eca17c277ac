/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of a provider: find its executable, start it on first use, ask it. */
#ifndef OC_PROVIDER_CLIENT_H
#define OC_PROVIDER_CLIENT_H

#include "loop/context.h"
#include "wire/conn.h"

struct oc_provider;
/* Found as dir/open-conduit-provider-NAME in provider_dir (or NULL) and libexec_dir/providers; must be a
 * regular file, not writable by others.  sandbox_unavailable names where it was looked for.  Not started yet. */
int oc_provider_new(oc_context *ctx, const char *name, const char *provider_dir, const char *const *pass_env,
                    struct oc_provider **out, oc_error **err);
void oc_provider_free(struct oc_provider *provider); /* hangs up, waits 200 ms for the child at most, then ends
							 * it and its group; calls are dropped */
const char *oc_provider_path(const struct oc_provider *provider);
const char *oc_provider_name(const struct oc_provider *provider);
const char *oc_provider_file_digest(struct oc_provider *provider);   /* of the executable; cached; NULL: unreadable */
const char *oc_provider_version(const struct oc_provider *provider); /* NULL before initialize */
/* So that it gets ready while the caller does something else; a call does it too, and says why it can't be done. */
void oc_provider_start(struct oc_provider *provider);
/* method with params (taken); starts and initializes the provider when it isn't there.  The reply is an object
 * or an error: the provider's own refusal, or provider_failed (died, hung, nonsense; its log's last lines in the
 * message, escaped).  Never calls fn inside the call. */
int oc_provider_call(struct oc_provider *provider, const char *method, json_t *params, int64_t timeout_ms,
                     oc_reply_fn fn, void *userdata, oc_error **err);
/* The answer to "initialize": every member known and of its type, the protocol and the name that were asked for; or
 * provider_failed whose subject is the member.  version: borrowed from hello. */
int oc_provider_check_hello(const char *provider, const json_t *hello, const char **version, oc_error **err);
/* Names found in the two directories, sorted: {"name","path"}. */
int oc_provider_list(oc_context *ctx, const char *provider_dir, json_t **out, oc_error **err);

#endif
