#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# headers.sh INCLUDE: each public header alone, as C99 without extensions and as C++17, no warning.
set -u
bad=0
for header in "$1"/openconduit/*.h; do
	name=openconduit/$(basename "$header")
	# Twice: an include guard that is missing or shared shows.
	printf '#include <%s>\n#include <%s>\nextern int oc_header_alone;\n' "$name" "$name" |
		gcc -std=c99 -pedantic -Wall -Wextra -Wstrict-prototypes -Wundef -Werror -I"$1" -x c -fsyntax-only - || bad=1
	printf '#include <%s>\n#include <%s>\n' "$name" "$name" |
		g++ -std=c++17 -pedantic -Wall -Wextra -Wundef -Werror -I"$1" -x c++ -fsyntax-only - || bad=1
done
exit $bad
