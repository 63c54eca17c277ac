/* SPDX-License-Identifier: Apache-2.0 */
/* A policy's text → its normal form.  Nothing on disk is looked at: what a policy says must not depend on when it is
 * read.  Everything wrong is reported at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "policy/host.h"
#include "policy/parse.h"
#include "policy/paths.h"
#include "policy/punycode.h"

#define POLICY_MAX  (1u << 20)
#define ENTRIES_MAX 1000

static const char config[] = "sandbox_config";

static void add_text(struct oc_parsing *p, json_t *out, const char *text)
{
	if (!oc_json_append(out, json_string(text)))
		oc_violations_nomem(&p->bad);
}

void oc_parsing_path(struct oc_parsing *p, const char *field, const char *text, json_t *out)
{
	oc_cleanup(oc_freep) char *better = NULL;
	oc_cleanup(oc_freep) char *fix = NULL;
	const char *why = oc_policy_path_check(text, &better);

	if (!why) {
		add_text(p, out, text);
		return;
	}
	fix = better ? oc_policy_quote("write ", better, "") : NULL;
	oc_violate(&p->bad, config, field,
	           fix ? fix
	               : "write a path that starts with /, ~/, {workspace} or {run}, without ., .., globs or a slash "
	                 "at its end",
	           "the path \"%s\" %s", text, why);
}

void oc_parsing_host(struct oc_parsing *p, const char *field, const char *text, json_t *out)
{
	struct oc_host_rule rule;
	oc_cleanup(oc_freep) char *puny = NULL;
	oc_cleanup(oc_freep) char *fix = NULL;
	const char *why = oc_host_rule_parse(text, strlen(text), p->loopback, &rule);
	char entry[OC_HOST_MAX + 16], port[8] = "";

	if (why) {
		for (const char *c = text; *c && !puny; c++)
			if ((unsigned char)*c >= 0x80)
				puny = oc_punycode_name(text);
		if (puny && !oc_host_rule_parse(puny, strlen(puny), p->loopback, &rule))
			fix = oc_policy_quote("write ", puny, "");
		oc_violate(&p->bad, config, field, fix ? fix : "write HOST, HOST:PORT, *.DOMAIN or an address literal",
		           "the host \"%s\" %s", text, why);
		return;
	}
	if (rule.port)
		snprintf(port, sizeof(port), ":%u", rule.port);
	if (strchr(rule.host, ':'))
		snprintf(entry, sizeof(entry), "[%s]%s", rule.host, port);
	else
		snprintf(entry, sizeof(entry), "%s%s%s", rule.wildcard ? "*." : "", rule.host, port);
	add_text(p, out, entry);
}

static void socket_entry(struct oc_parsing *p, const char *field, const char *text, json_t *out)
{
	size_t before = json_array_size(out);

	if (strcmp(text, "{toolbelt}") == 0) {
		add_text(p, out, text);
		return;
	}
	oc_parsing_path(p, field, text, out);
	/* Linux can't allow one socket by its path: without "all" the entry would promise what nothing keeps. */
	if (json_array_size(out) > before && strcmp(OC_OS_NAME, "linux") == 0 && !p->all)
		oc_violate(&p->bad, config, field, "add \"unix_sockets\": \"all\" to the policy",
		           "the socket \"%s\" can't be allowed by its path on Linux", text);
}

json_t *oc_parsing_list(struct oc_parsing *p, const char *field, const json_t *list, oc_entry_fn fn)
{
	json_t *out = json_array();
	size_t n = json_array_size(list), i;
	json_t *item;
	char name[64];

	if (!out) {
		oc_violations_nomem(&p->bad);
		return NULL;
	}
	if (n > ENTRIES_MAX) {
		oc_violate(&p->bad, config, field, "name directories that hold what is listed one by one",
		           "%s has %zu entries; the limit is %d", field, n, ENTRIES_MAX);
		return out;
	}
	json_array_foreach(list, i, item)
	{
		snprintf(name, sizeof(name), "%s[%zu]", field, i);
		if (json_is_string(item))
			fn(p, name, json_string_value(item), out);
	}
	return out;
}

