/* SPDX-License-Identifier: Apache-2.0 */
#include "passwd.h"

#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

/* Names that the files have anyway, and what can't be a name there, are called "agent". */
static const char *usable(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t n = name ? strspn(name, letters) : 0;

	if (!n || n > 64 || name[n] || name[0] == '-' || !strcmp(name, "root") || !strcmp(name, "nobody") ||
	    !strcmp(name, "nogroup"))
		return "agent";
	return name;
}

json_t *passwd_files(unsigned uid, unsigned gid, const char *user, const char *group, const char *home,
                     struct refusal *r)
{
	cleanup_free char *passwd = NULL, *groups = NULL;
	json_t *files;

	if (strpbrk(home, ":\n")) {
		refuse(r, "sandbox_denied", home,
		       "choose a state directory without a colon or a line's end in its name",
		       "%s can't be a home in /etc/passwd", home);
		return NULL;
	}
	user = usable(user);
	passwd = format("root:x:0:0:root:/root:/bin/sh\n%s:x:%u:%u:%s:%s:/bin/sh\n"
	                "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
	                user, uid, gid, user, home);
	groups = format("root:x:0:\n%s:x:%u:\nnogroup:x:65534:\n", usable(group), gid);
	files = passwd && groups ? json_pack("[{s:s, s:s}, {s:s, s:s}]", "name", "etc/passwd", "text", passwd, "name",
	                                     "etc/group", "text", groups)
	                         : NULL;
	if (!files)
		no_memory(r);
	return files;
}

json_t *passwd_own(const char *home, struct refusal *r)
{
	const struct passwd *pw = getpwuid(geteuid());
	const struct group *gr = getgrgid(getegid());

	return passwd_files(geteuid(), getegid(), pw ? pw->pw_name : NULL, gr ? gr->gr_name : NULL, home, r);
}
