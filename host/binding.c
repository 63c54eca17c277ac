/* SPDX-License-Identifier: Apache-2.0 */
#include "binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int binding_config(struct host *h, const char *what, struct config **out)
{
	struct report report = { 0 };
	bool good = config_load(NULL, NULL, out, &report) >= 0;
	char head[64];

	snprintf(head, sizeof(head), "%s: the config", what);
	/* Warnings are for `config check`: what keeps the run from being is told here. */
	for (size_t i = 0; !good && i < report.n; i++) {
		const struct finding *f = &report.v[i];
		struct refusal r = { f->reason, *f->field ? f->field : f->subject, f->message, f->fix };

		if (!f->warning)
			host_refuse(h, head, &r);
		h->json = h->json && f->warning; /* one answer on stdout */
	}
	report_free(&report);
	return good ? 0 : OC_EREFUSED;
}

const struct config_binding *binding_find(struct host *h, const char *what, const struct config *config,
                                          const char *name, const char *command)
{
	const char *nearest = NULL;
	const struct config_binding *found = config_binding(config, name, &nearest);
	char fix[300];
	struct refusal r = { "sandbox_config", name, "the config has no such binding", fix };

	if (found)
		return found;
	if (nearest && command)
		snprintf(fix, sizeof(fix), "%.32s %.250s", command, nearest);
	else
		snprintf(fix, sizeof(fix), "open-conduit config check");
	host_refuse(h, what, &r);
	return NULL;
}

/* A broker whose provider gets what it always needs of the environment, and what the config (may be NULL) grants it. */
static int make_broker(struct host *h, const struct config *config, const char *kind, const char *provider,
                       oc_broker **out, oc_error **err)
{
	oc_broker_options o = host_broker_options(provider);
	const char *const *granted = config && provider ? config_pass_env(config, provider) : NULL, *const * p;
	struct texts pass = { 0 };
	int rc;

	for (p = o.pass_env; p && *p; p++)
		texts_add(&pass, "%s", *p);
	for (p = granted; p && *p; p++)
		texts_add(&pass, "%s", *p);
	o.pass_env = texts_list(&pass);
	if (!strcmp(kind, "sandbox"))
		rc = oc_sandbox_broker_new(h->store, &o, out, err);
	else if (!strcmp(kind, "none"))
		rc = oc_unsandboxed_broker_new(h->store, NULL, out, err);
	else
		rc = oc_container_broker_new(h->store, &o, out, err);
	texts_free(&pass);
	return rc;
}

static int told(struct host *h, const char *what, int rc, oc_error *err_taken)
{
	if (rc < 0)
		host_report(h, what, err_taken);
	oc_error_free(err_taken);
	return rc;
}

int binding_broker(struct host *h, const char *what, const struct config *config, const struct config_binding *b,
                   oc_broker **out)
{
	oc_error *err = NULL;
	int rc = make_broker(h, config, b->kind, b->place ? b->place->provider : NULL, out, &err);

	return told(h, what, rc, err);
}

int binding_container(struct host *h, const struct config *config, const char *provider, oc_broker **out,
                      oc_error **err)
{
	return make_broker(h, config, "container", provider ? provider : "docker", out, err);
}

/* The operator's config for its settings alone: without one there are none, and one with errors grants nothing. */
static struct config *settings(struct host *h)
{
	char *path = config_default_path(NULL);
	struct report report = { 0 };
	struct config *config = NULL;

	if (path && access(path, F_OK) == 0 && config_load(path, NULL, &config, &report) < 0) {
		config = NULL;
		out_printf(&h->err, "open-conduit: the config has errors, so what it grants providers is not used: "
		                    "open-conduit config check\n");
		out_flush(&h->err);
	}
	report_free(&report);
	free(path);
	return config;
}

int binding_container_broker(struct host *h, const char *what, const struct config *config, const char *provider,
                             oc_broker **out)
{
	struct config *own = config ? NULL : settings(h);
	oc_error *err = NULL;
	int rc = binding_container(h, config ? config : own, provider, out, &err);

	config_free(own);
	return told(h, what, rc, err);
}

bool binding_secrets(const struct config_binding *b, struct exec_args *a, struct texts *specs)
{
	for (size_t i = 0; i < b->n_secrets; i++)
		texts_add(specs, "%s=%s", b->secrets[i].variable, b->secrets[i].ref);
	a->secret.v = calloc(specs->n + 1, sizeof(*a->secret.v));
	for (size_t i = 0; a->secret.v && i < specs->n; i++)
		a->secret.v[a->secret.n++] = specs->v[i];
	return a->secret.v && !specs->failed;
}

bool binding_git(const struct config_binding *b, char **out)
{
	const char *base = b->link ? b->link->config->base_url : "https://github.com";
	json_t *git;

	*out = NULL;
	if (b->git == CONFIG_GIT_OWN)
		return true;
	/* By a token of the run's own any repository is signed in to, also where none is known here. */
	git = json_pack("{s:s%, s:s, s:s}", "base", base, 8 + strcspn(base + 8, "/"), "repository",
	                b->repo ? b->repo : "any/any", "from",
	                b->git == CONFIG_GIT_TOOLBELT ? "toolbelt" : "environment");
	*out = git ? json_dumps(git, JSON_COMPACT) : NULL;
	json_decref(git);
	return *out != NULL;
}