void oc_parsing_unpack(struct oc_parsing *p, const json_t *object, const char *path, const struct oc_json_key *keys,
                       size_t n)
{
	oc_error *e = NULL;

	if (object && oc_json_unpack(object, path, config, keys, n, &e) < 0) {
		if (e)
			oc_violations_add(&p->bad, e);
		else
			oc_violations_nomem(&p->bad);
	}
}

static json_t *normalise(struct oc_parsing *p, const json_t *root)
{
	json_t *write = NULL, *read = NULL, *network = NULL, *sockets = NULL, *deny = NULL, *allow = NULL,
	       *hosts = NULL;
	const char *all = "none";
	const struct oc_json_key top[] = {
		{ "write", OC_JSON_STRINGS, false, &write },     { "read", OC_JSON_OBJECT, false, &read },
		{ "network", OC_JSON_OBJECT, false, &network },  { "sockets", OC_JSON_STRINGS, false, &sockets },
		{ "unix_sockets", OC_JSON_STRING, false, &all },
	};
	const struct oc_json_key in_read[] = { { "deny", OC_JSON_STRINGS, false, &deny },
		                               { "allow", OC_JSON_STRINGS, false, &allow } };
	const struct oc_json_key in_network[] = { { "allow", OC_JSON_STRINGS, false, &hosts } };

	oc_parsing_unpack(p, root, "", top, OC_COUNT(top));
	oc_parsing_unpack(p, read, "read", in_read, OC_COUNT(in_read));
	oc_parsing_unpack(p, network, "network", in_network, OC_COUNT(in_network));
	p->loopback = true;
	p->all = strcmp(all, "all") == 0;
	if (!p->all && strcmp(all, "none") != 0)
		oc_violate(&p->bad, config, "unix_sockets", "write \"unix_sockets\": \"all\", or leave it out",
		           "unix_sockets is \"%s\"; it can be \"none\" or \"all\"", all);
	json_t *w = oc_parsing_list(p, "write", write, oc_parsing_path),
	       *d = oc_parsing_list(p, "read.deny", deny, oc_parsing_path);
	json_t *a = oc_parsing_list(p, "read.allow", allow, oc_parsing_path);
	json_t *h = oc_parsing_list(p, "network.allow", hosts, oc_parsing_host),
	       *s = oc_parsing_list(p, "sockets", sockets, socket_entry);
	json_t *normal = json_pack("{s:o, s:{s:o, s:o}, s:{s:o}, s:o, s:s}", "write", w, "read", "allow", a, "deny", d,
	                           "network", "allow", h, "sockets", s, "unix_sockets", p->all ? "all" : "none");

	if (!normal)
		oc_violations_nomem(&p->bad);
	return normal;
}

static json_t *nothing(struct oc_parsing *p, const json_t *root)
{
	json_t *normal = json_object();

	if (!normal)
		oc_violations_nomem(&p->bad);
	if (json_object_size(root) > 0)
		oc_violate(&p->bad, config, "policy", "choose the process sandbox, or leave the policy out",
		           "the kind none confines nothing, so it takes no policy");
	return normal;
}

static int make(const char *kind, const char *text, size_t len, json_t *normal_taken, oc_policy **out, oc_error **err)
{
	oc_policy *policy = calloc(1, sizeof(*policy));
	struct oc_buf canonical;
	int rc = 0;

	oc_buf_init(&canonical, OC_JSON_MAX);
	if (!policy) {
		json_decref(normal_taken);
		return oc_nomem(err);
	}
	policy->normal = normal_taken;
	policy->kind = strdup(kind);
	policy->text = strndup(text, len);
	rc = oc_json_canonical(normal_taken, &canonical, err);
	if (rc == 0) {
		policy->canonical = oc_buf_steal(&canonical);
		if (!policy->kind || !policy->text || !policy->canonical)
			rc = oc_nomem(err);
	}
	oc_buf_free(&canonical);
	if (rc == 0)
		*out = policy;
	else
		oc_policy_free(policy);
	return rc;
}

