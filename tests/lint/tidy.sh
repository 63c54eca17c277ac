#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tidy.sh BUILD FOLDER…: clang-tidy 14 over what a build compiled from those folders, as .clang-tidy says.
set -u
build=$1
shift
mapfile -t files < <(python3 - "$build" "$@" <<'PY'
import json, os, sys
build, folders = sys.argv[1], sys.argv[2:]
here = os.path.realpath(".")
with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
    found = {os.path.realpath(os.path.join(e["directory"], e["file"])) for e in json.load(file)}
for path in sorted(found):
    if path.endswith(".c") and os.path.relpath(path, here).split(os.sep)[0] in folders:
        print(path)
PY
)
[ "${#files[@]}" -gt 0 ] || { echo "error: nothing to look at in $*"; exit 2; }
# A process for each file: with several clang-tidy 14 takes va_list for another type and reports it unset.  Each into a
# file of its own, so that two don't write into one line.  What gcc knows and clang doesn't is no finding.
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT
export said build
# shellcheck disable=SC2016 # for the inner shell
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "${OC_JOBS:-$(nproc)}" sh -c 'clang-tidy-14 --quiet -p "$build" \
	--extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument "$1" >"$said/$$" 2>&1
	rc=$?; [ $rc -le 1 ] || echo "error: clang-tidy ended with $rc on $1" >>"$said/$$"; exit 0' -
cat "$said"/*
echo "${#files[@]} files"
