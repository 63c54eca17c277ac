# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: The gateway: every vector, bytes and ends, many and bad clients, real ones
# tier: full
# packages: python3 python3-pip curl wget git openssl iproute2 util-linux
# timeout: 900
# About two minutes alone on the machine: a slow head and an unanswered name take their time.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

# In a network namespace of their own; where an ordinary user can't make one nothing can be shown.
if ! unshare -rn true 2>/dev/null; then
	skip 'the gateway' 'no network namespace for an ordinary user here'
	finish
fi
ulimit -n "$(ulimit -Hn)"
for test in test_vectors test_proxy test_many test_clients; do
	python3 "tests/gateway/$test.py" || oc_failed=1
done

# The image: the same each time, of one static file.
program=$OC_BUILD/providers/docker/gateway/open-conduit-gateway
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
image()
{
	python3 providers/docker/gateway/image.py --output "$made/$1" "$2" 0.1.0
}
expect 'image: is made' image one "$program"
sleep 1.1
image two "$program"
expect 'image: the same bytes a second later' cmp "$made/one" "$made/two"
expect 'image: of at most 300 kB' test "$(stat -c %s "$made/one")" -le 300000
refute 'image: control: a dynamic program is refused' image three /bin/true
refute 'image: control: a script is refused' image three providers/docker/gateway/image.py
finish
