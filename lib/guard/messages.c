/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of srt 0.0.83 and bubblewrap 0.8 as they were seen; the order matters where one contains another.  All of them
 * end the launch with status 1, so the text is the only thing that tells them apart. */
#include "guard/messages.h"

#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "guard/refused.h"

#define USERNS                                                                                                         \
	"sudo sysctl -w kernel.unprivileged_userns_clone=1 (in a container: allow user namespaces in its seccomp "     \
	"profile)"
#define USERNS_MAX "sudo sysctl -w user.max_user_namespaces=15000 (at least 3 nested ones are needed)"
#define APPARMOR                                                                                                       \
	"sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile with \"userns,\" for "  \
	"bwrap"

static const struct known {
	const char *text, *subject, *message, *fix;
} known[] = {
	{ "ripgrep (rg) not found", "rg",
	  "srt needs ripgrep, bubblewrap, socat and which, and does not find all of them",
	  "sudo apt-get install ripgrep bubblewrap socat debianutils" },
	{ "bubblewrap (bwrap) not", "bwrap", "srt needs bubblewrap, and does not find it (or can't execute it)",
	  "sudo apt-get install bubblewrap debianutils" },
	{ "socat not", "socat", "srt needs socat, and does not find it (or can't execute it)",
	  "sudo apt-get install socat debianutils" },
	{ "Sandbox dependencies not available", "srt", "srt does not find what it needs",
	  "sudo apt-get install ripgrep bubblewrap socat debianutils" },
	{ "Shell 'bash' not found", "bash", "srt needs bash, and does not find it", "sudo apt-get install bash" },
	{ "No permissions to create new namespace", "user namespaces",
	  "The kernel does not let this user make user namespaces", USERNS },
	{ "Creating new namespace failed: nesting depth", "user.max_user_namespaces",
	  "The kernel allows no user namespaces", USERNS_MAX },
	{ "Creating new namespace failed: No space left", "user.max_user_namespaces",
	  "The kernel allows no user namespaces", USERNS_MAX },
	{ "Creating new namespace failed", "user namespaces", "The kernel does not let this user make user namespaces",
	  USERNS },
	{ "unshare user ns: No space left on device", "user.max_user_namespaces",
	  "The kernel allows fewer nested user namespaces than the three that srt needs", USERNS_MAX },
	{ "unshare(CLONE_NEWUSER): No space left", "user.max_user_namespaces",
	  "The kernel allows fewer nested user namespaces than the three that srt needs", USERNS_MAX },
	{ "loopback: Failed RTM_NEWADDR", "apparmor", "AppArmor takes the rights away that a user namespace gives",
	  APPARMOR },
	{ "write /proc/self/setgroups", "apparmor", "AppArmor takes the rights away that a user namespace gives",
	  APPARMOR },
	{ "write /proc/self/uid_map", "apparmor", "AppArmor takes the rights away that a user namespace gives",
	  APPARMOR },
	{ "setting up uid map: Permission denied", "apparmor",
	  "AppArmor takes the rights away that a user namespace gives", APPARMOR },
	{ "Failed to make / slave", "mounts", "Mounting is forbidden here (a container around us?)",
	  "Run on the host itself, or allow mount in the container's seccomp and AppArmor profiles" },
	{ "Can't mount proc on", "/proc",
	  "A fresh /proc can't be mounted here, because this one is masked (a container around us?)",
	  "Run on the host itself, or start the container with --security-opt systempaths=unconfined" },
	{ "running as uid 0", "root", "srt is no sandbox for root", "Run as an ordinary user" },
	{ "Unable to apply mount flags", "mounts",
	  "The host's mounts changed while the sandbox was being made, each time it was tried", "Try again" },
	{ "Failed to create bridge sockets", "TMPDIR",
	  "srt's temporary directory has too long a name, or can't be written",
	  "Set XDG_STATE_HOME to a shorter path" },
	{ "listen EPERM", "srt", "srt can't make its socket: this is a sandbox already",
	  "Do not start a sandbox inside a sandbox" },
	{ "listen EADDRINUSE", "TMPDIR", "srt's socket is there already, or the name of its directory is too long",
	  "Set XDG_STATE_HOME to a shorter path" },
	{ "listen EACCES", "TMPDIR", "srt's temporary directory can't be written",
	  "Check the owner of the state directory" },
	{ "uv_cwd", "cwd", "srt's working directory is gone", "Try again" },
	{ "too long for one shell argument", "srt", "The launch command is too long for srt", NULL },
	{ "open-conduit-guard: ", "launch", NULL, NULL }, /* our own: the program is missing or not executable */
};

static const struct known *match(const char *log, size_t len)
{
	size_t i;

	for (i = 0; i < OC_COUNT(known); i++)
		if (memmem(log, len, known[i].text, strlen(known[i].text)))
			return &known[i];
	return NULL;
}

int oc_launch_explain(const char *log, size_t len, const char *why, oc_error **err)
{
	const struct known *k = match(log, len);
	struct oc_buf text;
	int rc;

	if (err && oc_refused_find(log, len, err))
		return oc_error_code(*err);

	while (len && (log[len - 1] == '\n' || log[len - 1] == ' '))
		len--;
	oc_buf_init(&text, 65536);
	if (oc_text_escape(&text, log, len, false) < 0 || !text.data) {
		oc_buf_free(&text);
		return oc_refuse(err, "sandbox_unavailable", k ? k->subject : "launch",
		                 k ? k->fix : "open-conduit doctor", "The sandbox could not be started: %s", why);
	}
	if (k && k->message)
		rc = oc_refuse(err, "sandbox_unavailable", k->subject, k->fix, "%s: %s", k->message, text.data);
	else
		rc = oc_refuse(err, "sandbox_unavailable", k ? k->subject : "launch", "open-conduit doctor",
		               "The sandbox could not be started: %s; it printed: %s", why, text.data);
	oc_buf_free(&text);
	return rc;
}
