/* SPDX-License-Identifier: Apache-2.0 */
/* The same failure has several causes, and each another fix.  Asked only when something failed:
 * a setting that looks forbidding proves nothing (a profile may lift it), so it never refuses by
 * itself. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/files.h"

static const struct {
	const char *file;
	char value;
	struct obstacle obstacle;
} settings[] = {
	{ "/proc/sys/kernel/unprivileged_userns_clone",
	  '0',
	  { "kernel.unprivileged_userns_clone is 0", "sudo sysctl kernel.unprivileged_userns_clone=1" } },
	{ "/proc/sys/user/max_user_namespaces",
	  '0',
	  { "user.max_user_namespaces is 0", "sudo sysctl user.max_user_namespaces=15000" } },
	{ "/proc/sys/user/max_net_namespaces",
	  '0',
	  { "user.max_net_namespaces is 0", "sudo sysctl user.max_net_namespaces=15000" } },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
	  '1',
	  { "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1)",
	    "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0" } },
};
static const struct obstacle setuid_bwrap = { "bubblewrap is installed setuid, which limits what it can do",
	                                      "sudo chmod u-s \"$(command -v bwrap)\"" };
static const struct obstacle container = {
	"this process runs under a seccomp filter, as inside a container",
	"run outside the container, or start it with --security-opt seccomp=unconfined"
};

const struct obstacle *kernel_obstacle(const char *bwrap)
{
	cleanup_free char *status = NULL;
	struct stat st;
	size_t i;

	for (i = 0; i < COUNT(settings); i++) {
		cleanup_free char *text = read_small(settings[i].file, 64);

		if (text && text[0] == settings[i].value && (text[1] == '\n' || text[1] == '\0'))
			return &settings[i].obstacle;
	}
	if (bwrap && stat(bwrap, &st) == 0 && (st.st_mode & S_ISUID))
		return &setuid_bwrap;
	status = read_small("/proc/self/status", 16384);
	if (status && strstr(status, "\nSeccomp:\t2"))
		return &container;
	return NULL;
}
