/* SPDX-License-Identifier: Apache-2.0 */
/** @file error.h What went wrong, for a person and for a program. */
#ifndef OPENCONDUIT_ERROR_H
#define OPENCONDUIT_ERROR_H

#include <openconduit/visibility.h>

OC_BEGIN_DECLS

/** Never reused or renumbered; unknown values must be handled. */
enum oc_code {
	OC_OK = 0,
	OC_EFAILED = -1,   /**< Failed for a reason only the message tells. */
	OC_ENOMEM = -2,    /**< Out of memory; nothing was changed. */
	OC_EINVAL = -3,    /**< The caller broke the contract of the call. */
	OC_EIO = -4,       /**< The system refused; see oc_error_errno(). */
	OC_EPROTO = -5,    /**< The other side broke the protocol. */
	OC_EREFUSED = -6,  /**< Refused; see oc_error_reason(). */
	OC_EVERSION = -7,  /**< No version in common, or a struct member unknown to this library is set. */
	OC_ELIMIT = -8,    /**< A documented bound was reached. */
	OC_ENOTFOUND = -9, /**< There is no such thing. */
	OC_EEXISTS = -10,  /**< It is there already, and differs. */
	OC_ECLOSED = -11,  /**< The other side is gone. */
	OC_ETIME = -12,    /**< Not in time. */
};

/** Immutable: a code, an errno, and where it is a refusal a reason, a subject and a fix. */
typedef struct oc_error oc_error;

OC_API int oc_error_code(const oc_error *err);  /**< enum oc_code; OC_OK if NULL. */
OC_API int oc_error_errno(const oc_error *err); /**< errno, or 0. */
/** Stable reason (openconduit-reasons(7)), or NULL.  Borrowed, as all below, until oc_error_free(). */
OC_API const char *oc_error_reason(const oc_error *err);
OC_API const char *oc_error_subject(const oc_error *err);  /**< Path, host, socket, image, field or probe; or NULL. */
OC_API const char *oc_error_message(const oc_error *err);  /**< One sentence, no secrets; never NULL. */
OC_API const char *oc_error_fix(const oc_error *err);      /**< What to paste, or NULL. */
OC_API const oc_error *oc_error_next(const oc_error *err); /**< Further errors found at the same time, or NULL. */
/** The record: {"reason","subject","message","fix","code","errno","more":[…]}; or NULL. */
OC_API const char *oc_error_json(const oc_error *err);
OC_API void oc_error_free(oc_error *err); /**< NULL allowed. */

OC_END_DECLS
#endif
