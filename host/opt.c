/* SPDX-License-Identifier: Apache-2.0 */
#include "opt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "out.h"

#define WORD_MAX  48 /* longer words are nobody's misspelling of an option */
#define NAMES_MAX 64

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* Levenshtein distance, but a transposition of neighbours counts once. */
static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), d[3][WORD_MAX + 1];
	size_t *before = d[0], *last = d[1], *row = d[2], *spare;

	if (n > WORD_MAX || m > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= m; j++)
		last[j] = j;
	for (size_t i = 1; i <= n; i++) {
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[m];
}

const char *opt_nearest(const char *word, const char *const *candidates)
{
	const char *best = NULL;
	size_t best_distance = strlen(word) / 3 + 2;

	for (; *candidates; candidates++) {
		size_t d = distance(word, *candidates);
		/* "ver" is not a misspelling of "version" but the beginning of it; nearly the same to a reader. */
		bool begins = strlen(word) >= 3 && !strncmp(word, *candidates, strlen(word));

		if (begins)
			d = 1;
		if (d < best_distance && d < strlen(*candidates)) {
			best = *candidates;
			best_distance = d;
		}
	}
	return best;
}

void opt_begin(struct opt_state *s, const struct opt_command *command, int argc, char **argv, struct out *out,
               struct out *err)
{
	*s = (struct opt_state){ .command = command, .argc = argc, .argv = argv, .out = out, .err = err };
}

int opt_usage_error(struct opt_state *s, const char *fmt, ...)
{
	char message[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	out_printf(s->err, "open-conduit %s: %s\nTry: open-conduit %s --help\n", s->command->name, message,
	           s->command->name);
	out_flush(s->err);
	return 2;
}

static void print_option(struct out *out, const struct opt *o)
{
	char left[64];

	if (o->letter)
		snprintf(left, sizeof(left), "  -%c, --%s%s%s", o->letter, o->name, o->arg ? " " : "",
		         o->arg ? o->arg : "");
	else
		snprintf(left, sizeof(left), "      --%s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
	out_printf(out, "%-30s  %s\n", left, o->help);
}

void opt_print_usage(struct out *out, const struct opt_command *command)
{
	static const struct opt help = { "help", 'h', NULL, "show this" };

	out_printf(out, "usage: open-conduit %s%s%s%s\n\n%s\n\n", command->name,
	           command->opts[0].name ? " [options]" : "", command->args ? " " : "",
	           command->args ? command->args : "", command->about);
	for (const struct opt *o = command->opts; o->name; o++)
		if (o->help)
			print_option(out, o);
	print_option(out, &help);
	if (command->more) {
		out_put(out, "\n");
		out_put(out, command->more);
	}
}

static int help(struct opt_state *s)
{
	opt_print_usage(s->out, s->command);
	return OPT_HELP;
}

static int unknown_long(struct opt_state *s, const char *name, size_t len)
{
	const char *names[NAMES_MAX + 2], *near;
	char word[WORD_MAX + 1];
	size_t n = 0;

	for (const struct opt *o = s->command->opts; o->name && n < NAMES_MAX; o++)
		if (o->help)
			names[n++] = o->name;
	names[n++] = "help";
	names[n] = NULL;
	snprintf(word, sizeof(word), "%.*s", (int)(len < WORD_MAX ? len : WORD_MAX), name);
	near = opt_nearest(word, names);
	if (near)
		opt_usage_error(s, "unknown option --%s; did you mean --%s?", word, near);
	else
		opt_usage_error(s, "unknown option --%s", word);
	return OPT_BAD;
}

/* The value of an option: the rest of its word, else the next word. */
static int take_value(struct opt_state *s, int index, const char *inside)
{
	const struct opt *o = &s->command->opts[index];

	if (inside) {
		s->value = inside;
		return index;
	}
	if (s->at >= s->argc) {
		opt_usage_error(s, "--%s needs a value: %s", o->name, o->arg);
		return OPT_BAD;
	}
	/* A forgotten value must not swallow the option after it. */
	if (s->argv[s->at][0] == '-' && s->argv[s->at][1]) {
		opt_usage_error(s, "--%s needs a value (%s), and \"%s\" looks like an option; if it is meant: --%s=%s",
		                o->name, o->arg, s->argv[s->at], o->name, s->argv[s->at]);
		return OPT_BAD;
	}
	s->value = s->argv[s->at++];
	return index;
}

static int long_option(struct opt_state *s, const char *word)
{
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);

	if (len == 4 && !strncmp(word, "help", 4))
		return help(s);
	for (int i = 0; s->command->opts[i].name; i++) {
		const struct opt *o = &s->command->opts[i];

		if (strlen(o->name) != len || strncmp(o->name, word, len) != 0)
			continue;
		if (o->arg)
			return take_value(s, i, equals ? equals + 1 : NULL);
		if (!equals)
			return i;
		opt_usage_error(s, "--%s takes no value", o->name);
		return OPT_BAD;
	}
	return unknown_long(s, word, len);
}

static int short_option(struct opt_state *s)
{
	int letter = (unsigned char)*s->letters++;

	if (letter == 'h')
		return help(s);
	for (int i = 0; s->command->opts[i].name; i++) {
		const char *inside = *s->letters ? s->letters : NULL;

		if (s->command->opts[i].letter != letter)
			continue;
		if (!s->command->opts[i].arg)
			return i;
		s->letters = NULL;
		return take_value(s, i, inside);
	}
	opt_usage_error(s, "unknown option -%c", letter);
	return OPT_BAD;
}

static int finish(struct opt_state *s, int first)
{
	/* Arguments passed over lie in order at the front; put them before the rest. */
	memmove(s->argv + first - s->kept, s->argv, (size_t)s->kept * sizeof(*s->argv));
	s->args = s->argv + first - s->kept;
	s->nargs = s->argc - first + s->kept;
	return OPT_END;
}

int opt_next(struct opt_state *s)
{
	s->value = NULL;
	if (s->letters && *s->letters)
		return short_option(s);
	s->letters = NULL;
	while (s->at < s->argc) {
		char *word = s->argv[s->at];

		if (!strcmp(word, "--"))
			return finish(s, s->at + 1);
		if (word[0] == '-' && word[1]) {
			s->at++;
			if (word[1] == '-')
				return long_option(s, word + 2);
			s->letters = word + 1;
			return short_option(s);
		}
		if (s->command->rest)
			return finish(s, s->at);
		s->argv[s->kept++] = word;
		s->at++;
	}
	return finish(s, s->at);
}

long long opt_duration(const char *text)
{
	static const struct {
		const char *suffix;
		long long ms;
	} units[] = { { "", 1000 }, { "s", 1000 }, { "ms", 1 }, { "m", 60000 }, { "h", 3600000 } };
	char *end;
	long long n;

	if (*text < '0' || *text > '9' || strlen(text) > 12)
		return -1;
	n = strtoll(text, &end, 10);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].suffix) && n > 0 && n <= 365LL * 24 * 3600000 / units[i].ms)
			return n * units[i].ms;
	return -1;
}
