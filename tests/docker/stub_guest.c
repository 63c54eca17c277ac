/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for the guest where a test wants to see the launch command's side of a container: it meets the launch command as the
 * guest does, and then does as it is told by lines on the channel. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int channel = -1;

static void meet(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || recvmsg(fd, &msg, MSG_CMSG_CLOEXEC) != 1 ||
	    byte != 'C' || !CMSG_FIRSTHDR(&msg))
		_exit(90);
	memcpy(&channel, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(channel));
	close(fd);
}

/* "ok", or the name of the error. */
static void say(int rc)
{
	dprintf(channel, "%s\n", rc >= 0 ? "ok" : strerrorname_np(errno));
}

static void cat(const char *path)
{
	char data[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	while (fd >= 0 && len < sizeof(data) && (n = read(fd, data + len, sizeof(data) - len)) > 0)
		len += (size_t)n;
	dprintf(channel, "%zu\n", fd < 0 ? 0 : len);
	if (fd >= 0 && write(channel, data, len) != (ssize_t)len)
		_exit(91);
}

static void put(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	say(fd);
	if (fd >= 0)
		close(fd);
}

/* "ADDRESS PORT": the status line of a CONNECT to nowhere.example there. */
static void ask_proxy(char *where)
{
	static const char request[] = "CONNECT nowhere.example:443 HTTP/1.1\r\nHost: nowhere.example:443\r\n\r\n";
	char *port = strchr(where, ' '), line[200] = "";
	struct sockaddr_in at = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*port = '\0';
	at.sin_port = htons((unsigned short)atoi(port + 1));
	if (inet_pton(AF_INET, where, &at.sin_addr) != 1 || connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ||
	    write(fd, request, sizeof(request) - 1) < 0 || read(fd, line, sizeof(line) - 1) < 0)
		say(-1);
	else
		dprintf(channel, "%.*s\n", (int)strcspn(line, "\r\n"), line);
	close(fd);
}

/* More than any limit: the kernel ends the child that does it. */
static void eat(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		for (;;) {
			char *p = malloc(1 << 20);

			if (p)
				memset(p, 1, 1 << 20);
		}
	}
	waitpid(pid, &status, 0);
	dprintf(channel, "signal %d\n", WTERMSIG(status));
}

static void environment(char **env)
{
	for (; *env; env++)
		dprintf(channel, "%s\n", *env);
	dprintf(channel, "\n");
}

static void act(char *line, char **env)
{
	char *rest = strchr(line, ' ');

	if (rest)
		*rest++ = '\0';
	if (!strcmp(line, "exit"))
		_exit(atoi(rest));
	else if (!strcmp(line, "cat"))
		cat(rest);
	else if (!strcmp(line, "put"))
		put(rest);
	else if (!strcmp(line, "rename"))
		say(rename(rest, "/tmp/away"));
	else if (!strcmp(line, "proxy"))
		ask_proxy(rest);
	else if (!strcmp(line, "eat"))
		eat();
	else if (!strcmp(line, "env"))
		environment(env);
	else
		dprintf(channel, "what?\n");
}

int main(int argc, char **argv, char **env)
{
	char line[4096];
	FILE *in;

	if (argc != 3 || strcmp(argv[1], "enter") != 0)
		return 2;
	meet(argv[2]);
	dprintf(channel, "hello %d %d %d\n", getpid(), getuid(), getgid());
	in = fdopen(channel, "r");
	while (in && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		act(line, env);
	}
	/* The lifeline: what is at the other end is gone. */
	return 99;
}
