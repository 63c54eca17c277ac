#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# abi.sh BASELINE LIB INCLUDE: is LIB still what programs built against BASELINE expect?  Only additions pass.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# Only 0 passes: a changed return type gives 4, not 8.
abidiff --no-added-syms --suppressions "$here/suppressions.abignore" --headers-dir2 "$3" "$1" "$2"
