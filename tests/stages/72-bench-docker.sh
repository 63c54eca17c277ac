# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: What a container's run costs, beside docker's own commands
# tier: full
# alone: yes
# engine: yes
# user: root
# timeout: 900
# About a minute.  Root sums up memory, as the shims are root's; what is measured runs as the ordinary user.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
# shellcheck source=tests/engine/gateway.sh
. tests/engine/gateway.sh

if [ "$(id -u)" != 0 ]; then
	skip 'what a run in a container costs' 'only root can read the memory of an engine that is root'
	exit 0
fi
user=$(stat -c %U "$OC_SRC")
home=$(getent passwd "$user" | cut -d: -f6)
as=(setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups env "HOME=$home" "USER=$user")
cd "${OC_SRC:?}" || exit
gateway_image
export OC_TEST_TMP=$home
"${as[@]}" python3 tests/bench/bench_docker.py time || oc_failed=1
python3 tests/bench/bench_docker.py memory "${as[@]}" || oc_failed=1
finish
