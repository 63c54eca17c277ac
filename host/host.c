/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"
#include "toolbelt/later.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void log_line(int level, const char *line, void *userdata)
{
	struct host *h = userdata;
	static const char *const names[] = { "", "error", "warning", "info", "debug" };

	out_printf(&h->err, "open-conduit: %s: %s\n", level >= 1 && level <= 4 ? names[level] : "log", line);
	out_flush(&h->err);
}

int host_open(struct host *h)
{
	oc_context_options o = OC_CONTEXT_OPTIONS_INIT;
	oc_error *err = NULL;
	int rc = 0;

	if (h->store)
		return 0;
	o.libexec_dir = getenv("OPEN_CONDUIT_LIBEXEC");
	o.log = log_line;
	o.log_userdata = h;
	o.log_level = h->verbose ? OC_LOG_INFO : OC_LOG_WARNING;
	if (!h->ctx)
		rc = oc_context_new(&o, &h->ctx, &err);
	if (rc >= 0)
		rc = oc_store_open(h->ctx, &h->store, &err);
	if (rc < 0)
		host_report(h, "the state can't be opened", err);
	oc_error_free(err);
	return rc;
}

void host_close(struct host *h)
{
	later_end(h);
	oc_workspace_free(h->workspace);
	oc_store_free(h->store);
	oc_context_free(h->ctx);
	h->workspace = NULL;
	h->store = NULL;
	h->ctx = NULL;
}

json_t *host_recover(struct host *h)
{
	oc_error *err = NULL;
	char *text = NULL;

	if (oc_store_recover(h->store, &text, &err) < 0) {
		host_report(h, "earlier runs can't be settled", err);
		oc_error_free(err);
		return NULL;
	}
	return host_parse(h, "the list of earlier runs", text);
}

void host_provider_dirs(const char *dirs[2])
{
	dirs[0] = getenv("OPEN_CONDUIT_PROVIDER_DIR");
	if (dirs[0] && !*dirs[0])
		dirs[0] = NULL;
	dirs[1] = getenv("OPEN_CONDUIT_LIBEXEC");
	if (!dirs[1] || !*dirs[1])
		dirs[1] = LIBEXEC_DIR;
}

oc_broker_options host_broker_options(const char *provider)
{
	/* What a provider needs to find the tools it drives; it gets nothing else of the environment. */
	static const char *const pass[] = { "PATH", "HOME", "OPEN_CONDUIT_SRT", "OPEN_CONDUIT_GATEWAY_IMAGE", NULL };
	oc_broker_options o = OC_BROKER_OPTIONS_INIT;
	const char *dirs[2];

	host_provider_dirs(dirs);
	o.provider = provider;
	o.provider_dir = dirs[0];
	o.pass_env = pass;
	return o;
}

json_t *host_parse(struct host *h, const char *what, char *text)
{
	json_error_t where;
	json_t *json = text ? json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &where) : NULL;

	free(text);
	if (!json) {
		out_printf(&h->err, "open-conduit: %s can't be read: out of memory or no JSON\n", what);
		out_flush(&h->err);
	}
	return json;
}

const char *host_string(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

json_t *host_answer(void)
{
	return json_pack("{s:i}", "version", 1);
}

static long long text_ms(const char *text)
{
	struct tm tm = { 0 };
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	long long ms = 0;

	if (!end)
		return -1;
	if (*end == '.' && strspn(end + 1, "0123456789") == 3)
		ms = strtoll(end + 1, NULL, 10);
	return (long long)timegm(&tm) * 1000 + ms;
}

long long host_time_ms(const json_t *value)
{
	if (json_is_integer(value))
		return json_integer_value(value);
	return json_is_string(value) ? text_ms(json_string_value(value)) : -1;
}

static long long clock_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

long long host_now_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

long long host_mono_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

int host_run_id(char out[HOST_RUN_ID + 1])
{
	unsigned char bytes[HOST_RUN_ID];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return OC_EIO;
	for (size_t i = 0; i < HOST_RUN_ID; i++)
		out[i] = HOST_RUN_LETTERS[bytes[i] % 32];
	out[HOST_RUN_ID] = 0;
	return 0;
}

int host_uuid(char out[37])
{
	unsigned char b[16];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return OC_EIO;
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	snprintf(out, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
	         b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
	return 0;
}

void host_time(const json_t *value, char *out, size_t size)
{
	long long ms = host_time_ms(value);
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	if (ms < 0 || !localtime_r(&seconds, &tm) || !strftime(out, size, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(out, size, "unknown");
}

void host_command_line(struct text *out, const json_t *argv)
{
	const json_t *word;
	size_t i;

	json_array_foreach(argv, i, word)
	{
		if (i)
			text_puts(out, " ");
		text_quote(out, json_is_string(word) ? json_string_value(word) : "");
	}
	text_puts(out, "");
}

static char *read_open_file(int fd, size_t max, const char **why)
{
	struct text t = { 0 };
	char piece[8192];
	ssize_t n;

	text_puts(&t, "");
	while ((n = read(fd, piece, sizeof(piece))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || t.len + (size_t)n > max || t.failed || memchr(piece, 0, (size_t)n)) {
			*why = n < 0                     ? strerror(errno)
			       : t.failed                ? "out of memory"
			       : t.len + (size_t)n > max ? "it is too long"
			                                 : "it holds a NUL byte";
			explicit_bzero(piece, sizeof(piece));
			text_free(&t);
			return NULL;
		}
		text_add(&t, piece, (size_t)n);
	}
	explicit_bzero(piece, sizeof(piece));
	if (!t.data)
		*why = "out of memory";
	return t.data;
}

char *host_read_file(const char *path, size_t max, const char **why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char *text;

	if (fd < 0) {
		*why = strerror(errno);
		return NULL;
	}
	text = read_open_file(fd, max, why);
	close(fd);
	return text;
}
