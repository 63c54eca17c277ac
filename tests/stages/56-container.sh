# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Containers by the command line: exec, turns and homes, attach, doctor, secrets, on a real engine
# tier: full
# engine: yes
# packages: python3 git
# timeout: 1500
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
# shellcheck source=tests/engine/gateway.sh
. tests/engine/gateway.sh
export OPEN_CONDUIT_LIBEXEC=$OC_BUILD/libexec
gateway_image
/usr/bin/python3 tests/host/container.py || oc_failed=1
finish
