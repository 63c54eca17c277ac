#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needed.sh LIB [MOST]: the shared objects that an embedder loads for us beyond libc and the loader; prints them.
set -u
objects=$(ldd "$1" | awk '/=>/ { print $1 }' | grep -vE '^(libc|libm|libpthread|libdl|librt)\.so|^linux-vdso|^ld-linux' | sort)
count=$(grep -c . <<<"$objects")
printf '%d: %s\n' "$count" "$(tr '\n' ' ' <<<"$objects")"
[ "$count" -le "${2:-6}" ]
