/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/context.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/utf8.h"

#define ENV_MAX 65536
#define LOG_MAX 4096

extern char **environ;

const char *oc_version(void)
{
	return OC_VERSION;
}

static int copy_environ(oc_context *ctx, oc_error **err)
{
	oc_cleanup(oc_strv_free) struct oc_strv copy = { 0 };

	oc_strv_init(&copy, ENV_MAX);
	for (char **e = environ; e && *e; e++)
		if (oc_strv_add(&copy, *e) < 0)
			return oc_nomem(err);
	if (!copy.v) {
		ctx->environ = calloc(1, sizeof(*ctx->environ));
		return ctx->environ ? 0 : oc_nomem(err);
	}
	ctx->environ = oc_steal(copy.v);
	copy.n = 0;
	return 0;
}

const char *oc_context_getenv(const oc_context *ctx, const char *name)
{
	size_t n = strlen(name);

	for (char **e = ctx->environ; e && *e; e++)
		if (!strncmp(*e, name, n) && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

/* The password database is asked only where the environment has no usable HOME. */
static int find_home(oc_context *ctx, oc_error **err)
{
	const char *home = oc_context_getenv(ctx, "HOME");
	char text[4096];
	struct passwd record, *found = NULL;

	if (!home || !oc_path_clean(home)) {
		if (getpwuid_r(getuid(), &record, text, sizeof(text), &found) || !found ||
		    !oc_path_clean(found->pw_dir))
			return oc_fail(err, OC_EINVAL, 0, "no home directory: HOME is not an absolute, clean path");
		home = found->pw_dir;
	}
	ctx->home = strdup(home);
	return ctx->home ? 0 : oc_nomem(err);
}

/* given, else $variable/open-conduit, else ~/fallback/open-conduit */
static int find_dir(oc_context *ctx, const char *given, const char *variable, const char *fallback, char **out,
                    oc_error **err)
{
	const char *base = variable ? oc_context_getenv(ctx, variable) : NULL;
	oc_cleanup(oc_freep) char *joined = NULL;

	if (given) {
		if (!oc_path_clean(given))
			return oc_fail(err, OC_EINVAL, 0, "%s: not an absolute, clean path", given);
		*out = strdup(given);
		return *out ? 0 : oc_nomem(err);
	}
	if (base && *base && !oc_path_clean(base))
		return oc_fail(err, OC_EINVAL, 0, "%s=%s: not an absolute, clean path", variable, base);
	if (!base || !*base) {
		joined = oc_path_join(ctx->home, fallback);
		if (!joined)
			return oc_nomem(err);
		base = joined;
	}
	*out = oc_path_join(base, "open-conduit");
	return *out ? 0 : oc_nomem(err);
}

static int find_dirs(oc_context *ctx, const oc_context_options *o, oc_error **err)
{
	int rc = find_home(ctx, err);

	if (!rc)
		rc = find_dir(ctx, o->state_dir, "XDG_STATE_HOME", ".local/state", &ctx->state_dir, err);
	if (!rc)
		rc = find_dir(ctx, o->config_dir, "XDG_CONFIG_HOME", ".config", &ctx->config_dir, err);
	if (!rc)
		rc = find_dir(ctx, o->libexec_dir ? o->libexec_dir : OC_LIBEXEC_DIR, NULL, NULL, &ctx->libexec_dir,
		              err);
	return rc;
}

int oc_context_new(const oc_context_options *options, oc_context **out, oc_error **err)
{
	oc_context_options o = OC_CONTEXT_OPTIONS_INIT;
	oc_context *ctx;
	int rc;

	if (!out)
		return oc_fail(err, OC_EINVAL, 0, "oc_context_new: out is NULL");
	if (options && !oc_copy_sized(&o, sizeof(o), options))
		return oc_fail(err, OC_EVERSION, 0,
		               "oc_context_options has a member set that this library does not know");
	if (o.flags)
		return oc_fail(err, OC_EVERSION, 0, "oc_context_options.flags must be 0");
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return oc_nomem(err);
	ctx->pid = getpid();
	ctx->log_level = o.log_level ? o.log_level : OC_LOG_WARNING;
	rc = copy_environ(ctx, err);
	if (!rc)
		rc = find_dirs(ctx, &o, err);
	if (!rc)
		rc = oc_loop_new(&ctx->loop, err);
	if (rc < 0) {
		oc_context_free(ctx);
		return rc;
	}
	ctx->log = o.log;
	ctx->log_userdata = o.log_userdata;
	ctx->log_userdata_free = o.log_userdata_free;
	*out = ctx;
	return 0;
}

void oc_context_free(oc_context *ctx)
{
	if (!ctx)
		return;
	oc_loop_free(ctx->loop);
	if (ctx->log_userdata_free)
		ctx->log_userdata_free(ctx->log_userdata);
	for (char **e = ctx->environ; e && *e; e++)
		free(*e);
	free(ctx->environ);
	free(ctx->state_dir);
	free(ctx->config_dir);
	free(ctx->libexec_dir);
	free(ctx->home);
	free(ctx);
}

int oc_context_fd(const oc_context *ctx)
{
	return oc_loop_fd(ctx->loop);
}

int oc_context_check(const oc_context *ctx, oc_error **err)
{
	if (!ctx)
		return oc_fail(err, OC_EINVAL, 0, "the context is NULL");
	if (ctx->pid != getpid())
		return oc_fail(err, OC_EINVAL, 0, "the context belongs to another process: make one after fork");
	return 0;
}

int oc_context_dispatch(oc_context *ctx, oc_error **err)
{
	int rc = oc_context_check(ctx, err);

	return rc ? rc : oc_loop_dispatch(ctx->loop, err);
}

int oc_context_wait(oc_context *ctx, int timeout_ms, oc_error **err)
{
	int rc = oc_context_check(ctx, err);

	return rc ? rc : oc_loop_wait(ctx->loop, timeout_ms, err);
}

const char *oc_context_state_dir(const oc_context *ctx)
{
	return ctx->state_dir;
}

void oc_log(oc_context *ctx, int level, const char *fmt, ...)
{
	struct oc_buf escaped;
	char text[LOG_MAX];
	va_list args;

	if (!ctx->log || level > ctx->log_level)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	oc_buf_init(&escaped, 6 * LOG_MAX);
	if (!oc_text_escape(&escaped, text, strlen(text), false) && escaped.data)
		ctx->log(level, escaped.data, ctx->log_userdata);
	oc_buf_free(&escaped);
}
