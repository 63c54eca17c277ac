/* SPDX-License-Identifier: Apache-2.0 */
/* A remote's URL without what signs one in. */
#ifndef GIT_URL_H
#define GIT_URL_H

#include "util.h"

enum url_result {
	URL_NOMEM = -1,
	URL_SAME,     /* *out is as it was */
	URL_STRIPPED, /* something that may be a credential was left out */
	URL_REFUSED,  /* no form that is known to hold none: *out is NULL */
};
/* base: the directory that a relative path starts from.  *out is new. */
enum url_result url_strip(const char *url, const char *base, char **out);

#endif
