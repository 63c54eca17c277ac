# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: A clean machine: minimal Debian 12, quickstart and quick tests
# tier: ci
# user: root
# packages: debootstrap
# timeout: 2700
# What a newcomer meets: nothing of ours and nothing of a developer's is installed.  Skipped only where debootstrap
# can't reach its mirror.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

if [ "$(id -u)" != 0 ]; then
	not_ok 'is started as root'
	finish
fi
root=$(mktemp -d /var/tmp/open-conduit-clean.XXXXXX)
trap 'rm -rf --one-file-system "$root" "$root.log"' EXIT
chmod 755 "$root"
bash tests/clean/make.sh "$root"
case $? in
0) ok 'debootstrap makes a minimal Debian 12' ;;
3)
	skip 'clean machine' "debootstrap can't reach a mirror of Debian 12 from here"
	finish
	;;
*)
	not_ok 'debootstrap makes a minimal Debian 12'
	finish
	;;
esac

# A clone of what is committed, and what is not committed yet on top of it.
mkdir "$root/opt/open-conduit"
tar -C "$OC_TREE" --exclude=./.git --exclude='./build*' --no-same-owner -cf - . | tar -C "$root/opt/open-conduit" --no-same-owner -xf -

# inside COMMAND…: as root of that machine, with the few variables that its way to the network needs.
inside()
{
	local carried
	mapfile -t carried <"$root/etc/clean-machine.env"
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root USER=root LANG=C.UTF-8 TERM=dumb CI=true \
		"${carried[@]}" bash tests/clean/enter.sh "$root" "$@"
}

absent()
{
	! inside sh -c 'command -v gcc || command -v node || command -v bwrap || command -v meson'
}
namespaces()
{
	inside setpriv --reuid 65534 --regid 65534 --clear-groups unshare --user --map-root-user --mount true
}
refute 'control: in a chroot no user namespace can be made' chroot "$root" setpriv --reuid 65534 --regid 65534 --clear-groups \
	unshare --user --map-root-user --mount true
expect 'user namespaces can be made in it' namespaces
expect 'nothing that we need is installed in it' absent

# run NAME COMMAND…: its lines are shown, since its output is what a newcomer sees.
run()
{
	local name=$1 begin=$SECONDS
	shift
	if inside "$@" >"$root.log" 2>&1; then
		ok "$name ($((SECONDS - begin)) s)"
	else
		not_ok "$name ($((SECONDS - begin)) s)"
	fi
	sed 's/^/    | /' "$root.log" | tail -n 150
}
run 'examples/quickstart.sh' bash /opt/open-conduit/examples/quickstart.sh
run 'tests/run.sh --quick' bash /opt/open-conduit/tests/run.sh --quick
printf 'note - inside: %s\n' "$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$root.log" | tail -n 1)"
finish
