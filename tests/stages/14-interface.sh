# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Interface: headers alone, symbols, what the library may call and load
# tier: quick
# packages: g++ binutils
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
lib=$OC_BUILD/lib/libopenconduit.so
map=lib/libopenconduit.map
seeded=$(mktemp -d)
trap 'rm -rf "$seeded"' EXIT

expect 'headers: each alone as C99 -pedantic and as C++17' bash tests/abi/headers.sh include
control_header()
{
	rm -rf "$seeded/openconduit"
	cp -r include/openconduit "$seeded/"
	printf '%s\n' "$2" >>"$seeded/openconduit/plan.h"
	refute "headers: control: $1" bash tests/abi/headers.sh "$seeded"
}
control_header 'a type that nothing declares' 'size_t oc_x(json_t *x);'
control_header 'a GNU extension' 'struct oc_x { int a; struct { }; };'
control_header 'a word of C++' 'int oc_x(int class);'

expect 'symbols: exports, version script and headers agree' bash tests/abi/symbols.sh include/openconduit $map "$lib"
sed 's/oc_version;/&\n\toc_none_such;/' $map >"$seeded/more.map"
refute 'symbols: control: a name too many in the script' bash tests/abi/symbols.sh include/openconduit "$seeded/more.map" "$lib"
sed '/oc_version;/d' $map >"$seeded/less.map"
refute 'symbols: control: a name missing in the script' bash tests/abi/symbols.sh include/openconduit "$seeded/less.map" "$lib"
rm -rf "$seeded/openconduit"
cp -r include/openconduit "$seeded/"
printf 'OC_API int\noc_none_such(void);\n' >>"$seeded/openconduit/plan.h"
refute 'symbols: control: a declaration too many' bash tests/abi/symbols.sh "$seeded/openconduit" $map "$lib"

expect 'imports: it ends, prints, forks and changes nothing' bash tests/abi/imports.sh "$lib"
for call in 'exit(1)' 'abort()' 'puts("x")' 'fputs("x", stderr)' 'fork()' 'setenv("A", "b", 1)' 'chdir("/")' 'raise(9)'; do
	printf '#include <stdio.h>\n#include <stdlib.h>\n#include <signal.h>\n#include <unistd.h>\nint f(void);\nint f(void) { (void)!%s; return 0; }\n' "$call" |
		sed -E 's/\(void\)!(exit|abort)/\1/' >"$seeded/call.c"
	if ! gcc -shared -fPIC -o "$seeded/call.so" "$seeded/call.c"; then
		not_ok "imports: control: $call compiles"
		continue
	fi
	refute "imports: control: $call" bash tests/abi/imports.sh "$seeded/call.so"
done

expect 'loads: at most 6 shared objects beyond libc' bash tests/abi/needed.sh "$lib"
refute 'loads: control: fewer than it needs are too many' bash tests/abi/needed.sh "$lib" 1
printf 'note - an embedder loads %s\n' "$(bash tests/abi/needed.sh "$lib")"
finish
