#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# update.sh LIB VERSION: at a release, freeze what is promised from then on: the baseline of abi.sh, and the public
# headers as tests/abi/vVERSION/.  A frozen version is never changed; a baseline is renewed only to hold more.
set -eu
lib=$1 version=$2
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
frozen=$here/v$version/openconduit
if [ -d "$frozen" ]; then
	echo "$frozen is frozen already: a new version needs a new number" >&2
	exit 1
fi
mkdir -p "$frozen"
cp "$tree"/include/openconduit/*.h "$frozen/"
python3 "$here/frozen.py" "$frozen" >"$here/v$version/enums.h"
# Without corpus paths and line numbers: they differ from machine to machine.
abidw --no-corpus-path --no-comp-dir-path --no-show-locs --headers-dir "$tree/include" --out-file "$here/openconduit.abi" "$lib"
echo "$here/openconduit.abi and $here/v$version are made: commit both"
