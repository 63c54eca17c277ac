/* SPDX-License-Identifier: Apache-2.0 */
/* A provider that does everything wrong, one thing at a time: OC_FAULT says which.  Written without
 * the SDK, because the SDK can't be made to do most of it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELLO                                                                                                          \
	"\"result\":{\"protocol\":1,\"name\":\"faulty\",\"version\":\"9\",\"kind\":\"sandbox\",\"methods\":[\"plan\"]" \
	"}"

static const char *fault;
static char line[1 << 16];

static int is(const char *name)
{
	return !strcmp(fault, name);
}

static void say(const char *text)
{
	size_t len = strlen(text), done = 0;

	while (done < len) {
		ssize_t n = write(1, text + done, len - done);

		if (n <= 0)
			_exit(5);
		done += (size_t)n;
	}
}

static void answer(long id, const char *rest)
{
	static char text[1 << 16];

	(void)snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%ld,%s}\n", id, rest);
	say(text);
}

/* The id of the next request; the end of input is a hang-up and ends us. */
static long hear(void)
{
	size_t len = 0;
	const char *id;

	while (len + 1 < sizeof(line)) {
		if (read(0, line + len, 1) != 1)
			_exit(0);
		if (line[len] == '\n')
			break;
		len++;
	}
	line[len] = '\0';
	id = strstr(line, "\"id\":");
	return id ? atol(id + 5) : -1;
}

static void hang(void)
{
	for (;;)
		pause();
}

/* Four megabytes are the bound; a reader without one would take all of it. */
static void huge(void)
{
	static char block[1 << 16];
	long i;

	memset(block, 'x', sizeof(block) - 1);
	say("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"x\":\"");
	for (i = 0; i < 1 << 14; i++)
		say(block);
}

static void flood(void)
{
	static char block[1 << 12];
	int i;

	memset(block, 'f', sizeof(block));
	for (i = 0; i < 4096; i++)
		if (write(2, block, sizeof(block)) < 0)
			return;
	(void)!write(2, "\nlast words\n", 12);
}

static void greet(long id)
{
	if (is("hang-at-start"))
		hang();
	if (is("die-at-hello"))
		_exit(7);
	if (is("other-protocol"))
		answer(id, "\"result\":{\"protocol\":2,\"name\":\"faulty\",\"version\":\"9\",\"kind\":\"sandbox\","
		           "\"methods\":[]}");
	else if (is("other-name"))
		answer(id, "\"result\":{\"protocol\":1,\"name\":\"srt\",\"version\":\"9\",\"kind\":\"sandbox\","
		           "\"methods\":[]}");
	else if (is("unknown-field"))
		answer(id, "\"result\":{\"protocol\":1,\"name\":\"faulty\",\"version\":\"9\",\"kind\":\"sandbox\","
		           "\"methods\":[],\"x\":1}");
	else
		answer(id, HELLO);
}

static void serve(long id)
{
	if (is("die"))
		_exit(3);
	if (is("die-talking")) {
		(void)!write(2, "no more \033[31mmemory\n", 21);
		_exit(3);
	}
	if (is("kill"))
		(void)!raise(9);
	if (is("hang"))
		hang();
	if (is("flood"))
		flood();
	if (is("flood-and-die")) {
		flood();
		_exit(4);
	}
	if (is("half")) {
		say("{\"jsonrpc\":\"2.0\",\"id\":2,\"resu");
		_exit(0);
	}
	if (is("huge"))
		huge();
	if (is("garbage"))
		say("\001\002 what?\n");
	if (is("notify"))
		say("{\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":{}}\n");
	if (is("duplicate-keys"))
		say("{\"jsonrpc\":\"2.0\",\"id\":2,\"id\":2,\"result\":{}}\n");
	if (is("not-an-object"))
		answer(id, "\"result\":[1]");
	else if (is("null"))
		answer(id, "\"result\":null");
	else if (is("strange-reason"))
		answer(id, "\"error\":{\"code\":-32000,\"message\":\"m\",\"data\":{\"reason\":\"because\",\"subject\":"
		           "null,\"message\":\"m\",\"fix\":null,\"code\":-6,\"errno\":0}}");
	else if (is("refuse"))
		answer(id, "\"error\":{\"code\":-32000,\"message\":\"m\",\"data\":{\"reason\":\"sandbox_config\","
		           "\"subject\":\"s\",\"message\":\"m\",\"fix\":\"f\",\"code\":-6,\"errno\":0}}");
	else
		answer(id, "\"result\":{\"fine\":true}");
	if (is("twice"))
		answer(id, "\"result\":{\"fine\":true}");
}

int main(void)
{
	fault = getenv("OC_FAULT");
	if (!fault)
		fault = "none";
	if (is("die-at-start"))
		return 6;
	greet(hear());
	for (;;)
		serve(hear());
}
