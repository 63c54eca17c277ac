/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/belt.h"

#include "guest/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CHUNK 65536u

void oc_belt_init(struct oc_belt *b)
{
	memset(b, 0, sizeof(*b));
	b->listener = -1;
	for (size_t i = 0; i < OC_BELT_CLIENTS; i++)
		b->clients[i].fd = -1;
}

static void drop(struct oc_belt_client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	oc_queue_free(&c->out);
	memset(c, 0, sizeof(*c));
	c->fd = -1;
}

void oc_belt_free(struct oc_belt *b)
{
	for (size_t i = 0; i < OC_BELT_CLIENTS; i++)
		drop(&b->clients[i]);
	if (b->listener >= 0)
		close(b->listener);
	oc_belt_init(b);
}

/* The directory is opened and named by its descriptor, because a run's own directory may have a longer name than a socket. */
static int local(const char *path, int (*use)(int, const struct sockaddr *, socklen_t), int fd)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const char *slash = strrchr(path, '/');
	char dir[4096];
	int n, d, result;

	if (!slash || slash == path || (size_t)(slash - path) >= sizeof(dir))
		return -EINVAL;
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = 0;
	d = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (d < 0)
		return -errno;
	n = snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/%s", d, slash + 1);
	result = n < 0 || (size_t)n >= sizeof(at.sun_path)               ? -ENAMETOOLONG
	         : use(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ? -errno
	                                                                 : 0;
	close(d);
	return result;
}

static bool loopback(const char *port, struct sockaddr_in *at)
{
	uint64_t n;

	if (!oc_parse_u64(port, &n) || n < 1 || n > 65535)
		return false;
	*at = (struct sockaddr_in){ .sin_family = AF_INET,
		                    .sin_port = htons((uint16_t)n),
		                    .sin_addr = { htonl(INADDR_LOOPBACK) } };
	return true;
}

static int at_address(const char *address, int flags, int (*use)(int, const struct sockaddr *, socklen_t), int *out)
{
	struct sockaddr_in at;
	int fd, err;

	if (*address != '/' && !loopback(address, &at))
		return -EINVAL;
	fd = socket(*address == '/' ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	if (fd < 0)
		return -errno;
	err = *address == '/'                                         ? local(address, use, fd)
	      : use(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ? -errno
	                                                              : 0;
	if (err < 0)
		close(fd);
	else
		*out = fd;
	return err;
}

int oc_belt_listen(struct oc_belt *b, const char *address)
{
	const mode_t mask = umask(0177);
	int err = at_address(address, SOCK_NONBLOCK, bind, &b->listener);

	umask(mask);
	if (err < 0)
		return err;
	return listen(b->listener, 16) < 0 ? -errno : 0;
}

int oc_belt_connect(const char *address)
{
	int fd = -1, err = at_address(address, 0, connect, &fd);

	return err < 0 ? err : fd;
}

static struct oc_belt_client *free_slot(struct oc_belt *b)
{
	for (size_t i = 0; i < OC_BELT_CLIENTS; i++)
		if (b->clients[i].fd < 0)
			return &b->clients[i];
	return NULL;
}

size_t oc_belt_poll(const struct oc_belt *b, struct pollfd *p, bool room)
{
	bool slot = free_slot((struct oc_belt *)b) != NULL;
	size_t n = 0;

	if (b->listener < 0)
		return 0;
	p[n++] = (struct pollfd){ slot && room ? b->listener : -1, POLLIN, 0 };
	for (size_t i = 0; i < OC_BELT_CLIENTS; i++) {
		const struct oc_belt_client *c = &b->clients[i];
		short events = (short)((room ? POLLIN : 0) | (oc_queue_pending(&c->out) ? POLLOUT : 0));

		p[n++] = (struct pollfd){ events ? c->fd : -1, events, 0 };
	}
	return n;
}

static int tell(struct oc_link *channel, enum oc_frame_type type, uint32_t id, const void *data, size_t len)
{
	unsigned char head[4];

	oc_put_u32(head, id);
	return oc_link_queue(channel, type, head, sizeof(head), data, len);
}

static int take_client(struct oc_belt *b, struct oc_link *channel)
{
	struct oc_belt_client *c = free_slot(b);
	int fd = c ? accept4(b->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1, yes = 1;

	if (fd < 0)
		return 0;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	c->fd = fd;
	c->id = ++b->next;
	return tell(channel, OC_FRAME_BELT_OPENED, c->id, NULL, 0);
}

static int read_client(struct oc_belt_client *c, struct oc_link *channel)
{
	unsigned char data[CHUNK];
	ssize_t n = recv(c->fd, data, sizeof(data), MSG_DONTWAIT);
	uint32_t id = c->id;

	if (n > 0)
		return tell(channel, OC_FRAME_BELT_SAID, id, data, (size_t)n);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	drop(c);
	return tell(channel, OC_FRAME_BELT_CLOSED, id, NULL, 0);
}

/* What can't be written any more is noticed by the reading side. */
static void write_client(struct oc_belt_client *c)
{
	if (oc_queue_send(&c->out, c->fd) < 0)
		c->out.off = c->out.len;
}

int oc_belt_turn(struct oc_belt *b, const struct pollfd *p, struct oc_link *channel)
{
	int err = 0;

	for (size_t i = 0; i < OC_BELT_CLIENTS && !err; i++) {
		struct oc_belt_client *c = &b->clients[i];
		short events = p[1 + i].fd >= 0 && p[1 + i].fd == c->fd ? p[1 + i].revents : 0;

		if (events & POLLOUT)
			write_client(c);
		if (events & (POLLIN | POLLHUP | POLLERR) && c->fd >= 0)
			err = read_client(c, channel);
	}
	if (!err && p[0].revents & POLLIN)
		err = take_client(b, channel);
	return err;
}

static bool keep(struct oc_belt_client *c, const unsigned char *data, size_t len)
{
	if (len > OC_BELT_OUT_MAX - oc_queue_pending(&c->out) || oc_queue_reserve(&c->out, len) < 0)
		return false;
	oc_queue_put(&c->out, data, len);
	return true;
}

static struct oc_belt_client *find(struct oc_belt *b, uint32_t id)
{
	for (size_t i = 0; i < OC_BELT_CLIENTS; i++)
		if (b->clients[i].fd >= 0 && b->clients[i].id == id)
			return &b->clients[i];
	return NULL;
}

int oc_belt_take(struct oc_belt *b, const struct oc_frame *f, struct oc_link *channel)
{
	struct oc_cursor cursor = { f->data, f->data + f->len };
	struct oc_belt_client *c;
	uint32_t id;

	if (b->listener < 0 || !oc_get_u32(&cursor, &id) || !id || id > b->next)
		return -EPROTO;
	c = find(b, id);
	if (!c) /* it went while this was on its way */
		return 0;
	if (f->type == OC_FRAME_BELT_CLOSE) {
		/* It broke the protocol or reads nothing, and might hold what it is owed for ever. */
		drop(c);
		return 0;
	} else if (!keep(c, cursor.p, (size_t)(cursor.end - cursor.p))) {
		drop(c);
		return tell(channel, OC_FRAME_BELT_CLOSED, id, NULL, 0);
	}
	write_client(c);
	return 0;
}
