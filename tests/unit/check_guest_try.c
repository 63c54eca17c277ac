/* SPDX-License-Identifier: Apache-2.0 */
/* What the guest tells a provider's check: both answers to each question, from the real static guest.  Names and
 * the neighbours of a network are asked for in a container (tests/docker): here they would be this machine's. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

#define TRIES 8

static int listen_unix(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	return fd;
}

static int listen_tcp(unsigned *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

static void hand_over(int listener)
{
	int peer = accept(listener, NULL, NULL), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 'C';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(null));
	memcpy(CMSG_DATA(c), &null, sizeof(null));
	ck_assert_int_eq(sendmsg(peer, &msg, 0), 1);
	close(peer);
	close(null);
}

/* One answer, to one client of the proxy. */
static void answer_proxy(int listener, const char *want, const char *answer)
{
	char text[512];
	int peer = accept(listener, NULL, NULL);
	ssize_t n = recv(peer, text, sizeof(text) - 1, 0);

	ck_assert_int_gt((int)n, 0);
	text[n] = '\0';
	ck_assert_msg(!strncmp(text, want, strlen(want)), "%s", text);
	ck_assert_int_eq(send(peer, answer, strlen(answer), MSG_NOSIGNAL), (ssize_t)strlen(answer));
	close(peer);
}

static void run_guest(const char *dir, char *const *tries, const char *proxy)
{
	char socket_path[256], file[256],
	        *argv[TRIES + 5] = { (char *)"open-conduit-guest", (char *)"try", socket_path, file };

	(void)snprintf(socket_path, sizeof(socket_path), "%s/sock", dir);
	(void)snprintf(file, sizeof(file), "%s/told", dir);
	for (size_t i = 0; tries[i]; i++)
		argv[i + 4] = tries[i];
	if (proxy)
		(void)setenv("HTTP_PROXY", proxy, 1);
	execv(getenv("OC_TEST_GUEST"), argv);
	_exit(126);
}

static char *told(const char *dir)
{
	char path[256], *text = calloc(1, 8192);
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/told", dir);
	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	(void)fread(text, 1, 8191, f);
	fclose(f);
	return text;
}

static void has(const char *text, const char *line)
{
	ck_assert_msg(strstr(text, line) != NULL, "\"%s\" is not in:\n%s", line, text);
}

START_TEST(both_answers)
{
	char *dir = suite_mkdir(), file[256], open_port[64], closed_port[64], proxy[64], socket_path[256], *text;
	unsigned port, closed;
	int meeting, listener = listen_tcp(&port), gone = listen_tcp(&closed), status;
	char read_it[300], *tries[TRIES + 1] = {
		read_it,          (char *)"read:/nowhere", open_port, closed_port, (char *)"proxy:blocked.example:443",
		(char *)"other:x"
	};
	pid_t pid;
	FILE *f;

	close(gone);
	(void)snprintf(file, sizeof(file), "%s/nonce", dir);
	f = fopen(file, "we");
	fputs("four two\x1b\nsecond", f);
	fclose(f);
	(void)snprintf(read_it, sizeof(read_it), "read:%s", file);
	(void)snprintf(open_port, sizeof(open_port), "tcp:127.0.0.1,%u", port);
	(void)snprintf(closed_port, sizeof(closed_port), "tcp:127.0.0.1,%u", closed);
	(void)snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%u/", port);
	(void)snprintf(socket_path, sizeof(socket_path), "%s/sock", dir);
	meeting = listen_unix(socket_path);
	pid = fork();
	if (pid == 0)
		run_guest(dir, tries, proxy);
	hand_over(meeting);
	close(accept(listener, NULL, NULL)); /* open_port's */
	answer_proxy(listener, "CONNECT blocked.example:443 HTTP/1.1\r\n", "HTTP/1.1 403 blocked\r\n\r\n");
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	text = told(dir);
	has(text, "/nonce yes four two?\n");
	has(text, "read:/nowhere no ENOENT\n");
	has(text, open_port);
	has(text, " yes connected\n");
	has(text, closed_port);
	has(text, " no ECONNREFUSED\n");
	has(text, "proxy:blocked.example:443 yes HTTP/1.1 403 blocked\n");
	has(text, "other:x error\nend\n");
	free(text);
	close(listener);
	close(meeting);
	suite_rmdir(dir);
}
END_TEST

/* Without the channel nothing is tried, and a file that is there is not written. */
START_TEST(nothing_told)
{
	char *dir = suite_mkdir(), socket_path[256], file[256], *none[] = { NULL }, *text;
	int meeting, status;
	FILE *f;
	pid_t pid = fork();

	if (pid == 0)
		run_guest(dir, none, NULL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 1 << 8);
	(void)snprintf(file, sizeof(file), "%s/told", dir);
	ck_assert_int_lt(access(file, F_OK), 0);
	f = fopen(file, "we");
	fputs("mine", f);
	fclose(f);
	(void)snprintf(socket_path, sizeof(socket_path), "%s/sock", dir);
	meeting = listen_unix(socket_path);
	pid = fork();
	if (pid == 0)
		run_guest(dir, none, NULL);
	hand_over(meeting);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 1 << 8);
	text = told(dir);
	ck_assert_str_eq(text, "mine");
	free(text);
	close(meeting);
	suite_rmdir(dir);
}
END_TEST

SUITE_MAIN("guest_try", both_answers, nothing_told)
