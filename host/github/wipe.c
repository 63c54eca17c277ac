/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the libraries that keys and tokens go through is overwritten when it is freed. */
#include <curl/curl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "github/github.h"

static void wipe_free(void *p)
{
	if (p)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

static void *wipe_realloc(void *p, size_t size)
{
	size_t had = p ? malloc_usable_size(p) : 0;
	void *more = malloc(size);

	if (!more)
		return NULL;
	if (p)
		memcpy(more, p, had < size ? had : size);
	wipe_free(p);
	return more;
}

bool wipe_begin(void)
{
	json_set_alloc_funcs(malloc, wipe_free);
	return curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, wipe_free, wipe_realloc, strdup, calloc) == CURLE_OK;
}
