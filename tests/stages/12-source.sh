# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Sources: layers, sizes, banned calls, close-on-exec
# tier: quick
# packages: pmccabe
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

# A copy with one fault in it: what must be found there is the control of each check.
seeded=$(mktemp -d)
trap 'rm -rf "$seeded"' EXIT
licence='/* SPDX-License-Identifier: Apache-2.0 */'
# seed FILE LINE…
seed()
{
	rm -rf "${seeded:?}"/*
	cp HACKING.md "$seeded/"
	mkdir -p "$seeded/$(dirname "$1")"
	{
		printf '%s\n' "$licence"
		shift
		printf '%s\n' "$@"
	} >"$seeded/$1"
}

layers()
{
	bash tests/layers.sh "$1"
}
expect 'layers: every include points downwards' layers .
seed lib/base/buf.c '#include "base/buf.h"'
expect 'layers: control: a clean file passes' layers "$seeded"
seed lib/base/buf.c '#include "store/store.h"'
refute 'layers: control: base includes store' layers "$seeded"
seed lib/sdk/main.c '#include "plan/plan.h"'
refute 'layers: control: sdk includes plan' layers "$seeded"
seed lib/base/buf.c '#include "../store/store.h"'
refute 'layers: control: a path that climbs' layers "$seeded"
seed host/main.c '#include "base/buf.h"'
refute 'layers: control: the host includes the library' layers "$seeded"
seed providers/srt/srt.c '#include "../../lib/base/buf.h"'
refute 'layers: control: a provider includes the library' layers "$seeded"
seed providers/docker/gateway/dns.c '#include "policy/host.h"'
expect 'layers: control: the gateway includes the decision' layers "$seeded"
seed providers/docker/gateway/dns.c '#include "policy/paths.h"'
refute 'layers: control: the gateway includes more of the library' layers "$seeded"
seed providers/docker/docker.c '#include "policy/host.h"'
refute 'layers: control: another provider includes the decision' layers "$seeded"
seed include/openconduit/plan.h '#include <jansson.h>'
refute 'layers: control: a public header includes a dependency' layers "$seeded"
seed lib/base/buf.c '#include "base/buf.h"'
sed -i 's/ ← loop/ ← pool/' "$seeded/HACKING.md"
refute 'layers: control: HACKING.md says something else' layers "$seeded"

source_lint()
{
	python3 tests/lint/source.py "$@"
}
expect 'sources: heads, file sizes, banned calls, close-on-exec' source_lint . tests/lint/exceptions
seed lib/base/buf.c '/* system("x"); open(p, 0) */' 'const char *s = "strcpy(a, b)";' 'int f = open(p, O_RDONLY |' 'O_CLOEXEC);'
expect 'sources: control: words in comments and strings are no calls' source_lint "$seeded"
for fault in 'int a = system(s);' 'strcpy(a, b);' 'signal(1, h);' '// no' 'int f = open(p, O_RDONLY);' \
	'int f = socket(AF_UNIX, SOCK_STREAM, 0);' 'int f = dup(1);' 'FILE *f = fopen(p, "r");' 'int f = fcntl(1, F_DUPFD, 3);' \
	'ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT);' 'int f = accept(l, 0, 0);' 'pipe(p);' 'waitpid(-1, 0, 0);'; do
	seed lib/base/buf.c "$fault"
	refute "sources: control: $fault" source_lint "$seeded"
done
seed lib/base/buf.c 'int a;'
sed -i 1d "$seeded/lib/base/buf.c"
refute 'sources: control: no licence line' source_lint "$seeded"
seed lib/base/buf.c "$(yes 'int a;' | head -n 600)"
refute 'sources: control: 601 lines' source_lint "$seeded"
printf 'banned lib/base/none.c system because\n' >"$seeded/exceptions"
seed lib/base/buf.c 'int a;'
printf 'banned lib/base/none.c system because\n' >"$seeded/exceptions"
refute 'sources: control: an exception that excuses nothing' source_lint "$seeded" "$seeded/exceptions"

# functions TREE: prints each function of more than 80 lines.
functions()
{
	local long
	long=$(find "$1"/lib "$1"/include "$1"/host "$1"/providers "$1"/examples "$1"/tests -name '*.[ch]' -print0 2>/dev/null |
		xargs -0 -r pmccabe 2>/dev/null | awk '$5 > 80 { print $5 " lines: " $6 " " $7 }')
	[ -z "$long" ] || { printf '%s\n' "$long"; return 1; }
}
expect 'functions: at most 80 lines' functions .
seed lib/base/buf.c 'int f(void)' '{' "$(yes '	g();' | head -n 78)" '}'
refute 'functions: control: 81 lines' functions "$seeded"
note=$(find lib host providers -name '*.c' -print0 | xargs -0 -r pmccabe 2>/dev/null | awk '{ print $5 }' | sort -n |
	awk '{ a[NR] = $1 } END { if (NR) printf "functions %d: median %d, 95%% within %d, longest %d lines", NR, a[int((NR + 1) / 2)], a[int(NR * .95 + .5)], a[NR] }')
printf 'note - %s\n' "$note"
printf 'note - files %s\n' "$(find lib host providers include -name '*.[ch]' -exec wc -l {} + | grep -v ' total$' | awk '{ print $1 }' | sort -n |
	awk '{ a[NR] = $1 } END { if (NR) printf "%d: median %d, longest %d lines", NR, a[int((NR + 1) / 2)], a[NR] }')"

expect 'map: every file that HACKING.md names is there' tests/map.sh
sed 's/hardlinks\.c/hardlinks_gone.c/' HACKING.md >"$seeded/HACKING.md"
refute 'map: control: a file that is not there' tests/map.sh "$seeded/HACKING.md"

finish
