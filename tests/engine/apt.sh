# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Debian packages as files: fetched with all that they need by an apt with a state of its own, and unpacked into a
# folder.  Nothing is installed, and this machine's packages, lists and sources stay as they are.  No root is needed.

# apt_begin DIR SUITE: the functions below use DIR, and packages of SUITE ('': of this machine's own sources).
apt_begin()
{
	local dir=$1 suite=$2
	mkdir -p "$dir/cache/archives/partial" "$dir/none"
	# With nothing installed all that a package needs is fetched, libc included.
	: >"$dir/status"
	{
		printf 'Dir::State::status "%s/status";\nDir::Cache "%s/cache";\nDir::Log "%s";\n' "$dir" "$dir" "$dir"
		printf '%s\n' 'APT::Install-Recommends "false";' 'APT::Sandbox::User "";' 'Acquire::Retries "3";' \
			'Acquire::Languages "none";' 'APT::Update::Error-Mode "any";' 'APT::Get::AllowUnauthenticated "false";' \
			'Acquire::AllowInsecureRepositories "false";' 'Acquire::AllowWeakRepositories "false";' \
			'Acquire::AllowDowngradeToInsecureRepositories "false";'
	} >"$dir/apt.conf"
	apt_dir=$dir
	[ -z "$suite" ] || apt_suite "$suite"
}

# Another suite of the mirror that this machine's apt uses, known by the keys of Debian's archive alone.
apt_suite()
{
	local mirror keys=/usr/share/keyrings/debian-archive-keyring.gpg
	# shellcheck disable=SC2016 # the $(…) is apt's own
	mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' |
		awk '$1 == "Debian" && $2 !~ /security/ && !n++ { print $2 }')
	[ -n "$mirror" ] || { echo "apt on this machine has no mirror of Debian" >&2; return 1; }
	[ -r "$keys" ] || { echo "$keys is missing: apt-get install debian-archive-keyring" >&2; return 1; }
	mkdir -p "$apt_dir/lists/partial"
	printf 'deb [signed-by=%s] %s %s main\n' "$keys" "$mirror" "$1" >"$apt_dir/sources.list"
	cat >>"$apt_dir/apt.conf" <<EOF
Dir::State "$apt_dir";
Dir::State::lists "lists";
Dir::Etc::sourcelist "$apt_dir/sources.list";
Dir::Etc::sourceparts "$apt_dir/none";
Dir::Etc::preferences "$apt_dir/none/preferences";
Dir::Etc::preferencesparts "$apt_dir/none";
EOF
	apt_run update
}

apt_run()
{
	# With -c it is read after the machine's own settings, which say how the network is reached.
	apt-get -qq -c "$apt_dir/apt.conf" "$@" </dev/null
}

# apt_names PACKAGE…: the files that would be fetched, with their versions.
apt_names()
{
	apt_run -y --print-uris --download-only install "$@" | awk '{ print $2, $4 }' | sort
}

# apt_fetch TO PACKAGE…
apt_fetch()
{
	local to=$1
	shift
	apt_run -y --download-only install "$@" >"$apt_dir/log" 2>&1 || { tail -n 20 "$apt_dir/log" >&2; return 1; }
	mkdir -p "$to"
	mv "$apt_dir"/cache/archives/*.deb "$to/"
}

# apt_unpack DEB TREE
apt_unpack()
{
	mkdir -p "$2"
	dpkg-deb --fsys-tarfile "$1" | tar -C "$2" -xp --keep-directory-symlink --no-same-owner --exclude=./usr/share/doc \
		--exclude=./usr/share/man --exclude=./usr/share/locale --exclude=./usr/share/info --exclude='./usr/lib/systemd' --exclude=./lib/systemd
}
