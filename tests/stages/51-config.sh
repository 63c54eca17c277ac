# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Config: what loads, each refusal with its field, the schema by an independent validator
# tier: full
# packages: python3 python3-jsonschema
# timeout: 600
set -u
exec /usr/bin/python3 tests/host/config.py
