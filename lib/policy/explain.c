/* SPDX-License-Identifier: Apache-2.0 */
/* Would it be allowed, by which rule, what line would allow it: and the same for what a run says it needs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "policy/host.h"
#include "policy/paths.h"
#include "policy/resolve.h"

struct answer {
	struct oc_verdict verdict;
	char *resolved, *line; /* new; line may be NULL */
};

static bool denies_fixed(const struct oc_verdict *v)
{
	return v->rule && (strcmp(v->rule, "protected") == 0 || strcmp(v->rule, "git") == 0);
}

/* A container's policy names what may be read, any other what may be read again. */
static bool container(const json_t *resolved)
{
	return json_object_get(resolved, "agent_home") != NULL;
}

static char *read_line(const json_t *resolved, const char *path)
{
	return container(resolved) ? oc_policy_quote("\"read\": [", path, "]")
	                           : oc_policy_quote("\"read\": {\"allow\": [", path, "]}");
}

static char *write_line(const json_t *resolved, const char *path, const struct oc_verdict *read)
{
	oc_cleanup(oc_freep) char *grant = oc_policy_quote("\"write\": [", path, "]");
	oc_cleanup(oc_freep) char *lift = oc_policy_quote(", \"read\": {\"allow\": [", path, "]}");

	return grant && lift ? oc_policy_format("%s%s", grant, read->allowed || container(resolved) ? "" : lift) : NULL;
}

/* Something beneath a link is reached through it: where the link itself can't be seen, neither can its target. */
static struct oc_verdict through(const json_t *resolved, const struct oc_strv *links, struct oc_verdict v)
{
	for (size_t i = 0; v.allowed && i < links->n; i++) {
		struct oc_verdict at = oc_resolved_read(resolved, links->v[i]);

		if (!at.allowed)
			v = at;
	}
	return v;
}

static int ask_path(const json_t *resolved, const char *question, const char *subject, struct answer *a, oc_error **err)
{
	bool missing = false, toolbelt = strcmp(subject, "{toolbelt}") == 0 && *question == 's';
	struct oc_strv links;
	int rc;

	if (!toolbelt && (subject[0] != '/' || !oc_path_clean(subject)))
		return oc_fail(err, OC_EINVAL, 0, "\"%.200s\" is no absolute path without ., .. and a slash at its end",
		               subject);
	oc_strv_init(&links, 64);
	rc = toolbelt ? ((a->resolved = strdup(subject)) ? 0 : -ENOMEM)
	              : oc_policy_walk(subject, &a->resolved, &missing, &links);
	if (rc < 0) {
		oc_strv_free(&links);
		return rc == -ENOMEM ? oc_nomem(err)
		                     : oc_fail(err, OC_EINVAL, -rc, "\"%.200s\" can't be resolved", subject);
	}
	if (*question == 'r') {
		a->verdict = through(resolved, &links, oc_resolved_read(resolved, a->resolved));
		a->line = read_line(resolved, a->resolved);
	} else if (*question == 'w') {
		struct oc_verdict read = through(resolved, &links, oc_resolved_read(resolved, a->resolved));

		a->verdict = through(resolved, &links, oc_resolved_write(resolved, a->resolved));
		a->line = write_line(resolved, a->resolved, &read);
	} else {
		a->verdict = through(resolved, &links, oc_resolved_socket(resolved, a->resolved));
		a->line =
		        oc_policy_quote("\"sockets\": [", a->resolved, toolbelt ? "]" : "], \"unix_sockets\": \"all\"");
	}
	oc_strv_free(&links);
	return a->line ? 0 : oc_nomem(err);
}

