/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/credential.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define CONFIG_MAX   1000 /* entries that the request may have of its own */
#define HOST_LONGEST 253
#define NAME_LONGEST 100
#define LETTERS      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
#define COUNT        "GIT_CONFIG_COUNT"

/* What git and ssh would ask a person by, who is not there; "" turns off core.askPass too. */
static const struct {
	const char *name, *value;
} prompts[] = { { "GIT_TERMINAL_PROMPT", "0" }, { "GIT_ASKPASS", "" }, { "SSH_ASKPASS", "" } };

static int bad(const char *member, const char *fix, const char *what, oc_error **err)
{
	char path[64];

	snprintf(path, sizeof(path), "git_credential.%s", member);
	return oc_refuse(err, "sandbox_config", path, fix, "%s: %s", path, what);
}

static bool host_ok(const char *host, size_t len)
{
	size_t label = 0;

	if (!len || len > HOST_LONGEST)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (host[i] == '.' ? !label : !strchr(LETTERS, host[i]) || (host[i] == '-' && !label))
			return false;
		label = host[i] == '.' ? 0 : label + 1;
	}
	return label > 0;
}

static bool port_ok(const char *port)
{
	return strspn(port, "0123456789") == strlen(port) && strlen(port) <= 5 && *port && *port != '0' &&
	       atoi(port) <= 65535;
}

static bool base_ok(const char *base)
{
	static const char scheme[] = "https://";
	const char *host = base + sizeof(scheme) - 1;
	size_t len;

	if (strncmp(base, scheme, sizeof(scheme) - 1) != 0)
		return false;
	len = strcspn(host, ":");
	return host_ok(host, len) && (!host[len] || port_ok(host + len + 1));
}

static bool part_ok(const char *part, size_t len)
{
	return len && len <= NAME_LONGEST && strspn(part, LETTERS "._") >= len && !(len == 1 && *part == '.') &&
	       !(len == 2 && strncmp(part, "..", 2) == 0);
}

static bool repository_ok(const char *repository)
{
	const char *slash = strchr(repository, '/');

	return slash && part_ok(repository, (size_t)(slash - repository)) && part_ok(slash + 1, strlen(slash + 1));
}

static int check(struct oc_plan_credential *c, oc_error **err)
{
	const char *from = NULL;
	const struct oc_json_key keys[] = { { "base", OC_JSON_STRING, true, &c->base },
		                            { "repository", OC_JSON_STRING, true, &c->repository },
		                            { "from", OC_JSON_STRING, true, &from } };
	int rc = oc_json_unpack(c->json, "git_credential", "sandbox_config", keys, OC_COUNT(keys), err);

	if (rc < 0)
		return rc;
	if (!base_ok(c->base))
		return bad("base", "\"base\": \"https://github.com\"", "is not https:// and a host, and no more", err);
	if (!repository_ok(c->repository))
		return bad("repository", "\"repository\": \"OWNER/NAME\"",
		           "is not an owner and a name, of letters, digits and . _ -", err);
	c->toolbelt = strcmp(from, "toolbelt") == 0;
	if (!c->toolbelt && strcmp(from, "environment") != 0)
		return bad("from", "\"from\": \"toolbelt\"", "is neither \"toolbelt\" nor \"environment\"", err);
	return 0;
}

int oc_plan_credential(const struct oc_plan_input *in, struct oc_plan_credential *out, oc_error **err)
{
	const char *text = in->request->git_credential;
	int rc;

	memset(out, 0, sizeof(*out));
	if (!text)
		return 0;
	rc = oc_json_parse(text, strlen(text), 4096, "request.git_credential", &out->json, err);
	if (rc >= 0)
		rc = check(out, err);
	if (rc < 0)
		oc_plan_credential_free(out);
	return rc;
}

void oc_plan_credential_free(struct oc_plan_credential *c)
{
	json_decref(c->json);
	memset(c, 0, sizeof(*c));
}

int oc_plan_credential_reserved(const char *name, const char *value, oc_error **err)
{
	for (size_t i = 0; i < OC_COUNT(prompts); i++) {
		if (strcmp(name, prompts[i].name) == 0 && (!value || strcmp(value, prompts[i].value) != 0))
			return oc_refuse(err, "sandbox_config", name, "leave it out",
			                 "%s is set by Open Conduit, which signs this run's git in", name);
	}
	if (strcmp(name, "GIT_CONFIG_PARAMETERS") == 0)
		return oc_refuse(err, "sandbox_config", name,
		                 "use GIT_CONFIG_COUNT, GIT_CONFIG_KEY_0, GIT_CONFIG_VALUE_0",
		                 "%s would come after how Open Conduit signs this run's git in", name);
	return 0;
}

