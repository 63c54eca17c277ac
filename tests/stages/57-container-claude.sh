# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: The page's container binding: the real Claude Code, by a Messages API that only the gateway reaches
# tier: full
# engine: yes
# user: root
# packages: openssl
# timeout: 900
# About a minute and a half.  The engine is a second one, in a network of its own with a name server and one host in it, since
# the gateway reaches no address of this machine.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
# shellcheck source=tests/lib/machine.sh
. tests/lib/machine.sh
# shellcheck source=tests/engine/own.sh
. tests/engine/own.sh

if [ "$(id -u)" != 0 ]; then
	skip 'a network with a host in it' 'only root can make one'
	finish
fi
need_user
cd "${OC_SRC:?}" || exit
api=api.claude.example here=20.0.0.7 internet=
place=$(mktemp -d /var/tmp/oc-claude.XXXXXX)
chmod 755 "$place"
touch "$place/log"
mkfifo "$place/hold"

# shellcheck disable=SC2329 # by trap
end()
{
	exec 8>&-
	[ -z "$internet" ] || wait "$internet"
	own_engine_end
	rm -rf "$place"
}
trap end EXIT
# An authority, and what it says of the name.
certificate()
{
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$place/ca.key" -out "$place/ca" -days 2 -subj '/CN=authority of the tests' &&
		openssl req -newkey rsa:2048 -nodes -keyout "$place/key" -out "$place/request" -subj "/CN=$api" &&
		openssl x509 -req -in "$place/request" -CA "$place/ca" -CAkey "$place/ca.key" -CAcreateserial -days 2 -out "$place/leaf" \
			-extfile <(printf 'subjectAltName=DNS:%s\n' "$api") &&
		cat "$place/key" "$place/leaf" >"$place/both"
}
expect 'a certificate' certificate
export OC_ENGINE_DNS=20.0.0.53
own_engine "$OC_IMAGE_CLAUDE" "$OC_IMAGE_TOOLS"
engine in ip addr add "$here/32" dev lo
engine in ip addr add "$OC_ENGINE_DNS/32" dev lo
python3 tests/host/container_claude.py script "$place/script"
engine in env "OC_BUILD=$OC_BUILD" python3 tests/host/internet.py "$OC_ENGINE_DNS" "$here" "$api" "$place/both" \
	sk-ant-api-canary-of-a-key "$place/script" "$place/log" <"$place/hold" >"$place/said" &
internet=$!
exec 8>"$place/hold"
tail --pid="$internet" -n +1 -f "$place/said" | head -n 1 | grep -q ready
with "OC_TEST_NAME=$api" "OC_TEST_LOG=$place/log" "OC_TEST_CA=$place/ca" timeout 600 python3 tests/host/container_claude.py || oc_failed=1
finish