static int check_kind(const char *kind, const char *text, oc_error **err)
{
	if (!kind)
		return oc_fail(err, OC_EINVAL, 0, "no kind of policy was given");
	if (strcmp(kind, "machine") == 0)
		return oc_refuse(err, "sandbox_unavailable", kind, "use the process sandbox: \"sandbox\"",
		                 "policies of the kind %s are not built yet", kind);
	if (strcmp(kind, "none") != 0 && strcmp(kind, "sandbox") != 0 && strcmp(kind, "container") != 0)
		return oc_refuse(err, config, "kind", "write none, sandbox or container",
		                 "there is no kind of policy \"%.64s\"", kind);
	if (!text && strcmp(kind, "none") != 0)
		return oc_refuse(err, config, "policy", "write {} for a policy that grants nothing but {run}",
		                 "a sandbox needs a policy");
	return 0;
}

/* The text as an object; every error is a refusal that names the policy. */
static int parse_text(const char *kind, const char *text, size_t len, json_t **root, oc_error **err)
{
	struct oc_buf quoted;
	oc_error *e = NULL;
	int rc = 0;

	*root = NULL;
	oc_buf_init(&quoted, 4 * POLICY_MAX);
	if (strcmp(kind, "container") == 0 && len <= POLICY_MAX) {
		oc_cleanup(oc_freep) char *ended = strndup(text, len); /* a NUL in it is an error all the same */

		rc = ended ? oc_container_quote(ended, strlen(ended) == len ? len : 0, &quoted, &e) : oc_nomem(&e);
		if (rc == 0 && strlen(ended) == len)
			text = quoted.data, len = quoted.len;
	}
	if (rc == 0)
		rc = oc_json_parse(text, len, 4 * POLICY_MAX, "policy", root, &e);
	if (rc == 0 && !json_is_object(*root))
		rc = oc_refuse(&e, config, "policy", "write an object, as in {\"write\": [\"{workspace}\"]}",
		               "the policy is not a JSON object");
	oc_buf_free(&quoted);
	if (rc == 0)
		return 0;
	json_decref(*root);
	*root = NULL;
	if (rc != OC_ENOMEM && !oc_error_reason(e)) {
		rc = oc_refuse(err, config, "policy", "mend the policy's JSON", "%s", oc_error_message(e));
		oc_error_free(e);
	} else if (err) {
		*err = e;
	} else {
		oc_error_free(e);
	}
	return rc;
}

int oc_policy_parse(const char *kind, const char *text, size_t len, oc_policy **out, oc_error **err)
{
	struct oc_parsing p;
	json_t *root, *normal;
	int rc = check_kind(kind, text, err);

	if (rc)
		return rc;
	if (!text) {
		text = "{}";
		len = 2;
	}
	memset(&p, 0, sizeof(p));
	if (len > POLICY_MAX)
		return oc_refuse(err, config, "policy", "write a shorter policy", "policy: longer than %u bytes",
		                 POLICY_MAX);
	rc = parse_text(kind, text, len, &root, err);
	if (rc)
		return rc;
	normal = strcmp(kind, "none") == 0        ? nothing(&p, root)
	         : strcmp(kind, "container") == 0 ? oc_container_normalise(&p, root)
	                                          : normalise(&p, root);
	json_decref(root);
	rc = oc_violations_end(&p.bad, err);
	if (rc == 0)
		return make(kind, text, len, normal, out, err);
	json_decref(normal);
	return rc;
}

const char *oc_policy_kind(const oc_policy *policy)
{
	return policy->kind;
}

const char *oc_policy_text(const oc_policy *policy)
{
	return policy->text;
}

const char *oc_policy_json(const oc_policy *policy)
{
	return policy->canonical;
}

void oc_policy_free(oc_policy *policy)
{
	if (!policy)
		return;
	json_decref(policy->normal);
	free(policy->canonical);
	free(policy->text);
	free(policy->kind);
	free(policy);
}
