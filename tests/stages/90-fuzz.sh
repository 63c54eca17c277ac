# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Fuzzing: 10 million executions a target, with coverage
# tier: soak
# packages: clang-14 libclang-rt-14-dev llvm-14
# timeout: 43200
# OC_FUZZ_RUNS sets another number of executions.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
runs=${OC_FUZZ_RUNS:-10000000}
build=$OC_WORK/build-fuzz
found=$OC_WORK/fuzz-found
seeded=$(mktemp -d)
trap 'rm -rf "$seeded"' EXIT
mkdir -p "$found"

fuzzers()
{
	rm -rf "$build"
	CC=clang-14 meson setup "$build" . -Dfuzzing=true -Db_sanitize=address,undefined -Db_lundef=false -Db_pie=false || return
	# Nothing else: the rest of the build would take longer than a short run.
	ninja -C "$build" -t targets all | sed -n 's,^\(tests/fuzz/fuzz_[a-z_]*\): .*,\1,p' | xargs ninja -C "$build"
}
expect 'the fuzz targets build' fuzzers
mapfile -t targets < <(find "$build/tests/fuzz" -maxdepth 1 -type f -name 'fuzz_*' -perm -u+x | sort)
[ "${#targets[@]}" -gt 0 ] || not_ok 'there are fuzz targets'

# What a target's longest input is: what is longer takes time and shows nothing new.
longest()
{
	case $1 in
	fuzz_relay | fuzz_gateway_dns) echo 1024 ;;
	fuzz_mcp | fuzz_text | fuzz_gateway_hello) echo 2048 ;;
	fuzz_host | fuzz_json) echo 4096 ;;
	*) echo 8192 ;;
	esac
}
# fuzz TARGET: from the corpus of the tree, into one that is kept between runs.  A small quarantine and short stacks of
# allocations make it twice as fast; the same input run again without them says more.
fuzz()
{
	local name corpus
	name=$(basename "$1")
	corpus=tests/fuzz/corpus/${name#fuzz_}
	[ -d "$corpus" ] || corpus=$seeded
	mkdir -p "$OC_WORK/fuzz-corpus/$name"
	ASAN_OPTIONS=quarantine_size_mb=16:malloc_context_size=5:max_malloc_fill_size=256 UBSAN_OPTIONS=halt_on_error=1 \
		"$1" -runs="$runs" -max_len="$(longest "$name")" -reload=0 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$found/$name-" "$OC_WORK/fuzz-corpus/$name" "$corpus" >"$OC_WORK/$name.log" 2>&1
	echo $? >"$OC_WORK/$name.status"
}
# covered TARGET: edges at the start and at the end, executions done.
covered()
{
	awk '/INITED/ { for (i = 1; i < NF; i++) if ($i == "cov:") first = $(i + 1) }
		{ for (i = 1; i < NF; i++) if ($i == "cov:") last = $(i + 1) }
		/stat::number_of_executed_units/ { n = $2 }
		END { printf "%d executions, %d edges from the corpus, %d at the end", n, first, last }' "$1"
}
# One target a core.
for target in "${targets[@]}"; do
	while [ "$(jobs -pr | wc -l)" -ge "${OC_JOBS:-1}" ]; do
		wait -n
	done
	rm -f "$OC_WORK/$(basename "$target").status"
	fuzz "$target" &
done
wait
for target in "${targets[@]}"; do
	name=$(basename "$target")
	status=$(cat "$OC_WORK/$name.status")
	log=$OC_WORK/$name.log
	done_runs=$(awk '/stat::number_of_executed_units/ { print $2 }' "$log")
	if [ "$status" = 0 ] && [ "${done_runs:-0}" -ge "$runs" ]; then
		ok "$name: $(covered "$log")"
	else
		tail -n 40 "$log"
		not_ok "$name: status $status, $(covered "$log"); the input is in $found"
	fi
	printf 'note - %s: %s\n' "$name" "$(covered "$log")"
done

cat >"$seeded/a.c" <<'C'
#include <stddef.h>
#include <stdint.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 2 && data[0] == 'o' && data[1] == 'c')
		__builtin_trap();
	return 0;
}
C
clang-14 -fsanitize=fuzzer -o "$seeded/a" "$seeded/a.c" || not_ok 'control: compiles'
refute 'control: a planted crash is found' "$seeded/a" -runs=2000000 -artifact_prefix="$seeded/"
finish
