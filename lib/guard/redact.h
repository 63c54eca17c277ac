/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a run's secrets taken out of what is recorded of it, as the bytes come, wherever reads cut them: each
 * becomes "[secret NAME]".  A second line: an agent that means to can always write its secret in another way. */
#ifndef OC_GUARD_REDACT_H
#define OC_GUARD_REDACT_H

#include "base/buf.h"
#include "base/error.h"
#include "guard/values.h"

#define OC_REDACT_MIN   8u /* a shorter value is in too much that is none */
#define OC_REDACT_SHOWN 3u
#define OC_REDACT_LATER 64u /* values that may come while streams are open */

struct oc_redact;
struct oc_redact_stream;

typedef void (*oc_redact_fn)(const void *data, size_t len, void *userdata);

/* Of the secrets among the values (whose text is copied); *out is NULL where there is nothing to look for, unless values is. */
int oc_redact_new(const struct oc_values *values, struct oc_redact **out, oc_error **err);
void oc_redact_free(struct oc_redact *r);

/* One stream of bytes; it needs no memory after this.  It outlives r not. */
int oc_redact_stream_new(const struct oc_redact *r, struct oc_redact_stream **out, oc_error **err);
void oc_redact_stream_free(struct oc_redact_stream *s);
/* What may go on goes to fn; what may be the beginning of a value stays until it is known to be one or not. */
void oc_redact_feed(struct oc_redact_stream *s, const void *data, size_t len, oc_redact_fn fn, void *userdata);
/* Nothing has come for a while, and a person waits: a few bytes that may be the beginning of a value go on, as long as they
 * are less than tells anything of it (OC_REDACT_SHOWN).  If they are one after all, its name follows them. */
void oc_redact_idle(struct oc_redact_stream *s, oc_redact_fn fn, void *userdata);
/* One more value, found in what is fed from now on; slot < OC_REDACT_LATER: it takes the place of the last value of that slot.
 * streams: all there are of r, NULL among them allowed.  Where it fails everything is as it was. */
int oc_redact_later(struct oc_redact *r, size_t slot, const char *name, const char *text, size_t len,
                    struct oc_redact_stream *const *streams, size_t n, oc_error **err);
/* No more is coming: what is held goes too.  The stream may be used again. */
void oc_redact_end(struct oc_redact_stream *s, oc_redact_fn fn, void *userdata);

/* A whole text at once; r NULL: as it stands.  OC_ENOMEM or OC_ELIMIT, then out is as it was. */
int oc_redact_text(const struct oc_redact *r, const void *data, size_t len, struct oc_buf *out);

#endif
