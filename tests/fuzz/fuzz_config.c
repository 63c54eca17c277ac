/* SPDX-License-Identifier: Apache-2.0 */
/* A config: what is refused says where, why and what to write instead; what is accepted is JSON to another parser too,
 * without a key twice, and every binding of it has a policy that the library takes. */
#include <jansson.h>
#include <openconduit/policy.h>
#include <string.h>

#include "config/config.h"
#include "config/doc.h"
#include "fuzz.h"

/* What this parser refuses and another one may take: bounds, and text that can't be in a C string. */
static int is_bound(const char *wrong)
{
	static const char *const bounds[] = { "longer than", "more than 1000", "deeper than", "U+0000" };

	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		if (strstr(wrong, bounds[i]))
			return 1;
	return 0;
}

/* The two parsers agree on what JSON is. */
static void compare(const char *text, size_t size)
{
	struct arena arena = { 0 };
	json_error_t e = { 0 };
	json_t *other = json_loadb(text, size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &e);
	struct doc doc;
	int rc = doc_parse(&doc, &arena, text, size);

	FUZZ_CHECK(!arena.failed);
	if (size && memchr(text, 0, size)) /* which the other takes for an end */
		FUZZ_CHECK(rc < 0);
	else if (rc < 0)
		FUZZ_CHECK(doc.wrong && doc.wrong_at <= size && (!other || is_bound(doc.wrong)));
	else if (!doc.root->flawed) /* a number may be too large for the other */
		FUZZ_CHECK(other || json_error_code(&e) == json_error_numeric_overflow);
	else
		FUZZ_CHECK(!other);
	json_decref(other);
	arena_free(&arena);
}

static void check_accepted(const struct config *c)
{
	FUZZ_CHECK(c->version == 1);
	for (size_t s = 0; s < c->n_scopes; s++)
		for (size_t i = 0; i < c->scopes[s].n_bindings; i++) {
			const struct config_binding *b = &c->scopes[s].bindings[i];
			oc_policy *policy = NULL;

			FUZZ_CHECK(config_binding(c, b->full, NULL) == b && b->config && b->scope == &c->scopes[s]);
			FUZZ_CHECK(!(b->sandbox && b->container) && !b->machine);
			FUZZ_CHECK((b->place == NULL) == (strcmp(b->kind, "none") == 0));
			if (!b->place)
				continue;
			FUZZ_CHECK(oc_policy_parse(b->kind, b->place->policy, strlen(b->place->policy), &policy,
			                           NULL) == 0);
			oc_policy_free(policy);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct config_world world = { .home = "/home/u", .config_dir = "/c", .state_dir = "/s", .no_disk = true };
	struct report report = { 0 };
	struct config *config = NULL;
	int rc = config_read((const char *)data, size, "config.json", &world, &config, &report);

	FUZZ_CHECK(!report.nomem);
	if (rc == 0) {
		FUZZ_CHECK(config && report_good(&report));
		check_accepted(config);
	} else {
		FUZZ_CHECK(!config && report.errors > 0);
	}
	for (size_t i = 0; i < report.n; i++)
		FUZZ_CHECK(report.v[i].field && report.v[i].reason && *report.v[i].message && report.v[i].fix);
	config_free(config);
	report_free(&report);
	compare((const char *)data, size);
	return 0;
}