/* HOST[:PORT]; without a port the question is about https. */
static int ask_host(const json_t *resolved, const char *subject, struct answer *a, oc_error **err)
{
	const char *why, *port_text;
	char host[OC_HOST_MAX], entry[OC_HOST_MAX + 16];
	struct oc_host_rule rule;
	size_t len, port_len;
	uint16_t port = 443;
	bool address;

	why = oc_host_authority(subject, strlen(subject), &len, &port_text, &port_len);
	if (!why)
		why = oc_host_normalise(subject, len, host, &address);
	if (!why && port_text)
		why = oc_host_port(port_text, port_len, &port);
	if (why)
		return oc_fail(err, OC_EINVAL, 0, "\"%.200s\" %s", subject, why);
	snprintf(entry, sizeof(entry), strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
	a->verdict = oc_resolved_host(resolved, host, port);
	a->resolved = strdup(entry);
	/* What no policy may name has no line. */
	if (!oc_host_rule_parse(entry, strlen(entry), true, &rule))
		a->line = oc_policy_quote("\"network\": {\"allow\": [", entry, "]}");
	return a->resolved ? 0 : oc_nomem(err);
}

static int ask(const json_t *resolved, const char *question, const char *subject, struct answer *a, oc_error **err)
{
	static const char *const questions[] = { "read", "write", "socket" };

	memset(a, 0, sizeof(*a));
	if (!resolved || !question || !subject)
		return oc_fail(err, OC_EINVAL, 0, "a question needs a resolved policy, a kind and a subject");
	if (strcmp(question, "host") == 0)
		return ask_host(resolved, subject, a, err);
	for (size_t i = 0; i < OC_COUNT(questions); i++)
		if (strcmp(question, questions[i]) == 0)
			return ask_path(resolved, question, subject, a, err);
	return oc_fail(err, OC_EINVAL, 0, "there is no question \"%.64s\"; there are read, write, host and socket",
	               question);
}

static void answer_free(struct answer *a)
{
	free(a->resolved);
	free(a->line);
}

int oc_resolved_explain(const json_t *resolved, const char *question, const char *subject, json_t **out, oc_error **err)
{
	struct answer a;
	int rc = ask(resolved, question, subject, &a, err);

	if (rc == 0) {
		bool offer = a.line && !a.verdict.allowed && !denies_fixed(&a.verdict);

		*out = json_pack("{s:s, s:s, s:s, s:b, s:s?, s:s?}", "question", question, "subject", subject,
		                 "resolved", a.resolved, "allowed", (int)a.verdict.allowed, "rule", a.verdict.rule,
		                 "allow_line", offer ? a.line : NULL);
		if (!*out)
			rc = oc_nomem(err);
	}
	answer_free(&a);
	return rc;
}

static void need(struct oc_violations *bad, const json_t *resolved, const char *question, const char *subject)
{
	struct answer a;
	oc_error *e = NULL;

	if (ask(resolved, question, subject, &a, &e) < 0) {
		oc_violate(bad, "sandbox_config", subject, NULL, "the run needs %s", oc_error_message(e));
		oc_error_free(e);
	} else if (!a.verdict.allowed) {
		oc_violate(bad, "sandbox_denied", subject, denies_fixed(&a.verdict) ? NULL : a.line,
		           "the run needs to %s %s, which the policy does not grant%s%s",
		           strcmp(question, "host") == 0 ? "reach" : question, subject, a.verdict.rule ? ": " : "",
		           a.verdict.rule ? a.verdict.rule : "");
	}
	answer_free(&a);
}

/* A need may be written as a policy's path is. */
static char *need_path(const json_t *resolved, const char *text)
{
	oc_cleanup(oc_freep) char *fix = NULL;

	if (oc_policy_path_check(text, &fix))
		return strdup(text); /* ask() says what is wrong */
	return oc_policy_path_expand(text, oc_json_text(resolved, "home"), oc_json_text(resolved, "workspace"),
	                             oc_json_text(resolved, "run_dir"));
}

int oc_resolved_needs(const json_t *resolved, const json_t *needs, oc_error **err)
{
	static const char *const lists[][2] = { { "hosts", "host" }, { "read", "read" }, { "write", "write" } };
	struct oc_violations bad = { 0 };
	json_t *item;
	size_t i;

	for (size_t k = 0; k < OC_COUNT(lists); k++)
		json_array_foreach(json_object_get(needs, lists[k][0]), i, item)
		{
			const char *text = json_string_value(item);
			oc_cleanup(oc_freep) char *path = NULL;

			if (!text) {
				oc_violate(&bad, "sandbox_config", lists[k][0], NULL, "needs.%s[%zu] is no string",
				           lists[k][0], i);
				continue;
			}
			path = k == 0 ? strdup(text) : need_path(resolved, text);
			if (path)
				need(&bad, resolved, lists[k][1], path);
			else
				oc_violations_nomem(&bad);
		}
	return oc_violations_end(&bad, err);
}
