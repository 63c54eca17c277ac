/* SPDX-License-Identifier: Apache-2.0 */
/* How a provider introduces itself. */
#include <string.h>

#include "base/json.h"
#include "provider/client.h"

int oc_provider_check_hello(const char *provider, const json_t *hello, const char **version, oc_error **err)
{
	int64_t protocol = 0;
	const char *name = NULL, *kind = NULL;
	json_t *names = NULL;
	const struct oc_json_key keys[] = {
		{ "protocol", OC_JSON_INT, true, &protocol }, { "name", OC_JSON_STRING, true, &name },
		{ "version", OC_JSON_STRING, true, version }, { "kind", OC_JSON_STRING, true, &kind },
		{ "methods", OC_JSON_STRINGS, true, &names },
	};
	int rc = oc_json_unpack(hello, "", "provider_failed", keys, OC_COUNT(keys), err);
	const char *wrong;

	if (rc < 0)
		return rc;
	wrong = protocol != 1 ? "protocol" : strcmp(name, provider) ? "name" : strlen(*version) > 64 ? "version" : NULL;
	return wrong ? oc_refuse(err, "provider_failed", wrong, "open-conduit provider list",
	                         "it is of another protocol or name, or its version is too long")
	             : 0;
}