/* How many entries of configuration are there before ours. */
static int count_before(const json_t *env, int *out, oc_error **err)
{
	const json_t *entry;
	const char *value;
	size_t i;

	*out = 0;
	json_array_foreach(env, i, entry)
	{
		if (strcmp(oc_json_text(entry, "name"), COUNT) != 0)
			continue;
		value = oc_json_text(entry, "value");
		if (!value || !*value || strlen(value) > 4 || value[strspn(value, "0123456789")] ||
		    atoi(value) > CONFIG_MAX)
			return oc_refuse(err, "sandbox_config", COUNT, COUNT "=0",
			                 COUNT " is no number from 0 to %d that is written out here", CONFIG_MAX);
		*out = atoi(value);
	}
	return 0;
}

struct entries {
	json_t *list;
	const char *base;
	int count;
	bool failed;
};

static void set(struct entries *e, const char *name, const char *value)
{
	json_t *pair = json_pack("{s:s, s:s}", "name", name, "value", value);

	e->failed |= !oc_json_append(e->list, pair);
}

/* key NULL: for all of git; else of credential.BASE. */
static void configure(struct entries *e, const char *name, const char *key, const char *value)
{
	char variable[64], whole[HOST_LONGEST + 128];

	snprintf(whole, sizeof(whole), "credential.%s.%s", e->base, key ? key : "");
	snprintf(variable, sizeof(variable), "GIT_CONFIG_KEY_%d", e->count);
	set(e, variable, key ? whole : name);
	snprintf(variable, sizeof(variable), "GIT_CONFIG_VALUE_%d", e->count++);
	set(e, variable, value);
}

static const char *address(const struct oc_plan_input *in, const struct oc_plan_credential *c, const char *belt_at)
{
	return !c->toolbelt ? "env" : in->request->attach ? "none:attach" : belt_at ? belt_at : "none:toolbelt";
}

/* For a shell: git runs what begins with "!" by one, and takes what else is not an absolute path for a name. */
static char *helper(const struct oc_plan_input *in, const struct oc_plan_credential *c, const char *belt_at)
{
	struct oc_buf text;
	int rc;

	oc_buf_init(&text, 65536);
	rc = oc_buf_puts(&text, "!");
	if (rc == 0)
		rc = oc_shell_quote(&text, oc_kind_container(in->kind) ? OC_CONTAINER_GUEST : in->guest);
	if (rc == 0)
		rc = oc_buf_puts(&text, " credential ");
	if (rc == 0)
		rc = oc_shell_quote(&text, address(in, c, belt_at));
	if (rc == 0)
		rc = oc_buf_printf(&text, " %s %s", c->base, c->toolbelt ? c->repository : "-");
	if (rc < 0)
		oc_buf_free(&text);
	return rc < 0 ? NULL : oc_buf_steal(&text);
}

/* An empty helper is the end of all before it.  Outside of a sandbox those of other hosts are the user's own. */
static void fill(struct entries *e, bool confined, const char *helper)
{
	if (confined)
		configure(e, "credential.helper", NULL, "");
	configure(e, NULL, "helper", "");
	configure(e, NULL, "helper", helper);
	configure(e, NULL, "useHttpPath", "true");
	configure(e, NULL, "username", "x-access-token");
	if (confined) { /* keys are never there */
		configure(e, "commit.gpgsign", NULL, "false");
		configure(e, "tag.gpgsign", NULL, "false");
	}
}

int oc_plan_credential_env(const struct oc_plan_input *in, const struct oc_plan_credential *c, const char *belt_at,
                           const json_t *env, json_t **out, oc_error **err)
{
	struct entries e = { .base = c->base };
	oc_cleanup(oc_freep) char *command = NULL;
	char count[16];
	int rc = count_before(env, &e.count, err);

	if (rc < 0)
		return rc;
	e.list = json_array();
	command = helper(in, c, belt_at);
	e.failed = !e.list || !command;
	for (size_t i = 0; !e.failed && i < OC_COUNT(prompts); i++)
		set(&e, prompts[i].name, prompts[i].value);
	if (!e.failed)
		fill(&e, !oc_kind_plain(in->kind), command);
	snprintf(count, sizeof(count), "%d", e.count);
	if (!e.failed)
		set(&e, COUNT, count);
	if (e.failed) {
		json_decref(e.list);
		return oc_nomem(err);
	}
	*out = e.list;
	return 0;
}

char *oc_plan_credential_note(const struct oc_plan_input *in, const struct oc_plan_credential *c)
{
	struct oc_buf text;
	int rc;

	oc_buf_init(&text, 4096);
	if (!c->toolbelt)
		rc = oc_buf_printf(&text, "git signs in to %s with GH_TOKEN or GITHUB_TOKEN, which the run can read",
		                   c->base);
	else if (in->request->attach || !in->request->toolbelt)
		rc = oc_buf_printf(&text, "git can't sign in to %s: the run has no toolbelt", c->base);
	else
		rc = oc_buf_printf(&text, "git signs in to %s/%s alone, through the run's toolbelt", c->base,
		                   c->repository);
	if (rc < 0)
		oc_buf_free(&text);
	return rc < 0 ? NULL : oc_buf_steal(&text);
}
