/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/protect.h"

#include <string.h>

#include "base/os.h"

#define LINUX 1u
#define MACOS 2u
#define ANY   (LINUX | MACOS)

struct entry {
	const char *path;
	unsigned os;
};

static const struct entry denies[] = {
	{ "~/.ssh", ANY },
	{ "~/.gnupg", ANY },
	{ "~/.aws", ANY },
	{ "~/.azure", ANY },
	{ "~/.config/gcloud", ANY },
	{ "~/.kube", ANY },
	{ "~/.config/gh", ANY },
	{ "~/.docker/config.json", ANY },
	{ "~/.netrc", ANY },
	{ "~/.git-credentials", ANY },
	{ "~/Library/Keychains", MACOS },
};

/* Whoever writes one of these runs as the operator the next time a shell, an editor, git, a session or another
 * agent starts.  Some are credentials too: lifting the read deny must not make them writable. */
static const struct entry startup[] = {
	/* shells and logins */
	{ "~/.bashrc", ANY },
	{ "~/.bash_profile", ANY },
	{ "~/.bash_login", ANY },
	{ "~/.bash_logout", ANY },
	{ "~/.bash_aliases", ANY },
	{ "~/.profile", ANY },
	{ "~/.zshrc", ANY },
	{ "~/.zshenv", ANY },
	{ "~/.zprofile", ANY },
	{ "~/.zlogin", ANY },
	{ "~/.zlogout", ANY },
	{ "~/.kshrc", ANY },
	{ "~/.cshrc", ANY },
	{ "~/.tcshrc", ANY },
	{ "~/.inputrc", ANY },
	{ "~/.config/fish", ANY },
	{ "~/.config/direnv", ANY },
	{ "~/.pam_environment", LINUX },
	{ "~/.tmux.conf", ANY },
	{ "~/.config/tmux", ANY },
	{ "~/.screenrc", ANY },
	/* editors */
	{ "~/.vimrc", ANY },
	{ "~/.vim", ANY },
	{ "~/.config/nvim", ANY },
	{ "~/.emacs", ANY },
	{ "~/.emacs.d", ANY },
	{ "~/.config/emacs", ANY },
	{ "~/.nanorc", ANY },
	{ "~/.vscode", ANY },
	{ "~/.vscode-server", ANY },
	{ "~/.config/Code", ANY },
	{ "~/.config/VSCodium", ANY },
	{ "~/.config/helix", ANY },
	{ "~/.config/zed", ANY },
	/* git, ssh, package managers, engines: what decides what they execute */
	{ "~/.gitconfig", ANY },
	{ "~/.config/git", ANY },
	{ "~/.ssh/config", ANY },
	{ "~/.ssh/rc", ANY },
	{ "~/.ssh/environment", ANY },
	{ "~/.ssh/authorized_keys", ANY },
	{ "~/.gnupg/gpg.conf", ANY },
	{ "~/.gnupg/gpg-agent.conf", ANY },
	{ "~/.aws/config", ANY },
	{ "~/.kube/config", ANY },
	{ "~/.npmrc", ANY },
	{ "~/.yarnrc", ANY },
	{ "~/.yarnrc.yml", ANY },
	{ "~/.cargo/config", ANY },
	{ "~/.cargo/config.toml", ANY },
	{ "~/.cargo/env", ANY },
	{ "~/.config/pip", ANY },
	{ "~/.gdbinit", ANY },
	{ "~/.docker", ANY },
	{ "~/.config/containers", LINUX },
	{ "~/.config/docker", LINUX },
	{ "~/.srt-settings.json", ANY },
	/* the session */
	{ "~/.config/systemd", LINUX },
	{ "~/.local/share/systemd", LINUX },
	{ "~/.config/autostart", LINUX },
	{ "~/.config/environment.d", LINUX },
	{ "~/.config/plasma-workspace", LINUX },
	{ "~/.local/share/applications", LINUX },
	{ "~/.local/share/dbus-1", LINUX },
	{ "~/.xprofile", LINUX },
	{ "~/.xsessionrc", LINUX },
	{ "~/.xsession", LINUX },
	{ "~/.xinitrc", LINUX },
	{ "~/Library/LaunchAgents", MACOS },
	/* directories that are on the operator's PATH nearly everywhere */
	{ "~/.local/bin", ANY },
	{ "~/bin", ANY },
	{ "~/.cargo/bin", ANY },
	{ "~/go/bin", ANY },
};

static const struct entry socket_dirs[] = {
	{ "/run/dbus", LINUX },       { "/run/docker", LINUX },   { "/run/containerd", LINUX },
	{ "/run/podman", LINUX },     { "/var/run/docker", ANY }, { "~/.docker/run", ANY },
	{ "~/.docker/desktop", ANY }, { "~/.colima", ANY },       { "~/.lima", ANY },
	{ "~/.orbstack/run", ANY },   { "~/.rd", ANY },           { "~/.local/share/containers/podman", ANY },
};

static const char *pick(const struct entry *list, size_t n, size_t i)
{
	unsigned os = strcmp(OC_OS_NAME, "linux") == 0 ? LINUX : MACOS;

	for (size_t k = 0; k < n; k++)
		if ((list[k].os & os) && i-- == 0)
			return list[k].path;
	return NULL;
}

const char *oc_protect_deny(size_t i)
{
	return pick(denies, OC_COUNT(denies), i);
}

const char *oc_protect_startup(size_t i)
{
	return pick(startup, OC_COUNT(startup), i);
}

const char *oc_protect_socket_dir(size_t i)
{
	return pick(socket_dirs, OC_COUNT(socket_dirs), i);
}
