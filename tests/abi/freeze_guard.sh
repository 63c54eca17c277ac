#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# freeze_guard.sh COMMIT VERSION: at a release, keep the source of its library, guard and guest, and of the host that tests of
# killing use, as tests/abi/vVERSION/guard.tar.xz: what a run that is alive over an upgrade was started by.  The same commit gives
# the same bytes.
set -eu
commit=$1 version=$2
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
to=$here/v$version
if [ -e "$to/guard.tar.xz" ]; then
	echo "$to/guard.tar.xz is frozen already: a new version needs a new number" >&2
	exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$to" "$work/guard"
git -C "$tree" archive "$commit" LICENSE meson.build meson_options.txt include lib tests/fault/follow.c | tar -x -C "$work/guard"
# Of the project's own build file all down to the library, and then that host.
sed -i "/^subdir('pkgconfig')/,\$d" "$work/guard/meson.build"
cat >>"$work/guard/meson.build" <<'END'
executable('follow', 'tests/fault/follow.c', dependencies : openconduit_dep)
END
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$(git -C "$tree" show -s --format=%ct "$commit")" \
	-cf - guard | xz -9e >"$to/guard.tar.xz"
cat >"$to/README" <<END
guard.tar.xz is made by tests/abi/freeze_guard.sh from the tree $(git -C "$tree" rev-parse "$commit^{tree}")
of commit $(git -C "$tree" rev-parse "$commit"), and never changed.
tests/stages/63-earlier-guard.sh builds it, starts runs by it and adopts them by the build of the day.
END
echo "$to/guard.tar.xz and README are made: commit both"
