/* SPDX-License-Identifier: Apache-2.0 */
#include "messages.h"

#include <stddef.h>
#include <string.h>

#define APPARMOR_FIX "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
#define USERNS_FIX   "sudo sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000"
#define INSTALL_FIX  "sudo apt-get install bubblewrap socat ripgrep"

/* More specific texts first: several of them contain the shorter ones further down. */
static const struct message table[] = {
	{ "loopback: Failed RTM_NEWADDR", "AppArmor keeps bubblewrap from using the user namespace it made",
	  APPARMOR_FIX, true },
	{ "/proc/self/setgroups", "AppArmor takes the capabilities from user namespaces that srt's helper makes",
	  APPARMOR_FIX, true },
	{ "write /proc/self/uid_map", "the kernel or AppArmor forbids mapping users in a nested user namespace",
	  APPARMOR_FIX, true },
	{ "setting up uid map", "the kernel or AppArmor forbids mapping users in a user namespace", APPARMOR_FIX,
	  true },
	{ "without CAP_SETFCAP", "srt was started as root", "run as an ordinary user" },
	{ "No permissions to create new namespace", "this machine forbids user namespaces to ordinary users",
	  USERNS_FIX, true },
	{ "Creating new namespace failed: Operation not permitted",
	  "this machine, or the container it is, forbids user namespaces", USERNS_FIX, true },
	{ "exceeded (ENOSPC)", "too few user, network or other namespaces are allowed",
	  "sudo sysctl user.max_user_namespaces=15000 user.max_net_namespaces=15000 user.max_pid_namespaces=15000",
	  true },
	{ "unshare user ns: No space left on device", "too few nested user namespaces are allowed: three are needed",
	  "sudo sysctl user.max_user_namespaces=15000" },
	{ "unshare(CLONE_NEWUSER): No space left on device",
	  "too few nested user namespaces are allowed: three are needed",
	  "sudo sysctl user.max_user_namespaces=15000" },
	{ "Failed to make / slave", "this process may not mount, as inside a container",
	  "run outside the container, or start it with --security-opt seccomp=unconfined --security-opt "
	  "apparmor=unconfined" },
	{ "Can't mount proc on", "the container around this process masks /proc",
	  "run outside the container, or start it with --security-opt systempaths=unconfined" },
	{ "not executable at", "a program that srt was given can't be executed", INSTALL_FIX },
	{ "Sandbox dependencies not available", "programs that srt needs are missing", INSTALL_FIX },
	{ "not found in PATH", "bash is missing", "sudo apt-get install bash" },
	{ "apply-seccomp: No such file or directory", "srt's seccomp helper is missing or hidden",
	  "npm install -g @anthropic-ai/sandbox-runtime" },
	{ "listen EPERM", "srt was started inside another sandbox", "run outside it" },
	{ "listen EACCES", "srt's TMPDIR isn't writable", "check the owner and mode of the state directory" },
	{ "Failed to create bridge sockets", "srt's TMPDIR is too long for a socket", "use a shorter state directory" },
	{ "listen EADDRINUSE", "srt's TMPDIR is too long for a socket, or used twice",
	  "use a shorter state directory" },
	{ "Sandbox profile has", "the policy takes more mounts than bubblewrap accepts",
	  "deny a directory instead of many single files" },
	{ "does not hold a valid config", "this srt doesn't know the settings it was given",
	  "npm install -g @anthropic-ai/sandbox-runtime" },
	{ "ERR_MODULE_NOT_FOUND", "srt's package is incomplete", "npm install -g @anthropic-ai/sandbox-runtime" },
	{ "SyntaxError", "node is too old for srt", "npm install -g node@22" },
	{ "Can't find source path", "a granted path went away while the sandbox was set up", NULL },
	{ "Unable to apply mount flags", "mounts of the host changed while the sandbox was set up", NULL },
	{ "bwrap: Can't", "bubblewrap can't mount what the policy needs", NULL },
};

const struct message *message_find(const char *log)
{
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strstr(log, table[i].match))
			return &table[i];
	return NULL;
}
