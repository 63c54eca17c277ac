/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK   "serve.lock"
#define SOCKET "serve.sock"
#define TOKEN  "serve.token"

#ifdef OC_FAULTS
void serve_fault(const char *point)
{
	const char *wanted = getenv("OPEN_CONDUIT_FAULT");

	if (wanted && !strcmp(wanted, point))
		kill(getpid(), SIGKILL);
}
#endif

static char *path_of(struct host *h, const char *name)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s", oc_context_state_dir(h->ctx), name) < 0 ? NULL : path;
}

int place_lock_file(struct host *h, bool make)
{
	char *path = path_of(h, LOCK);
	int fd = path ? open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | (make ? O_CREAT : 0), 0600) : -1;

	free(path);
	return fd;
}

bool place_lock(int fd, long long byte)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

int place_locked(int fd, long long byte)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	return fcntl(fd, F_OFD_GETLK, &lock) < 0 ? -1 : lock.l_type != F_UNLCK;
}

bool place_address(struct host *h, const char *what, struct sockaddr_un *out)
{
	const struct refusal r = { "sandbox_config", oc_context_state_dir(h->ctx),
		                   "the state directory's path is too long for a socket in it",
		                   "export XDG_STATE_HOME=\"$HOME/.local/state\"" };
	char *path = path_of(h, SOCKET);
	bool fits = path && strlen(path) < sizeof(out->sun_path);

	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (fits)
		memcpy(out->sun_path, path, strlen(path) + 1);
	else
		host_refuse(h, what, &r);
	free(path);
	return fits;
}

bool place_token_read(struct host *h, char out[SERVE_TOKEN])
{
	char *path = path_of(h, TOKEN), *text = NULL;
	const char *why = NULL;
	bool good;

	if (path)
		text = host_read_file(path, SERVE_TOKEN, &why);
	good = text && strlen(text) == SERVE_TOKEN - 1;
	if (good)
		memcpy(out, text, SERVE_TOKEN);
	free(text);
	free(path);
	return good;
}

static bool write_whole(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool good = fd >= 0 && fchmod(fd, 0600) == 0 && write(fd, text, len) == (ssize_t)len;

	if (fd >= 0)
		close(fd);
	return good;
}

bool place_token_make(struct host *h, char out[SERVE_TOKEN])
{
	unsigned char bytes[(SERVE_TOKEN - 1) / 2];
	char *path = path_of(h, TOKEN), *next = path_of(h, TOKEN ".new");
	bool good = path && next && getrandom(bytes, sizeof(bytes), 0) == sizeof(bytes);

	for (size_t i = 0; good && i < sizeof(bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	/* A command reads it at any moment: the one that was, or the one that is. */
	good = good && write_whole(next, out, SERVE_TOKEN - 1) && rename(next, path) == 0;
	if (!good) {
		out_printf(&h->err, "open-conduit: the operator's token can't be written: %s\n", strerror(errno));
		out_flush(&h->err);
	}
	free(path);
	free(next);
	return good;
}

void place_leave(struct host *h)
{
	static const char *const names[] = { SOCKET, TOKEN };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = path_of(h, names[i]);

		if (path)
			unlink(path);
		free(path);
	}
}
