# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: GitHub: its program against a fake one by its published description; what is refused, asked again; tokens killed at each point
# tier: full
# packages: python3 openssl curl procps iproute2 util-linux
# npm: github
# timeout: 400
# About a minute and a half on two cores that have nothing else to do.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

python3 tests/github/test_github.py || oc_failed=1
python3 tests/github/test_tokens.py || oc_failed=1
python3 tests/github/test_described.py || oc_failed=1
finish
