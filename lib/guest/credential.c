/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/credential.h"

#include "guest/belt.h"
#include "guest/credential_answer.h"
#include "guest/credential_parse.h"
#include "guest/text.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_S 60
#define ALL_S    90 /* then the kernel ends this process: a connect that nobody takes, a question that never ends */
#define META     "io.modelcontextprotocol/"
#define MISSING                                                                                                        \
	"the run's toolbelt has no github.git.credential\n"                                                            \
	"fix: add \"@github.workspace\" to the binding's \"operations\" and to the scope's "                           \
	"\"authorization\": {\"operations\": [...]}, and start a new run"

static const char request[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"github.git.credential\","
        "\"arguments\":{},\"_meta\":{\"" META "protocolVersion\":\"2026-07-28\",\"" META
        "clientCapabilities\":{},\"" META "clientInfo\":{\"name\":\"open-conduit-guest\",\"version\":\"" OC_VERSION
        "\"}}}}\n";

/* The first line after what went wrong, the others below it, indented. */
static void say(const char *what, const char *text)
{
	char line[512];
	const char *before = what;

	do {
		size_t n = strcspn(text, "\n");

		(void)snprintf(line, sizeof(line), "%.*s", n < sizeof(line) ? (int)n : (int)sizeof(line) - 1, text);
		oc_printable(line);
		fprintf(stderr, "%s%s\n", before, line);
		before = "  ";
		text += n + (text[n] == '\n');
	} while (*text);
}

/* git asks nobody else then: not its user, who has no such password either. */
static void refuse(const char *text)
{
	say("open-conduit: git has no credential: ", text);
	fputs("quit=1\n", stdout);
}

static void __attribute__((format(printf, 1, 2))) refusef(const char *fmt, ...)
{
	char text[4352];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	refuse(text);
}

/* 0, or what is wrong.  Read to its end, so that git never writes to nobody. */
static const char *read_question(char *out, size_t size, size_t *len)
{
	char more[4096];
	ssize_t n;

	*len = 0;
	for (;;) {
		bool room = *len < size;

		n = read(0, room ? out + *len : more, room ? size - *len : sizeof(more));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? "it can't be read" : NULL;
		*len += room ? (size_t)n : 0;
	}
}

static int send_request(int fd)
{
	size_t done = 0;

	while (done < sizeof(request) - 1) {
		ssize_t n = send(fd, request + done, sizeof(request) - 1 - done, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* A line's length without its newline, or -errno. */
static long read_answer(int fd, char *out, size_t size)
{
	const uint64_t until = oc_now_ns() + (uint64_t)ANSWER_S * 1000000000u;
	size_t len = 0;

	while (len < size) {
		struct pollfd p = { fd, POLLIN, 0 };
		const uint64_t now = oc_now_ns();
		int ready = now < until ? poll(&p, 1, (int)((until - now) / 1000000u) + 1) : 0;
		ssize_t n = ready > 0 ? recv(fd, out + len, size - len, 0) : -1;
		char *newline = n > 0 ? memchr(out + len, '\n', (size_t)n) : NULL;

		if (newline)
			return newline - out;
		if (ready == 0)
			return -ETIMEDOUT;
		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		len += n > 0 ? (size_t)n : 0;
	}
	return -EMSGSIZE;
}

static void give(const struct oc_credential_answer *a)
{
	printf("username=%s\npassword=%s\n", a->username, a->password);
	if (a->expires)
		printf("password_expiry_utc=%llu\n", (unsigned long long)(a->expires / 1000));
}

static void tell(enum oc_credential_outcome outcome, const struct oc_credential_answer *a)
{
	switch (outcome) {
	case OC_CREDENTIAL_GIVEN:
		give(a);
		return;
	case OC_CREDENTIAL_REFUSED:
		refuse(*a->text ? a->text : "the run's toolbelt refused without a word");
		return;
	case OC_CREDENTIAL_UNKNOWN:
		refuse(MISSING);
		return;
	case OC_CREDENTIAL_ERROR:
		refusef("the run's toolbelt: %s", a->text);
		return;
	case OC_CREDENTIAL_NONE:
		refuse("what the run's toolbelt answered is no credential");
		return;
	}
}

static void no_toolbelt(const char *what, int err)
{
	char name[16];

	refusef("%s: %s\nfix: a run's toolbelt is there while the run is; start a new one", what,
	        oc_errno_name(err, name, sizeof(name)));
}

static void ask_toolbelt(const char *address)
{
	char line[OC_CREDENTIAL_ANSWER];
	struct oc_credential_answer answer;
	int fd = oc_belt_connect(address), err = fd < 0 ? fd : send_request(fd);
	long len = err < 0 ? err : read_answer(fd, line, sizeof(line));

	if (fd < 0)
		no_toolbelt("the run has no toolbelt here", -fd);
	else if (len == -ETIMEDOUT)
		refusef("the run's toolbelt gave no answer within %d seconds\nfix: try again", ANSWER_S);
	else if (len < 0)
		no_toolbelt("the run's toolbelt went away", (int)-len);
	else
		tell(oc_credential_answer(line, (size_t)len, &answer), &answer);
	oc_wipe(line, sizeof(line));
	oc_wipe(&answer, sizeof(answer));
	if (fd >= 0)
		close(fd);
}

static void take_environment(void)
{
	const char *names[] = { "GH_TOKEN", "GITHUB_TOKEN" }, *value = NULL;
	size_t i = 0;

	for (; i < 2 && (!value || !*value); i++)
		value = getenv(names[i]);
	if (!value || !*value) {
		refuse("neither GH_TOKEN nor GITHUB_TOKEN is set here\n"
		       "fix: name one of them in the binding's \"secret_names\"");
		return;
	}
	for (const char *c = value; *c; c++) {
		if ((unsigned char)*c > 0x20 && (unsigned char)*c < 0x7f)
			continue;
		refusef("%s holds a blank or what is not ASCII, so it is no token\nfix: store it again, alone",
		        names[i - 1]);
		return;
	}
	printf("username=" OC_CREDENTIAL_USER "\npassword=%s\n", value);
}

static void answer(const char *address)
{
	if (!strcmp(address, "env"))
		take_environment();
	else if (!strcmp(address, "none:attach"))
		refuse("this is an attach, which has no toolbelt: let the agent push on its next turn");
	else if (!strcmp(address, "none:toolbelt"))
		refuse(MISSING);
	else
		ask_toolbelt(address);
}

/* Nothing for git to take: it asks its next helper, of which a run has none. */
static void not_ours(const char *why, const char *base, const char *repository)
{
	fprintf(stderr, "open-conduit: no credential here: %s; this run's is for %s%s%s alone\n", why, base,
	        repository ? "/" : "", repository ? repository : "");
}

static void get(const char *address, const char *base, const char *repository, const char *text, size_t len)
{
	struct oc_credential_question question;
	const char *wrong = oc_credential_parse(text, len, &question);

	if (wrong) {
		fprintf(stderr, "open-conduit: no credential here: what git asks is refused: %s\n", wrong);
		return;
	}
	switch (oc_credential_match(&question, base, repository)) {
	case OC_CREDENTIAL_OURS:
		answer(address);
		return;
	case OC_CREDENTIAL_NO_PATH:
		not_ours("git does not say for which repository (credential.useHttpPath is not true)", base,
		         repository);
		return;
	case OC_CREDENTIAL_OTHER:
		not_ours("git asks for another", base, repository);
		return;
	}
}

int oc_guest_credential(const char *address, const char *base, const char *repository, const char *operation)
{
	/* One byte more than is taken, so that what is longer shows. */
	char text[OC_CREDENTIAL_INPUT + 1];
	const bool any = !strcmp(repository, "-");
	const char *wrong;
	size_t len;

	(void)alarm(ALL_S);
	wrong = read_question(text, sizeof(text), &len);
	if (strcmp(operation, "get") != 0)
		return 0;
	if (!oc_credential_base_valid(base) || (!any && !oc_credential_repository_valid(repository)))
		fputs("open-conduit: no credential here: the helper is set up for no repository of an https host\n",
		      stderr);
	else if (wrong)
		fprintf(stderr, "open-conduit: no credential here: what git asks is refused: %s\n", wrong);
	else
		get(address, base, any ? NULL : repository, text, len);
	return fflush(stdout) ? 1 : 0;
}
