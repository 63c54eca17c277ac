/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t oc_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void oc_wipe(void *p, size_t len)
{
	if (!len)
		return;
	memset(p, 0, len);
	__asm__ volatile("" : : "r"(p) : "memory");
}

#define NAME(e)                                                                                                        \
	{                                                                                                              \
		e, #e                                                                                                  \
	}

const char *oc_errno_name(int err, char *buf, size_t size)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {
		NAME(EPERM),      NAME(ENOENT),        NAME(ESRCH),           NAME(EINTR),       NAME(EIO),
		NAME(ENXIO),      NAME(E2BIG),         NAME(ENOEXEC),         NAME(EBADF),       NAME(ECHILD),
		NAME(EAGAIN),     NAME(ENOMEM),        NAME(EACCES),          NAME(EFAULT),      NAME(EBUSY),
		NAME(EEXIST),     NAME(EXDEV),         NAME(ENODEV),          NAME(ENOTDIR),     NAME(EISDIR),
		NAME(EINVAL),     NAME(ENFILE),        NAME(EMFILE),          NAME(ENOTTY),      NAME(ETXTBSY),
		NAME(EFBIG),      NAME(ENOSPC),        NAME(ESPIPE),          NAME(EROFS),       NAME(EMLINK),
		NAME(EPIPE),      NAME(ENAMETOOLONG),  NAME(ENOSYS),          NAME(ELOOP),       NAME(ENOTSOCK),
		NAME(EPROTO),     NAME(EPROTOTYPE),    NAME(EPROTONOSUPPORT), NAME(EOPNOTSUPP),  NAME(EAFNOSUPPORT),
		NAME(EADDRINUSE), NAME(EADDRNOTAVAIL), NAME(ENETDOWN),        NAME(ENETUNREACH), NAME(ECONNABORTED),
		NAME(ECONNRESET), NAME(EISCONN),       NAME(ENOTCONN),        NAME(ETIMEDOUT),   NAME(ECONNREFUSED),
		NAME(EHOSTDOWN),  NAME(EHOSTUNREACH),  NAME(EINPROGRESS),     NAME(ESTALE),      NAME(EDQUOT),
		NAME(ECANCELED),  NAME(EUSERS),        NAME(EMSGSIZE),        NAME(EOVERFLOW),   NAME(EKEYREVOKED),
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].number == err)
			return names[i].name;
	snprintf(buf, size, "errno %d", err);
	return buf;
}

void oc_printable(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e)
			*s = '?';
}

bool oc_parse_u64(const char *s, uint64_t *out)
{
	uint64_t v = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		unsigned digit = (unsigned)((unsigned char)*s) - '0';

		if (digit > 9 || v > (UINT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*out = v;
	return true;
}

long oc_read_small(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t len = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	while (len < size - 1 && ((n = read(fd, buf + len, size - 1 - len)) > 0 || (n < 0 && errno == EINTR)))
		len += n > 0 ? (size_t)n : 0;
	close(fd);
	buf[len] = 0;
	return n < 0 ? -errno : (long)len;
}
