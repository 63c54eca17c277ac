/* SPDX-License-Identifier: Apache-2.0 */
/** @file provider.h The SDK: one sized struct of callbacks and oc_provider_main().
 * The protocol is openconduit-provider(7). */
#ifndef OPENCONDUIT_PROVIDER_H
#define OPENCONDUIT_PROVIDER_H

#include <openconduit/error.h>

#include <stddef.h>

OC_BEGIN_DECLS

typedef struct oc_call oc_call;

/** A NULL member is a method this provider does not have.  Each callback answers its call exactly
 * once, inside the callback; one that returns without an answer has failed it. */
typedef struct oc_provider_ops {
	size_t size;         /**< sizeof(oc_provider_ops) */
	const char *name;    /**< "srt"; static */
	const char *version; /**< of the provider; static */
	const char *kind;    /**< "sandbox", "workspace" */
	void (*check)(oc_call *call, void *userdata);
	void (*plan)(oc_call *call, void *userdata);
	void (*inspect)(oc_call *call, void *userdata);
	void (*cleanup)(oc_call *call, void *userdata);
	/* of the kind "workspace"; appended after 0.1 was frozen */
	void (*create)(oc_call *call, void *userdata);
	void (*save)(oc_call *call, void *userdata);
	void (*remove)(oc_call *call, void *userdata);
} oc_provider_ops;
#define OC_PROVIDER_OPS_INIT                                                                                           \
	{                                                                                                              \
		sizeof(oc_provider_ops), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                  \
	}

OC_API const char *oc_call_method(const oc_call *call); /**< Borrowed until answered. */
OC_API const char *oc_call_params(const oc_call *call); /**< JSON text.  Borrowed until answered. */
/** Answer with JSON text (copied).  OC_EPROTO if it is no JSON or too long: the call has then failed. */
OC_API int oc_call_reply(oc_call *call, const char *json);
/** Answer with a refusal; all copied.  subject and fix may be NULL. */
OC_API int oc_call_refuse(oc_call *call, const char *reason, const char *subject, const char *fix, const char *message);

/** Serve the protocol on descriptors 0 and 1 until the host hangs up.  Returns the exit status. */
OC_API int oc_provider_main(const oc_provider_ops *ops, void *userdata, int argc, char **argv);

OC_END_DECLS
#endif
