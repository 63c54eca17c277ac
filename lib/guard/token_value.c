/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <openconduit/token.h>

#include "guard/protocol.h"

bool oc_token_id_valid(const char *id)
{
	size_t n = id ? strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789") : 0;

	return n >= OC_TOKEN_ID_MIN && n < OC_TOKEN_ID_SIZE && id[n] == '\0';
}

/* A line of git's and a string of JSON carry it as it is; a shorter one could not be told in an output from what is none. */
bool oc_token_value_valid(const char *value, size_t len)
{
	if (!value || len < OC_TOKEN_VALUE_MIN || len > OC_TOKEN_VALUE_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (value[i] < ' ' || value[i] > '~')
			return false;
	return true;
}
