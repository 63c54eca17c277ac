/* SPDX-License-Identifier: Apache-2.0 */
/* Names that some file system takes for another one.  HFS+ drops a number of invisible characters and folds case; NTFS
 * drops dots and spaces at the end, has streams behind a colon, and a short name beside every long one. */
#include <string.h>
#include <strings.h>

#include "verify.h"

/* One character of UTF-8 (0 at the end and where it is none). */
static unsigned decode(const unsigned char **p)
{
	const unsigned char *s = *p;
	unsigned c = *s, more, i;

	if (!c)
		return 0;
	more = c < 0x80 ? 0 : c < 0xc2 ? 9 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : 9;
	if (more == 9)
		return 0;
	if (more)
		c &= 0x3fu >> more;
	for (i = 1; i <= more; i++) {
		if ((s[i] & 0xc0u) != 0x80u)
			return 0;
		c = c << 6 | (s[i] & 0x3fu);
	}
	*p = s + 1 + more;
	return c;
}

static bool hfs_drops(unsigned c)
{
	return (c >= 0x200c && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) || (c >= 0x206a && c <= 0x206f) ||
	       c == 0xfeff;
}

static unsigned hfs_next(const unsigned char **p)
{
	unsigned c;

	do
		c = decode(p);
	while (hfs_drops(c));
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* wanted: without its dot, lower case. */
static bool hfs_is(const char *name, const char *wanted)
{
	const unsigned char *p = (const unsigned char *)name;

	if (hfs_next(&p) != '.')
		return false;
	for (; *wanted; wanted++)
		if (hfs_next(&p) != (unsigned char)*wanted)
			return false;
	/* What is no UTF-8 behind it counts as its end: refusing too much is the safe side. */
	return !hfs_next(&p);
}

/* What NTFS drops from the end of a name, or a stream's name. */
static bool ntfs_ends(const char *p)
{
	while (*p == '.' || *p == ' ')
		p++;
	return !*p || *p == ':' || *p == '\\' || *p == '/';
}

/* The short name: six letters and ~1 to ~4, or the letters of a hash when those are taken. */
static bool ntfs_short(const char *name, const char *wanted, const char *hashed)
{
	size_t i;

	if (!strncasecmp(name, wanted, 6) && name[6] == '~' && name[7] >= '1' && name[7] <= '4' && ntfs_ends(name + 8))
		return true;
	for (i = 0; i < 6 && name[i] != '~'; i++)
		if (!name[i] || strncasecmp(name + i, hashed + i, 1) != 0)
			return false;
	if (name[i] != '~' || name[i + 1] < '1' || name[i + 1] > '9')
		return false;
	for (i += 2; i < 8; i++)
		if (name[i] < '0' || name[i] > '9')
			return false;
	return ntfs_ends(name + i);
}

static bool ntfs_is(const char *name, const char *wanted, const char *hashed)
{
	if (name[0] == '.' && !strncasecmp(name + 1, wanted, strlen(wanted)) && ntfs_ends(name + 1 + strlen(wanted)))
		return true;
	return ntfs_short(name, wanted, hashed);
}

bool is_dotgit(const char *name)
{
	if (hfs_is(name, "git"))
		return true;
	if (!strncasecmp(name, ".git", 4))
		return ntfs_ends(name + 4);
	return !strncasecmp(name, "git~1", 5) && ntfs_ends(name + 5);
}

/* On NTFS a backslash begins a new name. */
static bool any_part(const char *name, bool (*is)(const char *))
{
	for (; name; name = strchr(name, '\\')) {
		name += *name == '\\';
		if (is(name))
			return true;
	}
	return false;
}

static bool part_is_gitmodules(const char *name)
{
	return hfs_is(name, "gitmodules") || ntfs_is(name, "gitmodules", "gi7eba");
}

bool is_gitmodules(const char *name)
{
	return any_part(name, part_is_gitmodules);
}

bool is_gitattributes(const char *name)
{
	return hfs_is(name, "gitattributes") || ntfs_is(name, "gitattributes", "gi7d29");
}

const char *verify_name(const char *name, size_t len)
{
	if (!len)
		return "a tree has an entry without a name";
	if (len > 4096)
		return "a tree has a name longer than 4,096 bytes";
	if (memchr(name, '/', len))
		return "a tree has a name with a '/' in it";
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return "a tree has an entry \".\" or \"..\"";
	if (any_part(name, is_dotgit))
		return "a tree has an entry that is, or may become, \".git\"";
	return NULL;
}
