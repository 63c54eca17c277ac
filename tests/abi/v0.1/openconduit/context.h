/* SPDX-License-Identifier: Apache-2.0 */
/** @file context.h The object everything else is made from: directories, event loop, log. */
#ifndef OPENCONDUIT_CONTEXT_H
#define OPENCONDUIT_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <openconduit/error.h>

OC_BEGIN_DECLS

typedef struct oc_context oc_context;

enum oc_log_level { OC_LOG_ERROR = 1, OC_LOG_WARNING = 2, OC_LOG_INFO = 3, OC_LOG_DEBUG = 4 };
/** line: one line, control characters escaped, no secrets; borrowed for the call. */
typedef void (*oc_log_fn)(int level, const char *line, void *userdata);

/** Strings are copied.  Members added later read as zero, which means "as before". */
typedef struct oc_context_options {
	size_t size;           /**< sizeof(oc_context_options) */
	const char *state_dir; /**< NULL: $XDG_STATE_HOME/open-conduit, else ~/.local/state/open-conduit */
	const char *
	        config_dir; /**< NULL: $XDG_CONFIG_HOME/open-conduit, else ~/.config/open-conduit; protected, not read */
	const char *libexec_dir; /**< where guard, guest and providers/ are; NULL: as installed */
	oc_log_fn log;           /**< NULL: no logging */
	void *log_userdata;
	void (*log_userdata_free)(void *userdata); /**< called once, after the last log call; or NULL */
	int32_t log_level;                         /**< enum oc_log_level; 0: OC_LOG_WARNING */
	uint32_t flags;                            /**< must be 0 */
} oc_context_options;
#define OC_CONTEXT_OPTIONS_INIT                                                                                        \
	{                                                                                                              \
		sizeof(oc_context_options), 0, 0, 0, 0, 0, 0, 0, 0                                                     \
	}

/** Create a context.  Reads the environment once, here; makes no file.
 * @param options NULL for the defaults.
 * @param out receives a *new* context; release with oc_context_free().
 * @return OC_EVERSION, OC_EINVAL, OC_ENOMEM or OC_EIO. */
OC_API OC_WARN_UNUSED int oc_context_new(const oc_context_options *options, oc_context **out, oc_error **err);
/** Everything made from the context must be freed before; safe inside a callback of it. */
OC_API void oc_context_free(oc_context *ctx);
/** Poll for input; then oc_context_dispatch() has work.  Borrowed. */
OC_API int oc_context_fd(const oc_context *ctx);
/** Run what is ready; never blocks, refuses to run inside itself and in a forked child (OC_EINVAL). */
OC_API OC_WARN_UNUSED int oc_context_dispatch(oc_context *ctx, oc_error **err);
/** Poll, then dispatch; timeout_ms < 0 waits without limit.  The number of callbacks run. */
OC_API OC_WARN_UNUSED int oc_context_wait(oc_context *ctx, int timeout_ms, oc_error **err);
OC_API const char *oc_context_state_dir(const oc_context *ctx); /**< Borrowed. */
OC_API const char *oc_version(void);                            /**< "0.1.0"; static. */

OC_END_DECLS
#endif
