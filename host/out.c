/* SPDX-License-Identifier: Apache-2.0 */
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PENDING_MAX (64u << 10)
#define PIECE       4096 /* a pipe that poll calls writable takes this much without blocking */

static void open_standard(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		/* The lowest free number is this one.  Read-only, so that a write to a closed standard output fails
		 * instead of vanishing. */
		if (open("/dev/null", (fd == 0 ? O_RDWR : O_RDONLY) | O_CLOEXEC) == fd)
			fcntl(fd, F_SETFD, 0);
	}
}

static void open_one(struct out *o, int fd)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

	*o = (struct out){ .fd = fd, .interrupt = -1, .tty = isatty(fd) };
	o->colour = o->tty && !(no_colour && *no_colour) && term && *term && strcmp(term, "dumb") != 0;
	o->ascii = o->tty && strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

void out_open(struct out *out, struct out *err)
{
	open_standard();
	open_one(out, 1);
	open_one(err, 2);
}

int out_width(const struct out *o)
{
	struct winsize size;

	if (!o->tty)
		return 0;
	return ioctl(o->fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20 ? size.ws_col : 80;
}

/* Waits until the reader takes more; false when a signal asks for the end instead. */
static bool writable(struct out *o)
{
	struct pollfd p[2] = { { .fd = o->fd, .events = POLLOUT }, { .fd = o->interrupt, .events = POLLIN } };

	for (;;) {
		int n = poll(p, 2, -1);

		if (n < 0 && errno != EINTR)
			return true;
		if (n > 0 && p[0].revents)
			return true;
		if (n > 0 && p[1].revents)
			return false;
	}
}

static bool write_all(struct out *o, const char *data, size_t len)
{
	while (len && !o->error) {
		ssize_t n;

		if (!writable(o)) {
			o->error = EINTR;
			break;
		}
		n = write(o->fd, data, len < PIECE ? len : PIECE);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0) {
			o->error = errno;
			break;
		}
		data += n;
		len -= (size_t)n;
	}
	return !o->error;
}

bool out_flush(struct out *o)
{
	if (o->pending.failed && !o->error)
		o->error = ENOMEM;
	if (!o->error && o->pending.len)
		write_all(o, o->pending.data, o->pending.len);
	o->pending.len = 0;
	return !o->error;
}

void out_put(struct out *o, const char *ours)
{
	text_puts(&o->pending, ours);
	if (o->pending.len > PENDING_MAX)
		out_flush(o);
}

static void put_string(struct out *o, const char *s, int width)
{
	struct text t = { 0 };
	size_t columns;

	text_escape(&t, s ? s : "(none)", o->ascii);
	columns = t.data ? text_columns(t.data) : 0;
	for (; width > 0 && columns < (size_t)width; width--)
		text_puts(&o->pending, " ");
	text_add(&o->pending, t.data ? t.data : "", t.len);
	for (; width < 0 && columns < (size_t)-width; width++)
		text_puts(&o->pending, " ");
	o->pending.failed |= t.failed;
	text_free(&t);
}

static void put_number(struct out *o, const char *length, char kind, int width, va_list *ap)
{
	char number[32];

	if (kind == 'c')
		snprintf(number, sizeof(number), "%c", va_arg(*ap, int));
	else if (!strcmp(length, "ll"))
		snprintf(number, sizeof(number), kind == 'u' ? "%llu" : "%lld", va_arg(*ap, long long));
	else if (!strcmp(length, "z"))
		snprintf(number, sizeof(number), "%zu", va_arg(*ap, size_t));
	else
		snprintf(number, sizeof(number), kind == 'u' ? "%u" : "%d", va_arg(*ap, int));
	put_string(o, number, width);
}

static void vprint(struct out *o, const char *fmt, va_list *ap)
{
	while (*fmt) {
		size_t n = strcspn(fmt, "%");
		char length[3] = "";
		int width = 0, sign = 1;

		text_add(&o->pending, fmt, n);
		fmt += n;
		if (!*fmt)
			return;
		fmt++;
		if (*fmt == '-') {
			sign = -1;
			fmt++;
		}
		if (*fmt == '*') {
			width = va_arg(*ap, int);
			fmt++;
		}
		for (; *fmt >= '0' && *fmt <= '9'; fmt++)
			width = width * 10 + (*fmt - '0');
		for (n = 0; (*fmt == 'l' || *fmt == 'z') && n < 2; fmt++)
			length[n++] = *fmt;
		if (*fmt == 's')
			put_string(o, va_arg(*ap, const char *), sign * width);
		else if (*fmt == '%')
			text_puts(&o->pending, "%");
		else
			put_number(o, length, *fmt, sign * width, ap);
		fmt += *fmt != 0;
	}
}

void out_printf(struct out *o, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprint(o, fmt, &ap);
	va_end(ap);
	if (o->pending.len > PENDING_MAX)
		out_flush(o);
}

void out_styled(struct out *o, const char *style, const char *text)
{
	if (o->colour) {
		out_put(o, "\033[");
		out_put(o, style);
		out_put(o, "m");
	}
	put_string(o, text, 0);
	if (o->colour)
		out_put(o, "\033[0m");
}

void out_json(struct out *o, json_t *taken)
{
	char *text = taken ? json_dumps(taken, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_ENCODE_ANY) : NULL;

	json_decref(taken);
	if (!text) {
		o->pending.failed = true;
		return;
	}
	out_put(o, text);
	out_put(o, "\n");
	free(text);
}

bool out_bytes(struct out *o, struct filter *f, const void *data, size_t len)
{
	struct text shown = { 0 };

	if (!out_flush(o))
		return false;
	if (!o->tty || !f)
		return write_all(o, data, len);
	filter_add(f, &shown, data, len);
	if (shown.failed)
		o->error = ENOMEM;
	if (shown.len)
		write_all(o, shown.data, shown.len);
	text_free(&shown);
	return !o->error;
}

int out_end(struct out *out, struct out *err, int rc, int failed)
{
	bool good = out_flush(out);
	int why = out->error;

	out_flush(err);
	text_free(&out->pending);
	if (!good && why == EPIPE)
		rc = 141; /* as if SIGPIPE had ended us: what a shell expects of `… | head -1` */
	if (!good && why != EPIPE && why != EINTR) {
		out_printf(err, "open-conduit: can't write to standard output: %s\n", strerror(why));
		rc = failed;
	}
	out_flush(err);
	text_free(&err->pending);
	return rc;
}
