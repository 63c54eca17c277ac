/* SPDX-License-Identifier: Apache-2.0 */
/* What a client is told when it doesn't get what it asked for.  Nothing of a request is repeated but its canonical host. */
#ifndef GW_ANSWER_H
#define GW_ANSWER_H

#include "http.h"

#define GW_ANSWER_MAX 3072

/* A denied request: why is "not_listed", or the class of an address that is never reached.  Bytes in out. */
size_t gw_answer_denied(char out[GW_ANSWER_MAX], const struct gw_request *r, const char *why);
/* An allowed one whose server can't be reached: 502 or 504. */
size_t gw_answer_failed(char out[GW_ANSWER_MAX], const struct gw_request *r, int status, const char *why);
/* 400, 408, 431, 503: no request that was understood. */
size_t gw_answer_refused(char out[GW_ANSWER_MAX], int status, const char *why);

#endif
