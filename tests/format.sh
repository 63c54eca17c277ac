#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# format.sh [--fix] [TREE]: every C source is as clang-format 14 lays it out with .clang-format.  --fix makes it so.
# (Another version lays some lines out differently, so the version is part of the rule.)
set -u
mode=(--dry-run -Werror)
if [ "${1:-}" = --fix ]; then
	mode=(-i)
	shift
fi
cd "${1:-$(dirname "$0")/..}" || exit 2
tool=$(command -v clang-format-14) || { echo 'clang-format-14 is not installed: apt-get install clang-format-14'; exit 2; }
# Frozen headers stay as they were released.
find lib include host providers examples tests -name '*.[ch]' -not -path 'tests/abi/v[0-9]*' -print0 2>/dev/null |
	xargs -0 -r -n 40 -P "$(nproc)" "$tool" --style=file "${mode[@]}"
